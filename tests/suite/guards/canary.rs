//! Planted secrets appear in nothing that is written. One long session over every surface, with tools that do their best to
//! bring the secrets out, and then a search through all that there is: responses, frames, the database, logs, recordings,
//! telemetry, exports, output of the terminal and MCP, messages of the messengers. All six messengers are on, fail now and
//! then, and one of them has its token in every address.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use aethon_tests::discord::{self, Discord};
use aethon_tests::idle_services::{Graph, Slack};
use aethon_tests::mail::{self, MailHost};
use aethon_tests::matrix::{self, Matrix};
use aethon_tests::server::server_command;
use aethon_tests::storage::is_postgres;
use aethon_tests::telegram::{self, Telegram};
use aethon_tests::{Request, Server, Socket, eventually, home, program, run, signature};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tempfile::TempDir;

const TOKEN: &str = "cnry-dashboard-Zq8vT3kLmP0w-token";
const WEBHOOK: &str = "cnry-webhook-7RbXn2Yc5HsJ-secret";
const MODEL: &str = "cnry-model/key+4Gd=Wq9&TzE1?uK#value";
const STORED: &str = "cnry-stored:and@unused,Mf6a;V8oC3xQi%";
const GIVEN: &str = "cnry-given to a~server!Bt5y*H2(pL7)eRn";
const FROM_ENVIRONMENT: &str = "cnry-from-environment-Xk1jS9gD4wUz";
const NOT_REFERRED_TO: &str = "cnry-only-in-environment-Oa3cF7vN6mTb";
const OWN_KEY: &str = "cnry-of-the-persons-own-Ih8rP0qZ2sEy";

const SLACK: &str = "xoxb-cnry-of-the-slack-bot-Lw5eR2";
const WHATSAPP: &str = "EAAcnryOfTheGraphHs7Kd0";
const META: &str = "cnry-app-secret-of-meta-Vn4xT9";
const VERIFY: &str = "cnry-word-for-meta-Qb6yU1";

/// Secrets in the configuration or behind it.
const CONFIGURED: [&str; 14] = [
    TOKEN,
    WEBHOOK,
    MODEL,
    STORED,
    GIVEN,
    FROM_ENVIRONMENT,
    telegram::TOKEN,
    matrix::TOKEN,
    discord::TOKEN,
    mail::PASSWORD,
    SLACK,
    WHATSAPP,
    META,
    VERIFY,
];
const OTHERS: [&str; 2] = [NOT_REFERRED_TO, OWN_KEY];

/// Whom the messengers listen to.
const OWNER: i64 = 42;
const MESSENGERS: [&str; 6] = ["telegram", "matrix", "discord", "slack", "whatsapp", "email"];

/// The platforms. They end with the process of the test.
struct Platforms {
    telegram: Telegram,
    matrix: Matrix,
    discord: Discord,
    mail: MailHost,
    slack: Slack,
    graph: Graph,
}

impl Platforms {
    fn start() -> Self {
        let matrix = Matrix::start();
        matrix.room("!r:hs", "@ada:hs");
        let (telegram, discord, mail) = (Telegram::start(), Discord::start(), MailHost::start());
        Self { telegram, matrix, discord, mail, slack: Slack::start(), graph: Graph::start() }
    }

    /// The settings by which a server uses them, as lines of its configuration.
    fn configuration(&self) -> String {
        // The ones that are quiet take any token.
        let token = |setting: &String| {
            let (key, value) = setting.split_once('=').unwrap();
            let value = match key {
                "channels.slack.bot_token" => SLACK,
                "channels.slack.app_token" => "${FROM_ENVIRONMENT}",
                "channels.whatsapp.token" => WHATSAPP,
                "channels.whatsapp.secret" => META,
                "channels.whatsapp.verify_token" => VERIFY,
                _ => value,
            };
            let is_plain = matches!(value, "true" | "false") || value.parse::<u16>().is_ok();
            let is_plain = is_plain && !key.ends_with("_id");
            if is_plain { format!("{key} = {value}\n") } else { format!("{key} = {value:?}\n") }
        };
        let all = [
            self.telegram.settings(),
            self.matrix.settings(),
            self.discord.settings(),
            self.mail.settings(),
            self.slack.settings(),
            self.graph.settings(),
        ];
        let who = [
            "security.allowed_senders.telegram = [\"42\"]\n",
            "security.allowed_senders.matrix = [\"@ada:hs\"]\n",
            "security.allowed_senders.discord = [\"1\"]\n",
            "security.allowed_senders.email = [\"ada@x.example\"]\n",
        ];
        all.concat().iter().map(token).chain(who.map(str::to_owned)).collect()
    }

