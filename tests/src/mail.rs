//! A mail host on loopback, as strict as real ones: IMAP with UIDs, IDLE and literals, and SMTP with authentication and dots.
//!
//! Tests put mails into the mailbox and check the mails sent. It supports only what the channel needs, in the form that the
//! standards prescribe; anything else is refused and recorded as a fault for the test to find.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::eventually;

/// The account's password.
pub const PASSWORD: &str = "canary-of-the-mail-password";
/// The account.
pub const ACCOUNT: &str = "bot@home.example";

/// The host.
pub struct MailHost {
    account: &'static str,
    /// The address of its IMAP server.
    pub imap: SocketAddr,
    /// The address of its SMTP server.
    pub smtp: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    account: &'static str,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    mails: Vec<Mail>,
    letters: Vec<String>,
    connections: Vec<TcpStream>,
    idling: usize,
    losses: usize,
    faults: Vec<String>,
}

struct Mail {
    bytes: Vec<u8>,
    is_seen: bool,
}

impl MailHost {
    /// Starts the host with an empty mailbox.
    pub fn start() -> Self {
        Self::start_for(ACCOUNT)
    }

    /// Starts a host for another account.
    pub fn start_for(account: &'static str) -> Self {
        let shared = Arc::new(Shared { account, ..Shared::default() });
        let imap = listen(&shared, imap);
        let smtp = listen(&shared, smtp);
        Self { account, imap, smtp, shared }
    }

    /// The settings with which a server uses it.
    pub fn settings(&self) -> Vec<String> {
        vec![
            "channels.email.enabled=true".into(),
            "channels.email.api_base=127.0.0.1".into(),
            format!("channels.email.imap_port={}", self.imap.port()),
            format!("channels.email.smtp_port={}", self.smtp.port()),
            "channels.email.tls=false".into(),
            format!("channels.email.username={}", self.account),
            format!("channels.email.password={PASSWORD}"),
            "channels.email.authserv_id=mx.home.example".into(),
        ]
    }

    /// Delivers a mail that the host vouches for. `fields` are extra header lines, each with its line end.
    pub fn put(&self, number: u32, from: &str, fields: &str, text: &str) {
        let domain = from.rsplit('@').next().unwrap_or_default();
        let proof = format!("Authentication-Results: mx.home.example; dmarc=pass header.from={domain}\r\n");
        self.put_raw(&letter(number, from, &format!("{proof}{fields}"), text));
    }

    /// Delivers a mail without authentication results.
    pub fn put_unproven(&self, number: u32, from: &str, text: &str) {
        self.put_raw(&letter(number, from, "", text));
    }

    /// Delivers a whole mail that the host vouches for.
    pub fn put_whole(&self, domain: &str, mail: &str) {
        let proof = format!("Authentication-Results: mx.home.example; dmarc=pass header.from={domain}\r\n");
        self.put_raw(&format!("{proof}{}", mail.replace("\r\n", "\n").replace('\n', "\r\n")));
    }

    fn put_raw(&self, mail: &str) {
        let mut state = self.shared.lock();
        state.mails.push(Mail { bytes: mail.as_bytes().to_vec(), is_seen: false });
        drop(state);
        self.shared.changed.notify_all();
    }

    /// The numbers, from 1, of the mails marked as seen.
    pub fn seen(&self) -> Vec<usize> {
        let state = self.shared.lock();
        let seen = state.mails.iter().enumerate().filter(|(_, mail)| mail.is_seen);
        seen.map(|(number, _)| number + 1).collect()
    }

    /// The mails sent, with the transfer encoding's soft line breaks removed.
    pub fn letters(&self) -> Vec<String> {
        self.shared.lock().letters.iter().map(|letter| letter.replace("=\r\n", "")).collect()
    }

    /// Waits for a matching mail.
    pub fn await_letter(&self, what: &str, fits: impl Fn(&str) -> bool) -> String {
        eventually(what, || self.letters().into_iter().find(|letter| fits(letter)))
    }

    /// Waits until a client waits for mail (IDLE).
    pub fn await_idle(&self) {
        eventually("the mailbox is waited at", || (self.shared.lock().idling > 0).then_some(()));
    }

    /// Accepts the next mail, but breaks the connection before confirming it.
    pub fn lose_answer(&self) {
        self.shared.lock().losses += 1;
    }

