//! The dashboard around its panels: addresses, the command palette, the overview, and a list of ten thousand.

use aethon_tests::browser::keys::{CONTROL, DOWN, ENTER, ESCAPE};
use serde_json::json;

use crate::page::Page;

const LIVE: &str = "/Live/.test(one('.panel-top')?.innerText)";

#[test]
fn panel_address_opens_its_panel_and_unknown_one_is_reported() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.go("/dashboard");
    page.until(
        "it begins with the overview",
        "location.hash === '#/overview' && one('h1').innerText === 'Overview'",
    );
    page.until("it is there", "shown(one('.cards'))");
    page.go("/dashboard#/nothing<b>here");
    page.until(
        "it says so",
        "/There is no such page/.test(one('main').innerText) && /nothing/.test(one('main').innerText)",
    );
    assert!(!browser.is("one('a[data-panel][aria-current]')"), "no panel pretends to be it");
    assert!(!browser.is("one('main b')"), "the address stays text");
    page.go("/dashboard#/sessions/webchat%3Anobody");
    page.until("neither is this session", "/no such session/.test(one('main').innerText)");
    page.go("/dashboard#/memory/12345");
    page.until("nor this memory", "/no such memory/.test(one('dialog')?.innerText)");
    browser.chord(&[ESCAPE]);
    page.until("closing leads to the list", "location.hash === '#/memory' && !one('dialog')");
    page.assert_clean();
}

/// Opens the palette, and waits until it takes keys.
fn open_palette(page: &Page) {
    page.browser.chord(&[CONTROL, 'k']);
    page.until("it is open", "shown(one('.palette')) && document.activeElement.type === 'search'");
}

#[test]
fn the_palette_finds_panels_conversations_and_actions() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.ask("Plans for the garden");
    page.go("/dashboard#/features");
    page.until("it is live", LIVE);
    open_palette(&page);
    browser.type_keys("sched");
    page.until("it is found", "/Scheduler/.test(one('[role=option][aria-selected=true]')?.innerText)");
    browser.chord(&[ENTER]);
    page.until(
        "the panel is open",
        "!one('dialog') && location.hash === '#/scheduler' && one('h1').innerText === 'Scheduler'",
    );
    open_palette(&page);
    browser.type_keys("garden");
    page.until("the conversation is found", "/Plans for the garden/.test(one('.palette-list')?.innerText)");
    browser.chord(&[DOWN]);
    browser.chord(&[ENTER]);
    page.until(
        "it is shown",
        "/Plans for the garden/.test(one('h1').innerText) && shown(one('.said-entry'))",
    );
    open_palette(&page);
    browser.type_keys("dark");
    page.until("the action is found", "/dark/.test(one('[role=option][aria-selected=true]')?.innerText)");
    browser.chord(&[ENTER]);
    page.until("it is dark", "document.documentElement.dataset.theme === 'dark'");
    browser.reload();
    page.until(
        "and stays so",
        "document.documentElement.dataset.theme === 'dark' && shown(one('.said-entry'))",
    );
    page.assert_clean();
}

#[test]
fn overview_lists_problems_first_and_keeps_figures_after_reload() {
    let Some(page) = Page::open(&[
        "budget.daily_usd=5",
        "model.max_retries=0",
        "budget.pricing.fake={input=100.0,output=100.0}",
    ]) else {
        return;
    };
    let browser = &page.browser;
    page.go("/dashboard");
    page.until("it is there", "shown(one('.attention .trouble'))");
    let job = json!({"job_id": "watch", "cron": "@yearly", "prompt": "!error auth 9"});
    assert_eq!(page.server().post("/api/scheduler/jobs", &job).status, 201);
    page.server().post("/api/scheduler/jobs/watch/run", &json!({}));
    page.until("the failed job stands there with its reason", "/The job .watch. failed/.test(one('.attention').innerText) && /wrong key/.test(one('.attention').innerText)");
    page.server().chat("figures").say("m1", "hello");
    page.until("what it cost is counted", "/Cost\\n\\$0\\.\\d/.test(one('.hero').innerText)");
    // Turn measurements are stored in batches, so only booked amounts are the same at every moment.
    let booked = "one('.hero').innerText.match(/Cost[^]*(?=Errors)/)[0] + one('.calm').innerText.match(/Model calls[^]*(?=Tool calls)/)[0]";
    page.until("the message is counted", "/Messages\\n1\\n/.test(one('.calm').innerText)");
    page.until(
        "and what failed of all that was tried",
        "/Errors\\n\\d+\\n\\d+ % of what was tried failed/.test(one('.hero').innerText)",
    );
    let figures = browser.text(booked);
    browser.reload();
    page.until("the figures are there again", "/Cost\\n\\$0\\.\\d/.test(one('.hero')?.innerText)");
    assert_eq!(browser.text(booked), figures);
    browser.click(".attention a");
    page.until(
        "the job is open",
        "location.hash === '#/scheduler/watch' && /Next runs/.test(one('dialog')?.innerText)",
    );
    page.assert_clean();
}

#[test]
fn long_tables_render_visible_rows_only() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.go("/dashboard#/sessions");
    page.until("the panel is there", "one('h1').innerText === 'Sessions' && !one('.skeleton')");
    let many = "const {modules} = await import(all('script[type=module]').find((e) => /dashboard\\/main/.test(e.src)).src);
        const {table} = modules['js/components/table.js'];
        const list = table({label: 'Many', key: (row) => row.id, columns: [{id: 'n', title: 'Number', sort: (row) => row.n, cell: (row) => String(row.n)}]});
        one('main').append(list.element);
        list.show(Array.from({length: 10000}, (_, n) => ({id: `row-${n}`, n})));
        window.drawn = () => list.element.querySelectorAll('tbody tr[data-key]').length;
        window.box = list.element.querySelector('.table-scroll');";
    browser.run(many, &[]);
    assert!(browser.is("drawn() > 5 && drawn() < 100"), "{}", browser.text("String(drawn())"));
    browser.run("box.scrollTop = box.scrollHeight", &[]);
    page.until("the last one is drawn", "one('[data-key=row-9999]')");
    assert!(browser.is("drawn() < 100 && !one('[data-key=row-0]')"));
    browser.run("box.querySelector('.sort').click()", &[]);
    page.until(
        "sorted the other way, the last is the first",
        "one('tbody tr[data-key=row-9999]')?.ariaRowIndex === '2'",
    );
    page.assert_clean();
}
