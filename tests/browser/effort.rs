//! How much the model is to think: chosen beside the message box, for one conversation at a time.

use aethon_tests::browser::keys::{DOWN, TAB};

use crate::page::Page;

/// Notes every frame that the page sends.
const LISTEN: &str = "window.sent = [];
    const send = WebSocket.prototype.send;
    WebSocket.prototype.send = function (text) { window.sent.push(JSON.parse(text)); return send.call(this, text); };";

/// The effort of the newest message; empty where it has none.
const EFFORT: &str = "window.sent.filter((frame) => frame.type === 'message').at(-1).effort ?? ''";

#[test]
fn effort_is_sent_with_the_messages_of_its_conversation() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.until("the page is ready", "shown(one('.suggestions button'))");
    browser.run(LISTEN, &[]);
    assert_eq!(browser.text("one('label[for=effort]').innerText"), "Thinking");
    page.ask("!say one");
    assert_eq!(browser.text(EFFORT), "", "nothing is chosen at first");

    browser.run("one('#effort').focus()", &[]);
    // default, none, low
    browser.chord(&[DOWN]);
    browser.chord(&[DOWN]);
    browser.chord(&[TAB]);
    assert_eq!(browser.text("one('#effort').value"), "low", "it is chosen with the keyboard");
    page.ask("!say two");
    assert_eq!(browser.text(EFFORT), "low");
    page.ask("!say three");
    assert_eq!(browser.text(EFFORT), "low", "it stays");

    browser.click_words("New chat");
    page.until("it is empty", "shown(one('.welcome')) && all('.turn').length === 0");
    page.ask("!say four");
    assert_eq!(browser.text(EFFORT), "", "another conversation has its own");
    browser.click(".session:not([data-current]) a");
    page.until("the first is back", "one('#effort').value === 'low'");
    page.assert_clean();
}
