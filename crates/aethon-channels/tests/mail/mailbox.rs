//! The IMAP server. It knows the commands that the channel needs, in the form that the standard gives them, and takes no other.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::PASSWORD;
use crate::common::within;

/// The day of all mails, and the time of most.
const ARRIVED: &str = "15-Jan-2027 08:00:00 +0000";
/// The arrival time of mail from before the first start.
const BEFORE: &str = "15-Jan-2027 07:59:00 +0000";

/// The server.
pub struct Mailbox {
    pub port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
pub struct State {
    letters: Vec<Kept>,
    next: u32,
    validity: u32,
    cannot_idle: bool,
    tells_late: bool,
    commands: usize,
    cuts: VecDeque<usize>,
    cut_so_far: usize,
    connection: usize,
    pub selected: usize,
    selected_for_writing: usize,
    pub idling: bool,
    polls: usize,
}

struct Kept {
    uid: u32,
    bytes: Vec<u8>,
    is_seen: bool,
    arrived: &'static str,
}

impl Mailbox {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        {
            let mut state = shared.state.lock().unwrap();
            (state.next, state.validity) = (1, 1);
        }
        let serving = shared.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, serving.clone()));
            }
        });
        Self { port, shared }
    }

    /// A mail arrives.
    pub fn put(&self, bytes: &[u8]) {
        let mut state = self.shared.state.lock().unwrap();
        let uid = state.next;
        state.next += 1;
        let arrived = if state.selected == 0 && uid == 1 { BEFORE } else { ARRIVED };
        state.letters.push(Kept { uid, bytes: bytes.to_vec(), is_seen: false, arrived });
        drop(state);
        self.shared.changed.notify_waiters();
    }

    /// The UIDs of the mails marked as seen.
    pub fn seen(&self) -> Vec<u32> {
        let state = self.shared.state.lock().unwrap();
        state.letters.iter().filter(|letter| letter.is_seen).map(|letter| letter.uid).collect()
    }

    /// Changes UIDVALIDITY, renumbers the mails and marks these as unseen.
    pub fn renumber(&self, unseen: &[usize]) {
        let mut state = self.shared.state.lock().unwrap();
        state.validity += 1;
        for (number, letter) in state.letters.iter_mut().enumerate() {
            letter.uid = u32::try_from(number).unwrap() + 1;
            letter.is_seen &= !unseen.contains(&number);
        }
        state.next = u32::try_from(state.letters.len()).unwrap() + 1;
    }

    pub fn can_idle(&self, can: bool) {
        self.shared.state.lock().unwrap().cannot_idle = !can;
    }

    /// Reports new mail in the response to the next command instead of during IDLE.
    pub fn tell_late(&self) {
        self.shared.state.lock().unwrap().tells_late = true;
    }

    /// Connections break at these commands, counted from now.
    pub fn cut_at(&self, commands: &[usize]) {
        let mut state = self.shared.state.lock().unwrap();
        let so_far = state.commands;
        state.cuts = commands.iter().map(|command| so_far + command).collect();
    }

    /// How often a client that only inspects the folder opened it for writing.
    pub fn selected_for_writing(&self) -> usize {
        self.shared.state.lock().unwrap().selected_for_writing
    }

    /// Waits until the newest connection waits for mail.
    pub async fn quiet(&self) {
        self.until("it is quiet", |state| state.idling).await;
    }

    pub async fn until(&self, what: &str, is_so: impl Fn(&State) -> bool) {
        within(what, async {
            loop {
                let changed = self.shared.changed.notified();
                if is_so(&self.shared.state.lock().unwrap()) {
                    return;
                }
                let _ = tokio::time::timeout(std::time::Duration::from_millis(50), changed).await;
            }
        })
        .await;
    }
}

struct Connection {
    number: usize,
    read: BufReader<OwnedReadHalf>,
    write: OwnedWriteHalf,
    shared: Arc<Shared>,
    is_signed_in: bool,
    /// How many mails were reported to the client; `None` before it has opened the folder.
    told: Option<usize>,
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let (read, write) = stream.into_split();
    let number = {
        let mut state = shared.state.lock().unwrap();
        state.connection += 1;
        state.idling = false;
        state.connection
    };
    let mut connection =
        Connection { number, read: BufReader::new(read), write, shared, is_signed_in: false, told: None };
    connection.say("* OK [CAPABILITY IMAP4rev1] at your service").await;
    while connection.step().await.is_some() {}
    connection.set_idling(false);
}

