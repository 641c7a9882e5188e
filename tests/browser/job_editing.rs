//! A job is changed in its drawer, and what is missing is said in words about the form.

use serde_json::{Value, json};

use crate::accessibility::assert_no_barriers;
use crate::page::Page;

fn field(page: &Page, label: &str) -> String {
    let id =
        page.browser.text(&format!("all('dialog label').find((e) => e.innerText === '{label}').control.id"));
    format!("#{id}")
}

fn press(page: &Page, words: &str) {
    page.browser.click(&format!("(//dialog//button[normalize-space()='{words}'])[last()]"));
}

fn job(page: &Page) -> Value {
    page.server().get("/api/scheduler/jobs/tea").json()
}

#[test]
fn job_is_edited_and_others_changes_are_not_overwritten() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    let body = json!({"job_id": "tea", "cron": "30 7 * * 1-5", "prompt": "Tea?", "timezone": "Asia/Tokyo",
        "recipient": "kitchen"});
    assert_eq!(page.server().post("/api/scheduler/jobs", &body).status, 201);
    page.go("/dashboard#/scheduler/tea");
    press(&page, "Edit");
    page.until("the form has the job", "all('dialog textarea').some((box) => box.value === 'Tea?')");
    assert_eq!(browser.text(&format!("one('{}').value", field(&page, "Time zone"))), "Asia/Tokyo");
    assert_no_barriers(browser, "a job that is edited");
    page.fill(&field(&page, "Prompt"), "");
    press(&page, "Save");
    page.until(
        "it says what is missing",
        "/Write what the assistant is to do/.test(one('dialog .form')?.innerText)",
    );
    assert_eq!(job(&page)["prompt"], "Tea?");
    page.fill(&field(&page, "Prompt"), "Green tea?");
    page.fill(&field(&page, "Recipient"), "");
    // Another program gives it another time meanwhile.
    let request = aethon_tests::http::Request::new("PUT", "/api/scheduler/jobs/tea")
        .header("Content-Type", "application/json")
        .body(json!({"cron": "0 6 * * *"}).to_string());
    assert_eq!(page.server().send(&request).status, 200);
    press(&page, "Save");
    page.until("it asks", "/Changed elsewhere/.test(one('dialog.conflict h2')?.innerText)");
    assert_eq!(job(&page)["prompt"], "Tea?", "nothing is overwritten unasked");
    press(&page, "Keep mine");
    page.until(
        "it is saved, and shown",
        "/Job saved/.test(one('.toasts').innerText) && one('dialog .next-runs')",
    );
    let saved = job(&page);
    assert_eq!(
        (&saved["prompt"], &saved["cron"], &saved["recipient"], &saved["timezone"]),
        (&json!("Green tea?"), &json!("30 7 * * 1-5"), &Value::Null, &json!("Asia/Tokyo"))
    );
    page.until("the drawer shows it", "/Green tea\\?/.test(one('dialog').innerText)");
    page.assert_clean();
}

#[test]
fn empty_job_is_refused_in_words_and_the_day_shows_what_runs() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    let often = json!({"job_id": "often", "cron": "*/10 * * * *", "prompt": "x"});
    assert_eq!(page.server().post("/api/scheduler/jobs", &often).status, 201);
    let daily = json!({"job_id": "daily", "cron": "0 8 * * *", "prompt": "x"});
    assert_eq!(page.server().post("/api/scheduler/jobs", &daily).status, 201);
    page.go("/dashboard#/scheduler");
    browser.click(".scheduler-day > summary");
    page.until(
        "the day is there",
        "/08:00|8:00/.test(one('.day-hours')?.innerText) && /daily/.test(one('.day-hours').innerText) && \
         /often/.test(one('.scheduler-day section')?.innerText)",
    );
    assert_no_barriers(browser, "the next 24 hours");
    browser.click_words("Add a job");
    press(&page, "Add");
    page.until(
        "it says what is missing",
        "/^Write what the assistant is to do\\.$/.test(one('dialog .field-error:not(:empty)')?.innerText)",
    );
    assert_eq!(page.focused().split(' ').next(), Some("textarea"), "the empty field has the focus");
    page.assert_clean();
}