    /// Breaks every connection to the mailbox.
    pub fn cut(&self) {
        for connection in self.shared.lock().connections.drain(..) {
            // Connections that have already ended are fine.
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    /// Panics if a client violated the standards.
    pub fn assert_well_spoken(&self) {
        let faults = self.shared.lock().faults.clone();
        assert!(faults.is_empty(), "{faults:?}");
    }
}

fn letter(number: u32, from: &str, fields: &str, text: &str) -> String {
    let text = text.replace('\n', "\r\n");
    format!(
        "{fields}Received: from x by y; Mon, 3 Aug 2026 10:00:00 +0000\r\nFrom: {from}\r\nTo: {ACCOUNT}\r\n\
         Subject: s{number}\r\nMessage-ID: <{number}@x.example>\r\n\r\n{text}\r\n"
    )
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fault(&self, what: String) {
        self.lock().faults.push(what);
    }
}

fn listen(shared: &Arc<Shared>, serve: fn(TcpStream, &Arc<Shared>) -> std::io::Result<()>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port for mail");
    let address = listener.local_addr().expect("it has an address");
    let shared = shared.clone();
    // Never joined; it ends with the test process.
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let shared = shared.clone();
            // The client may be gone.
            std::thread::spawn(move || serve(connection, &shared));
        }
    });
    address
}

/// Reads a line without its end; an error if the client is gone.
fn line(reader: &mut impl BufRead) -> std::io::Result<String> {
    let mut line = String::new();
    match reader.read_line(&mut line)? {
        0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(line.trim_end_matches(['\r', '\n']).to_owned()),
    }
}

fn is_right(account: &str, proof: &str) -> bool {
    let right = format!("\0{account}\0{PASSWORD}");
    STANDARD.decode(proof).is_ok_and(|proof| proof == right.as_bytes())
}

fn imap(connection: TcpStream, shared: &Arc<Shared>) -> std::io::Result<()> {
    let mut write = connection.try_clone()?;
    shared.lock().connections.push(connection.try_clone()?);
    let mut read = BufReader::new(connection);
    let (mut is_signed_in, mut told) = (false, None);
    write.write_all(b"* OK [CAPABILITY IMAP4rev1] at your service\r\n")?;
    loop {
        let line = line(&mut read)?;
        let (tag, command) = line.split_once(' ').unwrap_or((&line, ""));
        match command.split(' ').next().unwrap_or_default() {
            "CAPABILITY" => {
                let answer = format!("* CAPABILITY IMAP4rev1 AUTH=PLAIN IDLE SASL-IR\r\n{tag} OK done\r\n");
                write.write_all(answer.as_bytes())?;
            }
            "AUTHENTICATE" => {
                is_signed_in = command
                    .strip_prefix("AUTHENTICATE PLAIN ")
                    .is_some_and(|proof| is_right(shared.account, proof));
                let word = if is_signed_in { "OK welcome" } else { "NO [AUTHENTICATIONFAILED] wrong" };
                write.write_all(format!("{tag} {word}\r\n").as_bytes())?;
            }
            _ if !is_signed_in => {
                shared.fault(format!("{command} before the sign-in"));
                write.write_all(format!("{tag} BAD sign in\r\n").as_bytes())?;
            }
            "IDLE" => {
                write.write_all(b"+ idling\r\n")?;
                idle(&mut read, &write, shared, &mut told)?;
                write.write_all(format!("{tag} OK done\r\n").as_bytes())?;
            }
            _ => {
                let mut out = Vec::new();
                let done = mailbox(shared, command, &mut out, &mut told);
                let count = shared.lock().mails.len();
                if told.is_some_and(|told| told < count) && !command.contains("FETCH") {
                    out.extend(format!("* {count} EXISTS\r\n").bytes());
                    told = Some(count);
                }
                out.extend(format!("{tag} {done}\r\n").bytes());
                write.write_all(&out)?;
            }
        }
    }
}

