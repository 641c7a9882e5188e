//! A first conversation: written by keyboard, answered as rendered Markdown, streamed, stopped, asked again.

use aethon_tests::browser::keys::{CONTROL, ENTER, ESCAPE};
use serde_json::json;

use crate::page::{Page, tokens};

#[test]
fn message_is_written_and_answered_by_keyboard_alone() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    let greeting = page.until("it greets", "shown(one('.welcome h2')) && one('.welcome h2').innerText");
    assert!(greeting.as_str().unwrap().starts_with("Good "), "{greeting}");
    page.until("it names the model", "/fake/.test(one('.facts')?.innerText)");
    page.until("the box has the focus", "document.activeElement.id === 'message'");
    page.type_lines("first line\nsecond line");
    assert_eq!(browser.text("one('#message').value"), "first line\nsecond line");
    assert!(page.turns().is_empty(), "Shift+Enter sends nothing");
    browser.chord(&[ENTER]);
    let turn = page.settled();
    assert_eq!(turn.said, "first line\nsecond line");
    assert_eq!(browser.text("one('#message').value"), "", "the box is empty again");
    let rendered = [
        "one('.prose .depth-1').innerText === 'Hello, this is Aethon'",
        "one('.prose .depth-2').innerText === 'What to do next'",
        "one('.prose ol > li ul > li code').innerText === 'aethon-cli doctor'",
        "all('.prose input[type=checkbox]').map((box) => box.checked).join() === 'true,false'",
        "one('.prose table th').innerText === 'directive' && all('.prose table tbody tr').length === 3",
        "one('.prose em').innerText === 'every' && one('.prose strong').innerText === 'directive'",
        "one('.code figcaption span').innerText.toLowerCase() === 'rust'",
    ];
    for expression in rendered {
        assert!(browser.is(expression), "{expression}\n{turn:?}");
    }
    page.until("code is coloured", "one('.code code span[class^=hl-]')");

    page.ask("!say see [the book](https://example.com/book)");
    let said = browser.text("all('.reply .prose').at(-1).innerText");
    assert_eq!(said.matches("example.com").count(), 1, "where a link leads is said once: {said}");

    let origin = browser.text("location.origin");
    let permission =
        json!({"origin": origin, "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]});
    browser.devtools("Browser.grantPermissions", &permission);
    browser.click(".code figcaption button");
    page.until("it says so", "one('.code figcaption button').ariaLabel === 'Copied'");
    browser.run("one('#message').focus()", &[]);
    browser.chord(&[CONTROL, 'v']);
    page.until("the code was copied", "one('#message').value.startsWith('fn main() {\\n    println!')");
    page.assert_clean();
}

#[test]
fn a_reply_streams_in_and_can_be_stopped() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.say("!stream 60 30");
    page.until("it begins", "one('.reply .prose')?.innerText.includes('token1')");
    let early = page.turns()[0].clone();
    assert!(early.is_live, "{early:?}");
    let grown = format!("one('.reply .prose').innerText.length > {} + 20", early.reply.len());
    page.until("it grows", &grown);
    assert!(page.turns()[0].reply.starts_with(&early.reply), "what was said stays");
    assert!(page.turns()[0].is_live, "it goes on");
    let whole = page.settled();
    assert_eq!((whole.reply, whole.state.as_str()), (tokens(60), ""));
    assert!(!browser.is("shown(one('.stop'))"), "there is nothing to stop");

    // By the key, from where one writes; and by the button.
    for stop in ["key", "button"] {
        page.say("!stream 500 30");
        page.until("it begins", "one('.turn[data-live] .prose')?.innerText.includes('token3')");
        match stop {
            "key" => browser.chord(&[ESCAPE]),
            _ => browser.click("[aria-label=Stop]"),
        }
        let stopped = page.settled();
        assert_eq!(stopped.state, "You stopped this reply.", "{stop}");
        assert!(stopped.reply.starts_with("token1 token2 token3"), "what was said is kept: {stopped:?}");
        assert!(!stopped.reply.contains("token500"), "{stop}");
        page.until("the button is gone", "!shown(one('.stop'))");
    }
    let before = page.turns();
    browser.reload();
    page.until("the transcript is there", "all('.turn').length === 3");
    assert_eq!(page.turns(), before, "after a reload it is the same");
    page.assert_clean();
}

#[test]
fn failed_reply_shows_a_remedy_and_can_be_retried() {
    let Some(page) = Page::open(&["model.max_retries=0"]) else { return };
    let browser = &page.browser;
    let turn = page.ask("!error auth 2\n!say it worked");
    assert!(turn.state.starts_with("That did not work"), "{turn:?}");
    assert!(turn.state.contains("key"), "it says what to do: {turn:?}");
    page.until("the failure can be tried again", "shown(one('.note[data-tone=bad] button'))");
    browser.reload();
    page.until("it is told after a reload too", "/That did not work/.test(one('.turn')?.innerText)");
    browser.click_words("Try again");
    page.until("the turn begins anew", "all('.turn').length === 1");
    let again = page.settled();
    assert_eq!(again.said, turn.said, "the question is there once");
    page.assert_clean();
}
