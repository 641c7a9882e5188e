//! Text that wants to be more than text: everything that a person, a model or a tool says is shown, and nothing runs,
//! leaves the page, or is loaded from elsewhere.

use std::io::ErrorKind;
use std::net::TcpListener;

use aethon_tests::Request;
use serde_json::json;

use crate::page::Page;
use crate::used_server::UsedServer;

/// An address on this machine that must not be requested.
struct Canary(TcpListener);

impl Canary {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Self(listener)
    }

    /// What pages were made to do by, with the canary in it.
    fn payloads(&self) -> Vec<String> {
        let elsewhere = format!("http://{}", self.0.local_addr().unwrap());
        PAYLOADS.iter().map(|payload| payload.replace("ELSEWHERE", &elsewhere)).collect()
    }

    fn assert_silent(&self) {
        let error = self.0.accept().map(drop).expect_err("nobody may connect");
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    }
}

const PAYLOADS: [&str; 24] = [
    "<script>window.__xss=1</script>",
    "<script src=ELSEWHERE/a.js></script>",
    "<img src=x onerror=window.__xss=2>",
    "<img src=ELSEWHERE/a.png>",
    "<svg onload=window.__xss=3><a xlink:href=javascript:window.__xss=4><text>x</text></a></svg>",
    "<iframe srcdoc='<script>parent.__xss=5</script>'></iframe>",
    "<a href=javascript:window.__xss=6>click me</a>",
    "[click me](javascript:window.__xss=7)",
    "[click me](JaVaScRiPt&colon;window.__xss=8)",
    "[click me](data:text/html,<script>window.__xss=9</script>)",
    "[click me](vbscript:x 'title\" onmouseover=\"window.__xss=10')",
    "![picture](ELSEWHERE/b.png)",
    "![picture](javascript:window.__xss=11)",
    "![p](x\"onerror=\"window.__xss=12)",
    "<ELSEWHERE/auto?x=\" onmouseover=window.__xss=13>",
    "<style>@import 'ELSEWHERE/a.css'; * { background: url(ELSEWHERE/c.png) }</style>",
    "<link rel=stylesheet href=ELSEWHERE/b.css><base href=ELSEWHERE><meta http-equiv=refresh content='0;url=ELSEWHERE'>",
    "<form action=ELSEWHERE><button formaction=javascript:window.__xss=14>press</button></form>",
    "<details open ontoggle=window.__xss=15><summary>x</summary></details>",
    "</textarea></title></style></script><img src=x onerror=window.__xss=16>",
    "<div style='position:fixed;inset:0;background:url(ELSEWHERE/d.png)' onclick=window.__xss=17>over</div>",
    "`` `<img src=x onerror=window.__xss=18>` ``",
    "<math><mtext></form><form><mglyph><style></math><img src=x onerror=window.__xss=19>",
    "[x]: javascript:window.__xss=20\n[x]\u{202e}<input autofocus onfocus=window.__xss=21>",
];

