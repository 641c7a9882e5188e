//! The tables of docs/reach.md: what each kind of text can cause under each combination of settings. They are computed by
//! trying everything on the built program, and compared with the page, so that neither can go stale.
//!
//! `AETHON_WRITE_TABLES=1` rewrites the page. Look at the difference before you commit it: a cell that changed is a
//! promise that changed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aethon_tests::server::{program, run_cli};
use aethon_tests::stub::{Stub, ok};
use aethon_tests::telegram::Telegram;
use aethon_tests::{Server, home};
use serde_json::{Value, json};
use tempfile::TempDir;

const BEGIN: &str = "<!-- tables: begin -->\n";
const END: &str = "<!-- tables: end -->\n";
const OWNER: i64 = 42;
const GUEST: i64 = 43;

/// The effects that an attacker might want. The order is that of the columns.
const ABILITIES: [(&str, &str); 14] = [
    ("R1", "read files of the workspace"),
    ("R2", "read documents elsewhere in the home"),
    ("R3", "read keys (`~/.ssh`)"),
    ("R4", "read Aethon's own settings"),
    ("W1", "write files of the workspace"),
    ("W2", "write documents elsewhere in the home"),
    ("W3", "write start-up files (`~/.bashrc`)"),
    ("W4", "write the pages that shape the assistant (`SOUL.md`, `sops/`)"),
    ("W5", "write what existing projects of the workspace obey when opened (`.envrc`, `.git/hooks`)"),
    ("S1", "send something to another machine"),
    ("S2", "post into another conversation"),
    ("M1", "read the owner's memories"),
    ("M2", "add to the owner's memories"),
    ("J1", "schedule a job"),
];

/// A way to do it: with a tool made for it, or with a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Tool,
    Command,
}

/// Whether something worked, by the output of the call and the state of the world.
type Worked = Box<dyn Fn(&TestServices, &str) -> bool>;

/// One attempt.
struct Attempt {
    ability: &'static str,
    way: Way,
    tool: &'static str,
    input: Value,
    worked: Worked,
}

/// The files and services around one server.
struct TestServices {
    person: Arc<TempDir>,
    listener: Stub,
    server: Server,
    telegram: Telegram,
}

