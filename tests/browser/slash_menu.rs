//! A slash at the beginning of a message offers commands, saved prompts and SOPs; prompts and instructions are written in the page.

use aethon_tests::Server;
use aethon_tests::browser::keys::{DOWN, ENTER, ESCAPE, UP};

use serde_json::json;

use crate::page::Page;

const SOP: &str = "# Trip\n\n## Overview\nPlans a trip.\n\n## Parameters\n- **from** (required): where it begins\n- **to** (required): where it ends\n- **by** (optional, default: \"train\"): how\n\n## Steps\n### 1. Plan\nPlan it.\n";

fn with_sop() -> Option<Page> {
    let server = Server::start(&["model.provider=echo"]);
    let folder = server.home().path().join("workspace/sops");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("trip.sop.md"), SOP).unwrap();
    let page = Page::beside(server)?;
    page.go("/");
    page.until("the page is connected", "shown(one('#message')) && !one('.skeleton')");
    Some(page)
}

/// The names that the menu offers.
fn offered(page: &Page) -> String {
    page.browser.text("shown(one('.slash-menu')) ? all('.slash-menu .option-label').map((e) => e.textContent).join(' ') : 'closed'")
}

#[test]
fn slash_offers_commands_and_sops_with_their_parameters_and_keys_choose() {
    let Some(page) = with_sop() else { return };
    let browser = &page.browser;
    browser.click("#message");
    browser.type_keys("/");
    page.until(
        "the SOP is offered",
        "all('.slash-menu .option-label').some((e) => e.textContent === '/trip')",
    );
    assert!(offered(&page).starts_with("/new /model"), "{}", offered(&page));
    assert!(!offered(&page).contains("/retry"), "there is nothing to retry");
    let active = "document.getElementById(one('#message').getAttribute('aria-activedescendant'))";
    assert_eq!(browser.text(&format!("{active}.querySelector('.option-label').textContent")), "/new");
    browser.chord(&[DOWN]);
    assert_eq!(browser.text(&format!("{active}.querySelector('.option-label').textContent")), "/model");

    // What begins with it comes before what contains it, as /instructions does.
    browser.type_keys("tr");
    page.until("it is narrowed", "all('.slash-menu .option').length === 2");
    assert!(offered(&page).starts_with("/trip"), "{}", offered(&page));
    browser.type_keys("i");
    page.until("one is left", "all('.slash-menu .option').length === 1");
    assert!(
        browser.text("one('.slash-menu .option-detail').textContent").contains("from, to, by (optional)")
    );
    browser.chord(&[ENTER]);
    page.until("the call is written", "one('#message').value === '/trip from=\"\" to=\"\"'");
    assert_eq!(offered(&page), "closed");
    browser.type_keys("Lyon");
    assert_eq!(
        browser.text("one('#message').value"),
        "/trip from=\"Lyon\" to=\"\"",
        "the cursor is in the first gap"
    );

    page.fill("#message", "");
    browser.type_keys("/ne");
    page.until("it is open", "shown(one('.slash-menu'))");
    browser.chord(&[ESCAPE]);
    assert_eq!(offered(&page), "closed");
    browser.type_keys("w");
    assert_eq!(offered(&page), "closed", "it stays away after Escape");
    assert_eq!(browser.text("one('#message').value"), "/new", "what was typed stays");

    page.fill("#message", "");
    page.ask("hello");
    browser.click("#message");
    browser.type_keys("/ret");
    page.until("it is open", "shown(one('.slash-menu'))");
    browser.chord(&[ENTER]);
    page.until(
        "it was answered again",
        "one('.versions')?.textContent.includes('2 of 2') && !one('[data-live]')",
    );
    assert_eq!(browser.text("one('#message').value"), "", "the command is no message");
    browser.type_keys("see /new");
    assert_eq!(offered(&page), "closed", "a slash within a message is a slash");
    page.assert_clean();
}

#[test]
fn prompt_is_saved_in_the_page_and_written_by_its_name() {
    let Some(page) = with_sop() else { return };
    let browser = &page.browser;
    browser.click("#message");
    browser.type_keys("/prom");
    page.until("it is offered", "all('.slash-menu .option').length === 1");
    browser.click(".slash-menu .option");
    page.until("the dialog is there", "/No prompts are saved/.test(one('dialog')?.innerText)");
    browser.click("//dialog//button[normalize-space()='New prompt']");
    page.fill("#prompt-name", "Bad name");
    page.fill("#prompt-content", "Summarise {{what}} in three lines.");
    browser.click("//dialog//button[normalize-space()='Save']");
    page.until("the name is refused", "/lower-case letters/.test(one('dialog [role=alert]').innerText)");
    assert_eq!(browser.text("one('#prompt-content').value"), "Summarise {{what}} in three lines.");
    browser.chord(&[ESCAPE]);
    page.until("it asks before it throws the text away", "all('dialog').length === 2");
    browser.click("//dialog//button[normalize-space()='Cancel']");
    page.fill("#prompt-name", "brief");
    browser.click("//dialog//button[normalize-space()='Save']");
    page.until("it is listed", "one('.prompts-row .mono')?.textContent === '/brief'");
    browser.chord(&[ESCAPE]);
    page.until("the dialog is closed", "!one('dialog')");

    page.fill("#message", "");
    browser.click("#message");
    browser.type_keys("/br");
    page.until("the prompt is offered", "all('.slash-menu .option-label')[0]?.textContent === '/brief'");
    browser.chord(&[ENTER]);
    page.until("it is written", "one('#message').value === 'Summarise {{what}} in three lines.'");
    browser.type_keys("it");
    assert_eq!(browser.text("one('#message').value"), "Summarise it in three lines.", "the gap was selected");
    page.assert_clean();
}