    /// Waits until all of them are signed in to.
    fn await_all(&self, server: &Server) {
        eventually("all messengers run", || {
            let list = server.send(&Request::get("/api/channels").bearer(TOKEN)).json();
            let rows = list["channels"].as_array().unwrap();
            let running = rows.iter().filter(|row| row["name"] != "webchat" && row["state"] == "running");
            (running.count() == MESSENGERS.len()).then_some(())
        });
        self.telegram.await_poll();
        self.matrix.await_sync();
        self.discord.await_session();
        self.mail.await_idle();
    }

    /// Some of the attempts, through messengers that fail meanwhile.
    fn attempt(&self, attempts: [&str; 3], written: &mut WrittenData) {
        self.mail.put(1, "ada@x.example", "", attempts[0]);
        for (number, attempt) in attempts.into_iter().enumerate() {
            self.telegram.refuse(1);
            let ending = format!("the end of {number}");
            for text in [attempt, &format!("!say {ending}")] {
                self.telegram.say(OWNER, text);
                self.matrix.say("!r:hs", text);
                self.discord.say("7", "1", text);
            }
            eventually("Matrix answers", || self.matrix.shows("!r:hs", &ending).then_some(()));
            eventually("Discord answers", || self.discord.shows("7", &ending).then_some(()));
            eventually("Telegram answers", || self.telegram.shows(OWNER, &ending).then_some(()));
            self.telegram.lose_answer();
        }
        self.mail.await_letter("the mail is answered", |letter| letter.contains("ada@x.example"));
        written.add("Telegram", format!("{:?}", self.telegram.posted()));
        written.add("Matrix", format!("{:?}", self.matrix.posted("!r:hs")));
        written.add("Discord", format!("{:?}", self.discord.posted("7")));
        written.add("mail", self.mail.letters().concat());
    }
}

