//! A server that has been lived in: every feature was used, so that every panel has something to show, and every view of the
//! dashboard that can be opened upon it. What people, models and tools said, and how things are called, says the test.

use std::cell::Cell;
use std::sync::Arc;

use aethon_tests::telegram::Telegram;
use aethon_tests::{Request, Server, Socket, eventually, home};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::page::Page;

const SETTINGS: [&str; 10] = [
    "approval.enabled=true",
    "approval.requires_approval=[\"file_read\"]",
    "approval.timeout_seconds=3600",
    "session_recorder.enabled=true",
    "agent.dynamic_specialists=true",
    "work.enabled=true",
    "budget.daily_usd=5",
    "budget.pricing.first={input=3.0, output=15.0}",
    "budget.pricing.second={input=3.0, output=15.0}",
    "model.max_retries=0",
];

/// The server, a browser, and the data of the server.
pub(crate) struct UsedServer {
    /// The browser, with nothing opened yet.
    pub(crate) page: Page,
    /// Every view of the dashboard.
    pub(crate) views: Vec<View>,
    /// The service of one of its channels.
    telegram: Arc<Telegram>,
    /// Who waits for an approval.
    _asking: Socket,
    /// How many views were opened: each on a page of its own, as by a bookmark.
    opened: Cell<u32>,
}

/// Something that can be opened.
#[derive(Debug)]
pub(crate) struct View {
    /// Its address below `#/`.
    pub(crate) address: String,
    /// The condition that shows it is loaded.
    pub(crate) ready: &'static str,
    /// The buttons pressed in it, and the condition thereafter.
    pub(crate) press: Press,
}

impl UsedServer {
    /// Fills a server, using these words for every message and name.
    pub(crate) fn open(words: &[String]) -> Option<Self> {
        let telegram = Arc::new(Telegram::start());
        let (home, own) = (home(), telegram.settings());
        let unknown: Vec<String> = words
            .iter()
            .map(|word| format!("{} = 1\n", json!(one_line(word)).to_string().replace("\\u202e", "")))
            .collect();
        std::fs::write(home.path().join("config.toml"), unknown.concat()).unwrap();
        let settings = |model| -> Vec<&'static str> { SETTINGS.into_iter().chain([model]).collect() };
        let recorded = Server::start_in(home.clone(), &settings("model.model_id=first"));
        be_recorded(&recorded, words);
        // A stop ends the recordings.
        assert!(recorded.terminate().success());
        let all: Vec<&str> =
            settings("model.model_id=second").into_iter().chain(own.iter().map(String::as_str)).collect();
        let page = Page::beside(Server::start_in(home, &all))?;
        let server = page.server();
        fill(server, words);
        use_channels(server, &telegram, words);
        let asking = ask(server, words);
        let views = views(server);
        Some(Self { page, views, telegram, _asking: asking, opened: Cell::default() })
    }

    /// Starts the server again in its home, where it was.
    pub(crate) fn start(&mut self, home: Arc<TempDir>) {
        let own = self.telegram.settings();
        let all: Vec<&str> = SETTINGS
            .into_iter()
            .chain(["model.model_id=second"])
            .chain(own.iter().map(String::as_str))
            .collect();
        self.page.start_server_with(home, &all);
    }

    /// Opens a view, waits until it is loaded, and presses its buttons.
    pub(crate) fn visit(&self, view: &View) {
        self.load(view);
        let page = &self.page;
        if let Some((press, opened)) = view.press {
            page.browser.run(press, &[]);
            page.until(&format!("{}: {press}", view.address), &format!("!one('.skeleton') && ({opened})"));
        }
    }

    /// Opens a view and waits until it is there.
    pub(crate) fn load(&self, view: &View) {
        let page = &self.page;
        self.opened.set(self.opened.get() + 1);
        page.go(&format!("/dashboard?view={}#/{}", self.opened.get(), view.address));
        page.until("it is live", "/Live/.test(one('.panel-top')?.innerText)");
        page.until(&view.address, &format!("!one('.skeleton') && ({})", view.ready));
    }
}

