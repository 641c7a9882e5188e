//! Temporary conversations: the page says what they are, keeps them out of its list, and ends them when they are left.

use aethon_tests::Server;
use aethon_tests::browser::keys::ENTER;

use crate::accessibility::assert_no_barriers_in_both;
use crate::page::Page;

const NOTE: &str = "shown(one('.temporary'))";

fn name(page: &Page) -> String {
    page.browser.text("location.hash.slice(2)")
}

fn status(page: &Page, name: &str) -> u16 {
    page.server().get(&format!("/api/sessions/webchat:{name}")).status
}

fn begin(page: &Page) -> String {
    page.browser.click("[aria-label='Temporary chat']");
    page.until("it says what it is", &format!("{NOTE} && /Not stored/.test(one('.temporary').innerText)"));
    name(page)
}

#[test]
fn temporary_conversation_is_gone_when_another_one_is_opened() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.ask("!say lasting");
    let first = begin(&page);
    assert_eq!(page.ask("!say okapi").reply, "okapi");
    page.settled();
    assert_no_barriers_in_both(browser, "a temporary conversation");
    assert_eq!(status(&page, &first), 200);
    assert_eq!(browser.text("one('.topbar h1').textContent"), "Temporary chat");
    assert!(!browser.is("/okapi/.test(document.title)"), "browsers keep titles");
    assert!(!browser.is("/okapi|temporary/.test(one('.sessions').innerHTML)"), "it is in no list");
    assert!(!browser.is("Object.values(localStorage).some((text) => /temporary-|okapi/.test(text))"));

    browser.click("//aside//button[normalize-space()='New chat']");
    page.until("another one is open", &format!("!{NOTE} && shown(one('.welcome'))"));
    page.until(
        "it is gone",
        &format!(
            "fetch('/api/sessions/webchat:{first}?optional=true').then((answer) => answer.status === 204)"
        ),
    );
    assert_eq!(status(&page, "default"), 200, "the other one stays");

    // The slash menu begins one, too; what is typed there is there again on the way back.
    browser.click("#message");
    browser.type_keys("/temp");
    page.until("it is offered", "all('.slash-menu .option').length === 1");
    browser.chord(&[ENTER]);
    page.until("it is open", NOTE);
    let second = name(&page);
    assert_ne!(first, second);
    page.fill("#message", "half a thought");
    browser.run("history.back()", &[]);
    page.until("it was left", &format!("!{NOTE}"));
    browser.run("history.forward()", &[]);
    page.until("what was typed is there", "one('#message').value === 'half a thought'");
    page.assert_clean();
}

#[test]
fn reload_ends_a_temporary_conversation_and_keeps_what_is_typed() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    let first = begin(&page);
    page.ask("!say okapi");
    page.fill("#message", "half a thought");
    browser.reload();
    page.until(
        "it is a new one",
        &format!("{NOTE} && shown(one('.welcome')) && location.hash !== '#/{first}'"),
    );
    page.until("it says so", "/temporary chat that was open here is over/.test(one('.toasts').innerText)");
    assert_eq!(browser.text("one('#message').value"), "half a thought");
    page.until(
        "the other is gone",
        &format!(
            "fetch('/api/sessions/webchat:{first}?optional=true').then((answer) => answer.status === 204)"
        ),
    );
    page.ask("!say again");
    let second = name(&page);
    page.go("/docs");
    page.until("the page was left", "shown(one('h1'))");
    aethon_tests::eventually("it is gone", || (status(&page, &second) == 404).then_some(()));
    page.go("/");
    page.until("the next visit opens a lasting one", &format!("shown(one('#message')) && !{NOTE}"));
    page.assert_clean();
}

#[test]
fn temporary_conversation_on_a_phone_and_in_german() {
    let Some(page) = Page::beside(Server::start(&[])) else { return };
    let agent = page.browser.text("navigator.userAgent");
    page.browser.devtools(
        "Emulation.setUserAgentOverride",
        &serde_json::json!({"userAgent": agent, "acceptLanguage": "de-DE,de"}),
    );
    page.go("/");
    page.become_phone(390, 844);
    let browser = &page.browser;
    browser.click(".topbar .drawer-button[aria-controls]");
    page.until("the list is open", "shown(one('[aria-label=\"Temporärer Chat\"]'))");
    let size = "(({width, height}) => width >= 44 && height >= 44)(one('[aria-label=\"Temporärer Chat\"]').getBoundingClientRect())";
    // It has its size only once the drawer has come to rest.
    page.until("a thumb hits it", size);
    browser.click("[aria-label='Temporärer Chat']");
    page.until(
        "it is open",
        &format!("{NOTE} && /Wird nicht gespeichert/.test(one('.temporary').innerText)"),
    );
    assert!(browser.is("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out");
    assert_no_barriers_in_both(browser, "a temporary conversation in German");
    page.assert_clean();
}
