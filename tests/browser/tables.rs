//! Tables at every width of the window: the main column keeps its room, times are whole, nothing needs scrolling sideways; on
//! a phone each row is a card that scrolls with the page.

use serde_json::json;

use crate::page::Page;
use crate::used_server::UsedServer;

/// What is wrong with the tables in sight: a list of sentences, empty when all is well.
const FAULTS: &str = "const faults = [];
    for (const table of all('main .data-table, dialog[open] .data-table')) {
        const name = table.ariaLabel, box = table.closest('.table-scroll');
        if (!shown(table)) continue;
        if (box.scrollWidth > box.clientWidth) faults.push(`${name} is ${box.scrollWidth} px in ${box.clientWidth}`);
        const mains = [...table.querySelectorAll('tbody tr[data-key] td.is-main')];
        if (mains.length === 0) faults.push(`${name} has no main column`);
        for (const main of mains)
            if (main.clientWidth < 160) faults.push(`${name}: the main column has ${main.clientWidth} px`);
        for (const time of table.querySelectorAll('td time')) {
            const frame = time.closest('.row-sub') ?? time.closest('td');
            if (!time.checkVisibility()) continue;
            const inner = time.getBoundingClientRect(), outer = frame.getBoundingClientRect();
            if (inner.right > outer.right + 1 || inner.bottom > outer.bottom + 1) faults.push(`${name}: ${time.innerText} is cut`);
        }
        // Those with an icon are states; the others may be names of any length.
        for (const badge of table.querySelectorAll('td .badge:has(.icon)'))
            if (badge.checkVisibility() && badge.scrollWidth > badge.clientWidth + 1) faults.push(`${name}: ${badge.innerText} is cut`);
    }
    if (document.documentElement.scrollWidth > innerWidth) faults.push('the page scrolls sideways');
    return [...new Set(faults)];";

/// Links and buttons in the rows of a phone that are too low for a finger. The link of a row that opens covers all of it.
const LOW: &str = "const low = [];
    for (const target of all('main .data-table tr[data-key] td :is(a, button), dialog[open] .data-table tr[data-key] td :is(a, button)')) {
        if (!target.checkVisibility() || target.closest('[hidden]')) continue;
        if (getComputedStyle(target, '::after').position === 'absolute') continue;
        const {height} = target.getBoundingClientRect();
        if (height < 43.5) low.push(`${target.closest('table').ariaLabel}: ${target.innerText || target.ariaLabel} is ${Math.round(height)} px high`);
    }
    return [...new Set(low)];";

/// The spacing of letters, words and lines that a reader may set, by WCAG 1.4.12.
const WIDE_LETTERS: &str = "const sheet = new CSSStyleSheet();
    sheet.replaceSync('* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important; }');
    document.adoptedStyleSheets = [sheet]";

/// The panels that show tables.
const PANELS: [&str; 11] = [
    "agents",
    "scheduler",
    "channels",
    "approvals",
    "monitor",
    "sessions",
    "memory",
    "recordings",
    "usage",
    "sops",
    "logs",
];