#[test]
fn instructions_of_a_conversation_are_written_in_the_page_and_survive_a_reload() {
    let Some(page) = Page::open(&["model.provider=echo"]) else { return };
    let browser = &page.browser;
    let open = |page: &Page| {
        page.browser.click(".topbar [aria-haspopup=menu]");
        page.browser.click("//button[@role='menuitem'][starts-with(normalize-space(), 'Instructions')]");
    };
    // Before anything was said.
    open(&page);
    page.fill("#instructions", "Answer in Greek.");
    browser.click("//dialog//button[normalize-space()='Save']");
    page.until("it is closed", "!one('dialog')");
    let stored = page.server().get("/api/sessions/webchat:default").json();
    assert_eq!((&stored["instructions"], &stored["message_count"]), (&json!("Answer in Greek."), &json!(0)));
    page.ask("hello");
    open(&page);
    page.until("they are still there", "one('#instructions')?.value === 'Answer in Greek.'");
    page.fill("#instructions", "Answer in French.");
    browser.click("//dialog//button[normalize-space()='Save']");
    page.until("it is closed", "!one('dialog')");
    let stored = page.server().get("/api/sessions/webchat:default").json();
    assert_eq!(stored["instructions"], "Answer in French.");
    browser.reload();
    page.until("the page is there", "one('.turn') && !one('.skeleton')");
    open(&page);
    page.until("they are there", "one('#instructions')?.value === 'Answer in French.'");
    page.fill("#instructions", "Answer in Latin.");
    browser.chord(&[ESCAPE]);
    page.until("it asks first", "all('dialog').length === 2");
    page.assert_clean();
}

#[test]
fn unknown_command_is_held_back_and_two_slashes_send_it() {
    let Some(page) = with_sop() else { return };
    let browser = &page.browser;
    browser.click("#message");
    browser.type_keys("/epxort");
    browser.chord(&[ENTER]);
    page.until(
        "it says so",
        "/no command \\/epxort here[^]*\\/\\/epxort/.test(one('.composer-error').innerText)",
    );
    assert_eq!(browser.text("one('#message').value"), "/epxort", "what was typed stays");
    assert!(page.turns().is_empty(), "nothing was sent");
    browser.type_keys("s");
    page.until("it is taken back", "!shown(one('.composer-error'))");
    // What the assistant answers itself, paths and SOPs go there; two slashes stand for one.
    for (typed, said) in
        [("/model ", "/model"), ("/etc/hosts", "/etc/hosts"), ("//epxort it", "/epxort it"), ("// a", "// a")]
    {
        page.fill("#message", "");
        browser.type_keys(typed);
        browser.chord(&[ENTER]);
        assert_eq!(page.settled().said, said);
    }
    page.assert_clean();
}

#[test]
fn command_from_elsewhere_is_neither_asked_again_nor_edited() {
    let Some(page) = Page::open(&[]) else { return };
    page.ask("!say first");
    page.server().chat("default").say("m1", "/model");
    page.until("the command is there", "all('.turn').length === 2");
    // Live, and from the stored conversation.
    for _ in 0..2 {
        page.until("it is done", "!one('.skeleton') && all('.turn')[1]?.querySelector('.reply .meta time')");
        let names = |turn: usize| {
            page.browser.text(&format!("[...all('.turn')[{turn}].querySelectorAll('button')].map((press) => press.getAttribute('aria-label')).join()"))
        };
        assert!(names(0).contains("Answer again") && names(0).contains("Edit"), "{}", names(0));
        assert!(!names(1).contains("Answer again") && !names(1).contains("Edit"), "{}", names(1));
        page.browser.click("#message");
        page.browser.chord(&[UP]);
        page.until("the first message is edited", "one('.turn textarea')?.value === '!say first'");
        page.browser.reload();
        page.until("it is there again", "all('.turn').length === 2");
    }
    page.assert_clean();
}

#[test]
fn command_by_the_keyboard_of_a_tablet_leaves_the_focus_in_the_box() {
    let Some(page) = with_sop() else { return };
    let browser = &page.browser;
    page.become_phone(1024, 768);
    assert!(!browser.is("matchMedia('(pointer: fine)').matches"));
    page.ask("hello");
    browser.click("#message");
    browser.type_keys("/ret");
    page.until("it is open", "shown(one('.slash-menu'))");
    browser.chord(&[ENTER]);
    page.until(
        "it was answered again",
        "one('.versions')?.textContent.includes('2 of 2') && !one('[data-live]')",
    );
    browser.type_keys("/model");
    assert_eq!(browser.text("one('#message').value"), "/model");
    page.assert_clean();
}
