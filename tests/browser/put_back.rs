//! Files that tools have changed are put back from the page.

use std::path::PathBuf;

use aethon_tests::Server;
use aethon_tests::browser::keys::{ENTER, ESCAPE, UP};
use serde_json::json;

use crate::accessibility::assert_no_barriers;
use crate::page::Page;

fn workspace(page: &Page, name: &str) -> PathBuf {
    page.server().home().path().join("workspace").join(name)
}

fn text(page: &Page, name: &str) -> Option<String> {
    std::fs::read_to_string(workspace(page, name)).ok()
}

/// Has a tool write two files, and answer.
fn change(page: &Page, content: &str) {
    let write = |path: &str| format!("!tool file_write {}", json!({"path": path, "content": content}));
    let lines = format!("{}\n!then\n{}\n!then\n!say changed {content}", write("a.md"), write("new.md"));
    let before = page.turns().len();
    page.fill("#message", &lines);
    page.browser.chord(&[ENTER]);
    page.until("the message is on the page", &format!("all('.turn').length > {before}"));
    page.settled();
}

/// Opens the menu of the last reply.
fn open_menu(page: &Page) {
    page.until(
        "the menu offers it",
        "(() => { const more = all('.reply .actions [aria-haspopup=menu]').at(-1); \
         if (!one('[role=menu]')) more.click(); \
         if (/Put back/.test(one('[role=menu]')?.innerText)) return true; \
         one('[role=menu]')?.hidePopover(); return false; })()",
    );
}

#[test]
fn files_of_a_reply_are_put_back_by_keyboard_and_brought_back() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    std::fs::write(workspace(&page, "a.md"), "one").unwrap();
    page.ask("!say nothing changes");
    assert!(!browser.is("/Put back/.test(document.body.innerText)"));
    change(&page, "two");
    open_menu(&page);
    // The last entry of the menu.
    browser.run("all('[role=menuitem]').at(-1).focus()", &[]);
    assert!(browser.is("document.activeElement.innerText === 'Put back 2 files'"));
    browser.chord(&[ENTER]);
    page.until("it names the files and asks", "all('dialog[open] .file-list li').length === 2");
    assert!(
        browser
            .is("/a\\.md/.test(one('.file-list').innerText) && /new\\.md/.test(one('.file-list').innerText)")
    );
    assert!(browser.is("document.activeElement.innerText === 'Cancel'"), "{}", page.focused());
    assert_no_barriers(browser, "the question");
    browser.chord(&[ESCAPE]);
    page.until("nothing happens", "!one('dialog')");
    assert_eq!(text(&page, "a.md").as_deref(), Some("two"));

    open_menu(&page);
    browser.click("//button[@role='menuitem'][normalize-space()='Put back 2 files']");
    page.until("it asks", "one('dialog[open]')");
    browser.click("//dialog//button[normalize-space()='Put back 2 files']");
    page.until("it is told", "one('dialog [role=status]').innerText === '2 files were put back.'");
    assert!(browser.is("/a\\.md: put back/.test(one('.file-list').innerText)"));
    assert!(browser.is("/new\\.md: removed/.test(one('.file-list').innerText)"));
    assert_eq!((text(&page, "a.md").as_deref(), text(&page, "new.md")), (Some("one"), None));
    assert_no_barriers(browser, "the result");
    browser.click("//dialog//button[normalize-space()='Undo']");
    page.until("it is undone", "/as the assistant left them/.test(one('dialog [role=status]').innerText)");
    assert_eq!(text(&page, "a.md").as_deref(), Some("two"));
    browser.chord(&[ESCAPE]);
    page.until("the dialog is closed", "!one('dialog')");
    page.assert_clean();
}

#[test]
fn editing_and_answering_again_offer_to_put_the_files_back() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    std::fs::write(workspace(&page, "a.md"), "one").unwrap();
    change(&page, "two");
    open_menu(&page);
    browser.chord(&[ESCAPE]);
    page.until("the menu is closed", "!one('[role=menu]')");

    // In the box in which the question is edited.
    browser.run("one('#message').focus()", &[]);
    browser.chord(&[UP]);
    page.until("the box offers it", "/changed 2 files/.test(one('.edit-box')?.innerText)");
    assert_no_barriers(browser, "the box");
    browser.click(".edit-files button");
    page.until("it asks", "one('dialog[open]')");
    std::fs::write(workspace(&page, "a.md"), "by hand").unwrap();
    browser.click("//dialog//button[normalize-space()='Put back 2 files']");
    page.until("it is told", "one('dialog [role=status]').innerText === '1 file was put back.'");
    assert!(browser.is("/a\\.md: was changed since, and stays/.test(one('.file-list').innerText)"));
    assert_eq!((text(&page, "a.md").as_deref(), text(&page, "new.md")), (Some("by hand"), None));
    browser.click("//dialog//button[normalize-space()='Close']");
    browser.chord(&[ESCAPE]);
    page.until("the box is closed", "!one('.edit-box')");

    // Before the answer is given again.
    change(&page, "three");
    open_menu(&page);
    browser.chord(&[ESCAPE]);
    page.until("the menu is closed", "!one('[role=menu]')");
    let retry = "all('.reply .actions [aria-label=\"Answer again\"]').at(-1).click()";
    browser.run(retry, &[]);
    page.until("it asks first", "/put back first/.test(one('dialog[open]')?.innerText)");
    browser.click("//dialog//button[normalize-space()='Put back and answer again']");
    page.until("the answer is another version", "/2 of 2/.test(one('.versions')?.innerText ?? '')");
    page.settled();
    assert_eq!(text(&page, "a.md").as_deref(), Some("three"), "the answer has written it again");
    page.assert_clean();
}

#[test]
fn put_back_dialog_speaks_german() {
    let Some(page) = Page::beside(Server::start(&[])) else { return };
    let agent = page.browser.text("navigator.userAgent");
    page.browser.devtools(
        "Emulation.setUserAgentOverride",
        &json!({"userAgent": agent, "acceptLanguage": "de-DE,de"}),
    );
    page.go("/");
    page.until("the page is connected", "shown(one('#message')) && !one('.skeleton')");
    change(&page, "two");
    page.until(
        "the menu offers it in German",
        "(() => { const more = all('.reply .actions [aria-haspopup=menu]').at(-1); \
         if (!one('[role=menu]')) more.click(); \
         if (/2 Dateien zurücksetzen/.test(one('[role=menu]')?.innerText)) return true; \
         one('[role=menu]')?.hidePopover(); return false; })()",
    );
    page.browser.click("//button[@role='menuitem'][normalize-space()='2 Dateien zurücksetzen']");
    page.until("it asks in German", "/Dateien zurücksetzen/.test(one('dialog[open] h2')?.innerText)");
    page.browser.click("//dialog//button[normalize-space()='2 Dateien zurücksetzen']");
    page.until("it is told", "/2 Dateien wurden zurückgesetzt/.test(one('dialog [role=status]').innerText)");
    page.assert_clean();
}
