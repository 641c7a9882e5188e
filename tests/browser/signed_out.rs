//! A sign-in that ends while pages are open or closed: by an upgrade, another token, from afar, with the key, in one of two
//! windows, while a phone slept. Each leads to the form, which takes the right token at the first try and leads back.

use aethon_tests::Server;
use aethon_tests::browser::keys::ENTER;
use aethon_tests::http::Request;
use serde_json::json;

use crate::page::Page;

const TOKEN: &str = "the-right-token-of-today";
const SET: &str = "dashboard.auth_token=the-right-token-of-today";
const OLD: &str = "dashboard.auth_token=the-right-token-of-yesterday";
const ASKS: &str = "shown(one('#token'))";

/// Signs in, at the first try.
fn sign_in(page: &Page, token: &str) {
    page.until("it asks", ASKS);
    assert!(
        !page.browser.is("/allowed_origins/.test(document.body.innerText)"),
        "the address of the page is not what is wrong"
    );
    page.fill("#token", token);
    page.browser.chord(&[ENTER]);
    page.until(
        "the form is gone, without a complaint",
        "!one('#token') || (one('#token-error').innerText && null)",
    );
}

/// Has a browser with a conversation whose sign-in is right.
fn signed_in(setting: &str) -> Option<Page> {
    let page = Page::beside(Server::start(&[setting]))?;
    page.go("/#/garden");
    sign_in(&page, setting.rsplit('=').next().unwrap());
    page.until("the chat is there", "shown(one('#message'))");
    page.ask("!say kept");
    Some(page)
}

const CHAT: &str = "location.hash === '#/garden' && one('.reply .prose')?.innerText === 'kept'";
const LOGS: &str = "location.hash === '#/logs' && one('h1')?.innerText === 'Logs' && /Live/.test(one('.panel-top').innerText)";

/// Reloads both pages, and then signs in on each of them while it is open.
fn assert_both_pages_sign_in(page: &mut Page, change: &mut dyn FnMut(&mut Page)) {
    for (address, there) in [("/#/garden", CHAT), ("/dashboard#/logs", LOGS)] {
        page.go(address);
        page.until("it is there", there);
        change(page);
        page.until("the open page asks", ASKS);
        sign_in(page, TOKEN);
        page.until("and leads back", there);
        change(page);
        page.browser.open("about:blank");
        page.go(address);
        sign_in(page, TOKEN);
        page.until("the page that was opened anew leads there too", there);
    }
}

/// Takes every sign-in back, as from another device.
fn end_sign_ins(page: &Page) {
    let listed = page.server().send(&Request::get("/api/sign-ins").bearer(TOKEN)).json();
    for sign_in in listed["sign_ins"].as_array().unwrap() {
        let target = format!("/api/sign-ins/{}", sign_in["id"].as_str().unwrap());
        assert_eq!(page.server().send(&Request::new("DELETE", &target).bearer(TOKEN)).status, 204);
    }
}

fn restart(page: &mut Page, prepare: impl FnOnce(&std::path::Path), setting: &str) {
    let home = page.terminate_server();
    prepare(home.path());
    page.start_server_with(home, &[setting]);
}

#[test]
fn a_cookie_of_an_older_version_leads_to_the_form() {
    let Some(mut page) = signed_in(SET) else { return };
    assert_both_pages_sign_in(&mut page, &mut |page| {
        let home = page.terminate_server();
        let old = json!({"name": "aethon_dash", "value": "5f".repeat(32), "url": page.browser.text("location.origin"), "httpOnly": true});
        page.browser.devtools("Network.setCookie", &old);
        page.start_server_with(home, &[SET]);
    });
    page.assert_clean();
}

#[test]
fn a_changed_token_leads_to_the_form() {
    let Some(mut page) = signed_in(OLD) else { return };
    restart(&mut page, |_| {}, SET);
    page.until("the open page asks", ASKS);
    sign_in(&page, TOKEN);
    page.until("and leads back", CHAT);
    page.assert_clean();
}

#[test]
fn revoked_sign_in_leads_to_the_form() {
    let Some(mut page) = signed_in(SET) else { return };
    assert_both_pages_sign_in(&mut page, &mut |page| end_sign_ins(page));
    page.assert_clean();
}

