//! Changes, deletions and decisions made elsewhere while the item is open here: the page reports them, overwrites nothing
//! unasked, and no typed text is lost.

use aethon_tests::browser::keys::{ENTER, ESCAPE};
use aethon_tests::http::Request;
use serde_json::{Value, json};

use crate::accessibility::assert_no_barriers;
use crate::page::Page;

const ASKS: &str = "/Changed elsewhere/.test(one('dialog.conflict h2')?.innerText)";
const CLOSED: &str = "!one('dialog.conflict')";

/// A SOP whose last line is this.
fn sop(last: &str) -> String {
    format!("# Tea\n\n## Overview\n\nMakes tea.\n\n## Steps\n\n### 1. Boil\n\nBoil the water.\n{last}\n")
}

/// Sends a change as another program does: with no version, so that it wins.
fn put(page: &Page, method: &str, target: &str, body: &Value) {
    let request =
        Request::new(method, target).header("Content-Type", "application/json").body(body.to_string());
    let answer = page.server().send(&request);
    assert!((200..300).contains(&answer.status), "{method} {target}: {}", answer.text());
}

fn stored(page: &Page, target: &str, field: &str) -> String {
    page.server().get(target).json()[field].as_str().unwrap_or_default().to_owned()
}

fn press(page: &Page, words: &str) {
    page.browser.click(&format!("(//dialog//button[normalize-space()='{words}'])[last()]"));
}

/// Opens another window of the same browser, and returns this one and that one, which is in front.
fn another_window(page: &Page) -> [String; 2] {
    let browser = &page.browser;
    let here = browser.try_command("GET", "/window", None).unwrap();
    let made = browser.try_command("POST", "/window/new", Some(&json!({"type": "window"}))).unwrap();
    let windows = [&here, &made["handle"]].map(|handle| handle.as_str().unwrap().to_owned());
    switch(page, &windows[1]);
    windows
}

fn switch(page: &Page, window: &str) {
    page.browser.try_command("POST", "/window", Some(&json!({"handle": window}))).unwrap();
}

#[test]
fn concurrent_editors_of_a_sop_lose_nothing() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    put(&page, "PUT", "/api/sops/tea", &json!({"content": sop("Begun.")}));
    let edit = || {
        page.go("/dashboard#/sops/tea/edit");
        page.until("the editor is there", "shown(one('.sop-source'))");
    };
    edit();
    let [first, second] = another_window(&page);
    edit();
    page.fill(".sop-source", &sop("By Q."));

    switch(&page, &first);
    page.fill(".sop-source", &sop("By P."));
    browser.click("//form//button[normalize-space()='Save']");
    page.until("it is saved", "location.hash === '#/sops/tea'");

    switch(&page, &second);
    browser.click("//form//button[normalize-space()='Save']");
    page.until("it asks", ASKS);
    assert!(browser.is("/tea was changed just now/.test(one('dialog.conflict').innerText)"), "and says when");
    assert_eq!(stored(&page, "/api/sops/tea", "content"), sop("By P."), "nothing is overwritten");
    assert!(browser.is("document.activeElement.closest('dialog.conflict')"), "the focus is in it");
    press(&page, "Show");
    let parts = "all('.conflict-compared section').map((part) => part.innerText)";
    page.until("both changes are shown", &format!("/\\+ By P/.test({parts}[0]) && /\\+ By Q/.test({parts}[1]) && /− By P[^]*\\+ By Q/.test({parts}[2])"));
    assert_no_barriers(browser, "the question what counts");
    browser.chord(&[ESCAPE]);
    page.until(
        "the editor is back with what was typed",
        &format!("{CLOSED} && /By Q/.test(one('.sop-source').value)"),
    );
    browser.click("//form//button[normalize-space()='Save']");
    page.until("it asks again", ASKS);
    press(&page, "Take theirs");
    page.until("theirs is shown", &format!("{CLOSED} && /By P/.test(one('.sop-source').value)"));
    browser.click("//form//button[normalize-space()='Put mine back']");
    page.until("and what was typed is there again", "/By Q/.test(one('.sop-source').value)");
    put(&page, "PUT", "/api/sops/tea", &json!({"content": sop("By R.")}));
    browser.click("//form//button[normalize-space()='Save']");
    page.until("it asks about the third as well", ASKS);
    press(&page, "Keep mine");
    page.until("it is saved", "location.hash === '#/sops/tea'");
    assert_eq!(stored(&page, "/api/sops/tea", "content"), sop("By Q."));
    page.assert_clean();
}

