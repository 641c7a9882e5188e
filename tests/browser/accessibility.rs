//! What axe-core finds: nothing, on every page and in both themes.

use aethon_tests::{Browser, Server};
use serde_json::json;

use crate::page::Page;
use crate::used_server::{UsedServer, View};

const AXE: &str = include_str!("vendor/axe-core/axe.min.js");

/// Runs axe-core on the page once it has settled: a dialog that is still fading in has paler colours than its own.
pub(crate) fn assert_no_barriers(browser: &Browser, what: &str) {
    browser.until(
        "nothing moves that comes to an end",
        "document.getAnimations().every(({playState, effect}) =>
            playState !== 'running' || effect.getComputedTiming().endTime === Infinity)",
    );
    if !browser.is("window.axe") {
        browser.run(AXE, &[]);
    }
    let found = browser.run(
        "const {violations} = await axe.run(document, {resultTypes: ['violations']});
        return violations.map(({id, help, nodes}) => [id, help, nodes.map(({html, failureSummary}) => [html.slice(0, 300), failureSummary])])",
        &[],
    );
    assert_eq!(found, json!([]), "{what}: {}", serde_json::to_string_pretty(&found).unwrap_or_default());
}

/// The same in both themes, as the system asks for them. Nothing moves, so that no colour is between two others.
pub(crate) fn assert_no_barriers_in_both(browser: &Browser, what: &str) {
    for theme in ["light", "dark"] {
        browser.prefer(&[("prefers-color-scheme", theme), ("prefers-reduced-motion", "reduce")]);
        wait_for_theme(browser, theme);
        assert_no_barriers(browser, &format!("{what}, {theme}"));
    }
}

/// Light is paper with dark ink, dark the other way round.
fn wait_for_theme(browser: &Browser, theme: &str) {
    let sign = if theme == "dark" { "<" } else { ">" };
    let light = "getComputedStyle(document.documentElement).backgroundColor.match(/\\d+/g).map(Number)[0]";
    browser.until("the theme is there", &format!("{light} {sign} 128"));
}

#[test]
fn chat_page_is_accessible() {
    let settings =
        ["approval.enabled=true", "approval.requires_approval=[\"file_read\"]", "model.max_retries=0"];
    let Some(page) = Page::open(&settings) else { return };
    let browser = &page.browser;
    page.until("the suggestions are there", "shown(one('.suggestions button'))");
    assert_no_barriers_in_both(browser, "the empty chat");
    page.ask("hello");
    page.ask("!tool current_time {}");
    page.ask("!error auth 2");
    page.say("!stream 500 30");
    page.until("it streams", "one('.turn[data-live] .prose')?.innerText.includes('token3')");
    browser.click("[aria-label=Stop]");
    page.settled();
    page.say("!tool file_read {\"path\": \"notes.txt\"}");
    page.until("it asks", "shown(one('.approval-actions'))");
    page.say("!say queued");
    page.until("it waits", "/Queued/.test(all('.turn').at(-1).innerText)");
    browser.run("for (const fold of all('details.fold')) fold.open = true", &[]);
    page.until("code is coloured", "one('.code code span[class^=hl-]')");
    page.until("the tool is open", "one('.fold-body .sheet')");
    assert_no_barriers_in_both(browser, "the chat with content");
    browser.click("[aria-label='Keyboard shortcuts']");
    page.until("the help is open", "one('dialog[open]')");
    assert_no_barriers_in_both(browser, "a dialog");
    page.assert_clean();
}

#[test]
fn menus_theme_switch_and_drawer_are_accessible() {
    let Some(page) = Page::open(&["model.provider=openai"]) else { return };
    let browser = &page.browser;
    page.ask("hello");
    browser.prefer(&[("prefers-color-scheme", "light"), ("prefers-reduced-motion", "reduce")]);
    page.until("it is listed", "one('.session a')");
    for theme in ["dark", "light"] {
        browser.click(&format!("[data-theme={theme}]"));
        wait_for_theme(browser, theme);
        browser.reload();
        page.until("the page is there", "one('.turn') && one('.session a')");
        wait_for_theme(browser, theme);
        browser.run("one('.session a').focus(); one('.session button').click();", &[]);
        page.until("the menu is open", "one('[role=menu]')");
        assert_no_barriers(browser, &format!("a menu, {theme}"));
    }
    browser.become_phone(390, 844);
    browser.reload();
    page.until("the page is there", "one('.turn')");
    browser.click("[aria-label='Show conversations']");
    page.until("the drawer is open", "one('.sidebar').getBoundingClientRect().left === 0");
    assert_no_barriers(browser, "the drawer");
    page.assert_clean();
}