impl TestServices {
    fn start(setting: &Setting) -> Self {
        let (person, telegram) = (home(), Telegram::start());
        let listener = Stub::start(vec![ok("text/plain", "here")]);
        for (path, text) in [
            ("Documents/diary.txt", "canary-of-the-diary"),
            (".ssh/id_ed25519", "canary-of-the-key"),
            (".aethon/config.toml", "# canary-of-the-settings\n"),
            (".aethon/workspace/notes.txt", "canary-of-the-notes"),
            (".aethon/workspace/letter.txt", "words of somebody else"),
            (".bashrc", "# mine\n"),
            (".profile", "# mine\n"),
            (".aethon/workspace/SOUL.md", "Be kind.\n"),
            (".aethon/workspace/TOOLS.md", "Be careful.\n"),
            (".aethon/workspace/app/.envrc", "# mine\n"),
            (".aethon/workspace/app/.git/hooks/pre-commit", "# mine\n"),
        ] {
            let path = person.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let memory = ["memory", "add", "The owner's canary-of-the-memory is a bird."];
        let added = run_cli(&person.path().join(".aethon"), &memory, None);
        assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
        let mut command = program("aethon-server", &person.path().join(".aethon"));
        command.env("HOME", person.path());
        let mut settings = telegram.settings();
        settings.extend(setting.keys());
        settings.extend([
            "channels.webchat.port=0".to_owned(),
            "model.provider=fake".to_owned(),
            "agent.max_tool_output_chars=100000".to_owned(),
            format!("security.allowed_senders.telegram=[\"{OWNER}\",\"{GUEST}\"]"),
            format!("security.owners=[\"telegram:{OWNER}\"]"),
            format!("security.egress_allowed_hosts=[\"{}\"]", listener.address),
        ]);
        for setting in &settings {
            command.args(["--set", setting]);
        }
        let server = Server::start_command(person.clone(), command);
        telegram.await_poll();
        Self { person, listener, server, telegram }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.person.path().join(path)
    }

    fn holds(&self, path: &str, text: &str) -> bool {
        std::fs::read_to_string(self.path(path)).is_ok_and(|found| found.contains(text))
    }

    fn was_asked(&self, target: &str) -> bool {
        self.listener.requests().iter().any(|seen| seen.line.contains(target))
    }

    fn jobs(&self) -> usize {
        self.server.get("/api/scheduler").json()["jobs"].as_array().map_or(0, Vec::len)
    }
}

fn by_tool(
    ability: &'static str,
    tool: &'static str,
    input: Value,
    worked: impl Fn(&TestServices, &str) -> bool + 'static,
) -> Attempt {
    Attempt { ability, way: Way::Tool, tool, input, worked: Box::new(worked) }
}

fn by_command(
    ability: &'static str,
    command: &str,
    worked: impl Fn(&TestServices, &str) -> bool + 'static,
) -> Attempt {
    let input = json!({"command": command, "timeout_seconds": 20});
    Attempt { ability, way: Way::Command, tool: "shell", input, worked: Box::new(worked) }
}

fn reading(ability: &'static str, path: &'static str, canary: &'static str) -> [Attempt; 2] {
    [
        by_tool(ability, "file_read", json!({"path": path}), move |_, output| output.contains(canary)),
        by_command(ability, &format!("cat {path}"), move |_, output| output.contains(canary)),
    ]
}

/// `mark` makes the files of each position its own.
fn writing(ability: &'static str, by_tool_to: String, by_command_to: String, mark: &str) -> [Attempt; 2] {
    let (tool_text, command_text) = (format!("tool-{ability}-{mark}"), format!("command-{ability}-{mark}"));
    let below = |path: &str| match path.strip_prefix("~/") {
        Some(rest) => rest.to_owned(),
        None => format!(".aethon/workspace/{path}"),
    };
    let (tool_path, command_path) = (below(&by_tool_to), below(&by_command_to));
    let input = json!({"path": by_tool_to, "content": tool_text.clone()});
    let command = format!("echo {command_text} >> {by_command_to}");
    [
        by_tool(ability, "file_write", input, move |world, _| world.holds(&tool_path, &tool_text)),
        by_command(ability, &command, move |world, _| world.holds(&command_path, &command_text)),
    ]
}

fn attempts(world: &TestServices, mark: &str) -> Vec<Attempt> {
    let at = world.listener.address;
    let mut all = Vec::new();
    all.extend(reading("R1", "notes.txt", "canary-of-the-notes"));
    all.extend(reading("R2", "~/Documents/diary.txt", "canary-of-the-diary"));
    all.extend(reading("R3", "~/.ssh/id_ed25519", "canary-of-the-key"));
    all.extend(reading("R4", "~/.aethon/config.toml", "canary-of-the-settings"));
    all.extend(writing("W1", format!("drafts/t-{mark}.txt"), format!("drafts-{mark}.txt"), mark));
    all.extend(writing("W2", format!("~/Documents/t-{mark}.txt"), format!("~/Documents/c-{mark}.txt"), mark));
    all.extend(writing("W3", "~/.bashrc".into(), "~/.profile".into(), mark));
    all.extend(writing("W4", "SOUL.md".into(), "TOOLS.md".into(), mark));
    all.extend(writing("W4", format!("sops/t-{mark}.sop.md"), format!("sops/c-{mark}.sop.md"), mark));
    all.extend(writing("W5", "app/.envrc".into(), "app/.git/hooks/pre-commit".into(), mark));
    let target = format!("/tool-{mark}");
    let url = format!("http://{at}{target}");
    all.push(by_tool("S1", "web_fetch", json!({"url": url}), move |world, _| world.was_asked(&target)));
    let target = format!("/command-{mark}");
    let script = format!(
        "perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(\"{at}\") or die; \
         print $s \"GET {target} HTTP/1.0\\r\\n\\r\\n\"; <$s>'"
    );
    all.push(by_command("S1", &script, move |world, _| world.was_asked(&target)));
    let message = json!({"channel": "webchat", "recipient": "elsewhere", "text": format!("posted-{mark}")});
    let posted = format!("posted-{mark}");
    all.push(by_tool("S2", "send_message", message, move |world, _| {
        let elsewhere = world.server.get("/api/sessions/webchat:elsewhere?limit=100");
        elsewhere.status == 200 && elsewhere.text().contains(&posted)
    }));
    let search = json!({"action": "search", "query": "canary bird"});
    all.push(by_tool("M1", "manage_memory", search, |_, output| output.contains("canary-of-the-memory")));
    let store = json!({"action": "store", "content": format!("Blue paint is stored in shed {mark}.")});
    let stored = format!("shed {mark}");
    all.push(by_tool("M2", "manage_memory", store, move |world, _| {
        world.server.get("/api/memory?limit=100&scope=owner").text().contains(&stored)
    }));
    let before = world.jobs();
    let job = json!({"run_at": "2099-01-01T00:00:00Z", "prompt": format!("say {mark}")});
    all.push(by_tool("J1", "schedule_task", job, move |world, _| world.jobs() > before));
    all
}

/// Where the text comes from that wants something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Owner,
    ReadText,
    Webhook,
    Guest,
}

