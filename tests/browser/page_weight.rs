//! What opening a page costs: nothing moves while it loads, and little is sent.

use std::time::Duration;

use serde_json::json;

use crate::page::Page;
use crate::used_server::{UsedServer, one_line};

/// The most that what stands on a page may move while it loads.
const MAX_SHIFT: f64 = 0.02;
/// The most bytes that the first view of the dashboard may take, as they are sent.
const MAX_BYTES: f64 = 400_000.0;

/// How much the layout shifted since the page was opened, without the person's own actions.
const SHIFT: &str = "return await new Promise((done) => {
    let sum = 0;
    const moved = [];
    const add = (list) => {
        for (const entry of list.getEntries()) {
            if (entry.hadRecentInput) continue;
            sum += entry.value;
            for (const source of entry.sources) moved.push(`${source.node?.outerHTML?.slice(0, 120)} ${JSON.stringify(source.previousRect)} ${JSON.stringify(source.currentRect)}`);
        }
    };
    const observer = new PerformanceObserver(add);
    observer.observe({type: 'layout-shift', buffered: true});
    setTimeout(() => { observer.takeRecords().forEach((entry) => add({getEntries: () => [entry]})); done([sum, moved]); }, 600);
})";

/// Tells what moved, if much did.
fn moved(page: &Page, what: &str) -> Option<String> {
    let seen = page.browser.run(SHIFT, &[]);
    let sum = seen[0].as_f64().unwrap();
    (sum >= MAX_SHIFT).then(|| format!("{what} moves by {sum}: {:#}", seen[1]))
}

#[test]
fn nothing_moves_while_a_page_loads() {
    assert_nothing_moves(false);
}

#[test]
fn nothing_moves_while_a_page_loads_on_a_phone() {
    assert_nothing_moves(true);
}

/// Delays what arrives over sockets, so that panels wait visibly for their connection.
const LATE_SOCKETS: &str = "for (const type of ['open', 'message']) {
    Object.defineProperty(WebSocket.prototype, `on${type}`, {set(listener) {
        this.addEventListener(type, (event) => setTimeout(() => listener.call(this, event), 400));
    }});
}";

