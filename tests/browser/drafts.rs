//! Drafts, attachments and requests survive a lost connection and a visit to another page.

use aethon_tests::browser::keys::{CONTROL, ENTER, ESCAPE, UP};
use serde_json::json;

use crate::page::Page;

/// Pastes this many text files into the box, as one does who has copied them.
const PASTE: &str = "const data = new DataTransfer();
    for (let n = 1; n <= arguments[0]; n += 1) data.items.add(new File(['x'.repeat(60000)], `note${n}.txt`, {type: 'text/plain'}));
    const options = {clipboardData: data, bubbles: true, cancelable: true};
    one('#message').dispatchEvent(new ClipboardEvent('paste', options));";

fn wait_until_lost(page: &Page) {
    page.until(
        "the page says so",
        "shown(one('.banner')) && /connection is lost/.test(one('.banner').innerText)",
    );
}

fn edit_last(page: &Page, more: &str) {
    page.browser.run("one('#message').focus()", &[]);
    page.browser.chord(&[UP]);
    page.until("the last message is open", "document.activeElement.matches('.edit-box textarea')");
    page.browser.type_keys(more);
}

#[test]
fn edit_without_a_connection_stays_in_its_box() {
    let Some(mut page) = Page::open(&[]) else { return };
    page.ask("!say one");
    let home = page.kill_server();
    wait_until_lost(&page);
    edit_last(&page, " and a half");
    page.browser.chord(&[ENTER]);
    page.until("it says why", "/Your edit is kept here/.test(one('.toasts').innerText)");
    assert_eq!(page.browser.text("one('.edit-box textarea')?.value"), "!say one and a half");
    page.browser.run("one('.reply [aria-label=\"Answer again\"]').click()", &[]);
    page.until("the same of a retry", "/Ask for another answer when/.test(one('.toasts').innerText)");
    page.start_server(home);
    page.reconnect();
    assert_eq!(page.browser.text("one('.edit-box textarea')?.value"), "!say one and a half");
    page.browser.click("//div[@class='edit-box']//button[normalize-space()='Send']");
    page.until("it is answered", "one('.reply .prose')?.innerText === 'one and a half' && !one('.edit-box')");
    page.settled();
    page.assert_clean();
}

#[test]
fn switching_conversations_keeps_files_and_edits() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.ask("!say one");
    edit_last(&page, " more");
    // At once, while the files are still being read.
    browser.run(&format!("{PASTE} location.hash = '#/other'"), &[json!(6)]);
    page.until("the other is open", "location.hash === '#/other' && shown(one('.welcome'))");
    browser.run(PASTE, &[json!(1)]);
    page.until("one file is attached here", "all('.composer-file').length === 1");
    browser.run("location.hash = '#/default'", &[]);
    page.until("all files are where they were given", "all('.composer-file').length === 6");
    page.until("the edit goes on", "one('.edit-box textarea')?.value === '!say one more'");
    let asks = "return !dispatchEvent(new Event('beforeunload', {cancelable: true}))";
    assert_eq!(browser.run(asks, &[]), json!(false), "a reload loses nothing, because they are uploaded");
    browser.reload();
    page.until("they are there again", "all('.composer-file').length === 6");
    assert_eq!(page.ask("!say seen").reply, "seen");
    page.until("they went along", "all('.turn:last-child .file-chip').length === 6");
    browser.run("location.hash = '#/other'", &[]);
    page.until("the one is still here", "all('.composer-file').length === 1");
    browser.click("[aria-label='Remove note1.txt']");
    assert_eq!(browser.run(asks, &[]), json!(false), "nothing would be lost");
    browser.run("location.hash = '#/default'", &[]);
    page.until("the edit still goes on", "shown(one('.edit-box textarea'))");
    assert!(!browser.is("one('dialog .button-danger')"), "nothing is lost, so the answer is not red");
    browser.click_words("Cancel");
    browser.reload();
    page.until("it was given up", "all('.turn').length === 2 && !one('.edit-box')");
    page.assert_clean();
}

#[test]
fn large_files_are_uploaded_and_the_connection_may_be_away() {
    let Some(mut page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    let give = "const data = new DataTransfer();
        for (const [name, type, lines] of arguments[0])
            data.items.add(new File(['line of text\\n'.repeat(lines)], name, {type}));
        one('#message').dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));";
    let paste = |files: serde_json::Value| drop(browser.run(give, &[files]));
    paste(json!([["large.txt", "text/plain", 200_000]]));
    page.until("a file of 2.6 MB is attached", "all('.composer-file').length === 1");
    paste(json!([
        ["photo.heic", "image/heic", 1],
        ["setup.exe", "application/x-msdownload", 0],
        ["most.txt", "text/plain", 1_700_000]
    ]));
    page.until(
        "each refused file is named with its remedy",
        "/photo\\.heic.*JPEG/.test(one('.composer-error').innerText) && /setup\\.exe/.test(one('.composer-error').innerText)
            && /most\\.txt is too large: a file may be up to 20 MB/.test(one('.composer-error').innerText)",
    );
    assert_eq!(page.ask("!say seen").reply, "seen");
    let stored = page.server().messages("webchat:default")[0].to_string();
    assert!(stored.len() > 400_000 && stored.contains("large.txt"), "{}", stored.len());
    page.kill_server();
    wait_until_lost(&page);
    let browser = &page.browser;
    browser.run(give, &[json!([["small.txt", "text/plain", 2]])]);
    page.until("a small file travels with its message", "all('.composer-file').length === 1");
    browser.run(give, &[json!([["large.txt", "text/plain", 200_000]])]);
    page.until(
        "a large one waits for the server",
        "/could not be uploaded/.test(one('.composer-error').innerText)",
    );
}