impl Position {
    const ALL: [Self; 4] = [Self::Owner, Self::ReadText, Self::Webhook, Self::Guest];

    fn title(self) -> &'static str {
        match self {
            Self::Owner => "The owner, or a model that obeys the owner",
            Self::ReadText => "The author of a text that the assistant has read in the owner's turn",
            Self::Webhook => "The sender of a webhook",
            Self::Guest => "A guest on a messenger",
        }
    }

    fn mark(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::ReadText => "text",
            Self::Webhook => "webhook",
            Self::Guest => "guest",
        }
    }

    /// Makes all attempts in one turn. Returns the session, and the inputs of the calls that raised an approval.
    fn run(self, world: &TestServices, attempts: &[Attempt]) -> (String, Vec<Value>) {
        let calls: Vec<String> =
            attempts.iter().map(|attempt| format!("!tool {} {}", attempt.tool, attempt.input)).collect();
        let calls = calls.join("\n");
        match self {
            Self::Owner => ("webchat:owner".into(), deny_all(&world.server, "owner", &calls)),
            Self::ReadText => {
                let text = format!("!tool file_read {{\"path\": \"letter.txt\"}}\n!then\n{calls}");
                ("webchat:text".into(), deny_all(&world.server, "text", &text))
            }
            Self::Webhook => {
                let answer = world.server.post("/webhook/trigger", &json!({"text": calls, "session": "w"}));
                assert_eq!(answer.status, 200, "{}", answer.text());
                ("webhook:trigger:w".into(), Vec::new())
            }
            Self::Guest => {
                world.telegram.say(GUEST, &format!("{calls}\n!say all of it was tried"));
                world.telegram.await_message(GUEST, "the end of the guest's turn", |posted| {
                    posted.text().contains("all of it was tried")
                });
                (format!("telegram:{GUEST}"), Vec::new())
            }
        }
    }
}

/// Says it in a chat, and denies every question. Returns the calls of the approvals.
fn deny_all(server: &Server, session: &str, text: &str) -> Vec<Value> {
    let mut chat = server.chat(session);
    chat.send_json(&json!({"type": "message", "id": "m", "text": text}));
    let mut asked = Vec::new();
    loop {
        let frame = chat.frame();
        match frame["type"].as_str() {
            Some("approval") => {
                asked.push(frame["input"].clone());
                chat.send_json(&json!({"type": "approval", "id": frame["id"], "decision": "deny"}));
            }
            Some("done") => return asked,
            _ => {}
        }
    }
}

/// The outputs of the calls, in the order of the calls.
fn outputs(world: &TestServices, session: &str) -> Vec<String> {
    let messages = world.server.messages(session);
    let blocks =
        messages.iter().flat_map(|message| message["content"].as_array().cloned().unwrap_or_default());
    let blocks: Vec<Value> = blocks.collect();
    let of_type =
        |name: &str| blocks.iter().filter(|block| block["type"] == name).cloned().collect::<Vec<_>>();
    let results = of_type("tool_result");
    let result = |call: &Value| results.iter().find(|result| result["call"] == call["id"]);
    let calls = of_type("tool_call");
    calls
        .iter()
        .map(|call| result(call).map(|result| result["output"].to_string()).unwrap_or_default())
        .collect()
}

/// The row of one position under one setting: a cell for each ability.
fn row(world: &TestServices, position: Position) -> Vec<String> {
    let attempts = attempts(world, position.mark());
    let (session, asked) = position.run(world, &attempts);
    let mut outputs = outputs(world, &session);
    // The text itself is read by a call of its own.
    outputs.drain(..outputs.len() - attempts.len());
    let cell = |ability: &str| {
        let letter = |way: Way, letter: &str| {
            let mut of_way = attempts
                .iter()
                .zip(&outputs)
                .filter(|(attempt, _)| (attempt.ability, attempt.way) == (ability, way));
            if of_way.clone().any(|(attempt, output)| (attempt.worked)(world, output)) {
                return letter.to_owned();
            }
            let is_asked = of_way.any(|(attempt, _)| asked.contains(&attempt.input));
            if is_asked { letter.to_lowercase() } else { String::new() }
        };
        let letters = [letter(Way::Tool, "T"), letter(Way::Command, "C")].concat();
        if letters.is_empty() { "-".to_owned() } else { letters }
    };
    ABILITIES.iter().map(|(ability, _)| cell(ability)).collect()
}

