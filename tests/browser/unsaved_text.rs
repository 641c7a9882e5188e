//! Text that is not saved yet: whatever would throw it away asks first, by mouse and by keyboard.

use aethon_tests::browser::keys::{CONTROL, ENTER, ESCAPE};
use serde_json::json;

use crate::accessibility::assert_no_barriers;
use crate::page::Page;

const ASKS: &str = "/Leave without saving/.test(all('dialog').at(-1)?.innerText)";
const STAYED: &str = "all('dialog').every((dialog) => !/Leave without saving/.test(dialog.innerText))";

#[test]
fn the_sop_editor_is_left_with_typed_text_only_after_a_question() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.go("/dashboard#/sops");
    page.until("the list is there", "shown(one('.data-table'))");
    browser.click("//a[normalize-space()='Write an SOP']");
    page.fill(".sop-source", "# Half a thought\n");
    let there = "location.hash === '#/sops/new' && one('.sop-source')?.value === '# Half a thought\\n'";
    let stay = |what: &str| {
        page.until(&format!("{what} asks"), ASKS);
        assert_eq!(page.focused(), "button Cancel", "the safe answer has the focus");
        browser.chord(&[ENTER]);
        page.until("the text is still there", &format!("{STAYED} && {there}"));
    };
    browser.click("a[data-panel=logs]");
    page.until("a link asks", ASKS);
    assert_no_barriers(browser, "the question before leaving");
    stay("a link");
    browser.run("history.back()", &[]);
    stay("Back");
    browser.click("//form//button[normalize-space()='Cancel']");
    stay("Cancel");
    browser.chord(&[CONTROL, 'k']);
    page.until("the palette is open", "document.activeElement.type === 'search'");
    browser.type_keys("logs");
    page.until("it is found", "/Logs/.test(one('[role=option][aria-selected=true]')?.innerText)");
    browser.chord(&[ENTER]);
    stay("the palette");

    browser.run("history.back()", &[]);
    page.until("Back asks", ASKS);
    browser.click_words("Leave");
    page.until("it leads back to the list", "location.hash === '#/sops' && shown(one('.data-table'))");
    browser.run("history.forward()", &[]);
    page.until("the history is as it was", "location.hash === '#/sops/new' && shown(one('.sop-source'))");
    browser.click("a[data-panel=logs]");
    page.until("without typed text nothing asks", "one('h1').innerText === 'Logs'");
    page.assert_clean();
}

#[test]
fn drawers_with_typed_text_close_only_after_a_question() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    let entry = page.server().post("/api/memory", &json!({"content": "Rent is due."})).json();
    let entry = format!("memory/{}", entry["id"].as_str().unwrap());
    let begin = |opens: &str| {
        if !opens.is_empty() {
            browser.click(&format!("//dialog//button[normalize-space()='{opens}']"));
        }
    };
    let press =
        |words: &str| browser.click(&format!("(//dialog//button[normalize-space()='{words}'])[last()]"));
    for (address, opens, field) in [
        ("memory/new", "", "dialog textarea"),
        (entry.as_str(), "Edit", "dialog textarea"),
        ("scheduler/new", "", "dialog textarea"),
        ("config/agent.max_iterations", "Change", "dialog input"),
    ] {
        page.go("/dashboard#/features");
        page.until("another panel is there", "one('h1').innerText === 'Features'");
        page.go(&format!("/dashboard#/{address}"));
        page.until("it is open", "one('dialog') && !one('dialog .skeleton')");
        begin(opens);
        page.fill(field, "17");
        let kept = format!("{STAYED} && one('{field}')?.value === '17'");
        browser.chord(&[ESCAPE]);
        page.until(&format!("{address}: Escape asks"), ASKS);
        browser.chord(&[ESCAPE]);
        page.until("Escape again keeps the text", &kept);
        browser.run("one('dialog').click()", &[]);
        page.until(&format!("{address}: a press beside it asks"), ASKS);
        press("Cancel");
        page.until("the text is kept", &kept);
        browser.run("history.back()", &[]);
        page.until(&format!("{address}: Back asks"), ASKS);
        browser.chord(&[ENTER]);
        page.until("the text is kept", &kept);
        browser.click("[aria-label=Close]");
        page.until(&format!("{address}: its button asks"), ASKS);
        press("Leave");
        page.until("it is closed", "!one('dialog')");
    }
    page.assert_clean();
}