#[test]
fn earlier_versions_of_a_sop_are_seen_compared_and_restored() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    for last in ["One.", "Two.", "Three."] {
        put(&page, "PUT", "/api/sops/tea", &json!({"content": sop(last)}));
    }
    page.go("/dashboard#/sops/tea");
    browser.click("//button[@role='tab'][normalize-space()='Earlier versions']");
    page.until("there are two", "all('.sop-versions li').length === 2");
    assert_no_barriers(browser, "earlier versions");
    let act = |row: u8, words: &str| {
        browser.click(&format!("//*[@class='sop-versions']/li[{row}]//button[normalize-space()='{words}']"));
    };
    act(2, "Difference to now");
    page.until(
        "the difference is shown",
        "/− One\\.[^]*\\+ Three\\./.test(one('dialog .diff-view')?.innerText)",
    );
    browser.chord(&[ESCAPE]);
    page.until("it is closed", "!one('dialog')");
    act(1, "View");
    page.until("it is shown", "/Two\\./.test(one('dialog pre')?.innerText)");
    browser.chord(&[ESCAPE]);
    page.until("it is closed", "!one('dialog')");
    act(2, "Restore");
    press(&page, "Restore");
    page.until(
        "it counts again",
        "/Restored/.test(one('.toasts').innerText) && /One\\./.test(one('.sop-text').innerText)",
    );
    assert_eq!(stored(&page, "/api/sops/tea", "content"), sop("One."));
    page.assert_clean();
}

#[test]
fn sop_deleted_elsewhere_can_be_saved_as_a_new_one() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    put(&page, "PUT", "/api/sops/tea", &json!({"content": sop("Begun.")}));
    page.go("/dashboard#/sops/tea");
    page.until("it is shown", "shown(one('.sop-text'))");
    page.go("/dashboard#/sops/tea/edit");
    page.fill(".sop-source", &sop("Typed."));
    put(&page, "DELETE", "/api/sops/tea", &json!({}));
    page.until(
        "the editor says so by itself",
        "/Deleted elsewhere/.test(one('.conflict-notice')?.innerText)",
    );
    browser.click("//form//button[normalize-space()='Save']");
    page.until("it asks", "/Deleted elsewhere/.test(one('dialog.conflict h2')?.innerText)");
    press(&page, "Keep mine as new");
    page.until("it is saved", "location.hash === '#/sops/tea'");
    assert_eq!(stored(&page, "/api/sops/tea", "content"), sop("Typed."));
    page.until("it is shown", "/Typed/.test(one('.sop-text')?.innerText)");
    put(&page, "DELETE", "/api/sops/tea", &json!({}));
    page.until("the page that shows it says so as well", "/deleted elsewhere/.test(one('main').innerText)");
    page.assert_clean();
}

/// Has another program make these changes right before the page sends its next one, after its last read.
fn before_the_next_change(page: &Page, changes: &Value) {
    let script = "const own = window.fetch; const changes = arguments[0];
        window.fetch = async (path, options) => {
            if ((options?.method ?? 'GET') === 'GET' || !changes.length || /check$/.test(path)) return own(path, options);
            for (const [method, target, body] of changes.splice(0))
                await own(target, {method, headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)});
            return own(path, options);
        };";
    page.browser.run(script, std::slice::from_ref(changes));
}

