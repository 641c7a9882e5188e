//! What replies look like: the direction of their text, footnotes, alerts and folds, and the conversation on paper.

use aethon_tests::browser::keys::ENTER;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use crate::page::Page;
use crate::used_server::UsedServer;

/// A message that is answered with these lines.
pub(crate) fn say_lines(lines: &str) -> String {
    lines.lines().map(|line| format!("!say {line}\n")).collect()
}

/// Asserts that each of these elements, the last on the page, has this direction.
fn assert_directions(page: &Page, expected: &[(&str, &str)]) {
    for (selector, direction) in expected {
        let found = page.browser.text(&format!("getComputedStyle(all('{selector}').at(-1)).direction"));
        assert_eq!(&found, direction, "{selector}");
    }
}

#[test]
fn text_stands_on_the_side_where_its_first_letter_belongs() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.fill("#message", "שלום, what is new?");
    assert_directions(&page, &[("#message", "rtl")]);
    page.fill("#message", "English, then שלום");
    assert_directions(&page, &[("#message", "ltr")]);
    let reply = "مرحبا **world**\n\n- اول\n- second\n\n> اقتباس\n\n| اسم | Name |\n|---|---|\n| س | x |\n\n## عنوان\n\n\
                 ```\ncode\n```\n\nEnglish شلوم\n\n1. one";
    page.ask(&say_lines(reply));
    assert_directions(
        &page,
        &[
            (".reply p[dir=rtl]", "rtl"),
            (".reply ul", "rtl"),
            (".reply ul li:first-child", "rtl"),
            (".reply ul li:last-child", "ltr"),
            (".reply blockquote", "rtl"),
            (".reply blockquote p", "rtl"),
            (".reply table", "rtl"),
            (".reply th:first-child", "rtl"),
            (".reply td:last-child", "ltr"),
            (".reply h4", "rtl"),
            (".reply pre", "ltr"),
            (".reply > .reply-parts > .prose:nth-last-child(2) p", "ltr"),
            (".reply ol", "ltr"),
        ],
    );
    // The bar of a quotation and the marks of a list are on the right.
    let bar = browser.text("parseFloat(getComputedStyle(one('.reply blockquote')).borderRightWidth) > 0");
    assert_eq!(bar, "true");
    // The own message, the title of the conversation and its row in the list.
    page.ask("سؤال؟");
    assert_directions(&page, &[(".said-text", "rtl")]);
    page.ask("A question");
    assert_directions(&page, &[(".said-text", "ltr")]);
    page.go("/#/arabic");
    page.until("a new conversation is there", "shown(one('.welcome'))");
    page.ask("سؤال آخر");
    page.until("the title is there", "one('.topbar h1').innerText.includes('سؤال')");
    page.until(
        "its row is there",
        "one('.session[data-current] .session-title')?.innerText.includes('سؤال')",
    );
    assert_directions(&page, &[(".topbar h1", "rtl"), (".session[data-current] .session-title", "rtl")]);
    page.go("/dashboard#/sessions");
    page.until("the table is there", "all('.data-table td').some((cell) => cell.innerText.includes('سؤال'))");
    let cell =
        "getComputedStyle(all('.data-table td').find((cell) => cell.innerText.includes('سؤال'))).direction";
    assert_eq!(browser.text(cell), "rtl");
    page.assert_clean();
}

