//! The token: asked for in the page, exchanged for a cookie, kept nowhere else. And a server without a model.

use aethon_tests::Server;
use aethon_tests::browser::keys::ENTER;
use serde_json::Value;

use crate::page::Page;

const TOKEN: &str = "s3cret-t0ken-of-the-owner";
const SET: [&str; 1] = ["dashboard.auth_token=s3cret-t0ken-of-the-owner"];

/// The token is in no address, in nothing that scripts can read, and in the page neither.
fn assert_hidden(page: &Page) {
    let asked = page.browser.asked();
    assert!(asked.iter().any(|address| address.contains("/ws/")), "sockets are among them: {asked:?}");
    assert!(!asked.iter().any(|address| address.contains(TOKEN) || address.contains("token=")), "{asked:?}");
    let readable = page.browser.run(
        "return JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href, name,
            document.documentElement.outerHTML, all('input').map((box) => box.value)])",
        &[],
    );
    assert!(!readable.as_str().unwrap().contains(TOKEN), "{readable}");
}

fn cookie(page: &Page) -> Option<Value> {
    page.browser.cookies().into_iter().find(|cookie| cookie["name"] == "aethon_dash")
}

#[test]
fn the_chat_asks_for_the_token_in_the_page() {
    let Some(page) = Page::beside(Server::start(&SET)) else { return };
    page.go("/");
    page.until("it asks", "shown(one('#token'))");
    page.until("the box has the focus", "document.activeElement.id === 'token'");
    assert!(!page.browser.is("shown(one('#message'))"), "there is nothing to write to");
    for (wrong, complaint) in [("", "Enter the token."), ("wrong", "not right"), ("falsch-ß", "not right")] {
        page.fill("#token", wrong);
        page.browser.chord(&[ENTER]);
        page.until("it says so", &format!("one('#token-error').innerText.includes('{complaint}')"));
        page.until("it can be tried again", "document.activeElement.id === 'token'");
        assert!(cookie(&page).is_none(), "{wrong}");
    }
    page.fill("#token", TOKEN);
    page.browser.click_words("Sign in");
    page.until("the chat is there", "shown(one('#message')) && shown(one('.welcome'))");
    let cookie = cookie(&page).expect("a cookie is set");
    assert_eq!((&cookie["httpOnly"], &cookie["sameSite"]), (&Value::Bool(true), &Value::from("Strict")));
    assert!(!cookie["value"].as_str().unwrap().contains(TOKEN), "{cookie}");
    assert_eq!(page.ask("!say signed in").reply, "signed in");
    page.browser.reload();
    page.until("the browser stays signed in", "one('.reply .prose')?.innerText === 'signed in'");
    assert_hidden(&page);
    page.assert_clean();
}

#[test]
fn the_dashboard_signs_in_and_out() {
    let Some(page) = Page::beside(Server::start(&SET)) else { return };
    page.go("/dashboard#/logs");
    page.until("it asks", "shown(one('#token')) && document.activeElement.id === 'token'");
    page.browser.type_keys(TOKEN);
    page.browser.chord(&[ENTER]);
    page.until(
        "the panel is there",
        "one('h1')?.innerText === 'Logs' && shown(one('.panel-logs .data-table'))",
    );
    page.until("it is live", "/Live/.test(one('[role=status]').innerText)");
    assert_hidden(&page);
    page.browser.click("a[data-panel=overview]");
    page.until(
        "the state is told",
        "/Running/.test(one('.cards')?.innerText) && /fake/.test(one('.cards').innerText)",
    );
    page.browser.click("//button[normalize-space()='Sign out']");
    page.until("it asks again", "shown(one('#token'))");
    assert!(cookie(&page).is_none(), "the cookie is gone");
    page.go("/");
    page.until("the chat asks too", "shown(one('#token'))");
    page.assert_clean();
}

#[test]
fn revoked_token_asks_for_sign_in_again() {
    let Some(page) = Page::beside(Server::start(&SET)) else { return };
    page.go("/");
    page.fill("#token", TOKEN);
    page.browser.chord(&[ENTER]);
    page.until("the chat is there", "shown(one('.welcome'))");
    page.ask("!say kept");
    page.browser.try_command("DELETE", "/cookie", None).expect("cookies can be removed");
    page.browser.reload();
    page.until("it asks again", "shown(one('#token'))");
    assert!(!page.browser.is("document.body.innerText.includes('kept')"), "nothing is shown");
    page.assert_clean();
}

#[test]
fn page_without_a_model_names_the_missing_key() {
    let Some(page) = Page::open(&["model.provider=openai"]) else { return };
    let note = page.until("it says so", "shown(one('.setup')) && one('.setup').innerText");
    let note = note.as_str().unwrap();
    assert!(note.contains("Choose a model to begin") && note.contains("OPENAI_API_KEY"), "{note}");
    let turn = page.ask("hello");
    assert!(turn.state.contains("OPENAI_API_KEY"), "{turn:?}");
    assert!(!page.browser.is("one('.dock .note')"), "it is said once");
    page.assert_clean();
}
