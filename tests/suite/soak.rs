//! Terminals, questions and pages in shared sessions, through kills and restarts of the daemon: every answer that is printed
//! belongs to its question and is stored, and nothing acknowledged is missing, doubled or out of order. Issue 7, "done when".

use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use aethon_tests::{Random, Server, Terminal, eventually, program};
use serde_json::{Value, json};
use tempfile::TempDir;
use tungstenite::client::IntoClientRequest;
use tungstenite::http::HeaderValue;
use tungstenite::{Error, Message, WebSocket};

/// How much of it.
struct Plan {
    /// Chats on pseudo-terminals.
    chats: usize,
    /// Programs that ask one question after the other.
    asks: usize,
    /// Clients that speak the protocol of the page.
    pages: usize,
    /// Sessions that they share.
    sessions: usize,
    /// Kills and polite restarts of the daemon.
    kills: usize,
    restarts: usize,
    /// Between two of them, in milliseconds.
    pause: (u64, u64),
}

const SHORT: Plan =
    Plan { chats: 2, asks: 2, pages: 1, sessions: 2, kills: 5, restarts: 2, pause: (200, 900) };
const FULL: Plan =
    Plan { chats: 8, asks: 8, pages: 4, sessions: 4, kills: 100, restarts: 20, pause: (300, 2500) };

/// How long anybody waits for an answer that must come.
const LONG: Duration = Duration::from_secs(150);

/// What a question and its answer look like; the number is in both.
fn question(number: usize) -> (String, String) {
    let answer = format!("answer-{number}.");
    let question = match number % 3 {
        0 => format!("!say {answer}"),
        1 => format!("!sleep 60 | !say {answer}"),
        _ => format!("!sleep 15 | !say {answer}"),
    };
    (question, answer)
}

/// What everybody shares.
struct Stage {
    address: Mutex<SocketAddr>,
    is_over: AtomicBool,
    next: AtomicUsize,
    /// How many chats have their first prompt.
    seated: AtomicUsize,
    known: Mutex<Known>,
}

/// What the clients know, by the number of the question.
#[derive(Default)]
struct Known {
    /// The session that it was asked in.
    asked: BTreeMap<usize, usize>,
    /// The answers that were printed.
    printed: BTreeSet<usize>,
    /// The questions of each writer in the order in which they were acknowledged.
    acknowledged: BTreeMap<String, Vec<usize>>,
    /// Questions that a program gave up, with its words.
    given_up: BTreeMap<usize, String>,
}

impl Stage {
    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// A new question in a session.
    fn ask(&self, session: usize) -> usize {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.known().asked.insert(number, session);
        number
    }
}

/// A person at a terminal: asks, waits for the answer, asks again.
fn chat(stage: &Stage, home: &TempDir, writer: usize, session: usize) {
    let name = format!("s{session}");
    let mut command = program("aethon-cli", home.path());
    let mut terminal = Terminal::start_sized(command.args(["chat", "--session", &name]), 100, 400);
    terminal.sees_within("a first prompt", LONG, |screen| screen.ends_with('>'));
    stage.seated.fetch_add(1, Ordering::Relaxed);
    let mut own = BTreeSet::new();
    while !stage.is_over() {
        let number = stage.ask(session);
        own.insert(format!("answer-{number}."));
        let (question, answer) = question(number);
        let before = terminal.length();
        // Several lines of one message, with Alt-Enter.
        terminal.press(&question.replace(" | ", "\u{1b}\r"));
        terminal.sees_within("the question", LONG, |screen| screen.ends_with(&format!("!say {answer}")));
        terminal.press("\r");
        let deadline = Instant::now() + LONG;
        // Looked for in what was printed: after a reconnection the turns of others may be more than a screen at once.
        while !terminal.lines_since(before).contains(&answer) {
            let told = || terminal.lines_since(before).join("\n");
            assert!(Instant::now() < deadline, "{answer} was not printed, but\n{}", told());
            std::thread::sleep(Duration::from_millis(5));
        }
        terminal.sees_within("a prompt", LONG, |screen| screen.ends_with('>'));
        let printed = terminal.lines_since(before);
        for line in printed.iter().filter(|line| line.starts_with("answer-")) {
            assert!(
                own.contains(line),
                "terminal {writer} printed {line} as its own:\n{}",
                printed.join("\n")
            );
        }
        let mut known = stage.known();
        known.printed.insert(number);
        known.acknowledged.entry(format!("chat {writer}")).or_default().push(number);
    }
    terminal.press("/quit\r");
    assert_eq!(terminal.end().code(), Some(0));
}