#[test]
fn footnotes_alerts_and_folds_work_and_survive_a_reload() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    let reply = "Water[^1] is H<sub>2</sub>O; press <kbd>Ctrl</kbd>.[^b] \n\n> [!WARNING]\n> Hot.\n\n<details>\n\
                 <summary>More <b>of it</b></summary>\n\n- inside\n\n</details>\n\n[^1]: The wet one.\n[^b]: A key.";
    page.ask(&say_lines(reply));
    for _ in 0..2 {
        page.until("the reply is there", "all('.reply .footnote').length === 2");
        assert_eq!(browser.text("one('.reply sub').innerText + one('.reply kbd').innerText"), "2Ctrl");
        assert!(browser.is("one('.alert-warning[role=note] .alert-title .icon')"), "an alert has a picture");
        // A mark leads to its note, and the note back.
        browser.run("one('.footnote-reference button[data-name=b]').focus()", &[]);
        assert_eq!(page.focused(), "button Footnote b");
        browser.chord(&[ENTER]);
        assert_eq!(page.focused(), "button Footnote b: back to the text");
        assert!(browser.is("document.activeElement.closest('.footnote').innerText.includes('A key.')"));
        browser.chord(&[ENTER]);
        assert_eq!(page.focused(), "button Footnote b");
        // A fold opens by the keyboard.
        assert!(!browser.is("one('.reply details li').checkVisibility()"));
        browser.run("one('.reply summary').focus()", &[]);
        browser.chord(&[ENTER]);
        assert!(browser.is("one('.reply details li').checkVisibility()"));
        assert_eq!(browser.text("one('.reply summary strong').innerText"), "of it");
        browser.reload();
    }
    page.assert_clean();
}

/// The number of sheets that a print of the page takes.
fn sheets(page: &Page) -> usize {
    let printed = page.browser.devtools("Page.printToPDF", &json!({"printBackground": false}));
    let bytes = BASE64_STANDARD.decode(printed["data"].as_str().unwrap()).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    text.matches("/Type /Page\n").count()
}

#[test]
fn a_conversation_is_printed_whole_and_without_controls() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    browser.resize(1200, 700);
    let long: String = (0..60).map(|line| format!("- point {line}\n\n")).collect();
    page.ask(&say_lines(&format!("{long}<details>\n<summary>Fold</summary>\n\nfolded words\n\n</details>")));
    page.ask(&say_lines(&format!("```\n{}```", "a line\n".repeat(80))));
    page.until("all is there", "one('.reply details') && one('.code')");
    assert!(sheets(&page) >= 4, "{} sheets", sheets(&page));
    browser.devtools("Emulation.setEmulatedMedia", &json!({"media": "print"}));
    for hidden in [".sidebar", ".dock", ".topbar button", ".actions", ".code figcaption button"] {
        assert!(browser.is(&format!("all('{hidden}').every((e) => !e.checkVisibility())")), "{hidden}");
    }
    assert!(browser.is("all('.turn').every((turn) => turn.checkVisibility())"), "every exchange");
    assert!(
        browser.is("one('.transcript').scrollHeight === one('.transcript').clientHeight"),
        "no box scrolls"
    );
    assert!(
        browser.is("one('.code pre').scrollHeight <= one('.code pre').clientHeight + 1"),
        "code is whole"
    );
    assert!(browser.is("one('.reply details p').offsetHeight > 0"), "what is folded is printed");
    browser.devtools("Emulation.setEmulatedMedia", &json!({"media": ""}));
    page.assert_clean();
}

#[test]
fn a_panel_is_printed_without_the_rail() {
    let Some(used_server) = UsedServer::open(&["Plans".to_owned()]) else { return };
    let page = &used_server.page;
    page.go("/dashboard#/usage");
    page.until("the panel is there", "one('.panel h1')?.innerText === 'Usage' && !one('.panel .skeleton')");
    page.browser.devtools("Emulation.setEmulatedMedia", &json!({"media": "print"}));
    for hidden in [".rail", ".panel-top", ".panel-tools"] {
        assert!(page.browser.is(&format!("all('{hidden}').every((e) => !e.checkVisibility())")), "{hidden}");
    }
    assert!(page.browser.is("one('.panel').getBoundingClientRect().left < 40"), "it takes the whole sheet");
    page.browser.devtools("Emulation.setEmulatedMedia", &json!({"media": ""}));
    page.assert_clean();
}

