//! A message is found by its words in any conversation, however far back, and an address leads to it.

use aethon_tests::browser::keys::{CONTROL, DOWN, ENTER, UP};
use aethon_tests::{Server, browser::Browser};

use crate::page::Page;

const TURNS: usize = 200;

/// A long conversation whose third message alone contains the words that are looked for.
fn fill(server: &Server) {
    let mut socket = server.socket("/ws/chat?session=long");
    for number in 1..=TURNS {
        let text = if number == 3 {
            "the Crème brûlée of <b>Lyon</b>".to_owned()
        } else {
            format!("message {number}")
        };
        socket.send(&text);
        socket.text();
    }
}

/// Whether the message that was looked for is in view, and not only on the page.
fn is_in_view(browser: &Browser) -> bool {
    browser.is("(() => {
        const found = all('.said-text').find((e) => e.textContent.includes('Lyon'));
        const view = one('.transcript').getBoundingClientRect(), at = found?.getBoundingClientRect();
        return Boolean(at && at.top >= view.top - 2 && at.bottom <= view.bottom + 2);
    })()")
}

#[test]
fn message_far_back_is_found_by_its_words_and_opened() {
    let server = Server::start(&["model.provider=echo"]);
    fill(&server);
    let Some(page) = Page::beside(server) else { return };
    let browser = &page.browser;
    page.go("/");
    page.until("the conversation is listed", "all('.session-title').length > 0");

    browser.chord(&[CONTROL, 'k']);
    page.until("the search has the focus", "document.activeElement.type === 'search'");
    browser.type_keys("creme lyon");
    page.until("the message and its answer are found", "all('.found').length === 2");
    let marked =
        browser.text("[...one('.found').querySelectorAll('mark')].map((e) => e.textContent).join('|')");
    assert_eq!(marked, "Crème|Lyon");
    assert!(browser.is("one('.found').innerText.includes('<b>Lyon</b>') && !one('.found b')"), "it is text");

    browser.chord(&[DOWN]);
    assert!(browser.is("document.activeElement === one('.sessions a')"), "down leads to the first row");
    browser.chord(&[UP]);
    assert!(browser.is("document.activeElement.type === 'search'"), "up leads back");
    browser.chord(&[ENTER]);
    page.until("the exchange is marked", "one('.turn[data-found]')?.textContent.includes('Lyon')");
    assert!(is_in_view(browser), "it is in view");
    assert!(
        browser.is("one('.topbar').getBoundingClientRect().top === 0"),
        "the page around it has not moved"
    );
    assert!(browser.is("document.activeElement === one('.turn[data-found]')"), "it has the focus");
    assert!(browser.is("/^#\\/long\\/\\d+$/.test(location.hash)"), "its address can be kept");
    assert!(browser.is("all('.said-text').length === 200"), "there is no gap after it");

    browser.reload();
    page.until("its address leads to it", "one('.turn[data-found]')?.textContent.includes('Lyon')");
    assert!(is_in_view(browser));
    page.assert_clean();
}

#[test]
fn address_of_a_message_that_is_gone_opens_the_conversation_and_says_so() {
    let Some(page) = Page::open(&[]) else { return };
    page.ask("!say hello");
    page.go("/#/default/999999");
    page.until("it says so", "/no longer in this conversation/.test(document.body.innerText)");
    page.until("the conversation is there", "one('.reply .prose')?.innerText === 'hello'");
}