/// Nothing ran, and nothing is on the page that could.
fn assert_inert(page: &Page, canary: &Canary) {
    let browser = &page.browser;
    assert_eq!(browser.alert(), None);
    assert!(
        browser.is("typeof window.__xss === 'undefined'"),
        "a script ran: {}",
        browser.text("window.__xss")
    );
    let live = browser.text(
        "all('body *').filter((e) => [...e.attributes].some(({name}) => name.startsWith('on'))
            || e.matches('script, iframe, object, embed, style, link, base, meta, form[action]')
            || (e.hasAttribute('href') && !/^(https?:|mailto:|#|[/])/.test(e.getAttribute('href')) && e.tagName !== 'use')
            || (e.hasAttribute('src') && !/^(data:image|blob:|[/])/.test(e.getAttribute('src'))))
            .map((e) => e.outerHTML.slice(0, 200)).join('\\n')",
    );
    assert_eq!(live, "", "on the page stands");
    // Whatever can be pressed in replies is pressed; a link opens another window at most.
    browser.run("for (const e of all('.reply a, .said a, .data-table a')) { e.dispatchEvent(new MouseEvent('mouseover', {bubbles: true})); }", &[]);
    assert!(browser.is("typeof window.__xss === 'undefined'"), "a script ran");
    canary.assert_silent();
    page.assert_clean();
}

#[test]
fn messages_and_answers_stay_text() {
    let Some(page) = Page::open(&[]) else { return };
    let canary = Canary::new();
    let payloads = canary.payloads();
    // As the person's message, and as Markdown of the model, each alone and all in one reply.
    let all: Vec<String> =
        payloads.iter().map(|payload| format!("!say {}\n!say ", payload.replace('\n', "\n!say "))).collect();
    for text in all.iter().chain([&all.join("\n")]) {
        let turn = page.ask(text);
        assert_eq!(turn.said, text.trim(), "it is shown as it was written");
    }
    assert!(page.browser.is("all('.reply').at(-1).innerText.includes('click me')"), "replies are shown");
    assert_inert(&page, &canary);
    page.browser.reload();
    let count = format!("all('.turn').length === {}", all.len() + 1);
    page.until("the transcript is there", &count);
    assert_inert(&page, &canary);
}

#[test]
fn tools_titles_and_names_stay_text() {
    let Some(page) = Page::open(&["approval.enabled=true", "approval.requires_approval=[\"file_read\"]"])
    else {
        return;
    };
    let canary = Canary::new();
    let payloads = canary.payloads();
    let browser = &page.browser;
    // Names, arguments and results of tools.
    for payload in payloads.iter().take(6) {
        let name = payload.replace([' ', '\n'], "/");
        page.ask(&format!("!tool {name} {}", json!({"path": payload, payload.as_str(): [payload]})));
    }
    browser.run("for (const fold of all('details.fold')) fold.open = true", &[]);
    page.until("they are open", "all('.fold-body .sheet').length >= 6");
    assert_inert(&page, &canary);
    // A question about one, and the title of the window with it.
    page.say(&format!("!tool file_read {}", json!({"path": payloads.join("\n")})));
    page.until("it asks", "shown(one('.approval:not(.approval-settled)'))");
    assert!(browser.is("one('.approval .sheet').innerText.includes('<img src=x onerror=window.__xss=2>')"));
    page.until("what cannot be seen is marked", "/U\\+202E/.test(one('.approval .sheet').innerText)");
    assert!(!browser.is("/\\u202e/.test(one('.approval').innerText)"), "wherever it is shown");
    assert_inert(&page, &canary);

    // Titles of conversations, in the list, in the head, in dialogs and messages.
    for (number, payload) in payloads.iter().enumerate() {
        let name = format!("titled-{number}");
        page.server().chat(&name).say("m1", "!say hello");
        let title = Request::new("PATCH", &format!("/api/sessions/webchat:{name}"));
        let title =
            title.header("Content-Type", "application/json").body(json!({"title": payload}).to_string());
        assert!(page.server().send(&title).status < 400 || payload.contains('\n'), "{payload}");
    }
    page.go("/#/titled-2");
    browser.reload();
    page.until("the titles are listed", "all('.session-title').length > 20");
    page.until("and shown", "one('.topbar h1').innerText === '<img src=x onerror=window.__xss=2>'");
    browser.run("one('[data-name=titled-2] a').focus(); one('[data-name=titled-2] button').click();", &[]);
    browser.click("//button[normalize-space()='Delete']");
    page.until("it asks", "one('dialog p').innerText.includes('<img src=x onerror=window.__xss=2>')");
    assert_inert(&page, &canary);
    // Names of conversations in the address, words to search for.
    page.go("/#/%3Cimg%20src=x%20onerror=window.__xss=30%3E");
    browser.reload();
    page.until("the page is there", "shown(one('#message'))");
    page.fill("[type=search]", "<img src=x onerror=window.__xss=31>");
    page.until("it was searched for", "one('.sessions').innerText.trim() !== '' && !one('.skeleton')");
    assert_inert(&page, &canary);
    for payload in &payloads {
        page.server().post("/api/memory", &json!({"content": payload, "category": "hostile"}));
        let job = json!({"cron": "@yearly", "prompt": payload});
        page.server().post("/api/scheduler/jobs", &job);
    }
    // The dashboard shows pending items, logs and stored data.
    for (panel, title) in [
        ("overview", "Overview"),
        ("company", "Live Company"),
        ("monitor", "Live Monitor"),
        ("approvals", "Approvals"),
        ("sessions", "Sessions"),
        ("agents", "Agents"),
        ("sops", "SOPs"),
        ("scheduler", "Scheduler"),
        ("recordings", "Recordings"),
        ("memory", "Memory"),
        ("channels", "Channels"),
        ("usage", "Usage"),
        ("features", "Features"),
        ("config", "Config"),
        ("logs", "Logs"),
    ] {
        page.go(&format!("/dashboard#/{panel}"));
        page.until("the panel is there", &format!("one('h1')?.innerText === '{title}' && !one('.skeleton')"));
        page.until("it is live", "/Live/.test(one('.panel-top').innerText)");
        assert_inert(&page, &canary);
    }
}

/// Said and named like that by everybody: titles, arguments of tools, names of senders, lines of the log, SOPs, memories, jobs,
/// recordings, deliveries, pieces of work.
#[test]
fn hostile_text_stays_text_in_every_view() {
    let canary = Canary::new();
    let payloads = canary.payloads();
    let Some(used_server) = UsedServer::open(&payloads) else { return };
    let page = &used_server.page;
    for view in &used_server.views {
        used_server.visit(view);
        assert_inert(page, &canary);
    }
}