#[test]
fn dashboard_and_sign_in_are_accessible() {
    let Some(page) = Page::beside(Server::start(&["dashboard.auth_token=token"])) else { return };
    let browser = &page.browser;
    page.go("/");
    page.until("it asks", "shown(one('#token'))");
    assert_no_barriers_in_both(browser, "the chat that asks for the token");
    page.go("/dashboard");
    page.until("it asks", "shown(one('#token'))");
    page.fill("#token", "wrong");
    browser.click_words("Sign in");
    page.until("it complains", "one('#token-error').innerText !== ''");
    assert_no_barriers_in_both(browser, "the sign-in page");
    page.fill("#token", "token");
    browser.click_words("Sign in");
    page.until(
        "the dashboard is there",
        "/Running/.test(one('.cards')?.innerText) && /Live/.test(one('.panel-top').innerText)",
    );
    let panels = browser.text("all('a[data-panel]').map((link) => link.dataset.panel).join(' ')");
    assert!(panels.starts_with("overview "), "{panels}");
    for panel in panels.split(' ') {
        browser.click(&format!("a[data-panel={panel}]"));
        let opened = format!("one('a[data-panel={panel}]').ariaCurrent === 'page' && !one('.skeleton')");
        page.until("the panel is there", &opened);
        assert_no_barriers_in_both(browser, panel);
    }
    page.assert_clean();
}

/// Every view of the dashboard of a used server, on a screen or a phone. Open views stay open as the theme
/// changes.
fn assert_no_barriers_anywhere(is_phone: bool, is_asked: impl Fn(&View) -> bool) {
    let words = [
        "Plans for the garden",
        "Rent is due on the 5th.\nPay it.",
        "Ein sehr langes Donaudampfschifffahrtswort",
    ];
    let Some(used_server) = UsedServer::open(&words.map(str::to_owned)) else { return };
    let browser = &used_server.page.browser;
    browser.prefer(&[("prefers-color-scheme", "light"), ("prefers-reduced-motion", "reduce")]);
    if is_phone {
        browser.become_phone(390, 844);
    }
    for view in used_server.views.iter().filter(|view| is_asked(view)) {
        used_server.visit(view);
        assert_no_barriers_in_both(browser, &format!("{view:?}"));
    }
    used_server.page.assert_clean();
}

/// The views that are a panel, and those that are opened in one: two halves, side by side.
fn is_panel(view: &View) -> bool {
    !view.address.contains(['/', '?'])
}

#[test]
fn used_panels_are_accessible() {
    assert_no_barriers_anywhere(false, is_panel);
}

#[test]
fn opened_views_of_used_panels_are_accessible() {
    assert_no_barriers_anywhere(false, |view| !is_panel(view));
}

#[test]
fn used_panels_are_accessible_on_a_phone() {
    assert_no_barriers_anywhere(true, is_panel);
}

#[test]
fn opened_views_of_used_panels_are_accessible_on_a_phone() {
    assert_no_barriers_anywhere(true, |view| !is_panel(view));
}

#[test]
fn label_of_a_busy_button_is_readable() {
    let Some(page) = Page::open(&[]) else { return };
    page.go("/dashboard");
    page.until("the page is there", "one('h1')");
    for theme in ["light", "dark"] {
        let contrast = page.browser.run(
            "document.documentElement.dataset.theme = arguments[0];
             const busy = document.createElement('button');
             busy.className = 'button button-primary'; busy.textContent = 'Save';
             busy.style.transition = 'none';
             busy.setAttribute('aria-disabled', 'true');
             one('main').append(busy);
             const pen = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
             const { backgroundColor, color, opacity } = getComputedStyle(busy);
             const light = (css) => {
               pen.fillStyle = css; pen.fillRect(0, 0, 1, 1);
               const parts = [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => part / 255)
                 .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
               return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
             };
             const [low, high] = [light(backgroundColor), light(color)].sort((a, b) => a - b);
             busy.remove();
             return Number(opacity) < 1 ? 0 : (high + 0.05) / (low + 0.05);",
            &[json!(theme)],
        );
        assert!(contrast.as_f64().unwrap() >= 4.5, "{theme}: {contrast}");
    }
}
