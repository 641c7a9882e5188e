//! A messenger is set up in the page: tried at its platform, kept as a credential, turned on. Nothing is kept of what is refused.

use aethon_tests::browser::keys::ESCAPE;
use aethon_tests::http::Request;
use aethon_tests::telegram::{BOT, TOKEN, Telegram};
use aethon_tests::{Server, eventually};
use serde_json::json;

use crate::accessibility::assert_no_barriers_in_both;
use crate::page::Page;

const KEY: &str = "the-access-token-of-the-owner";
const SECRET: &str = ".drawer input[type=password]";

/// The settings of a server that would find Telegram here.
fn settings(telegram: &Telegram) -> [String; 2] {
    [format!("channels.telegram.api_base=http://{}", telegram.address), format!("dashboard.auth_token={KEY}")]
}

fn open_setup(page: &Page) {
    page.go("/dashboard#/channels");
    page.until("the channels are listed", "/Telegram/.test(one('.panel-channels .data-table')?.innerText)");
    page.browser.click("a[href='#/channels/telegram']");
    page.until("the steps are there", "/BotFather/.test(one('.drawer')?.innerText)");
}

#[test]
fn telegram_is_tested_and_set_up_in_the_page() {
    let telegram = Telegram::start();
    let own = settings(&telegram);
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let Some(mut page) = Page::beside(Server::start(&own)) else { return };
    page.go("/dashboard#/channels");
    page.until("it asks", "shown(one('#token'))");
    page.fill("#token", KEY);
    page.browser.click_words("Sign in");
    open_setup(&page);
    let config = page.server().home().path().join("config.toml");
    let text = || std::fs::read_to_string(&config).unwrap_or_default();
    {
        let browser = &page.browser;
        assert_no_barriers_in_both(browser, "the set-up of a messenger");
        browser.click_words("Test it");
        page.until("it says what is missing", "/Token of the bot is needed/.test(one('.drawer').innerText)");
        page.fill(SECRET, "1:a-wrong-token");
        page.fill(".drawer textarea", "4242");
        browser.click("//button[normalize-space()='Set it up']");
        page.until("the platform refuses it", "/does not let Aethon in/.test(one('.drawer').innerText)");
        assert!(!text().contains("telegram"), "nothing is written: {}", text());
        page.fill(SECRET, TOKEN);
        browser.click_words("Test it");
        page.until("the platform lets it in", &format!("/{BOT}/.test(one('.setup-checks')?.innerText)"));
        assert_no_barriers_in_both(browser, "a messenger that was tested");
        assert!(
            browser.is(&format!("!JSON.stringify(Object.entries(localStorage)).includes('{TOKEN}')")),
            "the token is no draft"
        );
        browser.click("//button[normalize-space()='Set it up']");
        page.until("the access token is asked for", "one('dialog:not(.drawer) input[type=password]')");
        page.fill("dialog:not(.drawer) input[type=password]", KEY);
        browser.click("//button[normalize-space()='Confirm and save']");
        page.until("it is set up", "/Telegram is set up/.test(one('.drawer')?.innerText)");
        assert_no_barriers_in_both(browser, "a messenger that was set up");
    }
    let written = text();
    assert!(written.contains("${credential:telegram-token}") && !written.contains(TOKEN), "{written}");
    assert!(written.contains("4242"), "the person may write: {written}");
    let listed = page.server().send(&Request::get("/api/channels").bearer(KEY)).json();
    let row = listed["channels"].as_array().unwrap().iter().find(|row| row["name"] == "telegram").unwrap();
    assert_eq!((&row["enabled"], &row["is_waiting"]), (&json!(false), &json!(true)), "{row}");
    page.browser.chord(&[ESCAPE]);
    page.until(
        "the list says so",
        "!one('.drawer') && /when Aethon starts again/.test(one('main').innerText)",
    );
    let home = page.terminate_server();
    page.start_server_with(home, &own);
    telegram.await_poll();
    telegram.say(4242, "!say hello there");
    eventually("the person is answered", || telegram.shows(4242, "hello there").then_some(()));
}

#[test]
fn set_up_without_an_access_token_shows_the_commands_for_the_terminal() {
    let telegram = Telegram::start();
    let base = format!("channels.telegram.api_base=http://{}", telegram.address);
    let Some(page) = Page::open(&[&base]) else { return };
    let browser = &page.browser;
    browser.become_phone(390, 844);
    open_setup(&page);
    page.fill(SECRET, TOKEN);
    page.fill(".drawer textarea", "4242");
    browser.click("//button[normalize-space()='Set it up']");
    page.until(
        "the commands are there",
        "/aethon-cli config set channels.telegram.enabled true/.test(one('.drawer .code-box')?.innerText)",
    );
    let shown = browser.text("one('.drawer').innerText");
    assert!(shown.contains("aethon-cli secrets set telegram-token") && !shown.contains(TOKEN), "{shown}");
    assert!(browser.is("document.documentElement.scrollWidth <= innerWidth"));
    assert_no_barriers_in_both(browser, "the commands of a set-up, on a phone");
    let wish = json!({"settings": {"token": TOKEN}});
    let refused = page.server().post("/api/channels/telegram/setup", &wish);
    assert_eq!((refused.status, refused.json()["code"].as_str()), (403, Some("terminal_only")));
    // What was typed outlives a reload, but for the secret.
    browser.reload();
    page.until("the people are there again", "one('.drawer textarea')?.value === '4242'");
    assert!(browser.is(&format!("one('{SECRET}').value === ''")));
    page.assert_clean();
}

#[test]
fn set_up_is_refused_for_unknown_names_keys_and_wrong_confirmations() {
    let telegram = Telegram::start();
    let own = settings(&telegram);
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let server = Server::start(&own);
    let send = |name: &str, action: &str, body: &serde_json::Value, confirmed: &str| {
        let request = Request::post(&format!("/api/channels/{name}/{action}"), body).bearer(KEY);
        let request =
            if confirmed.is_empty() { request } else { request.header("X-Aethon-Confirm", confirmed) };
        let answer = server.send(&request);
        (answer.status, answer.json())
    };
    let right = json!({"settings": {"token": TOKEN}});
    for (name, action, body, confirmed, status, code) in [
        ("telegram", "setup", &right, "", 403, "confirm_required"),
        ("telegram", "setup", &right, "wrong", 403, "confirm_required"),
        ("telegram", "setup", &json!({"settings": {"token": "1:wrong"}}), KEY, 422, "channel_refused"),
        ("nothing", "test", &json!({}), "", 404, "not_found"),
        ("telegram", "test", &json!({"settings": {"enabled": "true"}}), "", 422, "invalid_request"),
        ("telegram", "test", &json!({"settings": {"token": 1}}), "", 422, "invalid_request"),
        ("telegram", "test", &json!({"settings": []}), "", 422, "invalid_request"),
        ("telegram", "setup", &json!({"allowed": "me"}), KEY, 422, "invalid_request"),
    ] {
        let (found, problem) = send(name, action, body, confirmed);
        assert_eq!(
            (found, problem["code"].as_str()),
            (status, Some(code)),
            "{name} {action} {body}: {problem}"
        );
    }
    let credentials = server.home().path().join("credentials");
    assert!(!credentials.join("telegram-token").exists(), "nothing is kept of what was refused");
    let (status, tested) = send("telegram", "test", &right, "");
    assert_eq!(
        (status, &tested["ok"], &tested["saved_by"]),
        (200, &json!(true), &json!("token")),
        "{tested}"
    );
    assert!(!tested.to_string().contains(TOKEN), "{tested}");
}
