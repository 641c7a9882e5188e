//! SOPs, the scheduler and work: written, read, planned, run, paused, and taken away again.

use serde_json::json;

use crate::accessibility::assert_no_barriers;
use crate::page::Page;

const SOP: &str = "# Tea time\n\n## Overview\n\nMakes **tea**. <img src=x onerror=window.__xss=1>\n\n## Parameters\n\n- **leaf** (required): Which tea.\n\n## Steps\n\n### 1. Boil\n\nBoil the water.\n";

#[test]
fn sop_is_written_with_faults_reported_then_read_and_deleted() {
    let Some(page) = Page::open(&[]) else { return };
    let (browser, server) = (&page.browser, page.server());
    page.go("/dashboard#/sops");
    page.until("the built-in ones are listed", "/Code Assist/.test(one('.data-table')?.innerText)");
    browser.click("//a[normalize-space()='Write an SOP']");
    page.until("the editor is there", "shown(one('.sop-source'))");
    page.fill(".sop-editor input", "tea-time");
    page.fill(".sop-source", "# Tea time\n");
    browser.click("//form//button[normalize-space()='Save']");
    page.until("its faults are told with their lines", "/Line \\d+:/.test(one('.sop-lint').innerText)");
    assert_eq!(server.get("/api/sops/tea-time").status, 404, "and nothing was written");
    page.fill(".sop-source", SOP);
    browser.click("//form//button[normalize-space()='Save']");
    page.until("it is shown", "location.hash === '#/sops/tea-time' && one('h1').innerText === 'Tea time'");
    page.until(
        "as rendered text",
        "one('.sop-text strong')?.innerText === 'tea' && /Boil the water/.test(one('.sop-text').innerText)",
    );
    assert!(browser.is("!one('.sop-text img') && typeof window.__xss === 'undefined'"));
    assert_eq!(server.get("/api/sops/tea-time").json()["content"], SOP);
    browser.click("//main//button[normalize-space()='Run']");
    page.until("it asks what it needs", "/leaf \\(needed\\)/.test(one('dialog')?.innerText)");
    page.fill("dialog input", "green");
    browser.click("//dialog//button[normalize-space()='Run']");
    page.until("it has begun", "!one('dialog') && /Started/.test(one('.toasts').innerText)");
    browser.click("//button[@role='tab'][normalize-space()='Runs']");
    page.until("its run is listed", "/tea-time/.test(one('[role=tabpanel] .data-table')?.innerText)");
    assert_eq!(server.get("/api/sop-runs").json()["runs"][0]["sop_name"], "tea-time");
    page.go("/dashboard#/sops/tea-time/edit");
    page.until("the editor is there", "shown(one('.sop-source'))");
    page.fill(".sop-source", &SOP.replace("Boil the water.", "Boil fresh water."));
    browser.click_words("Show changes");
    page.until("the difference is shown", "/fresh/.test(one('.diff-view [data-kind=add]')?.innerText) && /Boil the water/.test(one('.diff-view [data-kind=del]').innerText)");
    browser.click("//form//button[normalize-space()='Save']");
    page.until("it is saved", "/Boil fresh water/.test(one('.sop-text')?.innerText)");
    browser.click(".panel-tools [aria-haspopup]");
    browser.click("//button[@role='menuitem'][normalize-space()='Delete']");
    browser.click("//dialog//button[normalize-space()='Delete']");
    page.until("the list is back", "location.hash === '#/sops' && shown(one('.data-table')) && !/Tea time/.test(one('.data-table').innerText)");
    assert_eq!(server.get("/api/sops/tea-time").status, 404);
    page.assert_clean();
}