#[test]
fn half_written_sop_file_is_not_reported_as_deleted() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    put(&page, "PUT", "/api/sops/pdd", &json!({"content": sop("Begun.")}));
    let file = stored(&page, "/api/sops/pdd", "path");
    page.go("/dashboard#/sops/pdd/edit");
    page.fill(".sop-source", &sop("Typed."));
    std::fs::write(&file, "# Half\n").unwrap();
    page.until("the editor says so", "/Changed elsewhere/.test(one('.conflict-notice')?.innerText)");
    browser.click("//form//button[normalize-space()='Save']");
    page.until("it asks", ASKS);
    press(&page, "Take theirs");
    page.until("it shows the file", &format!("{CLOSED} && one('.sop-source').value === '# Half\\n'"));
    browser.click("//form//button[normalize-space()='Put mine back']");
    browser.click("//form//button[normalize-space()='Save']");
    page.until("it is saved", "location.hash === '#/sops/pdd' && /Typed/.test(one('.sop-text')?.innerText)");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), sop("Typed."));

    std::fs::write(&file, "# Half again\n").unwrap();
    page.until("the page that shows it says so", "/not a valid SOP/.test(one('main').innerText)");
    assert_no_barriers(browser, "a SOP that is half written");
    browser.click(".panel-tools [aria-haspopup]");
    browser.click("//button[@role='menuitem'][normalize-space()='Delete']");
    std::fs::write(&file, "# Half once more\n").unwrap();
    press(&page, "Delete");
    page.until("it asks once more", ASKS);
    press(&page, "Delete it all the same");
    page.until("the list is back", "location.hash === '#/sops'");
    assert!(!std::path::Path::new(&file).exists());
    page.assert_clean();
}

#[test]
fn new_sop_does_not_replace_one_created_meanwhile() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.go("/dashboard#/sops/new");
    page.fill(".sop-source", &sop("Mine."));
    page.fill("form input", "tea");
    before_the_next_change(&page, &json!([["PUT", "/api/sops/tea", {"content": sop("Theirs.")}]]));
    browser.click("//form//button[normalize-space()='Save']");
    page.until("it asks", "/There is one already/.test(one('dialog.conflict h2')?.innerText)");
    assert_eq!(stored(&page, "/api/sops/tea", "content"), sop("Theirs."));
    press(&page, "Keep mine");
    page.until("it is saved", "location.hash === '#/sops/tea'");
    assert_eq!(stored(&page, "/api/sops/tea", "content"), sop("Mine."));
    page.assert_clean();
}

#[test]
fn late_response_of_a_memory_does_not_replace_the_open_one() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    let added = ["Rent is due on the 1st.", "The bins go out on Mondays."].map(|content| {
        let added = page.server().post("/api/memory", &json!({"content": content})).json();
        added["id"].as_str().unwrap().to_owned()
    });
    page.go(&format!("/dashboard#/memory/{}", added[0]));
    page.until("it is open", "/on the 1st/.test(one('dialog .memory-content')?.innerText)");
    press(&page, "Edit");
    page.until("it is edited", "shown(one('dialog textarea'))");
    let hold = "const own = window.fetch; window.held = [];
        window.release = () => { window.fetch = own; held.forEach((go) => go()); return own('/api/status').then(() => { window.isOver = true; }); };
        window.fetch = async (path, options) => {
            const answer = await own(path, options);
            if (String(path).includes(arguments[0])) await new Promise((go) => held.push(go));
            return answer;
        };"
        .replace("arguments[0]", "id");
    browser.run(&format!("const id = arguments[0]; {hold}"), &[json!(added[0])]);
    press(&page, "Cancel");
    page.until("it is read again", "held.length > 0");
    browser.run("location.hash = arguments[0]", &[json!(format!("#/memory/{}", added[1]))]);
    page.until("the other one is shown", "/on Mondays/.test(one('dialog .memory-content')?.innerText)");
    browser.run("void release()", &[]);
    page.until("the answer is there", "window.isOver");
    assert!(browser.is("/on Mondays/.test(one('dialog .memory-content')?.innerText)"));
    page.assert_clean();
}