#[test]
fn thoughts_are_shown_while_they_last_and_fold_to_their_time() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.say("!think 150 first this then that then another thing and so on until it is clear at last\n!say So it is.");
    page.until(
        "thoughts are shown as they come",
        "one('.reasoning[data-live] .reasoning-live')?.innerText.includes('then that') && !one('.turn .prose')",
    );
    assert_eq!(browser.text("one('.reasoning summary').innerText.trim()"), "Thinking…");
    let turn = page.settled();
    assert_eq!(turn.reply, "So it is.");
    for _ in 0..2 {
        page.until("it is folded", "one('.reasoning') && !shown(one('.reasoning-live'))");
        let words = browser.text("one('.reasoning summary').innerText.trim()");
        assert!(words.starts_with("Thought for ") && words.ends_with(" s"), "{words}");
        assert!(
            !browser.is("one('.reasoning .fold-body')?.innerText.includes('first this')"),
            "it is folded"
        );
        browser.click(".reasoning summary");
        page.until("it opens", "one('.reasoning .fold-body').innerText.includes('first this')");
        browser.reload();
        page.until("the reply is there", "one('.turn .prose')");
    }
    page.ask("!think 0 hm\n!say Quick.");
    let words = browser.text("all('.reasoning summary').at(-1).innerText.trim()");
    assert_eq!(words, "Thought for a moment");
    page.assert_clean();
}

/// Opens the menu of the last reply and presses an entry.
fn choose(page: &Page, entry: &str) {
    page.browser.run("all('.reply button[aria-label=\"More for this answer\"]').at(-1).click()", &[]);
    page.until("the menu is open", "one('.menu [role=menuitem]')");
    page.browser.click(&format!("//*[@role='menu']//button[normalize-space()='{entry}']"));
}

