//! What stands between a message and its answer besides text: context that a hook added, pictures and files of tools, and
//! notices. No built-in tool returns pictures, so a transcript is completed on its way to the page.

use serde_json::{Value, json};

use crate::accessibility::assert_no_barriers;
use crate::page::Page;

/// The smallest PNG: one pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/// Adds messages behind the first one and blocks to each tool's result, as the server would tell them.
const COMPLETE: &str = "const plain = window.fetch;
    window.fetch = async (path, options) => {
        const answer = await plain(path, options);
        if (!String(path).startsWith('/api/sessions/')) return answer;
        const session = await answer.json();
        const [first] = session.messages ?? [];
        const {created_at, turn} = first ?? {};
        const added = MESSAGES.map((message, index) => ({...message, id: `9999${index}`, created_at, turn}));
        if (first) session.messages.splice(1, 0, ...added);
        for (const block of (session.messages ?? []).flatMap(({content}) => content)) {
            if (block.type === 'tool_result') Object.assign(block, {output: '', blocks: BLOCKS});
        }
        return Response.json(session);
    };";

/// The chat after one call of a tool, with these messages and blocks in its transcript.
fn completed(messages: &Value, blocks: &Value) -> Option<Page> {
    let page = Page::open(&[])?;
    page.ask("!tool current_time {}");
    let source = COMPLETE.replace("MESSAGES", &messages.to_string()).replace("BLOCKS", &blocks.to_string());
    page.browser.devtools("Page.addScriptToEvaluateOnNewDocument", &json!({"source": source}));
    page.browser.reload();
    page.until("the transcript is there", "one('.fold-name')");
    page.browser.run("for (const fold of all('details.fold')) fold.open = true", &[]);
    page.until("all of it is open", "all('.fold-body').every((body) => body.childElementCount > 0)");
    Some(page)
}

fn system(block: &Value) -> Value {
    json!({"role": "system", "content": [block]})
}

#[test]
fn context_pictures_and_files_are_shown_where_they_belong() {
    let context =
        system(&json!({"type": "context", "source": "memory", "text": "She likes tea.\nNo sugar."}));
    let blocks = json!([
        {"type": "image", "mime": "image/png", "data": PNG},
        {"type": "image", "mime": "image/svg+xml", "data": "PHN2Zz4="},
        {"type": "file", "name": "list.csv", "mime": "text/csv", "text": "a,b\n1,2"},
    ]);
    let Some(page) = completed(&json!([context]), &blocks) else { return };
    let browser = &page.browser;
    let summaries =
        browser.text("all('details.fold > summary > span:first-of-type').map((e) => e.innerText)");
    assert_eq!(
        summaries, "Context from memory,current_time",
        "the context comes before what follows from it"
    );
    let texts =
        browser.text("all('.fold-body .sheet').map((e) => `${e.ariaLabel}: ${e.innerText}`).join('; ')");
    assert_eq!(texts, "Context from memory: She likes tea.\nNo sugar.; Input: {}; File list.csv: a,b\n1,2");
    page.until("the picture is shown", "one('.tool-pictures img')?.naturalWidth === 1");
    assert_eq!(browser.text("all('.tool img').length"), "1", "what could run a script is not shown");
    assert!(browser.is("/cannot be shown here .image.svg.xml/.test(one('.tool-pictures').innerText)"));
    assert!(!browser.is("/No output/.test(all('.fold-body').at(-1).innerText)"));
    assert_no_barriers(browser, "context and blocks");
    browser.click("[aria-label='Open picture 1 of 2']");
    page.until("it is shown large", "one('dialog[open] img')?.alt === 'Picture 1 of 2'");
    assert_no_barriers(browser, "the picture");
    page.assert_clean();
}

#[test]
fn a_picture_of_a_tool_is_there_before_a_reload() {
    let Some(page) = Page::open(&[]) else { return };
    // As the server tells it of a tool that returns one.
    let hook = format!(
        "const plain = JSON.parse;
        JSON.parse = (...text) => {{
            const frame = plain(...text);
            if (frame?.type === 'tool' && frame.state === 'ok') frame.blocks = [{{type: 'image', mime: 'image/png', data: '{PNG}'}}];
            return frame;
        }}"
    );
    page.browser.run(&hook, &[]);
    page.ask("!tool current_time {}");
    page.until("the picture is shown", "one('.tool-pictures img')?.naturalWidth === 1");
    assert!(!page.browser.is("one('.fold').open"), "in the reply, with the line of the tool folded");
    assert_no_barriers(&page.browser, "a picture of a tool");
    page.assert_clean();
}

#[test]
fn notices_look_by_their_kind() {
    let notice = |code: &str, text: &str| system(&json!({"type": "notice", "code": code, "text": text}));
    let messages = json!([
        notice("budget_warning", "80 % of today's budget is used."),
        notice("unknown_model", "homegrown is in no table; `aethon-cli model update` installs a newer one."),
        notice("waiting", "The model is asked again in 20 seconds."),
        notice("constructor", "Something else."),
    ]);
    let Some(page) = completed(&messages, &json!([])) else { return };
    let browser = &page.browser;
    let tones = browser.text("all('.aside-line').map((e) => e.dataset.tone ?? 'plain').join(' ')");
    assert_eq!(tones, "warn warn plain plain");
    assert!(browser.is("new Set(all('.aside-line path').map((e) => e.getAttribute('d'))).size === 4"));
    assert_eq!(browser.text("one('.aside-line code').innerText"), "aethon-cli model update");
    assert_no_barriers(browser, "notices");
    page.assert_clean();
}

#[test]
fn context_and_blocks_stay_text() {
    let hostile = "<img src=x onerror=window.__xss=1>\u{202e}";
    let context = system(&json!({"type": "context", "source": hostile, "text": hostile}));
    let blocks = json!([
        {"type": "file", "name": hostile, "mime": "text/html", "text": hostile},
        {"type": "image", "mime": "image/png\" onerror=\"window.__xss=2", "data": PNG},
        {"type": "image", "mime": "image/png", "data": "AAAA\" onerror=\"window.__xss=3"},
        {"type": "text", "text": hostile},
    ]);
    let Some(page) = completed(&json!([context]), &blocks) else { return };
    let browser = &page.browser;
    assert!(
        browser.is("one('.fold-body .sheet').innerText.startsWith('<img src=x onerror=window.__xss=1>')")
    );
    assert!(browser.is("all('.reply img').length === 0 && typeof window.__xss === 'undefined'"));
    assert!(!browser.is("/\\u202e/.test(one('.reply').innerText)"), "what cannot be seen is marked");
    page.assert_clean();
}