fn assert_nothing_moves(is_phone: bool) {
    let words = ["Plans for the garden", "Rent is due on the 5th.\nPay it."].map(str::to_owned);
    let Some(used_server) = UsedServer::open(&words) else { return };
    let page = &used_server.page;
    let mut all = Vec::new();
    if is_phone {
        page.browser.become_phone(390, 844);
    }
    // On a slow machine what comes later comes visibly later.
    page.browser.devtools("Emulation.setCPUThrottlingRate", &json!({"rate": 6}));
    page.browser.devtools("Page.addScriptToEvaluateOnNewDocument", &json!({"source": LATE_SOCKETS}));
    page.go("/#/talk-0");
    page.browser.reload();
    page.until("the conversation is there", "shown(one('#message')) && one('.turn') && !one('.skeleton')");
    all.extend(moved(page, &format!("the chat, on a phone: {is_phone}")));
    for view in used_server.views.iter().filter(|view| view.press.is_none() || !view.address.contains('/')) {
        used_server.load(view);
        all.extend(moved(page, &format!("{}, on a phone: {is_phone}", one_line(&view.address))));
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// How much empty height is between the heading of a view and what stands below it.
const HOLE: &str = "const heading = one('.panel-head h1').getBoundingClientRect();
    const tools = one('.panel-tools').getBoundingClientRect();
    const seen = [...one('.panel-body').querySelectorAll('*')].filter((element) => {
        const {width, height} = element.getBoundingClientRect();
        return width > 0 && height > 0 && element.checkVisibility({visibilityProperty: true}) && !element.matches('.visually-hidden')
            && ([...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()) || element.matches('input, select, textarea, button, svg'));
    });
    const top = Math.min(...seen.map((element) => element.getBoundingClientRect().top));
    return top - Math.max(heading.bottom, tools.height && one('.panel-tools').childElementCount ? tools.bottom : 0)";

#[test]
fn no_view_begins_with_a_hole_on_a_phone() {
    let words = ["Plans for the garden".to_owned()];
    let Some(used_server) = UsedServer::open(&words) else { return };
    let page = &used_server.page;
    page.browser.become_phone(390, 844);
    let mut holes = Vec::new();
    for view in used_server.views.iter().filter(|view| view.press.is_none()) {
        used_server.load(view);
        let hole = page.browser.run(HOLE, &[]).as_f64().expect("something stands there");
        // The padding of the heading, of a card and of what is in it.
        if hole > 60.0 {
            holes.push(format!("{}: {hole} px", one_line(&view.address)));
        }
    }
    assert!(holes.is_empty(), "{}", holes.join("\n"));
}

#[test]
fn the_first_view_of_the_dashboard_is_small() {
    let Some(page) = Page::open(&[]) else { return };
    page.browser.devtools("Network.setCacheDisabled", &json!({"cacheDisabled": true}));
    page.go("/dashboard");
    page.until("it is there", "shown(one('.cards')) && /Live/.test(one('.panel-top').innerText)");
    let sizes = page.browser.run(
        "await document.fonts.ready;
        const sent = [...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')];
        return [sent.reduce((sum, entry) => sum + entry.transferSize, 0), sent.length,
            sent.filter(({encodedBodySize, decodedBodySize, name}) => /[.](js|css)$/.test(name) && decodedBodySize > 2000 && encodedBodySize >= decodedBodySize).map(({name}) => name)]",
        &[],
    );
    let (sum, count) = (sizes[0].as_f64().unwrap(), sizes[1].as_u64().unwrap());
    eprintln!("the first view of the dashboard: {count} requests, {sum} bytes");
    assert!(count > 20 && sum > 50_000.0, "it was not measured: {sizes}");
    assert!(sum < MAX_BYTES, "{sum} bytes");
    assert_eq!(sizes[2], json!([]), "not compressed");
    // Nothing is requested before events flow, so nothing has to be requested again once they do. Those of logs may follow events.
    let needless = page.browser.run(
        "await new Promise((done) => setTimeout(done, 1500));
        const names = performance.getEntriesByType('resource').map(({name}) => name);
        return names.filter((name, index) => /jetbrains/.test(name) || /api/.test(name) && !/api.logs/.test(name) && names.indexOf(name) !== index)",
        &[],
    );
    assert_eq!(needless, json!([]), "asked for twice, or not shown");
}

/// How much of ten seconds the page's scripts take, in ms.
fn scripts_in_ten_seconds(page: &Page) -> f64 {
    page.browser.devtools("Performance.enable", &json!({}));
    let sum = || {
        let metrics = page.browser.devtools("Performance.getMetrics", &json!({}))["metrics"].clone();
        let metrics = metrics.as_array().expect("a list").iter();
        let found = metrics.filter(|metric| metric["name"] == "ScriptDuration");
        found.filter_map(|metric| metric["value"].as_f64()).sum::<f64>() * 1000.0
    };
    let before = sum();
    std::thread::sleep(Duration::from_secs(10));
    sum() - before
}

#[test]
fn conversation_that_is_only_read_runs_no_script() {
    let Some(page) = Page::open(&[]) else { return };
    page.ask("!say one");
    page.browser.reload();
    page.until("it is there", "one('.turn') && !one('.skeleton')");
    // What looks after the connection ends when nothing is awaited.
    std::thread::sleep(Duration::from_secs(7));
    let took = scripts_in_ten_seconds(&page);
    assert!(took < 0.1, "{took} ms");
    page.assert_clean();
}

#[test]
fn the_monitor_begins_with_one_request_for_all_conversations() {
    let Some(page) = Page::open(&[]) else { return };
    let server = page.server();
    for number in 1..=12 {
        server.chat(&format!("talk-{number}")).say("m1", &format!("!say answer {number}"));
    }
    let long = "word ".repeat(2_000);
    server.chat("long").say("m1", &format!("!say {long}end of it"));
    page.go("/dashboard#/monitor");
    page.browser.reload();
    page.until(
        "they are listed",
        "all('tbody tr[data-key]').length === 26 && /Live/.test(one('.panel-top').innerText)",
    );
    let asked = page.browser.run(
        "return performance.getEntriesByType('resource').map(({name}) => new URL(name))
            .filter(({pathname}) => pathname.startsWith('/api/')).map(({pathname}) => pathname).sort()",
        &[],
    );
    assert_eq!(asked, json!(["/api/approvals", "/api/monitor", "/api/status", "/api/usage"]));
    // The list has the beginning of a long text, and the drawer all of it.
    page.fill(".bar [type=search]", "word word");
    page.until("the long ones are found", "all('tbody tr[data-key]').length === 2");
    page.browser.click("tbody tr[data-key] .monitor-what");
    page.until("the whole text is loaded", "/end of it/.test(one('dialog[open]')?.innerText)");
    page.assert_clean();
}

#[test]
fn new_chat_makes_no_failing_request() {
    let Some(page) = Page::open(&[]) else { return };
    page.until(
        "it has asked",
        "performance.getEntriesByType('resource').some(({name}) => /api.sessions.webchat/.test(name))",
    );
    let refused = "performance.getEntriesByType('resource').filter(({responseStatus}) => responseStatus >= 400).map(({name}) => name).join()";
    assert_eq!(page.browser.text(refused), "");
    let server = page.server();
    assert_eq!(server.get("/api/sessions/webchat:default?optional=true").status, 204);
    assert_eq!(server.get("/api/sessions/webchat:default").status, 404);
    assert_eq!(server.get("/api/sessions/webchat:default?optional=perhaps").status, 422);
    page.ask("hello");
    assert_eq!(server.get("/api/sessions/webchat:default?optional=true").status, 200);
}
