//! Channels: who is let in by a code, and what could not be delivered.

use std::sync::Arc;

use aethon_tests::telegram::Telegram;
use aethon_tests::{Server, eventually};
use serde_json::json;

use crate::page::Page;

#[test]
fn sender_is_paired_and_failed_delivery_is_resent_and_removed() {
    let telegram = Arc::new(Telegram::start());
    let settings = telegram.settings();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let Some(page) = Page::beside(Server::start(&settings)) else { return };
    telegram.await_poll();
    let (browser, server) = (&page.browser, page.server());
    page.go("/dashboard#/channels");
    let row = |name: &str, words: &str| {
        format!(
            "all('main tr').some((row) => row.innerText.includes('{name}') && row.innerText.includes('{words}'))"
        )
    };
    page.until("Telegram runs", &row("Telegram", "Running"));
    assert!(browser.is(&row("Matrix", "Off")) && browser.is(&row("Matrix", "Set up")));

    page.until("no one is paired", "/No one is paired/.test(one('main').innerText)");
    browser.click("//button[normalize-space()='Make a code']");
    page.until("the code is shown", "/\\/pair [A-Z2-9]{8}/.test(one('dialog')?.innerText)");
    let code = browser.text("one('dialog').innerText.match(/\\/pair ([A-Z2-9]{8})/)[1]");
    browser.click("//dialog//button[normalize-space()='Close']");
    telegram.say(42, &format!("/pair {code}"));
    let paired = || server.get("/api/pairings").json()["pairings"].clone();
    eventually("they are paired", || {
        (paired() == json!([{"channel": "telegram", "sender": "42"}])).then_some(())
    });
    browser.reload();
    page.until("they are listed", &row("42", "Take back"));
    browser.click("//button[normalize-space()='Enter a code']");
    page.fill("dialog input", "AAAAAAAA");
    browser.click("//dialog//button[normalize-space()='Save']");
    page.until("a wrong code is told", "/unknown code/i.test(one('dialog').innerText)");
    browser.click("//dialog//button[normalize-space()='Cancel']");
    browser.click("(//dialog)[last()]//button[normalize-space()='Leave']");
    page.until("it is closed", "!one('dialog')");
    browser.click("//button[normalize-space()='Take back']");
    browser.click("//dialog//button[normalize-space()='Take back']");
    page.until("the pairing is gone", "/No one is paired/.test(one('main').innerText)");
    assert_eq!(paired(), json!([]));

    let hostile = "!say <img src=x onerror=window.__xss=1>";
    let body = json!({"text": hostile, "channel": "telegram", "recipient": "@nobody"});
    assert_eq!(server.post("/webhook/trigger", &body).status, 200);
    page.until("it was refused", &row("onerror", "Given up"));
    assert!(browser.is("!one('main img') && typeof window.__xss === 'undefined'"));
    let tried = || server.get("/api/outbox").json()["deliveries"][0]["attempts"].as_u64();
    let before = tried();
    browser.click("#deliveries [aria-haspopup]");
    browser.click("//button[@role='menuitem'][normalize-space()='Send again']");
    eventually("it is tried again", || (tried() > before).then_some(()));
    let attempts = format!("{} attempts", before.unwrap() + 1);
    page.until(
        "and refused again",
        &format!("{} && {}", row("onerror", "Given up"), row("onerror", &attempts)),
    );
    browser.click("#deliveries [aria-haspopup]");
    browser.click("//button[@role='menuitem'][normalize-space()='Remove']");
    browser.click("//dialog//button[normalize-space()='Remove']");
    page.until("it is gone", "/Everything was delivered/.test(one('main').innerText)");
    assert_eq!(server.get("/api/outbox").json()["count"], 0);
    page.assert_clean();
}
