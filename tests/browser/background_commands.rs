//! Commands in the background: a quiet line above the message box shows them with their output, and stops them.

use aethon_tests::browser::keys::ENTER;
use serde_json::json;

use crate::accessibility::assert_no_barriers_in_both;
use crate::page::Page;

const LINE: &str = "shown(one('.running details'))";
const COMMAND: &str = "echo first; until [ -e go ]; do sleep 0.05; done; echo second; sleep 60";

fn starting(command: &str) -> String {
    format!("!tool shell {}", json!({"command": command, "background": true}))
}

#[test]
fn running_command_is_shown_with_its_output_and_stopped() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.ask("hello");
    assert!(browser.is(&format!("!{LINE}")), "nothing runs");
    page.ask(&starting(COMMAND));
    page.until("the line is there", LINE);
    assert_eq!(browser.text("one('.running [role=status]').textContent"), "1 command runs in the background");
    assert!(browser.is("!shown(one('.running pre'))"), "it is quiet");

    // By the keyboard, with the output as it comes.
    browser.run("one('.running summary').focus()", &[]);
    browser.chord(&[ENTER]);
    page.until("the output", "one('.running pre').textContent === 'first\\n'");
    assert_no_barriers_in_both(browser, "a command in the background");
    std::fs::write(page.server().home().path().join("workspace/go"), "").unwrap();
    page.until("more of it", "one('.running pre').textContent === 'first\\nsecond\\n'");

    // Another device and a reload see it, too; another conversation does not.
    let other = page.another().unwrap();
    other.go("/");
    other.until("the line is there", LINE);
    browser.reload();
    page.until("the line is there again", LINE);
    page.ask(&starting("sleep 61"));
    page.until("both", "/2 commands run/.test(one('.running [role=status]').textContent)");
    browser.click("//aside//button[normalize-space()='New chat']");
    page.until("it is of the other one", &format!("shown(one('.welcome')) && !{LINE}"));
    browser.run("history.back()", &[]);
    page.until("it is back", LINE);

    // Stopping one leaves the focus near the other, and stopping the last leads back to the message.
    browser.click(".running summary");
    page.until("both rows", "all('.running li').length === 2");
    browser.click("[aria-label='Stop sleep 61']");
    page.until("one row", "all('.running li').length === 1");
    page.until("the focus stays", "one('.running').contains(document.activeElement)");
    browser.click("[aria-label^='Stop echo first']");
    page.until("the line goes", &format!("!{LINE}"));
    page.until("the focus moves on", "document.activeElement.id === 'message'");
    other.until("here, too", &format!("!{LINE}"));
    page.assert_clean();
}

#[test]
fn line_goes_with_the_server() {
    let Some(mut page) = Page::open(&[]) else { return };
    page.ask(&starting("sleep 60"));
    page.until("the line is there", LINE);
    let home = page.kill_server();
    page.start_server(home);
    page.reconnect();
    page.until("what ran is gone", &format!("!{LINE}"));
}
