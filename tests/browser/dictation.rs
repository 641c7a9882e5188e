//! What a person says is written into the message box.

use aethon_tests::stub::{Stub, ok};

use crate::page::Page;

const BUTTON: &str = "one('.dictate')";

#[test]
fn spoken_words_are_written_where_the_cursor_is() {
    let service = Stub::answering(|_| ok("application/json", r#"{"text": " spoken words "}"#));
    let settings = [
        "transcription.provider=openai".to_owned(),
        format!("transcription.host=http://{}/v1", service.address),
        "transcription.api_key=sk-anything-0123456789".to_owned(),
    ];
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let Some(page) = Page::open(&settings) else { return };
    let browser = &page.browser;
    page.until("it is offered", &format!("shown({BUTTON})"));
    page.fill("#message", "before after");
    browser.run("one('#message').setSelectionRange(6, 6)", &[]);
    browser.click(".dictate");
    page.until("it records", &format!("{BUTTON}.getAttribute('aria-pressed') === 'true'"));
    std::thread::sleep(std::time::Duration::from_millis(300));
    browser.click(".dictate");
    page.until("they are written", "one('#message').value === 'before spoken words after'");
    assert_eq!(browser.text(&format!("{BUTTON}.getAttribute('aria-pressed')")), "false");
    let sent = service.requests();
    assert!(
        sent[0].body.windows(4).any(|bytes| bytes == [0x1a, 0x45, 0xdf, 0xa3]),
        "a real recording was sent"
    );

    // Another conversation does not get what was being said.
    browser.click(".dictate");
    page.until("it records again", &format!("{BUTTON}.getAttribute('aria-pressed') === 'true'"));
    browser.click_words("New chat");
    page.until("it does not record any more", &format!("{BUTTON}.getAttribute('aria-pressed') === 'false'"));
    assert_eq!(browser.text("one('#message').value"), "");
    assert_eq!(service.requests().len(), 1);
    page.assert_clean();
}

#[test]
fn without_a_service_there_is_no_microphone() {
    let Some(page) = Page::open(&[]) else { return };
    page.until("the page is ready", "shown(one('.suggestions button'))");
    assert!(!page.browser.is(&format!("shown({BUTTON})")));
    page.assert_clean();
}
