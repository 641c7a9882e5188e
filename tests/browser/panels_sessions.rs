//! The sessions panel: search, read, rename, archive, empty, delete; and it follows new messages.

use serde_json::json;

use crate::page::Page;

#[test]
fn a_session_is_found_read_renamed_emptied_and_deleted() {
    let Some(page) = Page::open(&[]) else { return };
    let (browser, server) = (&page.browser, page.server());
    let mut chat = server.chat("garden");
    chat.say("m1", "Plan the garden");
    chat.say("m2", &format!("!tool calculator {}\n!say 42 of them", json!({"expression": "6 * 7"})));
    server.chat("other").say("m1", "!say something else");
    page.go("/dashboard#/sessions");
    page.until("both are listed", "all('.data-table tbody tr[data-key]').length === 2");
    page.fill(".bar [type=search]", "garden");
    page.until(
        "one is found",
        "all('.data-table tbody tr[data-key]').length === 1 && /q=garden/.test(location.hash)",
    );
    browser.click(".row-link");
    page.until("it is shown", "shown(one('.said-entry')) && /Plan the garden/.test(one('h1').innerText)");
    page.until(
        "with its calls and what they took",
        "/calculator/.test(one('.fold').innerText) && /tokens in/.test(one('main').innerText)",
    );
    browser.click(".fold summary");
    page.until(
        "a call opens to what went in and came out",
        "/6 \\* 7/.test(one('.fold-body').innerText) && /42/.test(one('.fold-body').innerText)",
    );
    chat.say("m3", "!say told meanwhile");
    page.until(
        "what is said meanwhile appears",
        "/told meanwhile/.test(all('.said-entry').at(-1).innerText)",
    );
    assert!(browser.is("one('.fold').open"), "what was open stays open");
    assert_eq!(browser.text("one('.panel-tools a').getAttribute('href')"), "/#/garden");

    let menu = |item: &str| {
        // It scrolls along with new messages; the driver would stop scrolling with the button below the sticky line.
        browser.run("scrollTo(0, 0)", &[]);
        browser.click(".panel-tools button");
        browser.click(&format!("//button[@role='menuitem'][normalize-space()='{item}']"));
    };
    menu("Rename");
    page.fill("#prompt-input", "Spring <b>plans");
    browser.click_words("Save");
    page.until("it has the new title", "one('h1').innerText === 'Spring <b>plans'");
    assert_eq!(server.get("/api/sessions/webchat:garden").json()["title"], "Spring <b>plans");
    menu("Empty");
    page.until("it asks", "/Spring <b>plans/.test(one('dialog')?.innerText)");
    browser.click("//dialog//button[normalize-space()='Empty']");
    page.until("it is empty", "/This conversation is empty/.test(one('main').innerText)");
    assert_eq!(server.get("/api/sessions/webchat:garden").json()["message_count"], 0);
    menu("Delete");
    page.until("it asks", "one('dialog')");
    browser.click("//dialog//button[normalize-space()='Cancel']");
    page.until("nothing happened", "!one('dialog')");
    menu("Delete");
    browser.click("//dialog//button[normalize-space()='Delete']");
    page.until(
        "the list is back without it",
        "location.hash === '#/sessions' && all('.data-table tbody tr[data-key]').length === 1",
    );
    assert_eq!(server.get("/api/sessions/webchat:garden").status, 404);
    page.assert_clean();
}
