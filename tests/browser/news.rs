//! What other devices and programs do: the list of conversations follows, and the person is told.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::page::Page;

/// The row of a conversation.
fn row(name: &str) -> String {
    format!("one('.session[data-name=\"{name}\"]')")
}

/// The heading under which a conversation stands.
fn group(name: &str) -> String {
    format!("{}?.closest('ul').previousElementSibling.textContent", row(name))
}

/// Waits until an expression is true, which a change on another device must make so within a second or so.
fn soon(page: &Page, what: &str, expression: &str) {
    let begun = Instant::now();
    page.until(what, expression);
    assert!(begun.elapsed() < Duration::from_secs(5), "{what}: {:?}", begun.elapsed());
}

#[test]
fn list_follows_another_device_and_announces_its_reply() {
    let Some(page) = Page::open(&[]) else { return };
    page.ask("!say mine");
    let mut other = page.server().chat("other");
    other.send_json(&json!({"type": "message", "id": "m1", "text": "!stream 60 40"}));
    soon(&page, "it is listed and busy", &format!("{}?.querySelector('.session-busy')", row("other")));
    other.until("done");
    soon(&page, "it is unread", &format!("{}?.querySelector('.session-unread')", row("other")));
    assert!(!page.browser.is(&format!("{}.querySelector('.session-busy')", row("other"))));
    soon(&page, "it stands under its own heading", &format!("{} === 'Unread'", group("other")));
    page.until("the title counts it", "/^\\(1\\) !say mine/.test(document.title)");
    page.until("a message tells of it", "/“!stream 60 40” has an answer/.test(one('.toasts').innerText)");
    page.browser.click_words("Open");
    page.until(
        "it is open",
        "location.hash === '#/other' && one('.reply .prose')?.innerText.includes('token60')",
    );
    soon(&page, "it is read", &format!("!{}?.querySelector('.session-unread')", row("other")));
    soon(&page, "it stands among those of its day", &format!("{} === 'Today'", group("other")));
    page.until("nothing is counted", "!/^\\(/.test(document.title)");
    let is_read = || {
        let list = page.server().get("/api/sessions").json();
        list["sessions"].as_array().unwrap().iter().all(|session| session["unread"] == false)
    };
    let deadline = Instant::now() + Duration::from_secs(5);
    while !is_read() {
        assert!(Instant::now() < deadline, "the server knows that everything was read");
        std::thread::sleep(Duration::from_millis(50));
    }
    // The conversation that is in view makes no noise.
    page.ask("!say seen at once");
    assert!(!page.browser.is("/seen at once/.test(one('.toasts').innerText)"));
    page.assert_clean();
}

#[test]
fn conversation_that_is_opened_under_unread_stays_under_the_pointer() {
    let Some(page) = Page::open(&[]) else { return };
    page.ask("!say mine");
    page.server().chat("other").say("m1", "!say theirs");
    soon(&page, "it is unread", &format!("{} === 'Unread'", group("other")));
    let pointer = |event: &str| {
        page.browser.run(&format!("one('.sessions').dispatchEvent(new PointerEvent('{event}'));"), &[]);
    };
    pointer("pointerenter");
    page.browser.click(".session[data-name=\"other\"] a");
    let is_read =
        format!("location.hash === '#/other' && !{}.querySelector('.session-unread')", row("other"));
    soon(&page, "it is open and read", &is_read);
    // Something else is drawn meanwhile.
    page.server().chat("third").say("m1", "!say later");
    soon(&page, "another one is unread", &format!("{} === 'Unread'", group("third")));
    assert!(page.browser.is(&format!("{} === 'Unread'", group("other"))), "it stays where it was pressed");
    pointer("pointerleave");
    soon(&page, "it goes to those of its day", &format!("{} === 'Today'", group("other")));
    page.assert_clean();
}

#[test]
fn question_of_another_conversation_is_announced_at_once() {
    let settings = ["approval.enabled=true", "approval.requires_approval=[\"current_time\"]"];
    let Some(page) = Page::open(&settings) else { return };
    page.ask("!say mine");
    let mut other = page.server().chat("other");
    other.send_json(&json!({"type": "message", "id": "m1", "text": "!tool current_time {}"}));
    soon(&page, "it waits", &format!("/Waits for you/.test({}?.innerText)", row("other")));
    page.until("the title says so", "/^Approval needed/.test(document.title)");
    page.until("a message tells of it", "/waits for your decision/.test(one('.toasts').innerText)");
    page.browser.click_words("Decide");
    page.until("the question is there", "location.hash === '#/other' && shown(one('.approval'))");
    // A press that comes too early does not count.
    let press = "(all('.approval-actions button').find((b) => b.innerText === 'Deny')?.click(), !one('.approval-actions'))";
    page.until("the press counts", press);
    soon(&page, "it waits no more", &format!("!/Waits for you/.test({}?.innerText)", row("other")));
    page.assert_clean();
}

#[test]
fn list_is_right_again_after_a_restart_and_a_removal_elsewhere() {
    let Some(mut page) = Page::open(&[]) else { return };
    page.ask("!say mine");
    page.server().chat("other").say("m1", "!say theirs");
    soon(&page, "it is listed", &row("other"));
    let home = page.terminate_server();
    page.start_server(home);
    page.reconnect();
    page.server().chat("third").say("m1", "!say later");
    soon(&page, "a new one is listed", &row("third"));
    let removed = aethon_tests::Request::new("DELETE", "/api/sessions/webchat%3Aother");
    assert_eq!(page.server().send(&removed).status, 200);
    soon(&page, "the removed one is gone", &format!("!{} && {}", row("other"), row("third")));
}

#[test]
fn notifications_are_asked_for_by_a_press_only() {
    let Some(page) = Page::open(&[]) else { return };
    page.browser.run(
        "window.asked = 0; Notification.requestPermission = async () => { asked += 1; return 'denied'; };",
        &[],
    );
    page.ask("!say mine");
    page.server().chat("other").say("m1", "!say theirs");
    soon(&page, "it is unread", &format!("{}?.querySelector('.session-unread')", row("other")));
    assert!(page.browser.is("asked === 0"), "nothing was asked for");
    page.browser.click("[aria-label='Tell me when something happens elsewhere']");
    page.until(
        "it says why not",
        "asked === 1 && /does not allow notifications/.test(one('.toasts').innerText)",
    );
    assert!(page.browser.is("one('[aria-label^=\"Tell me when\"]').ariaPressed === 'false'"));
}
