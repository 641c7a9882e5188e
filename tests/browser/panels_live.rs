//! The live panels: Live Company, the monitor, approvals with their decisions.

use serde_json::{Value, json};

use crate::page::Page;

const ASKED: [&str; 2] = ["approval.enabled=true", "approval.requires_approval=[\"file_read\"]"];
/// Text of an unknown sender that breaks a careless page.
const HOSTILE: &str = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>";

/// The main agent's entry in the list beside the office.
const DOING: &str = "(one('#agent-main .company-doing')?.innerText ?? '')";

fn send(socket: &mut aethon_tests::Socket, id: &str, text: &str) {
    socket.send_json(&json!({"type": "message", "id": id, "text": text}));
}

#[test]
fn the_monitor_shows_turns_with_the_course_of_their_calls() {
    let Some(page) = Page::open(&[]) else { return };
    let (browser, server) = (&page.browser, page.server());
    let mut chat = server.chat("garden");
    // The first message is the title, which a search finds as well.
    chat.say("m1", "!say nothing to do");
    chat.say("m2", &format!("!tool calculator {}\n!say 42 of them", json!({"expression": "6 * 7"})));
    page.go("/dashboard#/monitor?view=turns");
    page.until("both turns are listed", "all('tbody tr[data-key]').length === 2");
    assert_eq!(browser.text("one('.bar-count').innerText"), "2 turns");
    assert!(browser.is("/nothing to do/.test(all('tbody tr[data-key]')[1].innerText)"), "newest first");
    assert!(
        browser.is("/calculator/.test(all('tbody tr[data-key]')[0].querySelector('[role=img]').ariaLabel)")
    );
    let inside = "(() => { const bar = one('.course').getBoundingClientRect(), call = one('.course-span').getBoundingClientRect();
        return call.width >= 3 && call.left >= bar.left - 1 && call.right <= bar.right + 1; })()";
    assert!(browser.is(inside), "the call lies on the bar");
    chat.say("m3", "!say a third");
    page.until("a new turn appears", "/a third/.test(one('tbody tr[data-key]')?.innerText)");
    page.fill(".bar [type=search]", "calculator");
    page.until("a turn is found by its calls", "all('tbody tr[data-key]').length === 1");
    browser.click("tbody .row-link");
    page.until(
        "it opens with its calls and its answer",
        "one('dialog[open] .turn-part') && /42 of them/.test(one('dialog[open]').innerText)",
    );
    browser.run("one('dialog[open]').close()", &[]);
    browser.run(
        "const view = all('.bar select').at(-1); view.value = ''; view.dispatchEvent(new Event('change'))",
        &[],
    );
    page.until("every entry is back", "one('.monitor-kind') && !/view=turns/.test(location.hash)");
    page.assert_clean();
}

#[test]
fn the_company_says_and_draws_the_same() {
    let Some(page) = Page::open(&["approval.enabled=false"]) else { return };
    page.go("/dashboard#/company");
    page.until(
        "it is there",
        "one('.office .person') && /Idle/.test(one('#agent-main .company-doing')?.innerText)",
    );
    // Every change of the panel is looked at: the list and the bubble say the same at each moment.
    page.browser.run(
        "window.faults = [];
        window.seen = new Set();
        const bubble = () => one('.bubble');
        const compare = () => {
            if (!bubble() || !one('#agent-main')) return;
            const said = one('#agent-main .company-doing')?.innerText ?? '', state = one('#agent-main').dataset.state;
            seen.add(said);
            if (bubble().dataset.state !== undefined && bubble().dataset.state !== state) faults.push(`${said}: ${state}, drawn ${bubble().dataset.state}`);
            const tool = /^Uses (.*)$/.exec(said)?.[1];
            if (tool && !bubble().innerText.includes(tool)) faults.push(`${said}, drawn ${bubble().innerText}`);
            if (/messages? waits? in the inbox/.test(one('.company-doors').innerText) && /Thinking|Uses/.test(said)) faults.push(one('.company-doors').innerText);
        };
        new MutationObserver(() => queueMicrotask(compare)).observe(one('main'), {subtree: true, childList: true, attributes: true, characterData: true})",
        &[],
    );
    let mut chat = page.server().chat("office");
    let call = |name: &str, input: serde_json::Value| format!("!tool {name} {input}");
    chat.say(
        "m1",
        &[
            "!sleep 700".into(),
            call("shell", json!({"command": "sleep 1"})),
            "!then".into(),
            "!sleep 700".into(),
            call("current_time", json!({})),
            "!say done".into(),
        ]
        .join("\n"),
    );
    page.until(
        "it is over",
        "/Idle/.test(one('#agent-main .company-doing').innerText) && window.seen.size > 2",
    );
    assert_eq!(page.browser.text("JSON.stringify(faults)"), "[]");
    let seen = page.browser.text("JSON.stringify([...seen])");
    assert!(seen.contains("Answers by webchat") && seen.contains("Uses "), "{seen}");
    assert!(page.browser.is("/The inbox is empty/.test(one('.company-doors').innerText)"));
    page.assert_clean();
}

