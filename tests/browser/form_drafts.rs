//! What is typed into a form of the dashboard outlives a reload and a closed window, until it is saved or discarded.

use serde_json::json;

use crate::accessibility::assert_no_barriers;
use crate::page::Page;

const BACK: &str = "/is here again/.test(one('.draft-notice')?.innerText)";
const TEXT: &str = "Half a thought";

fn put_sop(page: &Page, last: &str) {
    let content =
        format!("# Tea\n\n## Overview\n\nMakes tea.\n\n## Steps\n\n### 1. Boil\n\nBoil the water.\n{last}\n");
    let request = aethon_tests::http::Request::new("PUT", "/api/sops/tea")
        .header("Content-Type", "application/json")
        .body(json!({ "content": content }).to_string());
    assert_eq!(page.server().send(&request).status, 200);
}

fn delete(page: &Page, target: &str) {
    let request = aethon_tests::http::Request::new("DELETE", target);
    assert_eq!(page.server().send(&request).status, 204, "{target}");
}

fn kept(page: &Page, item: &str) {
    page.until(
        "it is written down",
        &format!(
            "Object.entries(localStorage).some(([key, text]) => key.startsWith('aethon.form.{item}#') && \
             text.includes('{TEXT}'))"
        ),
    );
}

/// Closes the window as a crash would, without a question, and goes on in another one.
fn reopen(page: &Page, path: &str) {
    let browser = &page.browser;
    let made = browser.try_command("POST", "/window/new", Some(&json!({"type": "window"}))).unwrap();
    browser.try_command("DELETE", "/window", None).unwrap();
    browser.try_command("POST", "/window", Some(&json!({"handle": made["handle"]}))).unwrap();
    page.go(path);
}

#[test]
fn what_was_typed_is_there_again_after_a_reload() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    put_sop(&page, "Begun.");
    let entry = page.server().post("/api/memory", &json!({"content": "Rent is due."})).json();
    let entry = entry["id"].as_str().unwrap();
    let (memory, kept_as) = (format!("memory/{entry}"), format!("memory:{entry}"));
    for (address, opens, field, item) in [
        ("sops/new", "", ".sop-source", "sop:"),
        ("sops/tea/edit", "", ".sop-source", "sop:tea"),
        ("memory/new", "", "dialog textarea", "memory:"),
        (memory.as_str(), "Edit", "dialog textarea", kept_as.as_str()),
        ("scheduler/new", "", "dialog textarea", "job:"),
        ("config/scheduler.default_channel", "Change", "dialog input", "config:scheduler.default_channel"),
    ] {
        page.go("/dashboard#/features");
        page.until("another panel is there", "one('h1').innerText === 'Features'");
        page.go(&format!("/dashboard#/{address}"));
        if !opens.is_empty() {
            browser.click(&format!("//dialog//button[normalize-space()='{opens}']"));
        }
        page.fill(field, TEXT);
        kept(&page, item);
        browser.reload();
        page.until(
            &format!("{address}: it is there"),
            &format!("one('{field}')?.value === '{TEXT}' && {BACK}"),
        );
        assert_no_barriers(browser, address);
        browser.click_words("Discard it");
        page.until(
            "it is gone",
            &format!(
                "one('{field}').value !== '{TEXT}' && !one('.draft-notice').innerText && \
                 !Object.keys(localStorage).some((key) => key.startsWith('aethon.form.'))"
            ),
        );
    }
    // A job that runs an SOP once: its choices come back as well.
    page.go("/dashboard#/scheduler/new");
    page.until("the form is there", "all('dialog select').length > 3");
    let choose = "const box = all('dialog select')[Number(arguments[0])]; box.value = arguments[1];
        box.dispatchEvent(new Event('input', {bubbles: true})); box.dispatchEvent(new Event('change', {bubbles: true}));";
    browser.run(choose, &[json!(0), json!("sop")]);
    page.until("the SOPs are there", "all('dialog select')[1].querySelector('[value=tea]')");
    browser.run(choose, &[json!(1), json!("tea")]);
    page.fill("dialog input[maxlength]", TEXT);
    kept(&page, "job:");
    browser.reload();
    page.until(
        "the choices are there",
        "all('dialog select')[0]?.value === 'sop' && shown(all('dialog select')[1])",
    );
    page.until("the SOP is chosen", "all('dialog select')[1].value === 'tea'");
    page.assert_clean();
}

