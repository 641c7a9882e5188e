//! Where things stand: edges that meet, rows without holes, nothing cut off.

use serde_json::json;

use crate::page::Page;
use crate::used_server::UsedServer;

#[test]
fn the_message_box_is_as_wide_as_the_text_above_it() {
    let Some(page) = Page::open(&[]) else { return };
    page.ask("hello");
    page.ask("hello");
    for width in [790, 900, 1024, 1280] {
        page.browser.resize(width, 800);
        let meet = "(() => {
            const box = one('.composer').getBoundingClientRect(), text = one('.turn').getBoundingClientRect();
            return Math.abs(box.left - text.left) < 1 && Math.abs(box.right - text.right) < 1;
        })()";
        page.until(&format!("the edges meet at {width} px"), meet);
    }
    page.assert_clean();
}

#[test]
fn a_very_long_message_is_folded_until_asked_for() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    let lines: Vec<String> = (1..=300).map(|number| format!("!say line {number}")).collect();
    page.ask(&lines.join("\n"));
    let height = || browser.text("one('.said-card').offsetHeight").parse::<u32>().unwrap();
    assert!(height() < 400, "{}", height());
    browser.click_words("Show all");
    assert!(height() > 5000, "{}", height());
    browser.click_words("Show less");
    assert!(height() < 400, "{}", height());
    page.assert_clean();
}

#[test]
fn conversation_has_most_of_a_very_low_window() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.ask("hello");
    // A window of 1280 by 1024 at 400 % zoom.
    page.browser.devtools(
        "Emulation.setDeviceMetricsOverride",
        &serde_json::json!({"width": 320, "height": 256, "deviceScaleFactor": 4, "mobile": false}),
    );
    page.until("it is low", "innerHeight === 256 && one('.transcript').clientHeight > 0");
    let height = browser.text("one('.transcript').clientHeight");
    assert!(height.parse::<u32>().unwrap() >= 150, "the transcript has {height} of 256 px");
    assert!(
        browser.is(
            "shown(one('.send')) && shown(one('#message')) && document.documentElement.scrollWidth <= 320"
        )
    );
    assert!(browser.is("one('#message').getBoundingClientRect().width >= 120"), "there is room to write");
    page.say("!say two");
    assert_eq!(page.settled().reply, "two");
    page.assert_clean();
}

#[test]
fn on_a_phone_the_drawer_can_be_closed_and_a_log_line_is_whole() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.become_phone(320, 640);
    assert!(browser.is("one('.transcript').scrollTop === 0"), "it begins at its beginning");
    let opener = "one('[aria-label=\"Show conversations\"]')";
    assert_eq!(browser.text(&format!("{opener}.ariaExpanded")), "false");
    browser.click("[aria-label='Show conversations']");
    page.until("the drawer is open", "one('.sidebar').getBoundingClientRect().left === 0");
    assert_eq!(browser.text(&format!("{opener}.ariaExpanded")), "true");
    browser.click("[aria-label='Close conversations']");
    page.until("it is closed", "!shown(one('.sidebar'))");
    assert_eq!(page.focused(), "button Show conversations");

    page.go("/dashboard#/logs");
    page.until("the log is there", "/database/.test(one('.panel-logs tbody')?.innerText)");
    assert!(
        browser.is(
            "one('.panel-logs .table-scroll').scrollWidth <= one('.panel-logs .table-scroll').clientWidth"
        ),
        "nothing is cut"
    );
    browser.click("[aria-label='Show panels']");
    page.until("the panels are there", "one('.rail').getBoundingClientRect().left === 0");
    assert!(browser.is("shown(one('.rail [data-theme=dark]'))"), "the themes can be switched");
    browser.click("a[data-panel=usage]");
    page.until("it is closed", "!shown(one('.rail')) && one('h1').innerText === 'Usage'");
    page.assert_clean();
}

/// What a finger cannot hit well: controls that are less than 44 px high. Links within a text stand in its lines, and those that
/// cover their row or card (`::after`) are as large as it.
const SMALL: &str = "return all('button, a[href], select, input:not([type=file], [type=checkbox]), textarea, summary')
    .filter((e) => shown(e) && !e.matches('p a, li a:not(.company-doors a), .prose a, .skip-link, .row-link, .fact-card a, .switch button'))
    .map((e) => [e, e.getBoundingClientRect()])
    .filter(([, {width, right, height}]) => width > 1 && right > 0 && height < 43.5)
    .map(([e, {width, height}]) => `${e.outerHTML.slice(0, 120)} ${width} x ${height}`)";

#[test]
fn targets_on_a_phone_are_as_large_as_a_finger() {
    let words = ["Plans for the garden".to_owned()];
    let Some(used_server) = UsedServer::open(&words) else { return };
    let page = &used_server.page;
    page.browser.become_phone(390, 844);
    page.go("/#/talk-0");
    page.browser.reload();
    page.until("fingers are known of", "matchMedia('(pointer: coarse)').matches");
    page.until("the conversation is there", "shown(one('#message')) && one('.turn') && !one('.skeleton')");
    assert_eq!(page.browser.run(SMALL, &[]), json!([]), "the chat");
    page.browser.click("[aria-label='Show conversations']");
    page.until("the drawer is open", "one('.sidebar').getBoundingClientRect().left === 0");
    assert_eq!(page.browser.run(SMALL, &[]), json!([]), "the drawer");
    let mut small = Vec::new();
    for view in used_server.views.iter().filter(|view| !view.address.contains('?')) {
        used_server.load(view);
        let found = page.browser.run(SMALL, &[]);
        if found != json!([]) {
            small.push(format!("{}: {found:#}", view.address));
        }
    }
    assert!(small.is_empty(), "{}", small.join("\n"));
}