#[test]
fn office_shows_waiting_agents_until_approvals_settle() {
    let Some(page) = Page::beside(aethon_tests::Server::start(&ASKED)) else { return };
    std::fs::write(page.server().home().path().join("workspace/notes.txt"), "milk").unwrap();
    page.go("/dashboard#/company");
    page.until("everybody is idle", &format!("{DOING} === 'Idle' && one('.office .person')"));
    let mut other = page.server().chat("office");
    send(&mut other, "m1", "!tool file_read {\"path\": \"notes.txt\"}");
    page.until("it waits for the owner", &format!("/approval to use file_read/.test({DOING})"));
    page.until("the figure does too", "one('.person[data-state=waiting]')");
    page.until(
        "it is said",
        "/Aethon: Waits for your approval/.test(one('.panel-company [role=status]').textContent)",
    );
    page.browser.click("#agent-main .company-person");
    page.until("its details are there", "/webchat:office/.test(one('.company-details').innerText)");
    page.browser.click(".company-links a[href=\"#/approvals\"]");
    page.until("the card is there", "/notes\\.txt/.test(one('.approval')?.innerText)");
    page.until(
        "the press counts",
        "(all('.approval-actions button').find((b) => b.innerText === 'Allow once')?.click(), !one('.approval-actions'))",
    );
    page.until("it is among the decisions", "/file_read/.test(one('.panel-approvals tbody')?.innerText)");
    assert_eq!(page.server().get("/api/approvals").json()["approvals"], json!([]));
    let audit = page.server().get("/api/audit").json();
    assert_eq!(
        (&audit["audit"][0]["subject"], &audit["audit"][0]["outcome"]),
        (&json!("file_read"), &json!("approve"))
    );
    page.browser.click("a[data-panel=company]");
    page.until("it is idle again", &format!("{DOING} === 'Idle'"));
    assert_eq!(page.browser.alert(), None);
}

#[test]
fn a_decision_that_was_carried_out_is_not_marked_as_a_refusal() {
    let Some(page) = Page::open(&[]) else { return };
    page.ask("!say one");
    assert!(page.server().post("/api/sessions/webchat:default/reset", &json!({})).status < 300);
    page.go("/dashboard#/approvals");
    page.until("it is among the decisions", "one('.panel-approvals tbody tr[data-key]')");
    let badge = "one('.panel-approvals tbody tr[data-key] .badge')";
    assert_eq!(page.browser.text(&format!("{badge}.innerText.trim()")), "Deleted");
    assert_eq!(page.browser.text(&format!("{badge}.dataset.tone")), "good");
    page.assert_clean();
}