fn planted(platforms: &Platforms) -> Arc<TempDir> {
    let home = home();
    let write = |name: &str, text: &str| {
        let path = home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let config = format!(
        "{}[model]\napi_key = \"{MODEL}\"\n[dashboard]\nauth_token = \"{TOKEN}\"\n[webhook]\nsecret = \"${{credential:webhook}}\"\n\
         [session_recorder]\nenabled = true\n\
         [mcp.servers.fake]\ncommand = {:?}\nenv = {{ GIVEN = \"{GIVEN}\" }}\n",
        platforms.configuration(),
        env!("CARGO_BIN_EXE_fake-mcp")
    );
    write("config.toml", &config);
    write("credentials/webhook", &format!("{WEBHOOK}\n"));
    write("credentials/unused", &format!("{STORED}\n"));
    write(".ssh/id_ed25519", OWN_KEY);
    // The owner's secrets as they look in a file of the work.
    let notes: Vec<String> = CONFIGURED
        .iter()
        .flat_map(|secret| {
            let aligned = ["", "x", "xx"].map(|before| STANDARD_NO_PAD.encode(format!("{before}{secret}")));
            let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
            let backwards: String = secret.chars().rev().collect();
            let plain = [(*secret).to_owned(), hex, backwards];
            aligned.into_iter().chain(plain).chain(in_addresses(secret))
        })
        .collect();
    write("workspace/notes.txt", &(notes.join("\n") + "\nthe end\n"));
    home
}

/// The forms in which a secret stands in an address or a form: with every reserved character encoded, in capitals and small
/// letters, with the blank as `+`, and with everything encoded.
fn in_addresses(secret: &str) -> [String; 4] {
    let encoded = |is_kept: fn(u8) -> bool| -> String {
        let one = |byte: u8| match is_kept(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        };
        secret.bytes().map(one).collect()
    };
    let usual = encoded(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~'));
    let small = usual.split('%').enumerate().map(|(at, part)| match at {
        0 => part.to_owned(),
        _ => format!("%{}{}", part[..2].to_lowercase(), &part[2..]),
    });
    let form = usual.replace("%20", "+");
    [small.collect(), usual, form, encoded(|_| false)]
}

/// Every form in which a secret is looked for, with its name.
fn forms() -> Vec<(String, String)> {
    let mut forms = Vec::new();
    for secret in CONFIGURED.into_iter().chain(OTHERS) {
        let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        let backwards: String = secret.chars().rev().collect();
        let plain = [secret.to_owned(), hex.clone(), hex.to_uppercase(), backwards];
        forms.extend(plain.into_iter().chain(in_addresses(secret)).map(|form| (secret.to_owned(), form)));
        for before in ["", "x", "xx"] {
            for encoded in [
                STANDARD_NO_PAD.encode(format!("{before}{secret}")),
                URL_SAFE_NO_PAD.encode(format!("{before}{secret}")),
            ] {
                // The ends depend on what stands beside it.
                forms.push((secret.to_owned(), encoded[4..encoded.len() - 4].to_owned()));
            }
        }
    }
    forms
}

/// The data written, and its place.
#[derive(Default)]
struct WrittenData(Vec<(String, Vec<u8>)>);

impl WrittenData {
    fn add(&mut self, what: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.0.push((what.into(), bytes.into()));
    }

    /// All files of a folder but those that were planted.
    fn add_folder(&mut self, folder: &Path) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !["credentials", "workspace", ".ssh"].contains(&name.as_str()) {
                self.add_folder(&path);
            } else if path.is_file() && name != "config.toml" {
                self.add(path.display().to_string(), std::fs::read(&path).unwrap());
            }
        }
    }

    fn assert_clean(&self) {
        let (forms, mut found) = (forms(), Vec::new());
        for (what, bytes) in &self.0 {
            // The canaries are all ASCII, and stay unchanged.
            let text = String::from_utf8_lossy(bytes);
            for (secret, form) in &forms {
                if let Some(at) = text.find(form) {
                    let before = text[..at].char_indices().rev().nth(80).map_or(0, |(from, _)| from);
                    let around = &text[before..at + form.len()];
                    found.push(format!("{what} shows {secret} as {form}: …{around}"));
                }
            }
        }
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}

fn start(home: Arc<TempDir>) -> Server {
    let mut command = server_command(home.path(), &[]);
    command.env("FROM_ENVIRONMENT", FROM_ENVIRONMENT).env("SOME_API_KEY", NOT_REFERRED_TO);
    command.args(["--log-level", "trace"]);
    Server::start_command(home, command)
}

/// Whether commands stand behind walls here; where they do not, files of the owner are open to them, which `doctor` says.
fn has_walls(home: &Path) -> bool {
    let mut doctor = program("aethon-cli", home);
    let told = run(doctor.env("FROM_ENVIRONMENT", "x").args(["doctor", "--json"]), None);
    let told: Value = serde_json::from_slice(&told.stdout).expect("a report");
    let findings = told["findings"].as_array().expect("findings");
    let walls = findings.iter().find(|finding| finding["area"] == "self-protection").expect("a finding");
    if walls["health"] != "ok" {
        eprintln!("left out on this machine: commands that read the owner's files ({})", walls["message"]);
    }
    walls["health"] == "ok"
}

/// Messages that do their best to bring secrets out.
fn attempts(has_walls: bool) -> Vec<String> {
    let tool = |name: &str, arguments: Value| format!("!tool {name} {arguments}");
    let shell = |command: &str| tool("shell", json!({"command": command, "timeout_seconds": 30}));
    let mut attempts = vec![
        tool("file_read", json!({"path": "notes.txt"})),
        tool("file_read", json!({"path": "../config.toml"})),
        tool("file_read", json!({"path": "../credentials/unused"})),
        tool("file_read", json!({"path": "~/.ssh/id_ed25519"})),
        tool("file_search", json!({"pattern": "cnry"})),
        tool("fake__environment", json!({})),
        tool("manage_memory", json!({"action": "store", "content": "the password is hunter2Hunter2x"})),
        shell(
            "cat notes.txt; rev notes.txt; base64 notes.txt; od -An -v -tx1 notes.txt | tr -d ' \\n'; env; printenv SOME_API_KEY",
        ),
        shell("grep -n cnry notes.txt | sed 's/^/x/' | base64 -w 40; tr a-z A-Z < /dev/null; echo done"),
    ];
    if has_walls {
        attempts.push(shell("cat ../config.toml ../credentials/* ~/.ssh/*; strings ../aethon.db | grep cnry; cat /proc/$PPID/environ"));
    }
    attempts
}

#[test]
fn planted_secrets_are_in_nothing_that_a_long_session_writes() {
    let platforms = Platforms::start();
    let home = planted(&platforms);
    let has_walls = has_walls(home.path());
    let server = start(home.clone());
    platforms.await_all(&server);
    let mut written = WrittenData::default();
    let bearer = |request: Request| request.bearer(TOKEN);
    eventually("the server of tools", || {
        let features = server.send(&bearer(Request::get("/api/features"))).text();
        features.contains("fake: connected").then_some(())
    });

    // The chat, with a watching client.
    let bearer_header = format!("Bearer {TOKEN}");
    let headers = [("Authorization", bearer_header.as_str())];
    let mut events = Socket::open(server.address, "/ws/dashboard", &headers);
    let topics = json!(["messages", "sessions", "telemetry", "agents", "recordings", "approvals", "usage"]);
    events.send_json(&json!({"channel": "subscribe", "topics": topics}));
    let watching = std::thread::spawn(move || {
        let mut watched = String::new();
        while let Ok(message) = events.receive() {
            watched.push_str(&message.to_string());
        }
        watched
    });
    let headers = [headers[0], ("Sec-WebSocket-Protocol", "aethon.chat.v1")];
    let mut chat = Socket::open(server.address, "/ws/chat", &headers);
    for (at, attempt) in attempts(has_walls).iter().enumerate() {
        let frames = chat.say(&format!("m{at}"), attempt);
        written.add(format!("the chat after {attempt}"), json!(frames).to_string());
    }
    let read = &written.0[0].1;
    assert!(String::from_utf8_lossy(read).contains("the end"), "the file with the secrets was read");

    // Webhooks, right and wrong.
    for attempt in attempts(has_walls) {
        let body = json!({"text": attempt}).to_string();
        let signed = Request::new("POST", "/webhook/trigger").header("Content-Type", "application/json");
        let signed = signed.header("X-Aethon-Signature", &signature(WEBHOOK, body.as_bytes())).body(body);
        let answer = server.send(&signed);
        written.add("a webhook", format!("{:?}{}", answer.headers, answer.text()));
    }
    written.add("an unsigned webhook", server.post("/webhook/trigger", &json!({"text": "x"})).text());
    written
        .add("a wrong token", server.send(&Request::get("/api/status").bearer(&format!("{TOKEN}x"))).text());
    let in_address = server.get(&format!("/api/nothing?token={TOKEN}"));
    written.add("a token in an address", format!("{:?}{}", in_address.headers, in_address.text()));

    let (all, last) = (attempts(has_walls), attempts(has_walls).len() - 1);
    platforms.attempt([&all[0], &all[7], &all[last]], &mut written);
    from_mcp(home.path(), has_walls, &mut written);
    from_the_terminal(home.path(), &mut written);

    drop(chat);

    // A second run: the recordings have ended, and everything can be asked for.
    server.signal(rustix::process::Signal::TERM);
    let (_, stderr) = server.wait();
    written.add("stderr", stderr);
    let watched = watching.join().unwrap();
    assert!(watched.contains("webhook:trigger"), "who watches was told of everything");
    written.add("the dashboard's socket", watched);
    let server = start(home.clone());
    from_the_api(&server, &mut written);
    server.signal(rustix::process::Signal::TERM);
    let (_, stderr) = server.wait();
    written.add("stderr", stderr);
    written.add_folder(home.path());
    // The rows of a server are in no file of the home; what is written there is the same.
    let database = (!is_postgres()).then_some("aethon.db");
    for expected in ["logs/", "recordings/"].into_iter().chain(database) {
        assert!(written.0.iter().any(|(what, _)| what.contains(expected)), "{expected} was looked at");
    }
    written.assert_clean();
}

fn from_mcp(home: &Path, has_walls: bool, written: &mut WrittenData) {
    let mut command = program("aethon-mcp", home);
    command.env("FROM_ENVIRONMENT", FROM_ENVIRONMENT).env("SOME_API_KEY", NOT_REFERRED_TO);
    command
        .args(["--log-level", "trace"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("aethon-mcp starts");
    let mut input = child.stdin.take().expect("stdin");
    let mut output = BufReader::new(child.stdout.take().expect("stdout"));
    let errors = child.stderr.take().expect("stderr");
    let errors = std::thread::spawn(move || std::io::read_to_string(errors).unwrap_or_default());
    let client = json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let calls = attempts(has_walls);
    let calls = calls.iter().filter_map(|attempt| {
        let (name, arguments) = attempt.strip_prefix("!tool ")?.split_once(' ')?;
        let arguments: Value = serde_json::from_str(arguments).ok()?;
        // The servers of tools are another program's, and may not be connected yet.
        (!name.starts_with("fake")).then(|| ("tools/call", json!({"name": name, "arguments": arguments})))
    });
    let all = [("initialize", client)].into_iter().chain(calls).chain([("tools/list", json!({}))]);
    for (id, (method, params)) in all.enumerate() {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(input, "{message}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        written.add(format!("MCP: {method}"), line);
    }
    drop(input);
    child.wait().unwrap();
    written.add("the stderr of aethon-mcp", errors.join().unwrap());
}

fn from_the_terminal(home: &Path, written: &mut WrittenData) {
    let commands: &[&[&str]] = &[
        &["ask", "!tool file_read {\"path\": \"notes.txt\"}", "--log-level", "trace"],
        &["config", "show", "--json"],
        &["config", "get", "dashboard.auth_token"],
        &["secrets", "list", "--json"],
        &["doctor", "--json"],
        &["sessions", "list", "--json"],
        &["audit", "--json"],
        &["memory", "list", "--json"],
        &["usage", "--json"],
        &["outbox", "list", "--json"],
        &["channels", "list", "--json"],
        &["channels", "pair", "telegram"],
    ];
    // Each messenger, and one without a server behind it: an error likes to name the address.
    let nowhere = ["api_base=http://127.0.0.1:1", "imap_port=1"];
    let tests: Vec<Vec<String>> = MESSENGERS
        .iter()
        .flat_map(|name| {
            let test = ["channels", "test", name, "--log-level", "trace"].map(str::to_owned).to_vec();
            let key = nowhere[usize::from(*name == "email")];
            [test.clone(), [test, vec!["--set".into(), format!("channels.{name}.{key}")]].concat()]
        })
        .collect();
    let tests: Vec<Vec<&str>> = tests.iter().map(|test| test.iter().map(String::as_str).collect()).collect();
    for arguments in commands.iter().copied().chain(tests.iter().map(Vec::as_slice)) {
        let mut command = program("aethon-cli", home);
        command.env("FROM_ENVIRONMENT", FROM_ENVIRONMENT).env("SOME_API_KEY", NOT_REFERRED_TO);
        let output = run(command.args(arguments), None);
        written.add(format!("aethon-cli {arguments:?}"), [output.stdout, output.stderr].concat());
    }
}

fn from_the_api(server: &Server, written: &mut WrittenData) {
    let get = |target: &str| server.send(&Request::get(target).bearer(TOKEN));
    let mut targets: Vec<String> = [
        "/api/config",
        "/api/config/schema",
        "/api/status",
        "/api/features",
        "/api/logs?level=trace&limit=1000",
        "/api/telemetry?limit=1000",
        "/api/usage",
        "/api/audit",
        "/api/agents",
        "/api/memory",
        "/api/outbox",
        "/api/channels",
        "/api/sops",
        "/api/scheduler",
        "/metrics",
        "/openapi.json",
        "/dashboard",
        "/",
        "/api/sessions?limit=100",
        "/api/sessions/recordings",
    ]
    .map(str::to_owned)
    .to_vec();
    let sessions = get("/api/sessions?limit=100").json();
    for session in sessions["sessions"].as_array().unwrap() {
        let id = session["session_id"].as_str().unwrap();
        targets.push(format!("/api/sessions/{id}?limit=100"));
        targets.extend(["json", "markdown"].map(|form| format!("/api/sessions/{id}/export?format={form}")));
    }
    let recordings = get("/api/sessions/recordings").json()["recordings"].as_array().unwrap().clone();
    assert!(!recordings.is_empty(), "the sessions were recorded");
    for recording in &recordings {
        let name = recording["name"].as_str().unwrap();
        let whole = format!("/api/sessions/recordings/{name}");
        targets.push(format!("{whole}/events?limit=10000"));
        targets.push(format!("{whole}/download"));
        for number in 1..=recording["snapshots_count"].as_u64().unwrap() {
            targets.push(format!("{whole}/snapshots/{number}"));
        }
    }
    for target in targets {
        let answer = get(&target);
        written.add(target, format!("{:?}{}", answer.headers, answer.text()));
    }
}