#[test]
fn a_reply_is_copied_as_markdown_or_with_its_formatting() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.ask(&say_lines(
        "# Head\n\n**bold** [bank](https://evil.example/a)\n\n- [x] done\n\n| a |\n|---|\n| 1 |",
    ));
    browser.devtools(
        "Browser.grantPermissions",
        &json!({"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}),
    );
    let read = "const [item] = await navigator.clipboard.read();
        const text = async (type) => item.types.includes(type) ? (await item.getType(type)).text() : '';
        return [await text('text/plain'), await text('text/html')]";
    choose(&page, "Copy as Markdown");
    page.until("it says so", "all('.toast').some((toast) => toast.innerText.includes('Copied as Markdown'))");
    assert_eq!(browser.run(read, &[])[0].as_str().unwrap().lines().next(), Some("# Head"));
    choose(&page, "Copy with formatting");
    page.until(
        "it says so",
        "all('.toast').some((toast) => toast.innerText.includes('with its formatting'))",
    );
    let copied = browser.run(read, &[]);
    let (plain, html) = (copied[0].as_str().unwrap(), copied[1].as_str().unwrap());
    assert!(plain.starts_with("# Head\n\n**bold**"), "{plain}");
    for part in
        ["<h1", ">Head</h1>", "<strong", ">bold</strong>", "href=\"https://evil.example/a\"", "☑ done", "<td"]
    {
        assert!(html.contains(part), "{part} in {html}");
    }
    assert!(!html.contains("class=") && !html.contains("evil.example</span>"), "{html}");
    // The same where the browser has no clipboard for pages, as on plain http in a local network.
    browser.run("Object.defineProperty(navigator, 'clipboard', {value: undefined}); all('.toast').forEach((t) => t.remove());
        addEventListener('copy', (event) => { window.copiedHtml = event.clipboardData.getData('text/html'); });", &[]);
    choose(&page, "Copy with formatting");
    page.until(
        "it says so",
        "all('.toast').some((toast) => toast.innerText.includes('with its formatting'))",
    );
    assert!(browser.is("window.copiedHtml.includes('bold</strong>')"));
    page.assert_clean();
}

#[test]
fn a_long_answer_has_an_outline_that_leads_to_its_headings() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    let text = "some words\n\n".repeat(60);
    page.ask(&say_lines(&format!("## One\n\n{text}## Two\n\n### Deeper\n\n{text}## שלוש\n\n{text}")));
    for _ in 0..2 {
        page.until(
            "the outline is there",
            "one('.reading-outline summary')?.innerText.includes('4 headings')",
        );
        assert!(!browser.is("shown(one('.reading-outline button'))"), "it is folded");
        browser.run("one('.reading-outline summary').focus()", &[]);
        browser.chord(&[ENTER]);
        page.until("it opens", "shown(one('.reading-outline button'))");
        browser.run("all('.reading-outline button')[2].focus()", &[]);
        browser.chord(&[ENTER]);
        assert_eq!(page.focused(), "h5 Deeper");
        page.until(
            "the heading is at the top",
            "Math.abs(document.activeElement.getBoundingClientRect().top - one('.transcript').getBoundingClientRect().top) < 60",
        );
        assert_eq!(
            browser.text("all('.reading-outline li').map((item) => item.dataset.depth).join()"),
            "0,0,1,0"
        );
        browser.reload();
    }
    page.ask(&say_lines("## One\n\n## Two"));
    assert!(!browser.is("all('.turn').at(-1).querySelector('.reading-outline')"), "a short one has none");
    page.assert_clean();
}

/// A voice for a browser that has none.
pub(crate) const VOICE: &str = "window.spoken = []; window.VOICES = [{}];
    const voice = {
        getVoices: () => window.VOICES,
        speak: (utterance) => { window.spoken.push([utterance.lang, utterance.text]); window.current = utterance; },
        cancel: () => { window.isCancelled = true; },
    };
    Object.defineProperty(window, 'speechSynthesis', {value: voice});
    window.SpeechSynthesisUtterance = class extends EventTarget { constructor(text) { super(); this.text = text; this.lang = ''; } };";

#[test]
fn a_reply_is_read_aloud_where_the_browser_has_a_voice() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    browser.devtools("Page.addScriptToEvaluateOnNewDocument", &json!({"source": VOICE}));
    browser.reload();
    page.ask(&say_lines("# Head\n\nFirst. Second.\n\n```\nno sound\n```\n\nשלום"));
    choose(&page, "Read aloud");
    page.until("it speaks", "spoken.length === 1");
    let next = "current.dispatchEvent(new Event('end'))";
    for _ in 0..6 {
        browser.run(next, &[]);
    }
    let spoken = browser.text("JSON.stringify(spoken)");
    assert_eq!(spoken, r#"[["","Head."],["","First."],["","Second."],["he","שלום."]]"#);
    page.until("the button that stops it is gone", "!one('.is-reading')");
    choose(&page, "Read aloud");
    page.until("it can be stopped", "shown(one('.is-reading'))");
    browser.click(".is-reading");
    page.until("it stops", "isCancelled && !one('.is-reading')");
    // Going elsewhere stops it too.
    choose(&page, "Read aloud");
    page.until("it speaks again", "one('.is-reading')");
    browser.run("isCancelled = false; location.hash = '#/other'", &[]);
    page.until("it stops", "isCancelled");
    page.go("/#/default");
    browser.run("VOICES = []", &[]);
    page.until("the reply is there", "one('.turn .prose')");
    browser.run("all('.reply button[aria-label=\"More for this answer\"]').at(-1).click()", &[]);
    page.until("the menu is open", "one('.menu [role=menuitem]')");
    assert!(
        !browser.is("one('.menu').innerText.includes('Read aloud')"),
        "without a voice it is not offered"
    );
    page.assert_clean();
}

#[test]
fn a_growing_paragraph_keeps_what_stands_there() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.begin_stream("!stream 120 30");
    browser.run(
        "window.paragraph = one('.turn[data-live] .prose p'); window.first = paragraph.firstChild;
        const range = document.createRange(); range.setStart(first, 0); range.setEnd(first, 6);
        getSelection().removeAllRanges(); getSelection().addRange(range);",
        &[],
    );
    page.until("it grows", "one('.turn .prose').innerText.includes('token60')");
    assert_eq!(browser.text("getSelection().toString()"), "token1", "the selection stays");
    let turn = page.settled();
    assert_eq!(turn.reply, crate::page::tokens(120));
    assert!(browser.is("paragraph.isConnected && paragraph.firstChild === first"), "it was never drawn anew");
    // Marks that turn words into something else are drawn all the same.
    let words = ["word"; 60].join(" ");
    let turn =
        page.ask(&say_lines(&format!("{words} **bold {words}** {words} `code` [x](https://a.example)")));
    assert!(turn.reply.starts_with(&format!("{words} bold {words} {words} code x")), "{}", turn.reply);
    assert_eq!(
        browser.text("all('.turn').at(-1).querySelectorAll('.prose :is(strong, code, a)').length"),
        "3"
    );
    page.assert_clean();
}