#[test]
fn monitor_shows_past_and_new_events() {
    let Some(page) = Page::beside(aethon_tests::Server::start(&[])) else { return };
    let mut other = page.server().chat("before");
    other.say(
        "m1",
        &format!("!tool shell {}", json!({"command": format!("echo \"{}\"", HOSTILE.replace('"', ""))})),
    );
    page.go("/dashboard#/monitor");
    page.until("what was is there", "/shell/.test(one('.panel-monitor tbody')?.innerText)");
    let mut stranger = page.server().chat("after");
    stranger.say("m2", &format!("!say {HOSTILE}"));
    page.until("what comes appears", "/webchat:after/.test(one('.panel-monitor tbody').innerText)");
    assert!(page.browser.is("!one('.panel-monitor img, .panel-monitor script')"), "text stays text");

    // Narrowed, and still so after a reload.
    page.browser.run(
        "const kind = one('[aria-label=Kind]'); kind.value = 'tool'; kind.dispatchEvent(new Event('change'))",
        &[],
    );
    page.until(
        "only tools are there",
        "all('.panel-monitor tr[data-key]').every((row) => row.dataset.mark === 'tool')",
    );
    page.browser.reload();
    page.until(
        "they still are",
        "all('.panel-monitor tr[data-key]').length === 1 && one('[aria-label=Kind]').value === 'tool'",
    );
    page.browser.click(".panel-monitor .row-link");
    page.until(
        "the call is shown whole",
        "/Input[^]*command[^]*Output/.test(one('dialog[open]')?.innerText)",
    );
    page.browser.run("one('dialog[open]').close()", &[]);

    // While it is paused nothing moves, and the number of new events is shown.
    page.browser.click_words("Pause");
    stranger.say("m3", "!tool current_time {}");
    page.until("it is told", "/1 new entry/.test(one('.live-fresh')?.innerText)");
    assert!(page.browser.is("all('.panel-monitor tr[data-key]').length === 1"), "nothing moved");
    page.browser.click_words("Go on");
    page.until("it is there", "all('.panel-monitor tr[data-key]').length === 2");
    assert_eq!(page.browser.alert(), None);
}

#[test]
fn usage_panel_matches_the_api_and_log_is_searchable() {
    let priced = ["budget.daily_usd=1", "budget.pricing.fake={input=3.0, output=15.0}"];
    let Some(page) = Page::beside(aethon_tests::Server::start(&priced)) else { return };
    let mut other = page.server().chat("a");
    other.say("m1", "!say one");
    page.go("/dashboard#/usage");
    page.until("today is told", "/of \\$1\\.00/.test(one('.panel-usage .usage-budget')?.innerText)");
    let spent = |usage: &Value| usage["budget"]["spent_usd"].as_f64().unwrap();
    let before = page.server().get("/api/usage?days=1").json();
    let shown = |usage: &Value| {
        format!("one('.panel-usage .usage-budget').innerText.includes('{:.4}')", spent(usage))
    };
    page.until("it is the figure of the API", &shown(&before));
    page.until(
        "and that of the top line",
        &format!("one('.top-facts').innerText.includes('{:.4}')", spent(&before)),
    );
    other.say("m2", "!say two");
    let after = page.server().get("/api/usage?days=1").json();
    assert!(spent(&after) > spent(&before));
    page.until("it is told again by itself", &shown(&after));
    page.browser.click_words("Calls");
    let widths = "all('.panel-usage .data-table .row-link').map((name) => name.closest('td').clientWidth)";
    let widths = page.browser.run(&format!("return {widths}"), &[]);
    let is_wide = |width: &Value| width.as_f64() > Some(80.0);
    assert!(widths.as_array().is_some_and(|all| all.len() >= 3 && all.iter().all(is_wide)), "{widths}");
    page.until("the chart counts calls", "/^Calls by day/.test(one('.usage-chart svg[role=img]').ariaLabel)");
    page.browser.reload();
    page.until("and still does", "/^Calls by day/.test(one('.usage-chart svg[role=img]')?.ariaLabel)");

    other.say("m3", "!tool shell {\"command\": \"sudo rm -rf /\"}");
    page.go("/dashboard#/logs?q=refused");
    page.until("the refusal is found", "all('.panel-logs tr[data-key]').length > 0 && all('.panel-logs tr[data-key]').every((row) => /refus/.test(row.innerText))");
    page.fill(".panel-logs .search input", "nothing like it");
    page.until("nothing is found", "/No line matches/.test(one('.panel-logs').innerText)");
    page.assert_clean();
}

#[test]
fn monitor_names_work_by_its_task() {
    let Some(page) = Page::open(&["work.enabled=true"]) else { return };
    let task = json!({"title": "Count the receipts", "detail": "!say counted", "acceptance": ["counted"]});
    let planned = page.server().post("/api/work", &json!({"goal": "Do the accounts", "tasks": [task]}));
    assert!(planned.status < 300, "{planned:?}");
    page.go("/dashboard#/monitor?view=turns");
    // The receipt in the conversation that planned it is a turn, too.
    let names = "all('.panel-monitor .monitor-session').map((session) => session.textContent).join('\\n')";
    page.until("its turn is listed", &format!("/Task: Count the receipts/.test({names})"));
    let seen = page.browser.text(names);
    assert!(!seen.contains("larger piece of work"), "{seen}");
    page.assert_clean();
}
