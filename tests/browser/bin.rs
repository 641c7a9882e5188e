//! Deleting with a way back: Undo, and the bin.

use aethon_tests::Request;
use aethon_tests::browser::keys::{ENTER, ESCAPE};
use serde_json::json;

use crate::accessibility::assert_no_barriers;
use crate::page::Page;

/// Opens the menu of a conversation by its name and picks an entry.
fn pick(page: &Page, name: &str, entry: &str) {
    let options = format!("one('[data-name=\"{name}\"] button')");
    page.until("the conversation is listed", &options);
    page.browser.run(&format!("{options}.closest('li').querySelector('a').focus(); {options}.click();"), &[]);
    page.browser.click(&format!("//button[@role='menuitem'][normalize-space()='{entry}']"));
}

fn delete(page: &Page, name: &str, button: &str) {
    pick(page, name, "Delete");
    page.until("it asks", "one('dialog[open]')");
    page.browser.click(&format!("//dialog//button[normalize-space()='{button}']"));
    page.until("it is gone", &format!("!one('[data-name=\"{name}\"]')"));
}

#[test]
fn a_deleted_conversation_comes_back_by_undo_and_from_the_bin() {
    let Some(page) = Page::open(&[]) else { return };
    let (browser, server) = (&page.browser, page.server());
    for name in ["apples", "pears"] {
        page.go(&format!("/#/{name}"));
        page.until("it is open", "shown(one('.welcome'))");
        page.ask(&format!("!say {name}"));
    }
    pick(&page, "pears", "Delete");
    page.until("it says for how long", "/in the bin for 7 days/.test(one('dialog[open]')?.innerText)");
    assert_no_barriers(browser, "the question");
    browser.click("//dialog//button[normalize-space()='Delete']");
    page.until("it is gone", "!one('[data-name=pears]') && shown(one('.welcome'))");
    assert_eq!(server.get("/api/sessions/webchat:pears").status, 404);
    browser.click_words("Undo");
    page.until(
        "it is open again",
        "location.hash === '#/pears' && one('.reply .prose')?.innerText === 'pears'",
    );
    page.until("and listed", "one('[data-name=pears]')");

    delete(&page, "apples", "Delete");
    delete(&page, "pears", "Delete for good");
    browser.click(".sidebar [aria-label='Bin']");
    page.until("the bin has one of them", "all('.bin-row').length === 1");
    assert!(browser.is("/apples/.test(one('.bin-row').innerText) && /7 days/.test(one('dialog').innerText)"));
    assert_no_barriers(browser, "the bin");
    browser.click(".bin-row [aria-label^='Restore']");
    page.until("it is listed again", "one('[data-name=apples]') && /empty/.test(one('dialog').innerText)");
    browser.chord(&[ESCAPE]);
    page.until("the bin is closed", "!one('dialog')");
    assert_eq!(server.get("/api/sessions/webchat:apples").status, 200);

    delete(&page, "apples", "Delete");
    browser.click(".sidebar [aria-label='Bin']");
    browser.click("//dialog//button[normalize-space()='Empty the bin']");
    page.until("it asks", "all('dialog[open]').length === 2");
    browser.click("(//dialog)[last()]//button[normalize-space()='Delete for good']");
    page.until(
        "it is empty",
        "all('dialog').length === 1 && /The bin is empty/.test(one('dialog').innerText)",
    );
    assert_eq!(server.get("/api/sessions/bin").json()["count"], 0);
    page.assert_clean();
}

#[test]
fn without_a_bin_the_question_says_so() {
    let Some(page) = Page::open(&["session.bin_days=0"]) else { return };
    page.ask("!say hello");
    pick(&page, "default", "Delete");
    page.until("there is no way back", "/will be gone for good/.test(one('dialog[open]')?.innerText)");
    assert!(!page.browser.is("/bin/i.test(one('dialog[open]').innerText)"));
    page.browser.click("//dialog//button[normalize-space()='Delete']");
    page.until("it is gone", "!one('.session')");
    assert!(!page.browser.is("/Undo/.test(one('.toasts').innerText)"));
    page.assert_clean();
}

#[test]
fn several_conversations_come_back_in_the_dashboard() {
    let Some(page) = Page::open(&[]) else { return };
    let (browser, server) = (&page.browser, page.server());
    for name in ["apple", "banana"] {
        server.chat(name).say("m", "!say hello");
        let title = Request::new("PATCH", &format!("/api/sessions/webchat:{name}"));
        let title = title.header("Content-Type", "application/json").body(json!({"title": name}).to_string());
        assert_eq!(server.send(&title).status, 200);
    }
    page.go("/dashboard#/sessions");
    page.until("they are listed", "all('input.pick').length >= 2");
    for name in ["apple", "banana"] {
        browser.click(&format!("//input[@aria-label='Choose “{name}”']"));
    }
    browser.click("//div[contains(@class,'selection-bar')]//button[normalize-space()='Delete']");
    page.until("it asks", "one('dialog[open]')");
    browser.click("//dialog//button[normalize-space()='Delete']");
    page.until("they are gone", "!one('.data-table')");
    assert_eq!(server.get("/api/sessions/bin").json()["count"], 2);
    browser.click_words("Undo");
    page.until(
        "they are back",
        "/apple/.test(one('main').innerText) && /banana/.test(one('main').innerText)",
    );
    assert_eq!(server.get("/api/sessions").json()["count"], 2);
    page.assert_clean();
}

/// Presses "Undo" by the keyboard.
fn undo(page: &Page) {
    page.until("there is a way back", "all('.toast button').at(-1)?.innerText === 'Undo'");
    page.browser.run("all('.toast button').at(-1).focus()", &[]);
    page.browser.chord(&[ENTER]);
}

#[test]
fn undo_by_the_keyboard_leads_to_what_came_back() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    for name in ["apples", "pears"] {
        page.go(&format!("/#/{name}"));
        page.until("it is open", "shown(one('.welcome'))");
        page.ask(&format!("!say {name}"));
    }
    delete(&page, "apples", "Delete");
    undo(&page);
    page.until("its row has the focus", "document.activeElement === one('[data-name=apples] a')");
    assert_eq!(browser.text("location.hash"), "#/pears", "the open conversation stays open");
    delete(&page, "pears", "Delete");
    undo(&page);
    page.until("it is open again", "location.hash === '#/pears' && one('[data-name=pears]')");
    page.until("one can write in it", "document.activeElement.id === 'message'");

    page.go("/dashboard#/sessions");
    page.until("they are listed", "/apples/.test(one('.data-table')?.innerText)");
    browser.click("[aria-label='Actions for !say apples']");
    browser.click("//button[@role='menuitem'][normalize-space()='Delete']");
    page.until("it asks", "one('dialog[open]')");
    browser.click("//dialog//button[normalize-space()='Delete']");
    page.until("it is gone", "!/apples/.test(one('.data-table').innerText)");
    undo(&page);
    page.until("it is back", "/apples/.test(one('.data-table').innerText)");
    page.until("the panel has the focus", "document.activeElement.id === 'content'");
    page.assert_clean();
}