#[test]
fn a_job_is_planned_run_and_deleted() {
    let Some(page) = Page::open(&[]) else { return };
    let (browser, server) = (&page.browser, page.server());
    page.go("/dashboard#/scheduler");
    page.until("it says what this is", "/No jobs yet/.test(one('main').innerText)");
    browser.click_words("Add a job");
    page.until("the form is there", "shown(one('dialog form'))");
    let label =
        |words: &str| format!("all('dialog label').find((e) => e.innerText === '{words}').control.id");
    let fill = |words: &str, text: &str| {
        let id = browser.text(&label(words));
        page.fill(&format!("#{id}"), text);
    };
    fill("Name", "greeting");
    fill("Prompt", "!say hello from the job");
    fill("Schedule", "61 * * * *");
    browser.click("//dialog//button[normalize-space()='Add']");
    page.until("a wrong schedule is told at its field", "one('dialog [aria-invalid=true]') && one(`#${one('dialog [aria-invalid=true]').id}-error`).innerText !== ''");
    fill("Schedule", "30 7 * * 1-5");
    browser.click("//dialog//button[normalize-space()='Add']");
    page.until(
        "it is shown with its next five runs",
        "location.hash === '#/scheduler/greeting' && all('dialog .next-runs li').length === 5",
    );
    let jobs = server.get("/api/scheduler").json();
    assert_eq!(
        (&jobs["jobs"][0]["cron"], &jobs["jobs"][0]["prompt"]),
        (&json!("30 7 * * 1-5"), &json!("!say hello from the job"))
    );
    browser.click("//dialog//button[normalize-space()='Pause']");
    page.until("it can be resumed", "all('dialog button').some((e) => e.innerText === 'Resume')");
    assert_eq!(server.get("/api/scheduler").json()["jobs"][0]["enabled"], false);
    browser.click("//dialog//button[normalize-space()='Resume']");
    page.until("it can be paused", "all('dialog button').some((e) => e.innerText === 'Pause')");
    browser.click("//dialog//button[normalize-space()='Run now']");
    page.until("its history tells the run", "/Ok/.test(one('dialog .data-table tbody')?.innerText)");
    assert_eq!(server.get("/api/scheduler/jobs/greeting/runs").json()["runs"][0]["status"], "ok");
    browser.click("//dialog//button[normalize-space()='Delete']");
    page.until("it asks", "all('dialog').length === 2");
    browser.click("(//dialog//button[normalize-space()='Delete'])[last()]");
    page.until("it is gone", "!one('dialog') && /No jobs yet/.test(one('main').innerText)");
    assert_eq!(server.get("/api/scheduler").json()["jobs"], json!([]));
    page.assert_clean();
}

#[test]
fn work_is_shown_paused_resumed_and_cancelled() {
    let Some(page) = Page::open(&["work.enabled=true"]) else { return };
    let (browser, server) = (&page.browser, page.server());
    page.go("/dashboard#/agents");
    page.until("it says what this is", "/No work yet/.test(one('.work-list')?.innerText)");
    let task = json!({"title": "wait", "detail": "!sleep 60000", "acceptance": ["it is late"]});
    let planned = server.post("/api/work", &json!({"goal": "A long wait", "tasks": [task]})).json();
    let work = || server.get(&format!("/api/work/{}", planned["work_id"].as_str().unwrap())).json();
    // Without a press: its turn begins, and the panel gets the event.
    let says = |words: &str| format!("/{words}/.test(one('.work-list .data-table')?.innerText)");
    page.until("it is listed", &says("A long wait[^]*Running"));
    assert_no_barriers(browser, "the work");
    browser.click("[aria-label='Pause “A long wait”']");
    page.until("it is paused", &says("Paused"));
    assert_eq!(work()["state"], "paused");
    browser.click("[aria-label='Resume “A long wait”']");
    page.until("it runs again", &says("Running"));
    assert_eq!(work()["state"], "running");

    browser.click("//button[normalize-space()='Pause all work']");
    page.until("all of it rests", "/All work is paused/.test(one('.work-list').innerText)");
    assert_eq!(server.get("/api/work").json()["paused"], true);
    browser.click("//button[normalize-space()='Resume all work']");
    page.until("it goes on", "all('button').some((e) => e.innerText === 'Pause all work')");
    assert_eq!(server.get("/api/work").json()["paused"], false);

    browser.click("[aria-label='Cancel “A long wait”']");
    browser.click("//dialog//button[normalize-space()='Cancel work']");
    page.until("it is cancelled", &says("Cancelled"));
    assert_eq!(work()["state"], "stopped");
    browser.click(".work-list .row-link");
    page.until("its receipt is there", "/was ended by you/.test(one('dialog .work-receipt')?.innerText)");
    assert_no_barriers(browser, "a piece of work");
    page.assert_clean();
}
