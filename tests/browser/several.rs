//! Several rows are chosen and archived, downloaded or deleted at once.

use serde_json::json;

use crate::accessibility::assert_no_barriers;
use crate::page::Page;

const SHOWN: &str = "shown(one('.data-table'))";

fn choose(page: &Page, name: &str) {
    page.browser.click(&format!("input[aria-label='Choose “{name}”']"));
}

#[test]
fn several_conversations_are_archived_downloaded_and_deleted() {
    let Some(page) = Page::open(&[]) else { return };
    let (browser, server) = (&page.browser, page.server());
    for name in ["apple", "banana", "cherry"] {
        server.chat(name).say("1", &format!("!say {name}"));
        let request = aethon_tests::http::Request::new("PATCH", &format!("/api/sessions/webchat:{name}"))
            .header("Content-Type", "application/json")
            .body(json!({ "title": name }).to_string());
        assert_eq!(server.send(&request).status, 200);
    }
    page.go("/dashboard#/sessions");
    page.until("the list is there", &format!("{SHOWN} && all('input.pick').length >= 3"));
    assert!(!browser.is("shown(one('.selection-bar'))"), "nothing is offered while nothing is chosen");
    choose(&page, "apple");
    choose(&page, "banana");
    page.until("two are chosen", "/^2 chosen/.test(one('.selection-bar')?.innerText)");
    assert!(browser.is("location.hash === '#/sessions'"), "a box opens no row");
    assert_no_barriers(browser, "chosen rows");
    let archived =
        |name: &str| server.get(&format!("/api/sessions/webchat:{name}")).json()["archived"].clone();
    browser.click_words("Archive");
    page.until("it is told", "/2 conversations archived/.test(one('.toasts').innerText)");
    assert_eq!(
        (archived("apple"), archived("banana"), archived("cherry")),
        (json!(true), json!(true), json!(false))
    );
    browser.click_words("Undo");
    page.until("they are back", "/2 conversations are back/.test(one('.toasts').innerText)");
    assert_eq!((archived("apple"), archived("banana")), (json!(false), json!(false)));

    page.until("nothing is chosen any more", "!shown(one('.selection-bar'))");
    choose(&page, "apple");
    choose(&page, "cherry");
    browser.run(
        "window.saved = new Promise((done) => { URL.createObjectURL = (blob) => { blob.text().then(done); return '#'; }; });",
        &[],
    );
    browser.click_words("Download");
    page.until(
        "both are in one file",
        "saved.then((text) => /apple/.test(text) && /cherry/.test(text) && !/banana/.test(text))",
    );
    page.until("the choice is over", "!shown(one('.selection-bar'))");

    choose(&page, "apple");
    choose(&page, "cherry");
    // One of them is deleted by another program meanwhile.
    let gone = aethon_tests::http::Request::new("DELETE", "/api/sessions/webchat:apple");
    assert!(server.send(&gone).status < 300);
    browser.click("//div[contains(@class,'selection-bar')]//button[normalize-space()='Delete']");
    page.until("it asks", "one('dialog')");
    browser.click("//dialog//button[normalize-space()='Delete']");
    page.until(
        "they are gone",
        "!/apple|cherry/.test(one('.data-table').innerText) && /banana/.test(one('.data-table').innerText)",
    );
    assert_eq!(server.get("/api/sessions/webchat:cherry").status, 404);
    assert_eq!(server.get("/api/sessions/webchat:banana").status, 200);
    page.until("nothing is offered", "!shown(one('.selection-bar'))");
    page.assert_clean();
}

#[test]
fn several_memories_are_deleted_after_one_question() {
    let Some(page) = Page::open(&[]) else { return };
    let (browser, server) = (&page.browser, page.server());
    for content in ["Rent is due.", "The cat is Momo.", "Tea is green."] {
        assert_eq!(server.post("/api/memory", &json!({ "content": content })).status, 201);
    }
    page.go("/dashboard#/memory");
    page.until("the list is there", "all('input.pick').length === 3");
    assert!(
        !browser.is("/by meaning/.test(one('.memory-stats').innerText)"),
        "nothing is said about no vectors"
    );
    choose(&page, "Rent is due.");
    browser.click_words("Choose all shown");
    page.until("all are chosen", "all('input.pick').every((box) => box.checked)");
    choose(&page, "Tea is green.");
    page.until("two are chosen", "/^2 chosen/.test(one('.selection-bar').innerText)");
    browser.click("//div[contains(@class,'selection-bar')]//button[normalize-space()='Delete']");
    page.until("it asks", "/Delete 2 memories/.test(one('dialog')?.innerText)");
    browser.click("//dialog//button[normalize-space()='Delete']");
    page.until("they are gone", "all('input.pick').length === 1");
    let left = server.get("/api/memory").json();
    assert_eq!((&left["count"], &left["entries"][0]["content"]), (&json!(1), &json!("Tea is green.")));
    page.assert_clean();
}
