//! Which model answers: chosen beside the message box, kept with the conversation, the same on every device.

use aethon_tests::browser::keys::{DOWN, ENTER, ESCAPE};
use aethon_tests::http::Request;
use serde_json::{Value, json};

use crate::page::Page;

const BUTTON: &str = "one('.composer-model').innerText.trim()";

const SETTINGS: [&str; 2] =
    ["model.named.second={ model_id = \"fake-2\" }", "model.named.third={ model_id = \"fake-3\" }"];

/// The model that the conversation has on the server.
fn stored(page: &Page, name: &str) -> Value {
    page.server().get(&format!("/api/sessions/webchat:{name}")).json()["model"].clone()
}

/// Opens the list, narrows it, and waits until only what was meant is left.
fn search(page: &Page, words: &str) {
    page.browser.click(".composer-model");
    page.until("the list is there", "all('.models [role=option]').length > 2");
    page.browser.type_keys(words);
    page.until("it is narrowed", "all('.models [role=option]').length === 1");
}

#[test]
fn chosen_model_answers_in_its_conversation_only() {
    let Some(page) = Page::open(&SETTINGS) else { return };
    let browser = &page.browser;
    page.until("the configured one is named", &format!("{BUTTON} === 'fake'"));

    // Before the first message there is no conversation that could keep it.
    search(&page, "second");
    assert!(browser.is("document.activeElement.getAttribute('role') === 'combobox'"), "typing narrows");
    assert!(browser.is(
        "one('#' + document.activeElement.getAttribute('aria-activedescendant')).innerText.includes('second')"
    ));
    browser.chord(&[ENTER]);
    page.until("it is named", &format!("{BUTTON} === 'second' && !one('.models')"));
    assert!(browser.is("document.activeElement === one('.composer-model')"), "the focus is back");
    page.ask("!say one");
    assert_eq!(page.server().get("/api/sessions").json()["sessions"][0]["model"], "second", "it is kept");
    let id = page.server().get("/api/sessions").json()["sessions"][0]["session_id"].clone();
    let id = id.as_str().unwrap();
    let messages = page.server().get(&format!("/api/sessions/{id}")).json()["messages"].clone();
    assert_eq!(messages[1]["model"], "fake-2", "it answered: {messages}");

    browser.click_words("New chat");
    page.until("another has the default", &format!("shown(one('.welcome')) && {BUTTON} === 'fake'"));
    browser.click(".session:not([data-current]) a");
    page.until("the first has its own", &format!("{BUTTON} === 'second'"));
    browser.reload();
    page.until("after a reload as well", &format!("{BUTTON} === 'second'"));

    // Back to the default, which is the first of all, with the keyboard alone.
    browser.run("one('.composer-model').focus()", &[]);
    browser.chord(&[ENTER]);
    page.until("the list is there", "all('.models [role=option]').length > 2");
    browser.chord(&[ESCAPE]);
    page.until("Escape closes it", &format!("!one('.models') && {BUTTON} === 'second'"));
    browser.chord(&[ENTER]);
    page.until("the list is there again", "all('.models [role=option]').length > 2");
    let first = "one('.models .is-active').innerText.startsWith('Default')";
    for _ in 0..20 {
        if browser.is(first) {
            break;
        }
        browser.chord(&[DOWN]);
    }
    assert!(browser.is(first), "the arrows go round");
    browser.chord(&[ENTER]);
    page.until("it is the default", &format!("{BUTTON} === 'fake'"));
    page.ask("!say two");
    let messages = page.server().get(&format!("/api/sessions/{id}")).json()["messages"].clone();
    assert_eq!(messages[3]["model"], "fake", "{messages}");
    page.assert_clean();
}

#[test]
fn choice_of_another_device_is_shown_at_once() {
    let Some(page) = Page::open(&SETTINGS) else { return };
    page.ask("!say one");
    let name = page.browser.text("decodeURIComponent(location.hash.slice(2))");
    let change = |change: Value| {
        let request = Request::new("PATCH", &format!("/api/sessions/webchat:{name}"))
            .header("Content-Type", "application/json")
            .body(change.to_string());
        let answer = page.server().send(&request);
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    change(json!({"model": "third", "effort": "high"}));
    page.until("both are shown", &format!("{BUTTON} === 'third' && one('#effort').value === 'high'"));
    change(json!({"model": null, "effort": null}));
    page.until("both are the default", &format!("{BUTTON} === 'fake' && one('#effort').value === ''"));
    // A choice that this page makes is there for the others.
    search(&page, "second");
    page.browser.click(".models [role=option]");
    page.until("it is stored", &format!("{BUTTON} === 'second'"));
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
    while stored(&page, &name) != "second" {
        assert!(std::time::Instant::now() < deadline, "the server keeps it");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    page.assert_clean();
}
