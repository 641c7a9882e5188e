//! Memory, features and configuration.

use serde_json::json;

use crate::page::Page;

#[test]
fn a_memory_is_added_found_corrected_and_forgotten() {
    let Some(page) = Page::open(&[]) else { return };
    let (browser, server) = (&page.browser, page.server());
    page.go("/dashboard#/memory");
    page.until("it says what this is", "/Nothing is remembered yet/.test(one('main').innerText)");
    browser.click_words("Add a memory");
    page.until(
        "the form is there",
        "shown(one('dialog textarea')) && document.activeElement.tagName === 'TEXTAREA'",
    );
    page.fill("dialog textarea", "password: hunter2hunter2");
    browser.click("//dialog//button[normalize-space()='Add a memory']");
    page.until("a secret is refused, at its field", "one('dialog .field-error, dialog .form-problem').innerText !== '' || one('dialog .form-problem').innerText !== ''");
    page.fill("dialog textarea", "Rent is due on the 5th.");
    page.fill("dialog input", "money");
    browser.click("//dialog//button[normalize-space()='Add a memory']");
    page.until(
        "it is listed",
        "!one('dialog') && /Rent is due on the 5th/.test(one('.data-table')?.innerText)",
    );
    let listed = server.get("/api/memory").json();
    let id = listed["entries"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(listed["entries"][0]["category"], "money");
    server.post("/api/memory", &json!({"content": "The cat is called Momo.", "category": "family"}));
    page.fill(".bar [type=search]", "rent");
    page.until(
        "it is found, and by what",
        "/words: rent/.test(one('.data-table')?.innerText) && !/Momo/.test(one('.data-table').innerText)",
    );
    browser.click(".row-link");
    page.until("it is shown whole", "/Remembered since/.test(one('dialog')?.innerText)");
    browser.click("//dialog//button[normalize-space()='Edit']");
    page.fill("dialog textarea", "Rent is due on the 3rd.");
    browser.click("//dialog//button[normalize-space()='Save']");
    page.until("with its earlier versions", "/Earlier versions/.test(one('dialog').innerText) && /on the 5th/.test(one('.memory-history').innerText)");
    assert_eq!(server.get(&format!("/api/memory/{id}")).json()["content"], "Rent is due on the 3rd.");
    browser.click("//dialog//button[normalize-space()='Delete']");
    page.until("it asks", "all('dialog').length === 2");
    browser.click("(//dialog//button[normalize-space()='Delete'])[last()]");
    page.until(
        "it is gone",
        "!one('dialog') && /Nothing that is remembered fits/.test(one('main').innerText)",
    );
    assert_eq!(server.get(&format!("/api/memory/{id}")).status, 404);
    page.assert_clean();
}

#[test]
fn features_lead_to_their_keys_and_secrets_are_never_on_the_page() {
    let Some(page) = Page::open(&["webhook.secret=canary-of-the-webhook", "agent.max_iterations=7"]) else {
        return;
    };
    let browser = &page.browser;
    page.go("/dashboard#/features");
    page.until(
        "they are listed",
        "all('.feature').length > 5 && /Long-term memory/.test(one('main').innerText)",
    );
    browser.click("#feature-memory .feature-key");
    page.until(
        "the key is searched for",
        "one('h1').innerText === 'Config' && /enabled/.test(one('[role=tree]')?.innerText)",
    );
    page.go("/dashboard#/config?changed=1");
    page.until("what was set is shown", "/max_iterations/.test(one('[role=tree]')?.innerText)");
    page.go("/dashboard#/config/agent.max_iterations");
    page.until("with value, default and what it takes", "/Value\\n7/.test(one('dialog')?.innerText) && /Default\\n40/.test(one('dialog').innerText) && /1 to 10000/.test(one('dialog').innerText)");
    page.go("/dashboard#/config/webhook.secret");
    page.until("a secret is said to be set", "/A secret is set/.test(one('dialog')?.innerText)");
    assert!(!browser.is("document.documentElement.outerHTML.includes('canary-of-the-webhook')"));
    page.assert_clean();
}

#[test]
fn a_key_is_changed_with_the_difference_shown_first() {
    let Some(page) = Page::open(&[]) else { return };
    let (browser, server) = (&page.browser, page.server());
    let file = server.home().path().join("config.toml");
    let before = std::fs::read_to_string(&file).unwrap_or_default();
    page.go("/dashboard#/config/agent.max_iterations");
    page.until("it says where the value comes from", "/The built-in default/.test(one('dialog')?.innerText)");
    browser.click("//dialog//button[normalize-space()='Change']");
    page.fill("dialog input", "0");
    browser.click("//dialog//button[normalize-space()='Show what changes']");
    page.until("a value that it does not take is told", "one('dialog .field-error').innerText !== ''");
    page.fill("dialog input", "17");
    browser.click("//dialog//button[normalize-space()='Show what changes']");
    page.until(
        "the difference is shown",
        "/max_iterations = 17/.test(one('dialog .diff .add')?.parentElement.innerText)",
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap_or_default(), before, "and nothing is written yet");
    browser.click("//dialog//button[normalize-space()='Save']");
    page.until("it says that it is saved", "/Saved/.test(one('.toasts').innerText)");
    let after = std::fs::read_to_string(&file).unwrap();
    assert!(after.contains("max_iterations = 17"), "{after}");
    page.assert_clean();
}