/// A script that asks one question after the other.
fn ask(stage: &Stage, home: &TempDir, session: usize) {
    while !stage.is_over() {
        let number = stage.ask(session);
        let (question, answer) = question(number);
        let mut command = program("aethon-cli", home.path());
        command.args(["--set", "model.provider=fake", "ask", "--session", &format!("s{session}")]);
        command.arg(question.replace(" | ", "\n")).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = command.output().expect("the program runs");
        let printed = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
        let mut known = stage.known();
        if output.status.success() {
            assert_eq!(printed, answer, "the answer to question {number}");
            known.printed.insert(number);
        } else {
            assert!(printed.is_empty() || answer.starts_with(&printed), "{number}: {printed}");
            known.given_up.insert(number, String::from_utf8_lossy(&output.stderr).into_owned());
        }
    }
}

/// A page: sends without waiting for answers, sends again what was not acknowledged, and notes what it hears.
struct Page<'a> {
    stage: &'a Stage,
    session: usize,
    writer: String,
    unsent: Vec<usize>,
    turns: BTreeMap<String, usize>,
    /// Acknowledged and not answered on this connection.
    open: usize,
}

impl Page<'_> {
    fn run(&mut self) {
        let deadline = || Instant::now() + LONG;
        let mut end = None;
        while !(self.stage.is_over() && self.unsent.is_empty()) {
            if self.stage.is_over() {
                assert!(Instant::now() < *end.get_or_insert_with(deadline), "{} is not heard", self.writer);
            }
            match self.connect() {
                Some(socket) => self.talk(socket),
                None => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn connect(&self) -> Option<WebSocket<TcpStream>> {
        let address = *self.stage.address.lock().unwrap_or_else(PoisonError::into_inner);
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(2)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
        let target = format!("ws://{address}/ws/chat?session=s{}", self.session);
        let mut request = target.into_client_request().expect("an address");
        let protocol = HeaderValue::from_static("aethon.chat.v1");
        request.headers_mut().insert("Sec-WebSocket-Protocol", protocol);
        let (socket, _) = tungstenite::client(request, stream).ok()?;
        socket.get_ref().set_read_timeout(Some(Duration::from_millis(100))).ok()?;
        Some(socket)
    }

    fn talk(&mut self, mut socket: WebSocket<TcpStream>) {
        self.open = 0;
        for number in self.unsent.clone() {
            if !self.send(&mut socket, number) {
                return;
            }
        }
        while !(self.stage.is_over() && self.unsent.is_empty()) {
            if !self.stage.is_over() && self.unsent.len() < 2 && self.open < 3 {
                let number = self.stage.ask(self.session);
                self.unsent.push(number);
                if !self.send(&mut socket, number) {
                    return;
                }
            }
            match socket.read() {
                Ok(Message::Text(text)) => {
                    let frame: Value = serde_json::from_str(&text).expect("JSON");
                    if let Some(refused) = self.hear(&frame) {
                        std::thread::sleep(Duration::from_millis(100));
                        if !self.send(&mut socket, refused) {
                            return;
                        }
                    }
                }
                Ok(Message::Close(_)) => return,
                Ok(_) => {}
                Err(Error::Io(error))
                    if matches!(
                        error.kind(),
                        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                    ) => {}
                Err(_) => return,
            }
        }
    }

    fn send(&self, socket: &mut WebSocket<TcpStream>, number: usize) -> bool {
        let text = question(number).0.replace(" | ", "\n");
        let frame = json!({"type": "message", "id": format!("{}-{number}", self.writer), "text": text});
        socket.send(Message::text(frame.to_string())).is_ok()
    }

    /// Notes what a frame tells; returns a question that was refused for now.
    fn hear(&mut self, frame: &Value) -> Option<usize> {
        let number = || {
            let id = frame["id"].as_str()?.strip_prefix(&self.writer)?;
            id.trim_start_matches('-').parse::<usize>().ok()
        };
        let turn = frame["turn"].as_str().unwrap_or_default();
        match frame["type"].as_str()? {
            "ack" => {
                let number = number()?;
                if let Some(index) = self.unsent.iter().position(|unsent| *unsent == number) {
                    self.unsent.remove(index);
                    self.open += 1;
                    self.turns.insert(turn.to_owned(), number);
                    let mut known = self.stage.known();
                    known.acknowledged.entry(self.writer.clone()).or_default().push(number);
                }
            }
            "done" => {
                if let Some(number) = self.turns.get(turn) {
                    self.open = self.open.saturating_sub(1);
                    if frame["stop_reason"] == "end" {
                        assert_eq!(frame["text"], question(*number).1, "the answer to question {number}");
                        self.stage.known().printed.insert(*number);
                    }
                }
            }
            "error" if turn.is_empty() => {
                let number = number()?;
                assert_ne!(frame["code"], "mismatch", "{frame}");
                return Some(number);
            }
            _ => {}
        }
        None
    }
}

fn soak(plan: &Plan, seed: u64) {
    let server = Server::start(&[]);
    let home = server.home();
    let stage = Stage {
        address: Mutex::new(server.address),
        is_over: AtomicBool::new(false),
        next: AtomicUsize::new(1),
        seated: AtomicUsize::new(0),
        known: Mutex::default(),
    };
    let started = Instant::now();
    let server = std::thread::scope(|scope| {
        for writer in 0..plan.chats {
            let (stage, home) = (&stage, &home);
            scope.spawn(move || chat(stage, home, writer, writer % plan.sessions));
        }
        for writer in 0..plan.asks {
            let (stage, home) = (&stage, &home);
            scope.spawn(move || ask(stage, home, writer % plan.sessions));
        }
        for writer in 0..plan.pages {
            let stage = &stage;
            scope.spawn(move || {
                let (writer, session) = (format!("page{writer}"), writer % plan.sessions);
                Page { stage, session, writer, unsent: Vec::new(), turns: BTreeMap::new(), open: 0 }.run();
            });
        }
        eventually("every chat has its first prompt", || {
            (stage.seated.load(Ordering::Relaxed) == plan.chats).then_some(())
        });
        let server = torment(plan, seed, &stage, server, &home);
        stage.is_over.store(true, Ordering::Relaxed);
        server
    });
    let spent = started.elapsed();
    verify(plan, &stage, &server);
    let known = stage.known();
    let told = format!(
        "{} questions, {} printed answers, {} acknowledged, {} given up, in {spent:.0?}",
        known.asked.len(),
        known.printed.len(),
        known.acknowledged.values().map(Vec::len).sum::<usize>(),
        known.given_up.len(),
    );
    // For whoever runs the long form by hand.
    std::io::Write::write_all(&mut std::io::stderr(), format!("{told}\n").as_bytes()).unwrap();
    assert!(known.given_up.is_empty(), "programs gave up: {:#?}", known.given_up);
}

/// Kills and restarts the daemon; returns the last one.
fn torment(plan: &Plan, seed: u64, stage: &Stage, mut server: Server, home: &Arc<TempDir>) -> Server {
    let mut random = Random::new(seed);
    let (mut kills, mut restarts) = (plan.kills, plan.restarts);
    while kills + restarts > 0 {
        std::thread::sleep(Duration::from_millis(random.between(plan.pause.0, plan.pause.1)));
        let is_kill = random.between(0, (kills + restarts) as u64) < kills as u64;
        if is_kill {
            kills -= 1;
            server.kill();
        } else {
            restarts -= 1;
            assert_eq!(server.terminate().code(), Some(0), "a polite stop");
        }
        server = Server::start_in(home.clone(), &[]);
        *stage.address.lock().unwrap_or_else(PoisonError::into_inner) = server.address;
    }
    std::thread::sleep(Duration::from_millis(plan.pause.1));
    server
}

/// Holds what the clients know against what is stored.
fn verify(plan: &Plan, stage: &Stage, server: &Server) {
    let known = stage.known();
    let mut stored: BTreeMap<usize, (usize, Vec<String>)> = BTreeMap::new();
    let mut order: Vec<Vec<usize>> = Vec::new();
    for session in 0..plan.sessions {
        let id = format!("webchat:s{session}");
        eventually("everything that waits has run", || {
            let detail = server.get(&format!("/api/sessions/{id}?limit=1")).json();
            (detail["busy"] == false && detail["pending"].as_array()?.is_empty()).then_some(())
        });
        let mut turns: BTreeMap<String, usize> = BTreeMap::new();
        let mut asked = Vec::new();
        // Each question is followed by its answer, and by nothing else.
        let mut open: Option<String> = None;
        for message in server.messages(&id) {
            let text: String = message["content"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(|block| block["text"].as_str())
                .collect();
            let turn = message["turn"].as_str().unwrap_or_default().to_owned();
            if message["role"] == "user" {
                assert_eq!(open.replace(turn.clone()), None, "{text} came between a question and its answer");
                let number =
                    text.rsplit("answer-").next().and_then(|rest| rest.trim_end_matches('.').parse().ok());
                let number: usize = number.unwrap_or_else(|| panic!("{text} is no question of ours"));
                assert_eq!(
                    known.asked.get(&number),
                    Some(&session),
                    "question {number} is in session {session}"
                );
                assert!(
                    stored.insert(number, (session, Vec::new())).is_none(),
                    "question {number} is stored twice"
                );
                turns.insert(turn, number);
                asked.push(number);
            } else if message["role"] == "assistant" {
                assert_eq!(open.take().as_ref(), Some(&turn), "{text} does not follow its question");
                let number = turns.get(&turn).unwrap_or_else(|| panic!("{text} answers nothing"));
                stored.get_mut(number).expect("its question").1.push(text);
            }
        }
        order.push(asked);
    }
    for number in &known.printed {
        let (_, answers) =
            stored.get(number).unwrap_or_else(|| panic!("{number} was printed and is not stored"));
        assert_eq!(answers, &[question(*number).1], "the stored answer to {number}");
    }
    for (writer, numbers) in &known.acknowledged {
        let session = known.asked[&numbers[0]];
        let places: Vec<usize> = numbers
            .iter()
            .map(|number| {
                let place = order[session].iter().position(|asked| asked == number);
                place.unwrap_or_else(|| panic!("{number} of {writer} was acknowledged and is missing"))
            })
            .collect();
        assert!(places.is_sorted(), "{writer}: acknowledged as {numbers:?}, stored at {places:?}");
        for number in numbers {
            assert_eq!(stored[number].1, [question(*number).1], "the answer to {number} of {writer}");
        }
    }
}

#[test]
fn terminals_and_pages_through_kills_and_restarts() {
    soak(&SHORT, 7);
}

#[test]
#[ignore = "takes four minutes: sixteen terminals and four pages through 100 kills and 20 restarts"]
fn the_whole_soak() {
    let seed = std::env::var("AETHON_SOAK_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    soak(&FULL, seed);
}
