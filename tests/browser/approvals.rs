//! The owner decides before a tool runsand sees exactly the command that would run.

use aethon_tests::browser::keys::ENTER;
use serde_json::json;

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
            card.contains("Allow file_read?") && card.contains("path") && card.contains("notes.txt"),
            "{card}"
        );
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