/// Announces new mail until the client ends the wait.
fn idle(
    read: &mut BufReader<TcpStream>,
    write: &TcpStream,
    shared: &Arc<Shared>,
    told: &mut Option<usize>,
) -> std::io::Result<()> {
    let over = Arc::new(Mutex::new(false));
    let teller = {
        let (shared, over, mut write) = (shared.clone(), over.clone(), write.try_clone()?);
        let mut known = *told;
        std::thread::spawn(move || {
            let mut state = shared.lock();
            state.idling += 1;
            loop {
                let count = state.mails.len();
                if known < Some(count) {
                    // The reader notices if the client is gone.
                    let _ = write.write_all(format!("* {count} EXISTS\r\n").as_bytes());
                    known = Some(count);
                }
                if *over.lock().unwrap_or_else(PoisonError::into_inner) {
                    state.idling -= 1;
                    return known;
                }
                state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        })
    };
    let said = line(read);
    {
        // Under the lock, so that the announcing thread either sees the change or is already waiting.
        let _state = shared.lock();
        *over.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }
    shared.changed.notify_all();
    *told = teller.join().unwrap_or(*told);
    let said = said?;
    if said != "DONE" {
        shared.fault(format!("{said:?} ends no IDLE"));
    }
    Ok(())
}

fn mailbox(shared: &Shared, command: &str, out: &mut Vec<u8>, told: &mut Option<usize>) -> &'static str {
    let mut state = shared.lock();
    let words: Vec<&str> = command.splitn(4, ' ').collect();
    match words.as_slice() {
        ["SELECT" | "EXAMINE", "\"INBOX\""] => {
            let count = state.mails.len();
            *told = Some(count);
            let next = count + 1;
            out.extend(
                format!("* FLAGS (\\Seen)\r\n* {count} EXISTS\r\n* OK [UIDVALIDITY 1] ids\r\n* OK [UIDNEXT {next}] next\r\n")
                    .bytes(),
            );
            "OK [READ-WRITE] done"
        }
        ["NOOP"] => "OK done",
        ["UID", "SEARCH", "UID", range] => {
            let from: usize = range.trim_end_matches(":*").parse().unwrap_or(usize::MAX);
            let last = state.mails.len();
            // `n:*` always includes the last mail.
            let found: String =
                (1..=last).filter(|uid| *uid >= from || *uid == last).map(|uid| format!(" {uid}")).collect();
            out.extend(format!("* SEARCH{found}\r\n").bytes());
            "OK done"
        }
        ["UID", "FETCH", uid, what] => {
            let uid: usize = uid.parse().unwrap_or_default();
            let Some(mail) = uid.checked_sub(1).and_then(|at| state.mails.get(at)) else { return "OK done" };
            if !fetched(mail, uid, what, out) {
                drop(state);
                shared.fault(format!("{what} is fetched"));
                return "BAD what?";
            }
            "OK done"
        }
        ["UID", "STORE", uid, "+FLAGS.SILENT (\\Seen)"] => {
            let at = uid.parse::<usize>().unwrap_or_default().saturating_sub(1);
            if let Some(mail) = state.mails.get_mut(at) {
                mail.is_seen = true;
            }
            "OK done"
        }
        _ => {
            drop(state);
            shared.fault(format!("the command {command:?}"));
            "BAD what?"
        }
    }
}

fn fetched(mail: &Mail, uid: usize, what: &str, out: &mut Vec<u8>) -> bool {
    let whole = &mail.bytes;
    let head = whole.windows(4).position(|window| window == b"\r\n\r\n").map_or(whole.len(), |at| at + 4);
    let (fields, name, bytes) = match what {
        "(UID RFC822.SIZE INTERNALDATE BODY.PEEK[HEADER])" => {
            // A date before any age limit would apply, and never in the future.
            let fields = format!("RFC822.SIZE {} ", whole.len());
            (fields, "BODY[HEADER]", &whole[..head])
        }
        "(UID BODY.PEEK[])" => (String::new(), "BODY[]", &whole[..]),
        _ => return false,
    };
    out.extend(format!("* {uid} FETCH (UID {uid} {fields}{name} {{{}}}\r\n", bytes.len()).bytes());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b")\r\n");
    true
}

fn smtp(connection: TcpStream, shared: &Arc<Shared>) -> std::io::Result<()> {
    let mut write = connection.try_clone()?;
    let mut read = BufReader::new(connection);
    let mut answer = "220 mail.home.example ESMTP".to_owned();
    let mut is_signed_in = false;
    loop {
        write.write_all(format!("{answer}\r\n").as_bytes())?;
        let said = line(&mut read)?;
        let (word, rest) = said.split_once(' ').unwrap_or((&said, ""));
        answer = match word.to_ascii_uppercase().as_str() {
            "EHLO" => "250-mail.home.example\r\n250-8BITMIME\r\n250 AUTH PLAIN".to_owned(),
            "AUTH" => {
                is_signed_in =
                    rest.strip_prefix("PLAIN ").is_some_and(|proof| is_right(shared.account, proof));
                if is_signed_in { "235 welcome".to_owned() } else { "535 5.7.8 wrong".to_owned() }
            }
            "MAIL" | "RCPT" | "NOOP" | "RSET" if is_signed_in => "250 ok".to_owned(),
            "DATA" if is_signed_in => {
                write.write_all(b"354 go on\r\n")?;
                let letter = data(&mut read)?;
                let mut state = shared.lock();
                state.letters.push(letter);
                if state.losses > 0 {
                    state.losses -= 1;
                    return Ok(());
                }
                "250 taken".to_owned()
            }
            "QUIT" => return write.write_all(b"221 bye\r\n"),
            _ => {
                shared.fault(format!("{said:?} to the SMTP server"));
                "503 not now".to_owned()
            }
        };
    }
}

fn data(read: &mut impl BufRead) -> std::io::Result<String> {
    let mut letter = String::new();
    loop {
        let line = line(read)?;
        if line == "." {
            return Ok(letter);
        }
        letter.push_str(line.strip_prefix('.').unwrap_or(&line));
        letter.push_str("\r\n");
    }
}
