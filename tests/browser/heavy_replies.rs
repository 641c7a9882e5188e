//! Replies that would block a page for long: the page stays responsive, and ordinary code gets its colours.

use serde_json::{Value, json};

use crate::page::Page;

/// Puts blocks of code into the transcript, as the server would render them, before the page asks for it.
const COMPLETE: &str = "const plain = window.fetch;
    const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
    window.fetch = async (path, options) => {
        const answer = await plain(path, options);
        if (!String(path).startsWith('/api/sessions/')) return answer;
        const session = await answer.json();
        const reply = (session.messages ?? []).find(({role}) => role === 'assistant');
        if (reply) reply.content[0].html = BLOCKS.map(({language, text, times}) =>
            `<pre><code class=\"language-${language}\">${escaped(text.repeat(times))}</code></pre>`);
        return Response.json(session);
    };";

/// Notes the longest pause between two frames.
const WATCH: &str = "window.frames60 = 0; window.longest = 0; let last = performance.now();
    requestAnimationFrame(function tick(now) { longest = Math.max(longest, now - last); last = now; frames60 += 1; requestAnimationFrame(tick); });";

/// The chat with a reply of these blocks.
fn with_code(blocks: &Value) -> Option<Page> {
    let page = Page::open(&[])?;
    page.ask("!say code");
    let source = COMPLETE.replace("BLOCKS", &blocks.to_string());
    page.browser.devtools("Page.addScriptToEvaluateOnNewDocument", &json!({"source": source}));
    page.browser.reload();
    let count = blocks.as_array().unwrap().len();
    page.until("the code is there", &format!("all('.code code').length === {count}"));
    Some(page)
}

/// Types a word and waits until it is in the box, while frames are drawn.
fn assert_responsive(page: &Page) {
    page.browser.run(WATCH, &[]);
    page.fill("#message", "");
    page.browser.type_keys("still here");
    page.until("what is typed appears", "one('#message').value === 'still here'");
    page.until("frames are drawn", "frames60 > 20");
}

#[test]
fn reply_with_endless_grammar_match_does_not_block_the_page() {
    // Words without an end, which these grammars try at each of their letters: more than a minute each.
    let word = format!("{}\n", "a".repeat(8000));
    let hostile = json!([
        {"language": "c", "text": word, "times": 7},
        {"language": "csharp", "text": word, "times": 7},
        {"language": "rust", "text": "fn main() {}\n", "times": 3},
    ]);
    let Some(page) = with_code(&hostile) else { return };
    assert_responsive(&page);
    page.until(
        "ordinary code behind it is coloured",
        "all('.code').at(-1).querySelector('span[class^=hl-]')",
    );
    let lengths = page.browser.text("all('.code code').map((code) => code.textContent.length).join()");
    assert_eq!(lengths, "56007,56007,39", "all of it is there");
    page.assert_clean();
}

#[test]
fn a_very_long_line_and_very_long_code_stay_plain_and_whole() {
    let blocks = json!([
        {"language": "javascript", "text": "x = [1, 2, 3]; ", "times": 4000},
        {"language": "rust", "text": "let answer = \"<b>42</b>\"; // and so on, line after line\n", "times": 37000},
        {"language": "json", "text": "{\"a\": 1, ", "times": 230_000},
        {"language": "rust", "text": "fn main() {}\n", "times": 3},
    ]);
    let Some(page) = with_code(&blocks) else { return };
    let browser = &page.browser;
    assert_responsive(&page);
    page.until("short code is coloured", "all('.code').at(-1).querySelector('span[class^=hl-]')");
    assert!(browser.is("all('.code').slice(0, 3).every((code) => !code.querySelector('span[class^=hl-]'))"));
    let lengths = browser.text("all('.code code').map((code) => code.textContent.length).join()");
    assert_eq!(lengths, "60000,2072000,2070000,39", "nothing is cut");
    // Scrolled to its end, the end is there.
    browser.run("const pre = all('.code pre')[1]; pre.scrollTop = pre.scrollHeight", &[]);
    page.until(
        "the end can be seen",
        "(() => {
        const pre = all('.code pre')[1], last = pre.querySelector('.code-chunk:last-child');
        pre.scrollTop = pre.scrollHeight;
        return last.getBoundingClientRect().bottom <= pre.getBoundingClientRect().bottom + 40;
    })()",
    );
    assert_responsive(&page);
    page.assert_clean();
}