/// A text without line breaks.
pub(crate) fn one_line(text: &str) -> String {
    text.replace('\n', " ")
}

/// Directives that make the model say this.
fn say(text: &str) -> String {
    format!("!say {}", text.replace('\n', "\n!say "))
}

fn be_recorded(server: &Server, words: &[String]) {
    let mut chat = server.chat("recorded");
    for (number, word) in words.iter().enumerate() {
        chat.say(&format!("r{number}"), &say(word));
    }
    chat.say(
        "tool",
        &format!("!tool shell {}\n!then\n{}", json!({"command": "echo", "why": words[0]}), say(&words[0])),
    );
}

fn fill(server: &Server, words: &[String]) {
    for (number, word) in words.iter().enumerate() {
        let name = format!("talk-{number}");
        server.chat(&name).say("m1", &say(word));
        let title = json!({"title": one_line(word)}).to_string();
        let rename = Request::new("PATCH", &format!("/api/sessions/webchat:{name}"))
            .header("Content-Type", "application/json");
        assert_eq!(server.send(&rename.body(title)).status, 200, "{word}");
        server.post("/api/memory", &json!({"content": word, "category": one_line(word)}));
        server.post(
            "/api/scheduler/jobs",
            &json!({"job_id": format!("job-{number}"), "cron": "@yearly", "prompt": word}),
        );
        let sop = format!(
            "# {0}\n\n## Overview\n\n{word}\n\n## Parameters\n\n- **leaf** (optional, default: \"x\"): {0}\n\n## Steps\n\n### 1. {0}\n\n{word}\n",
            one_line(word)
        );
        put(server, &format!("/api/sops/sop-{number}"), &json!({"content": sop}));
    }
    let entries = server.get("/api/memory").json()["entries"].clone();
    let newest = entries[0]["id"].as_str().unwrap().to_owned();
    put(server, &format!("/api/memory/{newest}"), &json!({"content": format!("{} corrected", words[0])}));
    let mut chat = server.chat("talk-0");
    let task = json!({"task": say(&words[0])});
    chat.say(
        "m2",
        &format!(
            "!tool ask_scout {task}\n!tool shell {}",
            json!({"command": format!("sudo echo {}", words[0])})
        ),
    );
    chat.say("m3", &format!("!tool current_time {}\n!then\n{}", json!({"zone": words[0]}), say(&words[0])));
    chat.say("m4", "!error auth 9");
    let failing = json!({"job_id": "failing", "cron": "@yearly", "prompt": "!error auth 9"});
    assert_eq!(server.post("/api/scheduler/jobs", &failing).status, 201);
    for job in ["failing", "job-0"] {
        server.post(&format!("/api/scheduler/jobs/{job}/run"), &json!({}));
    }
    server.post("/api/sops/sop-0/run", &json!({"parameters": {"leaf": words[0]}}));
    let task = json!({"title": one_line(&words[0]), "detail": "!sleep 600000", "acceptance": [words[0]]});
    assert!(server.post("/api/work", &json!({"goal": words[0], "tasks": [task]})).status < 300);
    std::fs::write(server.home().path().join("workspace/sops/broken.sop.md"), format!("# {}\n", words[0]))
        .unwrap();
    log_an_error(server, words);
}

/// A configuration that cannot be taken over: the log quotes it.
fn log_an_error(server: &Server, words: &[String]) {
    let file = server.home().path().join("config.toml");
    let sound = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("logging.level = {}\n", json!(one_line(&words[0])))).unwrap();
    server.signal(rustix::process::Signal::HUP);
    eventually("the error is logged", || {
        server.get("/api/logs?level=error").text().contains("in force").then_some(())
    });
    std::fs::write(&file, sound).unwrap();
}

fn put(server: &Server, path: &str, body: &Value) {
    let request = Request::new("PUT", path).header("Content-Type", "application/json").body(body.to_string());
    let response = server.send(&request);
    assert!(response.status < 300, "{path}: {}", response.text());
}