impl Connection {
    async fn say(&mut self, line: &str) {
        let _ = self.write.write_all(format!("{line}\r\n").as_bytes()).await;
    }

    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let length = self.read.read_line(&mut line).await.ok()?;
        assert!(length == 0 || line.ends_with("\r\n"), "{line:?}");
        (length > 0).then(|| line.trim_end().to_owned())
    }

    fn set_idling(&self, idling: bool) {
        let mut state = self.shared.state.lock().unwrap();
        if state.connection == self.number {
            state.idling = idling;
        }
        drop(state);
        self.shared.changed.notify_waiters();
    }

    /// Where the connection is cut at this command, if it is: 0 before anything is done, 1 in the answer, 2 after it.
    fn cut(&self) -> Option<usize> {
        let mut state = self.shared.state.lock().unwrap();
        state.commands += 1;
        if state.cuts.front().is_none_or(|at| *at > state.commands) {
            return None;
        }
        state.cuts.pop_front();
        state.cut_so_far += 1;
        Some((state.cut_so_far - 1) % 3)
    }

    async fn step(&mut self) -> Option<()> {
        let line = self.line().await?;
        let (tag, command) = line.split_once(' ').unwrap();
        let cut = self.cut();
        if cut == Some(0) {
            return None;
        }
        let (tag, command) = (tag.to_owned(), command.to_owned());
        let answer = self.answer(&tag, &command).await?;
        if cut == Some(1) {
            let _ = self.write.write_all(&answer[..answer.len() / 2]).await;
            return None;
        }
        let _ = self.write.write_all(&answer).await;
        (cut != Some(2)).then_some(())
    }

    async fn answer(&mut self, tag: &str, command: &str) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let upper = command.to_ascii_uppercase();
        if upper == "CAPABILITY" {
            let idle = if self.shared.state.lock().unwrap().cannot_idle { "" } else { " IDLE" };
            out.extend(
                format!("* CAPABILITY IMAP4rev1 AUTH=PLAIN AUTH=XOAUTH2{idle}\r\n{tag} OK done\r\n").bytes(),
            );
            return Some(out);
        }
        if upper == "AUTHENTICATE PLAIN" {
            self.say("+ ").await;
            let proof = STANDARD.decode(self.line().await?).unwrap();
            self.is_signed_in = proof == format!("\0bot@home.example\0{PASSWORD}").into_bytes();
            let word = if self.is_signed_in { "OK welcome" } else { "NO [AUTHENTICATIONFAILED] wrong" };
            out.extend(format!("{tag} {word}\r\n").bytes());
            return Some(out);
        }
        if upper == "AUTHENTICATE XOAUTH2" {
            self.say("+ ").await;
            self.is_signed_in = super::is_token(&self.line().await?);
            if !self.is_signed_in {
                self.say(&format!("+ {}", STANDARD.encode(r#"{"status":"401"}"#))).await;
                assert_eq!(self.line().await?, "", "what is wrong was heard");
            }
            let word = if self.is_signed_in { "OK welcome" } else { "NO [AUTHENTICATIONFAILED] wrong" };
            out.extend(format!("{tag} {word}\r\n").bytes());
            return Some(out);
        }
        assert!(self.is_signed_in, "{command} before the sign-in");
        if upper == "IDLE" {
            return self.idle(tag).await;
        }
        let done = self.command(command, &mut out);
        // Any response may report new mail.
        let count = self.shared.state.lock().unwrap().letters.len();
        if self.told.is_some_and(|told| told < count) && !upper.contains("FETCH") {
            out.extend(format!("* {count} EXISTS\r\n").bytes());
            self.told = Some(count);
        }
        out.extend(format!("{tag} {done}\r\n").bytes());
        Some(out)
    }

    fn command(&mut self, command: &str, out: &mut Vec<u8>) -> &'static str {
        let mut state = self.shared.state.lock().unwrap();
        let words: Vec<&str> = command.splitn(4, ' ').collect();
        match words.as_slice() {
            ["SELECT" | "EXAMINE", "\"INBOX\""] => {
                let (count, validity, next) = (state.letters.len(), state.validity, state.next);
                out.extend(
                    format!("* FLAGS (\\Seen)\r\n* {count} EXISTS\r\n* 0 RECENT\r\n* OK [UIDVALIDITY {validity}] ids\r\n* OK [UIDNEXT {next}] next\r\n")
                        .bytes(),
                );
                state.selected += 1;
                self.told = Some(count);
                drop(state);
                self.shared.changed.notify_waiters();
                "OK [READ-WRITE] done"
            }
            ["NOOP"] => {
                state.polls += 1;
                "OK done"
            }
            ["UID", "SEARCH", "UID", range] => {
                let from: u32 = range.strip_suffix(":*").unwrap().parse().unwrap();
                // `n:*` always includes the last one, and the order is not guaranteed.
                let last = state.letters.last().map(|letter| letter.uid);
                let uids = state.letters.iter().rev().map(|letter| letter.uid);
                let found: String = uids
                    .filter(|uid| *uid >= from || Some(*uid) == last)
                    .map(|uid| format!(" {uid}"))
                    .collect();
                out.extend(format!("* SEARCH{found}\r\n").bytes());
                "OK done"
            }
            ["UID", "SEARCH", "UNSEEN", since] => {
                assert!(since.starts_with("SINCE ") && since.split('-').count() == 3, "{since}");
                let unseen = state.letters.iter().filter(|letter| !letter.is_seen);
                let found: String = unseen.map(|letter| format!(" {}", letter.uid)).collect();
                out.extend(format!("* SEARCH{found}\r\n").bytes());
                "OK done"
            }
            ["UID", "FETCH", uid, what] => {
                let uid: u32 = uid.parse().unwrap();
                let Some(at) = state.letters.iter().position(|letter| letter.uid == uid) else {
                    return "OK done";
                };
                fetched(&state.letters[at], at + 1, what, out);
                "OK done"
            }
            ["UID", "STORE", uid, "+FLAGS.SILENT (\\Seen)"] => {
                let uid: u32 = uid.parse().unwrap();
                state
                    .letters
                    .iter_mut()
                    .filter(|letter| letter.uid == uid)
                    .for_each(|letter| letter.is_seen = true);
                "OK done"
            }
            _ => panic!("{command:?} is not of this protocol"),
        }
    }

    async fn idle(&mut self, tag: &str) -> Option<Vec<u8>> {
        self.say("+ idling").await;
        loop {
            self.set_idling(true);
            let shared = self.shared.clone();
            let changed = shared.changed.notified();
            let (count, is_late) = {
                let mut state = self.shared.state.lock().unwrap();
                let is_late = state.tells_late && self.told < Some(state.letters.len());
                state.tells_late &= !is_late;
                (state.letters.len(), is_late)
            };
            if is_late {
                // A response without meaning; new mail is reported with the next one.
                self.say("* OK still here").await;
                self.set_idling(false);
                self.say(&format!("* {count} EXISTS")).await;
                self.told = Some(count);
                continue;
            }
            if self.told < Some(count) {
                self.say(&format!("* {count} EXISTS")).await;
                self.told = Some(count);
            }
            tokio::select! {
                () = changed => {}
                line = self.line() => {
                    self.set_idling(false);
                    assert_eq!(line?, "DONE");
                    return Some(format!("{tag} OK done\r\n").into_bytes());
                }
            }
        }
    }
}

