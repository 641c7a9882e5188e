//! The owner decides before a tool runs, and sees exactly the command that would run.

use aethon_tests::browser::keys::{DOWN, ENTER, TAB};
use aethon_tests::{Request, Socket};
use serde_json::{Value, json};

use crate::accessibility::assert_no_barriers_in_both;
use crate::page::Page;

const ASKED: [&str; 2] = ["approval.enabled=true", "approval.requires_approval=[\"file_read\"]"];
const WAITS: &str = "shown(one('.approval:not(.approval-settled) .approval-actions'))";

fn write_notes(page: &Page) {
    let notes = page.server().home().path().join("workspace/notes.txt");
    std::fs::write(notes, "milk and honey\n").unwrap();
}

#[test]
fn approval_card_shows_the_command_and_takes_both_answers() {
    let Some(page) = Page::open(&ASKED) else { return };
    write_notes(&page);
    let browser = &page.browser;
    for (words, settled, result) in
        [("Allow once", "You allowed this.", "milk and honey"), ("Deny", "You denied this.", "denied")]
    {
        page.say(&format!("!tool file_read {}", json!({"path": "notes.txt"})));
        page.until("it asks", WAITS);
        let card = browser.text("all('.approval').at(-1).innerText");
        assert!(
            card.contains("Allow file_read to read this file?") && card.matches("notes.txt").count() == 1,
            "one question, and what would run once: {card}"
        );
        let shown = browser.run("return all('.approval').at(-1).querySelectorAll('button').length && [...all('.approval').at(-1).querySelectorAll('button')].filter(shown).map((b) => b.innerText)", &[]);
        assert_eq!(shown, json!(["Allow once", "Deny"]), "two buttons; the rest is folded");
        assert!(card.contains("Denied by itself in"), "{card}");
        assert!(!browser.is("document.activeElement.closest('.approval')"), "no button has the focus");
        assert!(
            !browser.is("one('.approval [type=submit], .approval [autofocus]')"),
            "and none is the default"
        );
        page.until("the title of the window says it", "document.title.startsWith('Approval needed')");
        page.until("the list says it", "/Waits for you/.test(one('.sessions').innerText)");
        page.until(
            "it is announced",
            "/asks for permission to use file_read/.test(one('#announcer').innerText)",
        );
        // Enter in the box is no answer, and a press in the first moments is none.
        browser.chord(&[ENTER]);
        assert!(browser.is(WAITS));
        browser.run("window.settles = () => one('.approval-actions') === null", &[]);
        page.until(
            "the press counts",
            &format!(
                "(all('.approval-actions button').find((b) => b.innerText === '{words}')?.click(), settles())"
            ),
        );
        let turn = page.settled();
        page.until(
            "it says what was decided",
            &format!("all('.approval').at(-1).innerText.includes('{settled}')"),
        );
        assert!(turn.reply.contains(result), "{words}: {turn:?}");
    }
    page.assert_clean();
}

#[test]
fn unanswered_approval_is_denied() {
    let Some(page) = Page::open(&[ASKED[0], ASKED[1], "approval.timeout_seconds=2"]) else { return };
    write_notes(&page);
    page.say("!tool file_read {\"path\": \"notes.txt\"}");
    page.until("it asks", WAITS);
    let turn = page.settled();
    page.until("it says so", "/no answer in time/.test(one('.approval').innerText)");
    assert!(turn.reply.contains("denied"), "{turn:?}");
    page.assert_clean();
}

#[test]
fn approval_survives_a_reload_and_is_answered_on_the_dashboard() {
    let Some(page) = Page::open(&ASKED) else { return };
    write_notes(&page);
    page.say("!tool file_read {\"path\": \"notes.txt\"}");
    page.until("it asks", WAITS);
    page.browser.reload();
    page.until("it still asks", WAITS);
    assert!(page.browser.is("all('.approval').length === 1"), "once");
    page.go("/dashboard#/approvals");
    page.until("it is listed", "/notes\\.txt/.test(one('.approval')?.innerText)");
    page.until("the press counts", "(all('.approval-actions button').find((b) => b.innerText === 'Allow once')?.click(), !one('.approval-actions'))");
    page.until("nothing waits", "/Nothing waits for your approval/.test(one('main').innerText)");
    page.go("/");
    page.until("it ran", "/milk and honey/.test(one('.reply')?.innerText)");
    page.assert_clean();
}

/// Lets a conversation ask for a tool, and waits until it does.
fn asking(page: &Page, name: &str, input: &Value) -> Socket {
    let mut chat = page.server().chat(name);
    chat.send_json(&json!({"type": "message", "id": "m", "text": format!("!tool file_read {input}")}));
    chat.until("approval");
    chat
}

/// The ids of the questions that wait.
fn waiting(page: &Page) -> Vec<String> {
    let open = page.server().get("/api/approvals").json();
    let ids = open["approvals"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned());
    ids.collect()
}

