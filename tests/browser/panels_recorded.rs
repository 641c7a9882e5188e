//! Recordings and agents: inspected and continued.

use crate::page::Page;

const ON: &[&str] = &["session_recorder.enabled=true"];

#[test]
fn recording_is_inspected_continued_and_deleted() {
    let Some(mut page) = Page::open(ON) else { return };
    page.ask("!say one");
    page.ask("!tool current_time {}\n!then\n!say two");
    page.go("/dashboard#/recordings");
    page.until(
        "it is told what is being recorded",
        "/Being recorded/.test(one('main').innerText) && one('.rec-running .row-link')?.hash === '#/sessions/webchat%3Adefault'",
    );
    let running = page.server().get("/api/sessions/recordings").json()["running"][0]["name"].clone();
    page.go(&format!("/dashboard#/recordings/{}", running.as_str().unwrap()));
    page.until("it says why it cannot be opened yet", "/still being recorded/.test(one('main').innerText)");
    // A stop ends the recording, and the file is there at the next start.
    let home = page.terminate_server();
    page.start_server_with(home, ON);
    let (browser, server) = (&page.browser, page.server());
    page.go("/dashboard#/recordings");
    page.until("it is listed", "all('.data-table tbody tr .row-link').length === 1");
    browser.click("//table//a[contains(@class,'row-link')]");
    page.until(
        "its timeline is drawn",
        "one('.rec-slider')?.max > 3 && /Snapshot 2 of 2/.test(one('.rec-place').innerText)",
    );
    browser.click("//button[@role='tab'][normalize-space()='State']");
    page.until("the state at its end is shown", "/two/.test(one('[role=tabpanel]:not([hidden])').innerText)");
    // Back to the first turn, by keys as a slider has them.
    browser.run("one('.rec-slider').value = one('.rec-slider').min; one('.rec-slider').dispatchEvent(new Event('input'))", &[]);
    page.until(
        "nothing was kept before the first event",
        "/No snapshot/.test(one('.rec-place').innerText) && one('.rec-here button').disabled",
    );
    browser.run("one('.rec-slider').value = one('.rec-slider').max; one('.rec-slider').dispatchEvent(new Event('input'))", &[]);
    page.until("the end is reached again", "/Snapshot 2 of 2/.test(one('.rec-place').innerText)");
    browser.click("//button[normalize-space()='Verify']");
    page.until("every sum is right", "/Sound/.test(one('.rec-outcome').innerText)");
    let before = server.get("/api/sessions").json()["count"].as_u64();
    browser.click("//button[normalize-space()='Resume from here']");
    page.until("it asks", "one('dialog[open] .button-primary')?.innerText === 'Resume from here'");
    assert!(browser.is("!one('dialog .button-danger')"), "what destroys nothing is not red");
    browser.click("//dialog//button[normalize-space()='Resume from here']");
    page.until("a new conversation holds it", "/new conversation/.test(one('.rec-outcome').innerText)");
    assert_eq!(server.get("/api/sessions").json()["count"].as_u64(), before.map(|count| count + 1));
    browser.click("//button[normalize-space()='Delete']");
    browser.click("//dialog//button[normalize-space()='Delete']");
    page.until(
        "the list is empty",
        "location.hash === '#/recordings' && /Nothing was recorded/.test(one('main').innerText)",
    );
    assert_eq!(server.get("/api/sessions/recordings").json()["count"], 0);
    page.assert_clean();
}

#[test]
fn agent_panel_lists_actions_with_tools() {
    let Some(page) = Page::open(&[]) else { return };
    page.ask("!tool current_time {}\n!then\n!say it is late");
    let (browser, server) = (&page.browser, page.server());
    page.go("/dashboard#/agents");
    page.until("everyone has a card", "one('[data-agent=main]') && one('[data-agent=researcher]')");
    page.until("the turn is listed", "/current_time/.test(one('main .data-table')?.innerText)");
    browser.click("main .data-table .row-link");
    page.until("it opens", "/current_time/.test(one('dialog')?.innerText)");
    let run = &server.get("/api/agents/history").json()["history"][0];
    let id = run["agent_id"].as_str().unwrap();
    assert!(browser.is(&format!("location.hash.startsWith('#/agents/{id}')")), "it has an address");
    assert_eq!((&run["tools"][0]["name"], &run["outcome"]), (&"current_time".into(), &"end".into()));
    page.assert_clean();
}
