//! Keyboard users are never thrown back to the top of the page: a removed element hands the focus on.

use aethon_tests::browser::keys::{ENTER, ESCAPE};
use serde_json::json;

use crate::page::Page;

/// A press, and where the focus is once it has done its work.
struct Press {
    what: &'static str,
    /// The element that has the focus before.
    on: &'static str,
    key: char,
    /// The condition that holds after the press.
    done: &'static str,
    /// A selector of the element that has the focus then.
    then: &'static str,
}

const ALLOW: &str = "all('.approval-actions button').find((b) => b.innerText === 'Allow once')";
const DENY: &str = "all('.approval-actions button').find((b) => b.innerText === 'Deny')";
const SETTLED: &str = "!one('.approval-actions') && !one('[data-live]')";
const EDIT: &str = "all('.said [aria-label=\"Edit your message\"]').at(-1)";

fn press(page: &Page, Press { what, on, key, done, then }: &Press) {
    page.until(&format!("{what}: it is there"), &format!("shown({on})"));
    page.browser.run(&format!("({on}).focus(); window.since = Date.now()"), &[]);
    // A press on a card counts only after it could be read.
    page.until("it may be pressed", &format!("Date.now() - since > 600 && document.activeElement === {on}"));
    page.browser.chord(&[*key]);
    page.until(&format!("{what}: it is done"), done);
    let held = format!("document.activeElement.matches('{then}')");
    assert!(page.browser.is(&held), "after {what} the focus is on {}", page.focused());
}

#[test]
fn removed_element_hands_its_focus_on() {
    let settings = ["approval.enabled=true", "approval.requires_approval=[\"file_read\"]"];
    let Some(mut page) = Page::open(&settings) else { return };
    for (what, on) in [("Allow once", ALLOW), ("Deny", DENY)] {
        page.say("!tool file_read {\"path\": \"notes.txt\"}");
        press(&page, &Press { what, on, key: ENTER, done: SETTLED, then: ".approval-settled" });
    }
    page.ask("hello");
    page.ask("hello");
    page.browser.run("one('.transcript').scrollTop = 0", &[]);
    let replies = "all('.turn').length === 4 && !one('.edit-box') && !one('[data-live]')";
    let rows = [
        Press {
            what: "Go to the end",
            on: "one('.to-end')",
            key: ENTER,
            done: "!shown(one('.to-end'))",
            then: ".transcript",
        },
        Press {
            what: "Answer again",
            on: "all('.reply [aria-label=\"Answer again\"]').at(-1)",
            key: ENTER,
            done: replies,
            then: "#message",
        },
        Press { what: "Edit", on: EDIT, key: ENTER, done: "one('.edit-box')", then: ".edit-box textarea" },
        Press {
            what: "Esc in the edit",
            on: "one('.edit-box textarea')",
            key: ESCAPE,
            done: "!one('.edit-box')",
            then: ".said [aria-label=\"Edit your message\"]",
        },
        Press { what: "Edit", on: EDIT, key: ENTER, done: "one('.edit-box')", then: ".edit-box textarea" },
        Press {
            what: "Enter in the edit",
            on: "one('.edit-box textarea')",
            key: ENTER,
            done: replies,
            then: "#message",
        },
    ];
    for row in &rows {
        press(&page, row);
    }

    // While another client writes, a button under a reply keeps it.
    page.browser.run("all('.reply [aria-label=\"Copy reply\"]').at(-1).focus()", &[]);
    page.server().chat("default").say("m1", "!say from elsewhere");
    page.until("it is there", "all('.turn').length === 5 && !one('[data-live]')");
    assert_eq!(page.focused(), "button Copy reply");

    let home = page.kill_server();
    page.until("the page says so", "shown(one('.banner button'))");
    page.browser.run("one('.banner button').focus()", &[]);
    page.start_server(home);
    page.until("it is connected", "!shown(one('.banner'))");
    assert_eq!(page.browser.text("document.activeElement.id"), "message", "after the banner went");
    page.assert_clean();
}

#[test]
fn the_dashboard_leaves_focus_and_selection_alone() {
    let settings = ["approval.enabled=true", "approval.requires_approval=[\"file_read\"]"];
    let Some(page) = Page::open(&settings) else { return };
    page.go("/dashboard");
    page.until(
        "the figures are there",
        "/Running/.test(one('.cards')?.innerText) && one('.panel-overview a[href=\"#/scheduler\"]')",
    );
    let mark =
        "window.line = one('.fact-card dt'); getSelection().selectAllChildren(line);
        window.asked = () => performance.getEntriesByType('resource').filter((e) => e.name.includes('/api/usage')).length;
        window.before = asked();
        one('.panel-overview a[href=\"#/scheduler\"]').focus();";
    page.browser.run(mark, &[]);
    let mut other = page.server().chat("other");
    other.say("m1", "!say one");
    page.until("the event was heard", "asked() > before");
    assert!(page.browser.is("document.activeElement.matches('.panel-overview a[href=\"#/scheduler\"]')"));
    assert!(
        page.browser.is("line.isConnected && getSelection().toString().length > 3"),
        "the selection stays"
    );

    let asks = "!tool file_read {\"path\": \"notes.txt\"}";
    other.send_json(&json!({"type": "message", "id": "m2", "text": asks}));
    press(
        &page,
        &Press {
            what: "Deny",
            on: DENY,
            key: ENTER,
            done: "!one('.approval-actions')",
            then: ".approval-settled",
        },
    );
    page.until("the card is gone", "/Nothing waits/.test(one('main').innerText)");
    assert!(
        page.browser.is("document.activeElement !== document.body"),
        "the focus is on {}",
        page.focused()
    );
    page.assert_clean();
}