#[test]
fn several_questions_are_answered_by_keys_one_after_the_other() {
    let Some(page) = Page::open(&ASKED) else { return };
    let browser = &page.browser;
    let _chats: Vec<Socket> =
        ["one", "two", "three"].iter().map(|name| asking(&page, name, &json!({"path": name}))).collect();
    page.go("/dashboard#/approvals");
    page.until("all three are asked", "all('.approval').length === 3");
    page.until("their number is there", "/3 waiting/.test(one('main').innerText)");
    assert_no_barriers_in_both(browser, "several questions");
    let focused = "document.activeElement.closest('.approval')?.querySelector('.sheet').innerText";
    browser.run("one('.approval').focus()", &[]);
    let first = browser.text(focused);
    browser.chord(&[DOWN]);
    page.until("the arrow goes to the next", &format!("{focused} && {focused} !== '{first}'"));
    // Keys count on the card itself, and not on what is in it.
    for within in [".sheet", "button"] {
        browser.chord(&[TAB]);
        assert!(browser.is(&format!("document.activeElement.matches('.approval {within}')")), "{within}");
        browser.chord(&['d']);
        assert_eq!(waiting(&page).len(), 3, "a letter on {within} decides nothing");
    }
    browser.run("one('.approval').focus()", &[]);
    let over = "(window.since ??= Date.now(), Date.now() - window.since > 600)";
    page.until("the first moments, which count for nothing, are over", over);
    browser.chord(&['d']);
    page.until("it is denied", "/2 waiting/.test(one('main').innerText)");
    page.until("the next one has the focus", &format!("{focused} && {focused} !== '{first}'"));
    browser.click_words("Deny all");
    page.until("it asks first", "/Deny all 2 questions/.test(one('dialog[open]')?.innerText)");
    browser.click("//dialog//button[normalize-space()='Deny all']");
    page.until("nothing waits", "/Nothing waits for your approval/.test(one('main').innerText)");
    assert!(waiting(&page).is_empty());
    page.assert_clean();
}

#[test]
fn a_question_that_is_decided_elsewhere_says_so_before_it_goes() {
    let Some(page) = Page::open(&ASKED) else { return };
    let _chat = asking(&page, "one", &json!({"path": "notes.txt"}));
    page.go("/dashboard#/approvals");
    page.until("it is asked", "shown(one('.approval-actions'))");
    let path = format!("/api/approvals/{}", waiting(&page)[0]);
    page.server().post(&path, &json!({"decision": "approve"}));
    page.until("it says so", "/Allowed elsewhere/.test(one('.approval-settled')?.innerText)");
    page.until("and goes", "!one('.approval') && /Nothing waits/.test(one('main').innerText)");
    page.assert_clean();
}

#[test]
fn the_rest_of_a_question_is_folded_and_fits_a_phone() {
    let settings = [ASKED[0], "approval.requires_approval=[\"file_edit\"]"];
    let Some(page) = Page::open(&settings) else { return };
    write_notes(&page);
    let browser = &page.browser;
    let mut chat = page.server().chat("one");
    let edit = json!({"path": "notes.txt", "old": "milk", "new": "bread"});
    chat.send_json(&json!({"type": "message", "id": "m", "text": format!("!tool file_edit {edit}")}));
    chat.until("approval");
    browser.become_phone(390, 844);
    page.go("/dashboard#/approvals");
    page.until("it is asked", "shown(one('.approval-actions'))");
    let card = browser.text("one('.approval').innerText");
    assert!(
        card.contains("+bread") && card.matches("bread").count() == 1,
        "the change stands there once: {card}"
    );
    assert!(
        browser.is("document.documentElement.scrollWidth <= innerWidth"),
        "nothing is wider than the phone"
    );
    assert!(
        browser.is("all('.approval :is(button, summary)').filter(shown).every((one) => one.getBoundingClientRect().height >= 44)"),
        "every target is big enough"
    );
    browser.click(".approval-more > summary");
    page.until("all arguments are there", "/\"new\": \"bread\"/.test(one('.approval-more')?.innerText)");
    assert!(
        browser.is("shown(all('.approval-more button').find((b) => b.innerText === 'Edit, then allow'))")
    );
    assert_no_barriers_in_both(browser, "an open question on a phone");
    page.assert_clean();
}

#[test]
fn settings_and_deletions_are_named_and_found_among_the_decisions() {
    let Some(page) = Page::open(&[]) else { return };
    let server = page.server();
    page.ask("hello");
    let edit = Request::new("PATCH", "/api/config")
        .header("Content-Type", "application/json")
        .body(json!({"budget.daily_usd": 3.0}).to_string());
    assert_eq!(server.send(&edit).status, 200);
    let asked = server.get("/api/sessions").json()["sessions"][0]["session_id"].as_str().unwrap().to_owned();
    let delete = Request::new("DELETE", &format!("/api/sessions/{asked}"));
    assert_eq!(server.send(&delete).status, 200);
    page.go("/dashboard#/approvals");
    page.until("both are there", "all('.data-table tbody tr[data-key]').length === 2");
    let row = |words: &str| {
        format!("all('.data-table tbody tr[data-key]').find((row) => row.innerText.includes('{words}'))")
    };
    for (words, badge, kind) in [("budget.daily_usd", "Changed", "Settings"), (&asked, "Deleted", "Deletion")]
    {
        let found = row(words);
        assert_eq!(page.browser.text(&format!("{found}.querySelector('.badge').innerText")), badge);
        assert_eq!(page.browser.text(&format!("{found}.querySelector('.badge').dataset.tone")), "good");
        assert!(page.browser.text(&format!("{found}.innerText")).contains(kind), "{kind}");
    }
    page.go("/dashboard#/approvals?kind=deletion");
    page.until("the filter leaves one", "all('.data-table tbody tr[data-key]').length === 1");
    assert!(page.browser.is(&format!("{} !== undefined", row(&asked))));
    page.assert_clean();
}