#[test]
fn tables_keep_their_main_column_and_whole_times_at_every_width() {
    let words = ["A conversation about the garden and everything that grows in it".to_owned()];
    let Some(used) = UsedServer::open(&words) else { return };
    let browser = &used.page.browser;
    let mut faults = Vec::new();
    let mut checked = 0;
    let is_table = |address: &str| PANELS.contains(&address) || address == "scheduler/failing";
    for view in used.views.iter().filter(|view| is_table(&view.address)) {
        browser.resize(1440, 900);
        used.load(view);
        // Old rows: the longest form of a relative time.
        let age = "for (const time of all('td time[data-ago]')) time.textContent = '59 minutes ago'";
        for (width, is_phone) in [(1440, false), (1024, false), (900, false), (768, false), (390, true)] {
            if is_phone {
                browser.become_phone(width, 844);
            } else {
                browser.resize(width, 900);
            }
            browser.run(age, &[]);
            let found = browser.run(FAULTS, &[]);
            for fault in found.as_array().expect("a list") {
                faults.push(format!("{} at {width}: {}", view.address, fault.as_str().unwrap_or_default()));
            }
            let low = if is_phone { browser.run(LOW, &[]) } else { json!([]) };
            for fault in low.as_array().expect("a list") {
                faults.push(format!("{} on a phone: {}", view.address, fault.as_str().unwrap_or_default()));
            }
            checked += 1;
        }
        browser.run(WIDE_LETTERS, &[]);
        for (width, is_phone) in [(390, true), (1440, false)] {
            if is_phone {
                browser.become_phone(width, 844);
            } else {
                browser.resize(width, 900);
            }
            let found = browser.run(FAULTS, &[]);
            for fault in found.as_array().expect("a list") {
                let fault = fault.as_str().unwrap_or_default();
                faults.push(format!("{} at {width} with wide letters: {fault}", view.address));
            }
        }
        browser.run("document.adoptedStyleSheets = []", &[]);
    }
    assert_eq!(checked, (PANELS.len() + 1) * 5, "every panel is among the views");
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn sorting_reaches_rows_that_are_not_loaded() {
    let Some(page) = Page::open(&[]) else { return };
    let (browser, server) = (&page.browser, page.server());
    for number in 1..=104 {
        // The title of the newest comes first in the alphabet, that of the oldest last.
        let body = json!({"text": format!("Plan {:03}", 500 - number), "session": format!("s{number:03}")});
        assert_eq!(server.post("/webhook/trigger", &body).status, 200);
        let memory =
            json!({"content": format!("Fact {:03}", 500 - number), "category": format!("c{}", number % 3)});
        assert_eq!(server.post("/api/memory", &memory).status, 201);
    }
    let first = |words: &str| {
        page.until(
            words,
            &format!(
                "/{words}/.test(one('tbody tr[data-key]')?.innerText) && one('.region').ariaBusy === 'false'"
            ),
        );
    };
    let sort = |column: &str| browser.click(&format!("//th//button[normalize-space()='{column}']"));
    let direction = |column: &str| {
        browser.text(&format!("all('th').find((head) => head.innerText === '{column}').ariaSort"))
    };
    page.go("/dashboard#/sessions");
    first("Plan 396");
    assert_eq!(direction("Last used"), "descending", "the usual order is marked");
    sort("Last used");
    first("Plan 499");
    assert_eq!(direction("Last used"), "ascending");
    browser.reload();
    first("Plan 499");
    assert_eq!(direction("Last used"), "ascending", "the order is part of the address");
    browser.click("//button[normalize-space()='Show more']");
    page.until("the last page goes on in this order", "all('.bar-count')[0].innerText === '104 entries'");
    first("Plan 499");
    browser.run("scrollTo(0, 0)", &[]);
    sort("Conversation");
    first("Plan 396");
    assert_eq!((&*direction("Conversation"), &*direction("Last used")), ("ascending", "none"));
    sort("Conversation");
    first("Plan 499");

    page.go("/dashboard#/memory");
    first("Fact 396");
    sort("Changed");
    first("Fact 499");
    browser.click("tbody .row-link");
    page.until(
        "it opens",
        "/Fact 499/.test(one('dialog')?.innerText) && /sort=updated_at/.test(location.hash)",
    );
    browser.run("one('dialog').close()", &[]);
    page.until("the order stays", "!one('dialog[open]') && /sort=updated_at/.test(location.hash)");
    first("Fact 499");
    sort("What is remembered");
    first("Fact 396");
    page.assert_clean();
}

#[test]
fn many_rows_on_a_phone_scroll_with_the_page_and_keep_their_menu() {
    let Some(page) = Page::open(&[]) else { return };
    let (browser, server) = (&page.browser, page.server());
    for number in 1..=150 {
        let job = json!({"job_id": format!("job-{number:03}"), "cron": "30 3 * * 1-5", "prompt": format!("Say {number}")});
        assert_eq!(server.post("/api/scheduler/jobs", &job).status, 201);
    }
    page.become_phone(390, 844);
    page.go("/dashboard#/scheduler");
    page.until("they are listed", "one('tr[data-key=job-001]') && !one('.skeleton')");
    assert!(
        browser.is("getComputedStyle(one('.table-scroll')).overflowY === 'visible'"),
        "no box in the page"
    );
    assert!(browser.is("all('tbody tr[data-key]').length < 80"), "rows out of sight are left out");
    assert!(
        browser.is("/Mon–Fri at 03:30/.test(one('tr[data-key=job-001]').innerText)"),
        "the schedule in words"
    );
    browser.run("scrollTo(0, document.documentElement.scrollHeight)", &[]);
    page.until("the last one is drawn", "one('tr[data-key=job-150]') && !one('tr[data-key=job-001]')");
    browser.run("one('tr[data-key=job-150]').scrollIntoView({block: 'center'})", &[]);
    let (x, y) = ("rect.left + 200", "rect.bottom - 6");
    let hit = format!(
        "(() => {{ const rect = one('tr[data-key=job-150]').getBoundingClientRect();
            return document.elementFromPoint({x}, {y}).closest('.row-link') !== null; }})()"
    );
    page.until("the whole card is the link", &hit);
    browser.run("one('tr[data-key=job-150] .is-menu button').click()", &[]);
    page.until("its menu opens", "one('[role=menuitem]')");
    page.browser.reload();
    page.until("they are listed again", "one('tr[data-key=job-001]') && !one('.skeleton')");
    page.fill(".bar [type=search]", "mon say 149");
    page.until(
        "one of them is found",
        "all('tbody tr[data-key]').length === 1 && one('tr[data-key=job-149]')",
    );
    assert_eq!(browser.text("one('.bar-count').innerText"), "1 of 150");
    browser.reload();
    page.until("and still is", "all('tbody tr[data-key]').length === 1 && one('tr[data-key=job-149]')");
    page.fill(".bar [type=search]", "no such job");
    page.until("none is found", "/No job matches/.test(one('main').innerText)");
    page.assert_clean();
}