#[test]
fn a_lost_key_leads_to_the_form() {
    let Some(mut page) = signed_in(SET) else { return };
    assert_both_pages_sign_in(&mut page, &mut |page| {
        restart(page, |home| std::fs::remove_file(home.join("run/sign-in.key")).unwrap(), SET);
    });
    page.assert_clean();
}

#[test]
fn sign_in_applies_to_every_window() {
    let Some(mut page) = signed_in(SET) else { return };
    let first = page.browser.try_command("GET", "/window", None).unwrap();
    let made = page.browser.try_command("POST", "/window/new", Some(&json!({"type": "window"}))).unwrap();
    let switch = |page: &Page, handle: &serde_json::Value| {
        page.browser.try_command("POST", "/window", Some(&json!({"handle": handle}))).unwrap();
    };
    switch(&page, &made["handle"]);
    page.go("/dashboard#/logs");
    page.until("it is there", LOGS);
    restart(&mut page, |home| std::fs::remove_file(home.join("run/sign-in.key")).unwrap(), SET);
    page.until("it asks", ASKS);
    switch(&page, &first);
    page.until("the chat asks as well", ASKS);
    sign_in(&page, TOKEN);
    page.until("and leads back", CHAT);
    switch(&page, &made["handle"]);
    page.until("the other window needs no token", LOGS);
    page.assert_clean();
}

#[test]
fn resumed_phone_signs_in_again_and_keeps_typed_text() {
    let Some(mut page) = signed_in(SET) else { return };
    page.browser.become_phone(390, 844);
    page.browser.reload();
    page.until("the chat is there", CHAT);
    page.fill("#message", "half a question");
    let home = page.terminate_server();
    page.browser.try_command("DELETE", "/cookie", None).unwrap();
    page.start_server_with(home, &[SET]);
    page.browser.run("document.dispatchEvent(new Event('visibilitychange'))", &[]);
    sign_in(&page, TOKEN);
    page.until("and leads back", &format!("{CHAT} && one('#message').value === 'half a question'"));
    page.assert_clean();
}

#[test]
fn unsaved_text_survives_a_sign_in_that_ended() {
    let Some(mut page) = signed_in(SET) else { return };
    page.go("/dashboard#/sops/new");
    page.fill(".sop-source", "# Half a thought\n");
    restart(&mut page, |home| std::fs::remove_file(home.join("run/sign-in.key")).unwrap(), SET);
    page.until("it asks", ASKS);
    page.browser.run("one('dialog.dialog-gate').dispatchEvent(new Event('cancel', {cancelable: true}))", &[]);
    sign_in(&page, TOKEN);
    page.until("the text is still there", "one('.sop-source')?.value === '# Half a thought\\n'");
    page.until("and it is live again", "/Live/.test(one('.panel-top').innerText)");
    page.assert_clean();
}

#[test]
fn edited_arguments_survive_a_sign_in_that_ended() {
    let asks = [SET, "approval.enabled=true", "approval.requires_approval=[\"file_read\"]"];
    let Some(page) = Page::beside(Server::start(&asks)) else { return };
    page.go("/#/garden");
    sign_in(&page, TOKEN);
    page.until("the chat is there", "shown(one('#message'))");
    page.say(&format!("!tool file_read {}", json!({"path": "notes.txt"})));
    page.until("it asks", "shown(one('.approval .approval-actions'))");
    page.go("/dashboard#/approvals");
    page.browser.click(".approval-more > summary");
    page.browser
        .click("//*[contains(@class,'approval-actions')]//button[normalize-space()='Edit, then allow']");
    page.until("it can be edited", "document.activeElement.closest('.approval-edit')");
    page.fill(".approval-edit textarea", "other/notes.txt");
    for away in ["approvals", "logs"] {
        page.browser.click(&format!("a[data-panel={away}]"));
        page.until("the panel is there without a question", &format!("location.hash === '#/{away}'"));
        end_sign_ins(&page);
        sign_in(&page, TOKEN);
        page.until("the form is gone", "!one('dialog') && /Live/.test(one('.panel-top').innerText)");
        page.browser.click("a[data-panel=approvals]");
        page.until(
            "what was typed is still there",
            "one('.approval-edit textarea')?.value === 'other/notes.txt'",
        );
    }
    page.assert_clean();
}
