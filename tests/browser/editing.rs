//! An edit changes the text only: the files stay, and can be taken off.

use std::path::PathBuf;

use aethon_tests::browser::keys::{CONTROL, ENTER, ESCAPE, UP};
use serde_json::json;

use crate::accessibility::assert_no_barriers;
use crate::conversations::png;
use crate::page::Page;

/// Opens the last message, by keyboard.
fn edit_last(page: &Page) {
    page.browser.run("one('#message').focus()", &[]);
    page.browser.chord(&[UP]);
    page.until("the last message is open", "document.activeElement.matches('.edit-box textarea')");
}

fn sent(page: &Page) -> Vec<String> {
    let messages = page.server().messages("webchat:default");
    let content = messages[0]["content"].as_array().unwrap().clone();
    content
        .iter()
        .map(|block| block["name"].as_str().unwrap_or(block["type"].as_str().unwrap()).to_owned())
        .collect()
}

#[test]
fn edited_message_keeps_its_files_until_they_are_removed() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    let write = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = browser.folder().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let files = [write("house.png", &png(40, 30)), write("list.txt", "eggs, Mehl, ½ l".as_bytes())];
    browser.give_files("[type=file]", &files);
    page.until("they are attached", "all('.composer-file').length === 2");
    page.ask("!say one");
    assert_eq!(sent(&page), ["text", "image", "list.txt"]);

    edit_last(&page);
    page.until("the files are in the box", "all('.edit-box .composer-file').length === 2");
    assert_no_barriers(browser, "an edit with files");
    browser.chord(&[ESCAPE]);
    page.until("the box is closed", "!one('.edit-box')");
    edit_last(&page);
    browser.type_keys(" and a half");
    browser.chord(&[ENTER]);
    page.until(
        "it is answered",
        "one('.reply .prose')?.innerText === 'one and a half' && !one('[data-live]')",
    );
    page.until("the files are still there", "all('.said .picture, .said .file-chip').length === 2");
    assert_eq!(sent(&page), ["text", "image", "list.txt"]);

    // After a reload they come from the server, and can be sent back.
    browser.reload();
    page.until("the transcript is there", "all('.said .picture, .said .file-chip').length === 2");
    edit_last(&page);
    browser.click(".edit-box [aria-label='Remove Picture']");
    page.until("it is gone", "all('.edit-box .composer-file').length === 1");
    assert_eq!(page.focused(), "textarea Edit your message");
    browser.type_keys(" more");
    browser.chord(&[ENTER]);
    page.until("it is answered", "/half more$/.test(one('.reply .prose')?.innerText) && !one('[data-live]')");
    assert_eq!(sent(&page), ["text", "list.txt"]);
    let stored = page.server().messages("webchat:default");
    assert_eq!(stored[0]["content"][1]["text"], "eggs, Mehl, ½ l", "byte for byte");
    page.assert_clean();
}

#[test]
fn escape_keeps_what_was_typed_for_the_next_time_and_cancel_drops_it() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.ask("!say one");
    let typed = |page: &Page| page.browser.text("one('.edit-box textarea').value");
    edit_last(&page);
    browser.type_keys(" and a half");
    browser.chord(&[ESCAPE]);
    page.until("the box is closed", "!one('.edit-box')");
    assert_eq!(page.turns()[0].said, "!say one");
    edit_last(&page);
    assert_eq!(typed(&page), "!say one and a half");
    browser.chord(&[ESCAPE]);
    browser.reload();
    page.until("the message is there, and no box", "one('.said-text') && !one('.skeleton, .edit-box')");
    edit_last(&page);
    assert_eq!(typed(&page), "!say one and a half", "after a reload");
    browser.click("//*[contains(@class,'edit-box')]//button[normalize-space()='Cancel']");
    edit_last(&page);
    assert_eq!(typed(&page), "!say one");
    browser.type_keys(" and more");
    browser.chord(&[ESCAPE]);
    edit_last(&page);
    browser.chord(&[ENTER]);
    page.until("it is answered", "one('.reply .prose')?.innerText === 'one and more' && !one('[data-live]')");
    edit_last(&page);
    assert_eq!(typed(&page), "!say one and more", "what was sent is not kept twice");
    page.assert_clean();
}

/// Puts these onto the clipboard, by media type.
const COPY: &str = "const canvas = document.createElement('canvas');
    canvas.width = canvas.height = 8;
    canvas.getContext('2d').fillRect(0, 0, 8, 8);
    const picture = await new Promise((done) => canvas.toBlob(done, 'image/png'));
    const data = {'image/png': picture};
    for (const [type, text] of Object.entries(arguments[0])) data[type] = new Blob([text], {type});
    await navigator.clipboard.write([new ClipboardItem(data)]);";

#[test]
fn pasted_cells_become_a_table_and_a_picture_an_attachment() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    let origin = browser.text("location.origin");
    let permission =
        json!({"origin": origin, "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]});
    browser.devtools("Browser.grantPermissions", &permission);
    // Without a screen a busy browser may not count its only window as the one in front.
    browser.devtools("Emulation.setFocusEmulationEnabled", &json!({"enabled": true}));
    page.until("the box has the focus", "document.activeElement.id === 'message'");
    let html = "<table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2|3</td></tr></table>";
    browser.run(COPY, &[json!({"text/plain": "a\tb\n1\t2|3", "text/html": html})]);
    browser.chord(&[CONTROL, 'v']);
    let table = "one('#message').value === '| a | b |\\n| --- | --- |\\n| 1 | 2\\\\|3 |'";
    page.until("the table is there", table);
    browser.chord(&[CONTROL, 'z']);
    page.until("it is taken back", "one('#message').value === ''");
    // A table within a page is pasted as the text that it is part of.
    let html = format!("<p>before</p>{html}");
    browser.run(COPY, &[json!({"text/plain": "before a b", "text/html": html})]);
    browser.chord(&[CONTROL, 'v']);
    page.until("the text is there", "one('#message').value === 'before a b'");
    browser.run(COPY, &[json!({})]);
    browser.chord(&[CONTROL, 'v']);
    page.until("the picture is attached", "one('.composer-file img')?.naturalWidth === 8");
    assert!(browser.is("all('.composer-file').length === 1 && one('#message').value === 'before a b'"));
    // A picture of another page comes with its element, and without text.
    browser.run(COPY, &[json!({"text/html": "<img src='https://example.com/x.png'>"})]);
    browser.chord(&[CONTROL, 'v']);
    page.until("it is attached as well", "all('.composer-file').length === 2");
    page.assert_clean();
}
