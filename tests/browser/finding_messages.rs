//! A message is found by its words in any conversation, however far back, and an address leads to it.

use aethon_tests::browser::keys::{CONTROL, DOWN, ENTER, ESCAPE, UP};
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
    let after: Vec<u64> = (4..=TURNS as u64).collect();
    assert!(page.read_down().ends_with(&after), "there is no gap after it");

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

fn choose(page: &Page, entry: &str) {
    page.browser.click(".topbar [aria-haspopup=menu]");
    page.browser.click(&format!("//button[@role='menuitem'][normalize-space()='{entry}']"));
}

#[test]
fn words_are_found_within_a_conversation_beyond_what_is_loaded() {
    let server = Server::start(&["model.provider=echo"]);
    fill(&server);
    let mut other = server.socket("/ws/chat?session=other");
    other.send("Lyon is named here too");
    other.text();
    let Some(page) = Page::beside(server) else { return };
    let browser = &page.browser;
    page.go("/#/long");
    page.until("the newest is there", "/message 200/.test(all('.said-text').at(-1)?.textContent)");
    assert!(!browser.is("/Lyon/.test(one('.transcript').textContent)"), "it is not on the page");

    browser.click("#message");
    browser.chord(&[CONTROL, 'f']);
    page.until("the field has the focus", "document.activeElement === one('.find-bar input')");
    browser.type_keys("lyon");
    browser.chord(&[ENTER]);
    page.until("the newest match is told", "one('.find-state').textContent === '1 of 2'");
    page.until("the answer is in view", "CSS.highlights.get('found-words')?.size === 1");
    browser.chord(&[ENTER]);
    page.until("the one before is told", "one('.find-state').textContent === '2 of 2'");
    page.until(
        "its words are marked",
        "[...CSS.highlights.get('found-words')].every((range) => `${range}` === 'Lyon' && range.startContainer.parentElement.closest('.said'))",
    );
    assert!(is_in_view(browser), "it is in view");
    assert!(browser.is("document.activeElement === one('.find-bar input')"), "the focus stays in the field");
    browser.chord(&[DOWN]);
    page.until("down leads back to the newer one", "one('.find-state').textContent === '1 of 2'");

    browser.chord(&[CONTROL, 'a']);
    browser.type_keys("nowhere");
    page.until("it says that there is nothing", "one('.find-state').textContent === 'Nothing found'");
    assert!(browser.is("one('.find-bar .icon-button').disabled"));
    browser.chord(&[ESCAPE]);
    page.until("the field is closed", "!shown(one('.find-bar'))");
    assert!(browser.is("document.activeElement === one('#message') && !CSS.highlights.has('found-words')"));
    page.assert_clean();
}

#[test]
fn menu_of_a_conversation_leads_to_its_beginning_and_to_a_date() {
    let server = Server::start(&["model.provider=echo"]);
    fill(&server);
    let Some(page) = Page::beside(server) else { return };
    let browser = &page.browser;
    let first = "one('.turn[data-found]')?.querySelector('.said-text').textContent === 'message 1'";
    page.go("/#/long");
    page.until("the newest is there", "/message 200/.test(all('.said-text').at(-1)?.textContent)");
    choose(&page, "Go to the beginning");
    page.until(
        "the beginning is marked and in view",
        &format!("{first} && one('.transcript').scrollTop < 200"),
    );

    browser.reload();
    page.until("the newest is there", "/message 200/.test(all('.said-text').at(-1)?.textContent)");
    choose(&page, "Go to a date");
    page.until("a date is asked for", "shown(one('dialog input[type=date]'))");
    browser.run("one('dialog input').value = one('dialog input').max;", &[]);
    browser.click("//dialog//button[normalize-space()='Go']");
    page.until("the first of the day is marked", first);
    page.assert_clean();
}

#[test]
fn every_word_that_begins_like_the_one_looked_for_is_marked_whole() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.ask("!stream 60 1");
    page.ask("!say Crème, cremes and ice cream with creme");
    let look = |words: &str| {
        choose(&page, "Find in this conversation");
        page.until("the field has the focus", "document.activeElement === one('.find-bar input')");
        browser.type_keys(words);
    };
    let marked = "[...CSS.highlights.get('found-words') ?? []].map(String)";
    look("token");
    page.until("all are marked", &format!("{marked}.length === 60"));
    let odd = format!("{marked}.filter((word, at) => word !== `token${{at + 1}}`).join()");
    assert_eq!(browser.text(&odd), "", "in order, each of them whole");
    look("CREME");
    page.until("accents and case do not count", &format!("{marked}.join() === 'Crème,cremes,creme'"));
    page.assert_clean();
}
