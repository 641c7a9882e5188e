//! A change of the configuration that loosens protection: the page asks for the token again, or names the command for the terminal.

use aethon_tests::Server;

use crate::page::Page;

const TOKEN: &str = "s3cret-t0ken+of the/owner";

fn file(page: &Page) -> String {
    std::fs::read_to_string(page.server().home().path().join("config.toml")).unwrap_or_default()
}

/// Opens the form of a switch, and shows what turning it off would change.
fn turn_off(page: &Page, key: &str) {
    page.go(&format!("/dashboard#/config/{key}"));
    page.until("the key is there", "/The built-in default/.test(one('dialog')?.innerText)");
    page.browser.click("//dialog//button[normalize-space()='Change']");
    page.browser.run(
        "const box = one('dialog select'); box.value = 'false'; box.dispatchEvent(new Event('change'))",
        &[],
    );
    page.browser.click("//dialog//button[normalize-space()='Show what changes']");
    page.until("it says what the change does", "/loosens protection/.test(one('dialog')?.innerText)");
    page.until("and shows it", "/= false/.test(one('dialog .diff .add')?.parentElement.innerText)");
}

#[test]
fn loosening_protection_asks_for_the_token_again() {
    let Some(page) = Page::beside(Server::start(&[&format!("dashboard.auth_token=\"{TOKEN}\"")])) else {
        return;
    };
    let browser = &page.browser;
    page.go("/dashboard");
    page.until("it asks", "shown(one('#token'))");
    page.fill("#token", TOKEN);
    browser.click_words("Sign in");
    page.until("the dashboard is there", "one('h1') && !one('#token')");
    turn_off(&page, "security.mark_untrusted_content");
    browser.click("//dialog//button[normalize-space()='Save']");
    page.until(
        "a dialog names the key in words and has the focus",
        "/Type the access token again/.test(all('dialog').at(-1).innerText) && \
         /mark_untrusted_content[^]*marked as untrusted/.test(all('dialog').at(-1).innerText) && \
         document.activeElement.type === 'password'",
    );
    let field = "dialog input[type=password]";
    page.fill(field, "wrong");
    browser.click("//button[normalize-space()='Confirm and save']");
    page.until(
        "a wrong one is told",
        "/wrong/.test(all('dialog').at(-1).querySelector('[role=alert]').innerText)",
    );
    assert!(!file(&page).contains("mark_untrusted_content"));
    page.fill(field, TOKEN);
    browser.click("//button[normalize-space()='Confirm and save']");
    page.until("it says that it is saved", "/Saved/.test(one('.toasts').innerText)");
    assert!(file(&page).contains("mark_untrusted_content = false"));
    assert!(!browser.is("document.documentElement.outerHTML.includes('t0ken')"));
    let complaints = browser.complaints();
    // The refusals themselves are answers that a browser tells.
    assert!(complaints.iter().all(|line| line.contains("403") || line.contains("401")), "{complaints:?}");
}

#[test]
fn without_a_token_the_page_names_the_command() {
    let Some(page) = Page::open(&[]) else { return };
    turn_off(&page, "security.mark_untrusted_content");
    page.until(
        "the command is there, and nothing to save",
        "/aethon-cli config set security.mark_untrusted_content false/.test(one('dialog .code-box').innerText) && \
         !all('dialog button').some((one) => one.innerText.trim() === 'Save')",
    );
    assert!(!file(&page).contains("mark_untrusted_content"));
}
