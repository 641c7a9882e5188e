//! The handbook, as a person reads it: found from the chat, the dashboard and the API, and readable on a phone.

use aethon_tests::Server;

use crate::accessibility::assert_no_barriers_in_both;
use crate::page::Page;

#[test]
fn handbook_is_found_and_read_and_its_links_lead_on() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    browser.click("[aria-label='Keyboard shortcuts']");
    page.until("the help is open", "one('dialog[open] .help-book')");
    browser.click("dialog .help-book");
    page.until(
        "the index is there",
        "location.pathname === '/docs/handbook' && one('h1')?.innerText === 'Handbook'",
    );
    browser.click("main a[href$='/first-hour']");
    page.until("the page is there", "one('h1')?.innerText === 'The first hour'");
    assert_eq!(browser.text("document.title"), "The first hour - Aethon");
    assert_eq!(browser.text("one('.book-pages [aria-current=page]').innerText"), "The first hour");
    // Into the reference, to a heading, and back to a page of the list.
    browser.run("one('main a[href=\"/docs/reference/approvals\"]').click()", &[]);
    page.until("the reference", "one('h1')?.innerText === 'Approvals'");
    page.go("/docs/handbook/openai");
    browser.run("one('main a[href=\"/docs/handbook/troubleshooting#models\"]').click()", &[]);
    page.until(
        "the heading is in sight",
        "location.hash === '#models' && scrollY > 200 && one('#models').getBoundingClientRect().top < 200",
    );
    browser.run("one('.book-pages a[href$=\"/telegram\"]').click()", &[]);
    page.until("the next page", "one('h1')?.innerText === 'Telegram'");
    assert_eq!(
        browser.text("String(document.scripts.length)"),
        "1",
        "the text needs no script but the theme's"
    );
    for from in ["/dashboard", "/docs"] {
        page.go(from);
        page.until("the way is shown", "one('a[href=\"/docs/handbook\"]')");
    }
    page.assert_clean();
}

#[test]
fn handbook_is_accessible_and_fits_a_phone() {
    let Some(page) = Page::beside(Server::start(&[])) else { return };
    let browser = &page.browser;
    let pages =
        ["/docs/handbook", "/docs/handbook/first-hour", "/docs/handbook/limits", "/docs/reference/channels"];
    for target in pages {
        page.go(target);
        page.until("it is there", "one('h1')");
        assert_no_barriers_in_both(browser, target);
        let [list, text] =
            ["one('.book-pages')", "one('main')"].map(|part| format!("{part}.getBoundingClientRect()"));
        assert!(browser.is(&format!("{list}.right <= {text}.left")), "{target}: the list is beside the text");
    }
    browser.become_phone(390, 844);
    for target in pages {
        page.go(target);
        page.until("it is there", "one('h1')");
        assert!(
            browser.is("document.documentElement.scrollWidth <= 390"),
            "{target} is as wide as the phone"
        );
        assert!(browser.is(
            "one('.book-pages').getBoundingClientRect().top >= one('main').getBoundingClientRect().bottom"
        ));
        let small = "all('.book-pages a, .book-head a').filter((link) => shown(link) && link.getBoundingClientRect().height < 44).length";
        assert_eq!(browser.text(&format!("String({small})")), "0", "{target}: every link can be pressed");
        assert_no_barriers_in_both(browser, &format!("{target} on a phone"));
    }
    browser.click(".book-jump");
    page.until("the list is in sight", "one('.book-pages').getBoundingClientRect().top < 844");
    page.assert_clean();
}
