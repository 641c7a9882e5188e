//! Text with hidden characters is shown with them made visible, on every card and in every line, however many there are.

use aethon_tests::http::Request;
use serde_json::json;

use crate::page::Page;

const ASKED: [&str; 2] = ["approval.enabled=true", "approval.requires_approval=[\"file_read\"]"];
/// Paths that look like others: turned round, with something in between, with the end hidden.
const PATHS: [&str; 3] = ["\u{202e}txt.exe", "no\u{200b}tes.txt", "notes.txt\u{e0041}"];
const MARKS: [&str; 3] = ["U+202E", "U+200B", "U+E0041"];
/// Whether nothing under an element hides: no character that does not show stands there.
const IS_OPEN: &str = "const isOpen = (e) => !/[\\u200b\\u202e\\u{e0041}]/u.test(e.textContent
        + [e, ...e.querySelectorAll('*')].flatMap((inner) => ['title', 'aria-label'].map((name) => inner.getAttribute(name) ?? '')).join(' '));";

fn assert_open(page: &Page, selector: &str) {
    let script =
        format!("{IS_OPEN} return all('{selector}').filter((e) => !isOpen(e)).map((e) => e.outerHTML)");
    assert_eq!(page.browser.run(&script, &[]), json!([]), "{selector}");
}

#[test]
fn every_dashboard_card_marks_hidden_characters() {
    let Some(page) = Page::open(&ASKED) else { return };
    let chats: Vec<_> = PATHS
        .iter()
        .enumerate()
        .map(|(number, path)| {
            let mut chat = page.server().chat(&format!("card-{number}"));
            let text = format!("!tool file_read {}", json!({"path": path, *path: 1}));
            chat.send_json(&json!({"type": "message", "id": "m", "text": text}));
            chat.until("approval");
            chat
        })
        .collect();
    page.go("/dashboard#/approvals");
    page.until("all three are asked", "all('.approval .sheet').length === 6");
    for (number, mark) in MARKS.iter().enumerate() {
        let card = page.browser.text(&format!(
            "all('.approval').find((e) => e.textContent.includes('card-{number}')).innerText"
        ));
        assert!(card.contains("they are marked"), "{card}");
        // Once as the value, once as the name of the other argument.
        assert!(card.matches(mark).count() >= 2, "{mark}: {card}");
    }
    assert_open(&page, ".approval");
    page.go("/dashboard#/overview");
    page.until("they are here too", "all('.approval .sheet').length === 6");
    assert_open(&page, ".approval");
    drop(chats);
    page.assert_clean();
}

#[test]
fn successive_cards_and_their_result_lines_mark_hidden_characters() {
    let Some(page) = Page::open(&ASKED) else { return };
    let browser = &page.browser;
    for (path, mark) in PATHS.iter().zip(MARKS) {
        page.say(&format!("!tool file_read {}", json!({"path": path})));
        page.until("it asks", "shown(one('.approval:not(.approval-settled) .approval-actions'))");
        page.until(
            "the card is marked",
            &format!("one('.approval:not(.approval-settled) .sheet').innerText.includes('{mark}')"),
        );
        assert_open(&page, ".approval");
        page.until("it is denied", "(all('.approval-actions button').find((b) => b.innerText === 'Deny')?.click(), !one('.approval-actions'))");
        page.settled();
    }
    let briefs = browser.text("all('.fold-brief').map((e) => e.innerText).join(' ')");
    for mark in MARKS {
        assert!(briefs.contains(mark), "{briefs}");
    }
    browser.run("for (const fold of all('details.fold')) fold.open = true", &[]);
    page.until("they are open", "all('.fold-body .sheet').length >= 6");
    assert_open(&page, ".fold, .approval");
    browser.reload();
    page.until("the transcript is there", "all('.turn .fold-brief').length === 3");
    assert_open(&page, ".fold");
    page.assert_clean();
}

#[test]
fn titles_mark_hidden_characters() {
    let Some(page) = Page::open(&[]) else { return };
    page.ask("!say hello");
    let title = json!({"title": "in\u{202e}voice\u{200b}"}).to_string();
    let rename = Request::new("PATCH", "/api/sessions/webchat:default");
    let rename = rename.header("Content-Type", "application/json").body(title);
    assert!(page.server().send(&rename).status < 400);
    page.browser.reload();
    page.until("it is listed", "/U\\+202E/.test(one('.session-title')?.innerText)");
    page.until("and stands above", "/inU\\+202EvoiceU\\+200B/.test(one('.topbar h1').innerText)");
    page.until("and on the window", "document.title.startsWith('inU+202EvoiceU+200B')");
    assert_open(&page, ".sidebar, .topbar");
    page.browser.run("one('.session button').click()", &[]);
    page.browser.click("//button[@role='menuitem'][normalize-space()='Delete']");
    page.until("it asks", "/U\\+202E/.test(one('dialog[open]')?.innerText)");
    assert_open(&page, "dialog");
    page.assert_clean();
}