fn fetched(letter: &Kept, number: usize, what: &str, out: &mut Vec<u8>) {
    let whole = &letter.bytes;
    let head = whole.windows(4).position(|window| window == b"\r\n\r\n").map_or(whole.len(), |at| at + 4);
    let (fields, name, bytes) = match what {
        "(UID RFC822.SIZE INTERNALDATE BODY.PEEK[HEADER])" => {
            let fields = format!("RFC822.SIZE {} INTERNALDATE \"{}\" ", whole.len(), letter.arrived);
            (fields, "BODY[HEADER]".to_owned(), &whole[..head])
        }
        "(UID BODY.PEEK[])" => (String::new(), "BODY[]".to_owned(), &whole[..]),
        part => {
            let most = part.strip_prefix("(UID BODY.PEEK[]<0.").and_then(|rest| rest.strip_suffix(">)"));
            let most: usize =
                most.unwrap_or_else(|| panic!("{part} is not of this protocol")).parse().unwrap();
            (String::new(), "BODY[]<0>".to_owned(), &whole[..most.min(whole.len())])
        }
    };
    out.extend(
        format!("* {number} FETCH (UID {} {fields}{name} {{{}}}\r\n", letter.uid, bytes.len()).bytes(),
    );
    out.extend_from_slice(bytes);
    out.extend_from_slice(b")\r\n");
}