#[test]
fn open_memory_follows_remote_changes() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    let added = page.server().post("/api/memory", &json!({"content": "Rent is due on the 1st."})).json();
    let target = format!("/api/memory/{}", added["id"].as_str().unwrap());
    page.go(&format!("/dashboard#/memory/{}", added["id"].as_str().unwrap()));
    page.until("it is open", "/on the 1st/.test(one('dialog .memory-content')?.innerText)");
    put(&page, "PUT", &target, &json!({"content": "Rent is due on the 2nd."}));
    page.until("it shows the change", "/on the 2nd/.test(one('dialog .memory-content')?.innerText)");
    press(&page, "Edit");
    page.fill("dialog textarea", "Rent is due on the 3rd, at noon.");
    put(&page, "PUT", &target, &json!({"content": "Rent is due on the 4th."}));
    page.until("the form says so by itself", "/Changed elsewhere/.test(one('.conflict-notice')?.innerText)");
    press(&page, "Save");
    page.until("it asks", ASKS);
    assert_eq!(stored(&page, &target, "content"), "Rent is due on the 4th.");
    press(&page, "Keep mine");
    page.until("it is saved", "/at noon/.test(one('dialog .memory-content')?.innerText)");
    assert_eq!(stored(&page, &target, "content"), "Rent is due on the 3rd, at noon.");
    put(&page, "DELETE", &target, &json!({}));
    page.until("a deletion is said", "/deleted elsewhere/.test(one('dialog')?.innerText)");
    assert!(!browser.is("all('dialog button').some((e) => /Edit|Delete/.test(e.innerText))"));
    page.assert_clean();
}

#[test]
fn job_deleted_elsewhere_is_reported_and_its_namesake_kept() {
    let Some(page) = Page::open(&[]) else { return };
    let job = |prompt: &str| json!({"job_id": "tidy", "cron": "@yearly", "prompt": prompt});
    put(&page, "POST", "/api/scheduler/jobs", &job("one"));
    page.go("/dashboard#/scheduler/tidy");
    page.until("it is open", "/one/.test(one('dialog .job-prompt')?.innerText)");
    put(&page, "DELETE", "/api/scheduler/jobs/tidy", &json!({}));
    page.until("it says so", "/There is no such job/.test(one('dialog')?.innerText)");
    put(&page, "POST", "/api/scheduler/jobs", &job("two"));
    page.until("the new one is shown", "/two/.test(one('dialog .job-prompt')?.innerText)");
    press(&page, "Delete");
    page.until("it asks", "all('dialog').length === 2");
    put(&page, "DELETE", "/api/scheduler/jobs/tidy", &json!({}));
    put(&page, "POST", "/api/scheduler/jobs", &job("three"));
    press(&page, "Delete");
    page.until("it asks about the other one", ASKS);
    press(&page, "Keep it");
    page.until("it is closed", CLOSED);
    assert_eq!(page.server().get("/api/scheduler").json()["jobs"][0]["prompt"], "three");
    page.assert_clean();
}

#[test]
fn pausing_a_changed_or_deleted_job_reports_the_conflict() {
    let Some(page) = Page::open(&[]) else { return };
    let job = |prompt: &str| json!({"job_id": "tidy", "cron": "@yearly", "prompt": prompt});
    put(&page, "POST", "/api/scheduler/jobs", &job("one"));
    page.go("/dashboard#/scheduler/tidy");
    page.until("it is open", "/one/.test(one('dialog .job-prompt')?.innerText)");
    let deleted = json!(["DELETE", "/api/scheduler/jobs/tidy", {}]);
    before_the_next_change(&page, &json!([deleted, ["POST", "/api/scheduler/jobs", job("two")]]));
    press(&page, "Pause");
    page.until("it says so", "/You see it as it is now/.test(one('.toasts').innerText)");
    page.until("and shows it", "/two/.test(one('dialog .job-prompt')?.innerText)");
    assert_eq!(page.server().get("/api/scheduler").json()["jobs"][0]["enabled"], true);
    before_the_next_change(&page, &json!([deleted]));
    press(&page, "Pause");
    page.until("it says that it is gone", "/deleted elsewhere already/.test(one('.toasts').innerText)");
    page.assert_clean();
}