#[test]
fn files_dropped_beside_the_conversation_are_attached_too() {
    let Some(page) = Page::open(&[]) else { return };
    let script = "const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File(['eggs'], 'list.txt', {type: 'text/plain'}));
        const drop = new DragEvent('drop', {dataTransfer, bubbles: true, cancelable: true});
        return !one('.sidebar').dispatchEvent(drop)";
    assert_eq!(page.browser.run(script, &[]), json!(true), "the browser must not open the file");
    page.until("it is attached", "one('.composer-file')?.innerText.trim() === 'list.txt'");
    page.browser.click("[aria-label='Remove list.txt']");
    page.assert_clean();
}

#[test]
fn too_long_message_is_refused_and_kept() {
    let Some(page) = Page::open(&[]) else { return };
    let write = "one('#message').value = '!say ' + 'x'.repeat(arguments[0]);
        one('#message').dispatchEvent(new Event('input', {bubbles: true}));";
    page.browser.run(write, &[json!(1_100_000)]);
    page.browser.click(".send");
    page.until("it says so", "/more than one message may hold/.test(one('.composer-error').innerText)");
    assert_eq!(page.browser.text("one('#message').value.length"), "1100005", "nothing is lost");
    page.browser.run(write, &[json!(300_000)]);
    assert!(!page.browser.is("shown(one('.composer-error'))"), "it fits now");
    page.browser.click(".send");
    let turn = page.settled();
    assert_eq!(turn.said.len(), 300_005, "it went whole");
    page.assert_clean();
}

#[test]
fn a_stop_without_a_connection_is_kept_until_there_is_one() {
    let Some(mut page) = Page::open(&[]) else { return };
    page.say("!stream 300 30");
    page.until("it begins", "one('.reply .prose')?.innerText.includes('token5')");
    let home = page.kill_server();
    wait_until_lost(&page);
    page.browser.click("[aria-label=Stop]");
    page.until("it says so", "/will be stopped when/.test(one('.toasts').innerText)");
    page.start_server(home);
    page.reconnect();
    let turn = page.settled();
    assert_eq!(turn.state, "You stopped this reply.", "{turn:?}");
    assert!(!turn.reply.contains("token300"), "{turn:?}");
    page.assert_clean();
}

#[test]
fn escape_in_the_search_is_about_the_search() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.say("!stream 500 30");
    page.until("it begins", "one('.reply .prose')?.innerText.includes('token3')");
    browser.chord(&[CONTROL, 'k']);
    browser.type_keys("nothing like it");
    page.until("nothing is found", "/No conversation matches/.test(one('.sessions').innerText)");
    browser.chord(&[ESCAPE]);
    assert_eq!(browser.text("one('[type=search]').value"), "");
    page.until("all are listed again", "all('.session-title').length === 1");
    browser.chord(&[ESCAPE]);
    let length = browser.text("one('.reply .prose').innerText.length");
    page.until("the reply goes on", &format!("one('.reply .prose').innerText.length > {length} + 20"));
    assert!(page.turns()[0].is_live);
    browser.run("one('#message').focus()", &[]);
    browser.chord(&[ESCAPE]);
    assert_eq!(page.settled().state, "You stopped this reply.");
    page.assert_clean();
}

#[test]
fn what_follows_an_answer_is_kept_when_it_is_answered_again() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    for number in ["one", "two", "three"] {
        page.ask(&format!("!say {number}"));
    }
    let before = page.turns();
    let again = "all('.turn')[0].querySelector('.reply [aria-label=\"Answer again\"]')";
    browser.run(&format!("{again}.focus(); {again}.click()"), &[]);
    page.until("without a question", "!one('dialog') && all('.turn').length === 1 && !one('[data-live]')");
    page.until("it says so", "/The 2 messages after it are kept/.test(one('.toasts')?.innerText)");
    browser.click("[aria-label='Previous version']");
    page.until("they are there again", "all('.turn').length === 3");
    assert_eq!(page.turns(), before);
    page.assert_clean();
}

#[test]
fn enter_breaks_the_line_on_touch_screens() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.become_phone(390, 844);
    assert_eq!(browser.text("one('#message').enterKeyHint"), "enter");
    browser.run("one('#message').focus()", &[]);
    browser.type_keys("!say one");
    browser.chord(&[ENTER]);
    browser.type_keys("!say two");
    assert_eq!(browser.text("one('#message').value"), "!say one\n!say two");
    assert!(page.turns().is_empty(), "nothing is sent");
    browser.click(".send");
    assert_eq!(page.settled().said, "!say one\n!say two");
    page.assert_clean();
}