fn use_channels(server: &Server, telegram: &Telegram, words: &[String]) {
    telegram.await_poll();
    for (number, word) in (40..).zip(words) {
        let code = server.post("/api/pairings", &json!({"channel": "telegram"})).json()["code"].clone();
        telegram.say_as(number, &one_line(word), &format!("/pair {}", code.as_str().unwrap()));
        eventually("somebody is paired", || {
            let paired = server.get("/api/pairings").text();
            paired.contains(&format!("\"{number}\"")).then_some(())
        });
        telegram.say_as(number, &one_line(word), &say(word));
    }
    // A stranger, who is not let in.
    telegram.say_as(30, &one_line(&words[0]), &words[0]);
    let body = json!({"text": say(&words[0]), "channel": "telegram", "recipient": one_line(&words[0])});
    server.post("/webhook/trigger", &body);
    let body = json!({"text": say(&words[0]), "channel": "telegram", "recipient": "@nobody"});
    assert_eq!(server.post("/webhook/trigger", &body).status, 200);
    eventually("it is given up", || server.get("/api/outbox").text().contains("failed").then_some(()));
    eventually("everybody was answered", || {
        let sessions = server.get("/api/sessions?channel=telegram").json();
        (sessions["count"].as_u64() == Some(words.len() as u64)).then_some(())
    });
}

/// One question is answered, one denied, one is open.
fn ask(server: &Server, words: &[String]) -> Socket {
    let mut chat = server.chat("asking");
    for (number, decision) in ["approve", "deny", ""].into_iter().enumerate() {
        let text = format!("!tool file_read {}", json!({"path": one_line(&words[number % words.len()])}));
        chat.send_json(&json!({"type": "message", "id": format!("a{number}"), "text": text}));
        let id = eventually("it asks", || {
            let open = server.get("/api/approvals").json();
            open["approvals"][0]["id"].as_str().map(str::to_owned)
        });
        if !decision.is_empty() {
            server.post(&format!("/api/approvals/{id}"), &json!({"decision": decision}));
            chat.until("done");
        }
    }
    chat
}

const LISTED: &str = "one('main .data-table tr[data-key]')";
const DRAWER: &str = "shown(one('dialog[open]')) && one('dialog[open]').innerText.length > 40";
/// The buttons pressed in a view, and the condition thereafter.
type Press = Option<(&'static str, &'static str)>;

const OPEN_ROW: Press = Some(("one('main .data-table .row-link').click()", DRAWER));