#[test]
fn overwritten_title_can_be_restored() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.ask("!say hello");
    let target = "/api/sessions/webchat:default";
    let go_through = |menu: &str, mine: &str| {
        browser.click(menu);
        browser.click("//button[@role='menuitem'][normalize-space()='Rename']");
        page.until("it asks for the title", "document.activeElement.id === 'prompt-input'");
        page.fill("#prompt-input", mine);
        put(&page, "PATCH", target, &json!({"title": "Theirs"}));
        browser.chord(&[ENTER]);
        page.until("it asks", ASKS);
        press(&page, "Take theirs");
        page.until("it says so", "/called “Theirs” now/.test(one('.toasts').innerText)");
        page.until("and shows it", "one('h1').innerText === 'Theirs'");
        assert!(browser.is("!/Renamed/.test(one('.toasts').innerText)"));
        browser.click("//*[@class='toasts']//button[normalize-space()='Put mine back']");
        page.until("what was typed is there again", &format!("one('#prompt-input')?.value === '{mine}'"));
        browser.chord(&[ENTER]);
        page.until("it is called that", &format!("one('h1').innerText === '{mine}'"));
        assert_eq!(stored(&page, target, "title"), mine);
    };
    page.until("the list is there", "shown(one('.session .icon-button'))");
    go_through(".session .icon-button", "Mine");
    page.go("/dashboard#/sessions/webchat%3Adefault");
    page.until("it is shown", "one('h1')?.innerText === 'Mine'");
    go_through(".panel-tools button", "Mine as well");
    page.assert_clean();
}

#[test]
fn title_set_elsewhere_is_not_overwritten_silently() {
    let Some(page) = Page::open(&[]) else { return };
    let browser = &page.browser;
    page.ask("!say hello");
    let target = "/api/sessions/webchat:default";
    let rename = || {
        page.until("the list is there", "shown(one('.session .icon-button'))");
        browser.click(".session .icon-button");
        browser.click("//button[@role='menuitem'][normalize-space()='Rename']");
        page.until("it asks for the title", "document.activeElement.id === 'prompt-input'");
        page.fill("#prompt-input", "Mine");
    };
    rename();
    put(&page, "PATCH", target, &json!({"title": "Theirs"}));
    browser.chord(&[ENTER]);
    page.until("it asks", "/renamed elsewhere[^]*Theirs[^]*Mine/.test(one('dialog.conflict')?.innerText)");
    browser.chord(&[ESCAPE]);
    page.until("what was typed is still there", "one('#prompt-input')?.value === 'Mine'");
    browser.chord(&[ENTER]);
    page.until("it asks again", ASKS);
    press(&page, "Keep mine");
    page.until("it is called that", "one('h1').innerText === 'Mine'");
    assert_eq!(stored(&page, target, "title"), "Mine");
    put(&page, "DELETE", target, &json!({}));
    page.until(
        "the open conversation says that it was deleted",
        "/was deleted elsewhere/.test(one('.dock .note')?.innerText)",
    );
    page.assert_clean();
}