/// A combination of settings.
#[derive(Clone, Copy)]
struct Setting {
    sandbox: &'static str,
    workspace_only: bool,
    approvals: bool,
    taint: bool,
}

impl Setting {
    fn all(sandbox: &'static str) -> Vec<Self> {
        (0..8)
            .map(|bits| Self {
                sandbox,
                workspace_only: bits & 4 != 0,
                approvals: bits & 2 != 0,
                taint: bits & 1 != 0,
            })
            .collect()
    }

    fn keys(self) -> Vec<String> {
        vec![
            format!("security.sandbox={}", self.sandbox),
            format!("security.workspace_only={}", self.workspace_only),
            format!("approval.enabled={}", self.approvals),
            format!("security.taint_requires_approval={}", self.taint),
        ]
    }

    fn label(self) -> String {
        let on = |is_on: bool| if is_on { "on" } else { "off" };
        let (workspace, approvals, taint) = (on(self.workspace_only), on(self.approvals), on(self.taint));
        format!("{} | {workspace} | {approvals} | {taint}", self.sandbox)
    }
}

/// The rows of a sandbox, for each position.
fn rows(sandbox: &'static str) -> Vec<Vec<String>> {
    let settings = Setting::all(sandbox);
    let of_setting = |setting: &Setting| -> Vec<String> {
        let world = TestServices::start(setting);
        let line = |position| format!("| {} | {} |\n", setting.label(), row(&world, position).join(" | "));
        Position::ALL.into_iter().map(line).collect()
    };
    // Two at a time: each is mostly waiting for its server.
    let mut by_setting: Vec<Vec<String>> = Vec::new();
    for pair in settings.chunks(2) {
        by_setting.extend(std::thread::scope(|scope| {
            let running: Vec<_> = pair.iter().map(|setting| scope.spawn(|| of_setting(setting))).collect();
            running.into_iter().map(|thread| thread.join().expect("the row is computed")).collect::<Vec<_>>()
        }));
    }
    (0..Position::ALL.len()).map(|at| by_setting.iter().map(|rows| rows[at].clone()).collect()).collect()
}

fn tables(sandboxes: &[&'static str]) -> String {
    let computed: Vec<Vec<Vec<String>>> = sandboxes.iter().map(|sandbox| rows(sandbox)).collect();
    let mut text = String::new();
    let heads: Vec<&str> = ABILITIES.iter().map(|(head, _)| *head).collect();
    for (at, position) in Position::ALL.into_iter().enumerate() {
        let _ = writeln!(text, "\n### {}\n", position.title());
        let _ =
            writeln!(text, "| `sandbox` | `workspace_only` | approvals | taint | {} |", heads.join(" | "));
        let _ = writeln!(text, "|{}", "---|".repeat(4 + heads.len()));
        for rows in &computed {
            text.extend(rows[at].iter().map(String::as_str));
        }
    }
    text.push('\n');
    text
}

/// Whether the kernel sandbox works on this machine.
fn has_kernel_sandbox() -> bool {
    let told = run_cli(home().path(), &["--set", "security.sandbox=kernel", "doctor", "--json"], None);
    String::from_utf8_lossy(&told.stdout).contains("it works here")
}

#[test]
fn reach_tables_in_the_docs_match_the_program() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reach.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let (head, rest) = text.split_once(BEGIN).expect("the page marks where its tables begin");
    let (written, foot) = rest.split_once(END).expect("the page marks where its tables end");
    for (name, words) in ABILITIES {
        assert!(head.contains(&format!("| {name} | {words} |")), "the legend explains {name}");
    }
    let has_kernel = has_kernel_sandbox();
    let sandboxes: &[&str] = if has_kernel { &["none", "kernel"] } else { &["none"] };
    let computed = tables(sandboxes);
    if std::env::var_os("AETHON_WRITE_TABLES").is_some() {
        assert!(has_kernel, "this machine has no kernel sandbox, so it cannot write the whole page");
        std::fs::write(&page, [head, BEGIN, &computed, END, foot].concat()).unwrap();
        return;
    }
    let of_this_machine = |line: &&str| has_kernel || !line.starts_with("| kernel");
    let (written, computed): (Vec<&str>, Vec<&str>) =
        (written.lines().filter(of_this_machine).collect(), computed.lines().collect());
    for (written, computed) in written.iter().zip(&computed) {
        assert_eq!(written, computed, "docs/reach.md differs from the program; see the head of this test");
    }
    assert_eq!(written.len(), computed.len());
}