/// The views that every such server has: the address, the condition of being loaded, the presses.
const FIXED: &[(&str, &str, Press)] = &[
    (
        "overview",
        "shown(one('.cards')) && shown(one('.asked .approval')) && shown(one('.attention .trouble'))",
        None,
    ),
    (
        "company",
        "one('.office .person') && one('#agent-main .company-doing')",
        Some(("one('#agent-main .company-person').click()", "one('.company-details').innerText !== ''")),
    ),
    (
        "monitor",
        "one('.panel-monitor tr[data-key]')",
        Some(("one('.panel-monitor .row-link').click()", DRAWER)),
    ),
    ("approvals", "shown(one('.approval')) && one('.panel-approvals tbody tr[data-key]')", None),
    (
        "sessions",
        LISTED,
        Some(("one('.panel-tools [aria-haspopup], main td [aria-haspopup]')?.click()", "true")),
    ),
    (
        "sessions/webchat%3Atalk-0",
        "shown(one('.said-entry'))",
        Some(("for (const fold of all('.fold')) fold.open = true", "shown(one('.fold-body'))")),
    ),
    (
        "agents",
        "one('.work-list tr[data-key]')",
        Some(("all('main .data-table .row-link').at(-1).click()", DRAWER)),
    ),
    (
        "agents?work=1",
        "one('.work-list tr[data-key]')",
        Some(("one('.work-list .row-link').click()", DRAWER)),
    ),
    (
        "sops",
        LISTED,
        Some((
            "all('[role=tab]').find((tab) => tab.innerText.trim() === 'Runs').click()",
            "one('[role=tabpanel] tr[data-key]')",
        )),
    ),
    ("sops?list=1", LISTED, None),
    (
        "sops/sop-0",
        "shown(one('.sop-text'))",
        Some(("all('main button').find((press) => press.innerText.trim() === 'Run').click()", DRAWER)),
    ),
    (
        "sops/sop-0/edit",
        "shown(one('.sop-source'))",
        Some((
            "const box = one('.sop-source'); box.value += '\\nMore.\\n'; box.dispatchEvent(new Event('input', {bubbles: true})); all('button').find((press) => press.innerText.trim() === 'Show changes').click()",
            "one('.diff-view [data-kind=add]')",
        )),
    ),
    ("sops/new", "shown(one('.sop-source'))", None),
    ("scheduler", LISTED, None),
    ("scheduler/new", "shown(one('dialog form'))", None),
    ("scheduler/failing", "one('dialog .data-table tr[data-key]')", None),
    ("scheduler/job-0", "one('dialog .next-runs li')", None),
    ("recordings", LISTED, None),
    ("memory", LISTED, None),
    ("memory/new", "shown(one('dialog textarea'))", None),
    (
        "channels",
        "one('#deliveries tr[data-key]')",
        Some((
            "all('main button').find((press) => press.innerText.trim() === 'Make a code').click()",
            DRAWER,
        )),
    ),
    ("usage", "shown(one('.usage-chart svg')) && shown(one('.usage-budget'))", None),
    ("features", "shown(one('.feature'))", None),
    ("config", "shown(one('[role=tree]'))", None),
    (
        "config/agent.max_iterations",
        "all('dialog button').some((press) => /^(Change|Ändern)$/.test(press.innerText.trim()))",
        Some((
            "all('dialog button').find((press) => press.innerText.trim() === 'Change').click(); await new Promise((done) => setTimeout(done, 100)); const box = one('dialog input'); box.value = '17'; box.dispatchEvent(new Event('input', {bubbles: true})); all('dialog button').find((press) => /Show what changes/.test(press.innerText)).click()",
            "one('dialog .diff .add')",
        )),
    ),
    (
        "logs",
        "one('.panel-logs tr[data-key]')",
        Some((
            "dispatchEvent(new KeyboardEvent('keydown', {key: 'k', ctrlKey: true, bubbles: true})); document.dispatchEvent(new KeyboardEvent('keydown', {key: 'k', ctrlKey: true, bubbles: true}))",
            "shown(one('.palette'))",
        )),
    ),
    ("logs?level=error", "one('.panel-logs tr[data-key]')", None),
    ("nowhere", "/no such page|Diese Seite gibt es nicht/.test(one('main').innerText)", None),
];

fn views(server: &Server) -> Vec<View> {
    let first = |path: &str, list: &str, key: &str| {
        let value = server.get(path).json()[list][0][key].clone();
        value.as_str().unwrap_or_else(|| panic!("{path} has no {list}")).to_owned()
    };
    let recordings = server.get("/api/sessions/recordings").json()["recordings"].clone();
    let recording = recordings.as_array().unwrap().iter().find(|one| one["session_id"] == "webchat:recorded");
    let recording = recording.expect("it is recorded")["name"].as_str().unwrap();
    let memory = first("/api/memory", "entries", "id");
    let view = |(address, ready, press): &(&str, &'static str, Press)| View {
        address: (*address).to_owned(),
        ready,
        press: *press,
    };
    let mut all: Vec<View> = FIXED.iter().map(view).collect();
    for tab in ["moment", "events", "state", "difference", "replay"] {
        let address = format!("recordings/{recording}?view={tab}");
        all.push(View {
            address,
            ready: "one('.rec-slider')?.max > 3 && one('[role=tabpanel]').innerText.trim() !== ''",
            press: None,
        });
    }
    all.push(View {
        address: format!("memory/{memory}"),
        ready: "shown(one('dialog .memory-content'))",
        press: None,
    });
    all.push(View { address: "memory?q=corrected".into(), ready: LISTED, press: OPEN_ROW });
    all
}