#[test]
fn what_was_typed_in_a_closed_window_is_offered_and_overwrites_nothing() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    put_sop(&page, "Begun.");
    let edit = "/dashboard#/sops/tea/edit";
    page.go(edit);
    page.fill(".sop-source", TEXT);
    kept(&page, "sop:tea");
    reopen(&page, edit);
    page.until("it is offered", "/typed here in another window/.test(one('.draft-notice')?.innerText)");
    assert!(browser.is("/Begun/.test(one('.sop-source').value)"), "what is stored stands there");
    browser.click_words("Bring it back");
    page.until("it is there", &format!("one('.sop-source').value === '{TEXT}' && {BACK}"));
    kept(&page, "sop:tea");

    put_sop(&page, "By another.");
    browser.reload();
    page.until("it says so", "/What you see was changed since/.test(one('.draft-notice')?.innerText)");
    assert!(browser.is("/By another/.test(one('.sop-source').value)"));
    assert_no_barriers(browser, "a draft about another state");
    browser.click_words("Bring it back");
    page.until("it is there", &format!("one('.sop-source').value === '{TEXT}'"));

    // Saving forgets it.
    page.fill(
        ".sop-source",
        "# Tea\n\n## Overview\n\nHalf a thought, finished.\n\n## Steps\n\n### 1. Boil\n\nBoil.\n",
    );
    browser.click_words("Save");
    page.until("it is saved", "location.hash === '#/sops/tea'");
    page.until("nothing is kept", "!Object.keys(localStorage).some((key) => key.startsWith('aethon.form.'))");
    page.assert_clean();
}

#[test]
fn what_was_typed_about_a_deleted_entry_can_be_copied() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    let entry = page.server().post("/api/memory", &json!({"content": "Rent is due."})).json();
    let entry = entry["id"].as_str().unwrap();
    page.go(&format!("/dashboard#/memory/{entry}"));
    browser.click("//dialog//button[normalize-space()='Edit']");
    page.fill("dialog textarea", TEXT);
    kept(&page, &format!("memory:{entry}"));
    delete(&page, &format!("/api/memory/{entry}"));
    browser.reload();
    page.until(
        "it is told, and the text is there",
        &format!("/{TEXT}/.test(one('dialog .draft-left')?.innerText)"),
    );
    browser.click("dialog [aria-label='Copy what you typed']");
    browser.click_words("Discard it");
    page.until(
        "it is gone",
        "!one('.draft-left') && !Object.keys(localStorage).some((key) => key.startsWith('aethon.form.'))",
    );
    page.assert_clean();
}

#[test]
fn edited_arguments_are_there_again_after_a_reload_and_told_when_it_was_decided() {
    let Some(page) = Page::open(&["approval.enabled=true", "approval.requires_approval=[\"file_read\"]"])
    else {
        return;
    };
    let browser = &page.browser;
    page.say("!tool file_read {\"path\": \"notes.txt\"}");
    page.until("it asks", "shown(one('.approval-actions'))");
    page.go("/dashboard#/approvals");
    page.until("it is listed", "shown(one('.approval-actions'))");
    browser.click(".approval-more > summary");
    browser.click_words("Edit, then allow");
    page.fill(".approval-edit textarea", TEXT);
    let asked = page.server().get("/api/approvals").json()["approvals"][0]["id"].as_str().unwrap().to_owned();
    kept(&page, &format!("approval:{asked}"));
    browser.reload();
    page.until("it is there", &format!("one('.approval-edit textarea')?.value === '{TEXT}' && {BACK}"));
    assert!(
        browser
            .is("all('.approval-actions button').filter(shown).every((b) => b.innerText !== 'Allow once')"),
        "nothing allows the call as it was while another stands in the fields"
    );
    // It is decided while this page is away.
    page.go("/");
    page.until("another page is there", "shown(one('#message'))");
    page.server().post(&format!("/api/approvals/{asked}"), &json!({"decision": "deny"}));
    page.go("/dashboard#/approvals");
    page.until("it is told", "/Your edits were not sent/.test(one('main').innerText)");
    page.until("the text is there", &format!("/{TEXT}/.test(one('.draft-left')?.innerText)"));
    assert_no_barriers(browser, "edits that were not sent");
    page.assert_clean();
}