#[test]
fn reviewed_configuration_change_is_refused_when_outdated() {
    let Some(page) = Page::open(&["budget.pricing.fake={input=1.0,output=1.0}"]) else { return };
    let browser = &page.browser;
    let top = |amount: u8| format!("/of \\${amount}\\.00/.test(one('.top-facts')?.innerText)");
    put(&page, "PATCH", "/api/config", &json!({"budget.daily_usd": 22}));
    page.go("/dashboard#/overview");
    page.until("the top line has it", &top(22));
    let [first, second] = another_window(&page);
    page.go("/dashboard#/config/budget.daily_usd");
    page.until("the key is there", "/Takes/.test(one('dialog')?.innerText)");
    press(&page, "Change");
    page.fill("dialog input", "7");
    press(&page, "Show what changes");
    page.until("the difference is shown", "/daily_usd = 7/.test(one('dialog .diff')?.innerText)");
    put(&page, "PATCH", "/api/config", &json!({"budget.daily_usd": 11}));
    page.until("the top line follows", &top(11));
    page.until("and so does the editor", "/Changed elsewhere: it is 11 now/.test(one('dialog').innerText)");
    press(&page, "Save");
    page.until(
        "it is not saved any more",
        "/changed after you looked/.test(one('dialog.conflict')?.innerText)",
    );
    assert_eq!(page.server().get("/api/config").json()["budget"]["daily_usd"].as_f64(), Some(11.0));
    press(&page, "Keep mine");
    page.until(
        "the difference is true again",
        &format!("{CLOSED} && /-daily_usd = 11[^]*\\+daily_usd = 7/.test(one('dialog .diff')?.innerText)"),
    );
    press(&page, "Save");
    page.until(
        "it is saved, and the top line follows",
        &format!("/Saved/.test(one('.toasts').innerText) && {}", top(7)),
    );
    switch(&page, &first);
    page.until("in the other window as well", &top(7));
    switch(&page, &second);
    browser.chord(&[ESCAPE]);
    page.assert_clean();
}

#[test]
fn approval_decided_elsewhere_keeps_the_typed_arguments() {
    let asked = ["approval.enabled=true", "approval.requires_approval=[\"file_read\"]"];
    let Some(page) = Page::open(&asked) else { return };
    let (browser, server) = (&page.browser, page.server());
    let decide = |decision: &str| {
        let open = server.get("/api/approvals").json();
        let id = open["approvals"][0]["id"].as_str().unwrap().to_owned();
        assert_eq!(server.post(&format!("/api/approvals/{id}"), &json!({"decision": decision})).status, 200);
    };
    let edit = || {
        page.until("it asks", "shown(one('.approval:not(.approval-settled) .approval-actions'))");
        browser.click("(//*[contains(@class,'approval-more')]/summary)[last()]");
        browser.click("(//*[contains(@class,'approval-actions')]//button[normalize-space()='Edit, then allow'])[last()]");
        page.until("it can be edited", "document.activeElement.closest('.approval-edit')");
        page.fill(".approval-edit textarea", "other/notes.txt");
    };
    let kept = |outcome: &str| {
        format!(
            "/{outcome}/.test(one('.approval')?.innerText) && one('.approval .code-box pre')?.innerText === 'other/notes.txt'"
        )
    };
    page.say(&format!("!tool file_read {}", json!({"path": "notes.txt"})));
    edit();
    decide("deny");
    page.until("it says so and keeps what was typed", &kept("Denied elsewhere"));
    assert_no_barriers(browser, "a question that was decided elsewhere");
    browser.click("//button[normalize-space()='Put away']");
    page.until("it can be put away", "one('.approval-settled') && !one('.approval .code-box')");

    page.settled();
    let mut other = page.server().chat("other");
    let text = format!("!tool file_read {}", json!({"path": "notes.txt"}));
    other.send_json(&json!({"type": "message", "id": "m", "text": text}));
    page.go("/dashboard#/approvals");
    edit();
    decide("approve");
    page.until("the dashboard does the same", &kept("Allowed elsewhere"));
    browser.click("//button[normalize-space()='Put away']");
    page.until("it can be put away", "!one('.approval .code-box')");
    page.assert_clean();
}
