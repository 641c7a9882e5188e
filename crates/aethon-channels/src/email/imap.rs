//! A mailbox over IMAP: signing in, selecting a folder, finding, fetching and marking messages, and waiting for new
//! ones.
//!
//! It implements only what that needs. A command that is not answered in time breaks the connection, and the caller
//! opens a new one. Nothing sent or received is ever logged, because it contains the password and people's mail.

use std::io;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, timeout, timeout_at};

use super::dial::{self, Wire};
use super::frame::{self, Extent, Message, Said};
use super::options::{Account, Proof};
use super::{Options, token::NoToken};

/// How long a command may take.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How long fetching a message may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(300);
/// How many messages are returned at a time.
const MAX_FOUND: usize = 200;
/// The port on which connections start unencrypted and upgrade by STARTTLS.
const STARTTLS_PORT: u16 = 143;

/// Why a command failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server rejects the credentials.
    Login(String),
    /// The server refuses a command.
    Refused(String),
    /// The connection is unusable.
    Broken(String),
}

impl Failure {
    pub(super) fn message(&self) -> &str {
        match self {
            Self::Login(message) | Self::Refused(message) | Self::Broken(message) => message,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Broken(format!("the IMAP server: {}", dial::words(&error)))
    }
}

type Result<T> = std::result::Result<T, Failure>;

/// A selected folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Folder {
    /// Its UIDVALIDITY.
    pub(super) validity: u32,
    /// The UID of the next message, if the server reports it.
    pub(super) next: Option<u32>,
}

/// A connection to a mailbox.
pub(super) struct Imap {
    wire: Box<dyn Wire>,
    buffer: Vec<u8>,
    number: u32,
    capabilities: Vec<String>,
    /// The longest message that is read, in bytes.
    most: usize,
    /// Whether the server reported new messages since the last search.
    has_news: bool,
}

/// The untagged responses to a command.
#[derive(Default)]
struct ImapAnswer {
    folder: Folder,
    found: Vec<u32>,
    messages: Vec<Message>,
}

impl Imap {
    /// Connects and signs in.
    pub(super) async fn open(options: &Options, account: &Account, most: usize) -> Result<Self> {
        let (server, is_plain) = (&options.imap, !options.tls);
        let stream = dial::connect(server, is_plain).await?;
        let mut imap = match (is_plain, server.port) {
            (true, _) => Self::over(Box::new(stream), most).await?,
            (false, STARTTLS_PORT) => {
                let stream = dial::ask_for_tls(stream).await?;
                Self::new(dial::encrypt(server, stream).await?, most)
            }
            (false, _) => Self::over(dial::encrypt(server, stream).await?, most).await?,
        };
        imap.command("CAPABILITY").await?;
        imap.sign_in(account).await?;
        // Capabilities may change after signing in.
        imap.command("CAPABILITY").await?;
        Ok(imap)
    }

    fn new(wire: Box<dyn Wire>, most: usize) -> Self {
        Self { wire, buffer: Vec::new(), number: 0, capabilities: Vec::new(), most, has_news: false }
    }

    /// Waits for the greeting on an open connection.
    async fn over(wire: Box<dyn Wire>, most: usize) -> Result<Self> {
        let mut imap = Self::new(wire, most);
        match imap.next(Instant::now() + TIMEOUT).await? {
            Said::Status { is_bye: false, .. } => Ok(imap),
            Said::Status { text, .. } => Err(Failure::Broken(format!("the IMAP server says {text:?}"))),
            _ => Err(Failure::Broken("this is no IMAP server".into())),
        }
    }

    /// Returns whether the server has this capability.
    pub(super) fn can(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|known| known == capability)
    }

    async fn sign_in(&mut self, account: &Account) -> Result<()> {
        let signed_in = match &account.proof {
            Proof::Password(password) => self.by_password(&account.name, password.expose()).await,
            Proof::Tokens(tokens) => {
                let token = tokens.current().await.map_err(|NoToken(why)| Failure::Broken(why))?;
                let signed_in = self.by_token(&account.name, token.expose()).await;
                if matches!(signed_in, Err(Failure::Refused(_))) && tokens.refused(&token) {
                    return Err(Failure::Broken("the IMAP server refuses a token that is not fresh".into()));
                }
                signed_in
            }
        };
        match signed_in {
            // A temporary refusal; a later attempt may succeed.
            Err(Failure::Refused(text)) if is_passing(&text) => Err(Failure::Broken(text)),
            Err(Failure::Refused(text)) => Err(Failure::Login(account.redacted(&format!(
                "the IMAP server does not take the sign-in ({text}); {}",
                account.keys()
            )))),
            other => other,
        }
    }

    async fn by_password(&mut self, name: &str, password: &str) -> Result<()> {
        if self.can("AUTH=PLAIN") {
            return self.authenticate("PLAIN", &format!("\0{name}\0{password}")).await;
        }
        if self.can("LOGINDISABLED") {
            return Err(Failure::Login(
                "the IMAP server takes no password over this connection; set channels.email.tls, or another port".into(),
            ));
        }
        let (name, password) = (quoted(name)?, quoted(password)?);
        self.command(&format!("LOGIN {name} {password}")).await.map(drop)
    }

    async fn by_token(&mut self, name: &str, token: &str) -> Result<()> {
        if !self.can("AUTH=XOAUTH2") {
            return Err(Failure::Login(
                "the IMAP server takes no access tokens (XOAUTH2); set channels.email.password instead"
                    .into(),
            ));
        }
        self.authenticate("XOAUTH2", &format!("user={name}\x01auth=Bearer {token}\x01\x01")).await
    }

    /// Signs in with this SASL mechanism.
    async fn authenticate(&mut self, kind: &str, proof: &str) -> Result<()> {
        let proof = STANDARD.encode(proof);
        let tag = match self.can("SASL-IR") {
            true => self.send(&format!("AUTHENTICATE {kind} {proof}")).await?,
            false => {
                let tag = self.send(&format!("AUTHENTICATE {kind}")).await?;
                self.until_continued(&tag).await?;
                self.write(format!("{proof}\r\n").as_bytes()).await?;
                tag
            }
        };
        let end = Instant::now() + TIMEOUT;
        loop {
            match self.next(end).await? {
                Said::Done { tag: done, is_ok, text } if done == tag => {
                    return if is_ok { Ok(()) } else { Err(refused(&text)) };
                }
                // The server reports the error as a challenge and expects an empty response before it refuses.
                Said::Continue => self.write(b"\r\n").await?,
                said => self.note(&said)?,
            }
        }
    }

    /// Selects a folder.
    pub(super) async fn select(&mut self, folder: &str) -> Result<Folder> {
        let folder = quoted(folder)?;
        self.command(&format!("SELECT {folder}")).await.map(|answer| answer.folder)
    }

    /// Opens a folder read-only.
    pub(super) async fn examine(&mut self, folder: &str) -> Result<Folder> {
        let folder = quoted(folder)?;
        self.command(&format!("EXAMINE {folder}")).await.map(|answer| answer.folder)
    }

    /// Returns the UIDs above this one in order, limited to the first ones if there are many.
    pub(super) async fn above(&mut self, last: u32) -> Result<Vec<u32>> {
        self.has_news = false;
        let from = last.saturating_add(1);
        // `n:*` includes the last message even if its UID is below `n`.
        let mut found = self.command(&format!("UID SEARCH UID {from}:*")).await?.found;
        found.retain(|uid| *uid > last);
        found.sort_unstable();
        found.dedup();
        if found.len() > MAX_FOUND {
            found.truncate(MAX_FOUND);
            self.has_news = true;
        }
        Ok(found)
    }

    /// Returns the unseen messages that arrived on this day or later.
    pub(super) async fn unseen_since(&mut self, day: &str) -> Result<Vec<u32>> {
        self.has_news = false;
        let mut found = self.command(&format!("UID SEARCH UNSEEN SINCE {day}")).await?.found;
        found.sort_unstable();
        Ok(found)
    }

    /// Fetches the header of a message with its size and arrival time. Returns `None` if it is gone.
    pub(super) async fn head(&mut self, uid: u32) -> Result<Option<Message>> {
        self.fetch(uid, "UID RFC822.SIZE INTERNALDATE BODY.PEEK[HEADER]").await
    }

    /// Fetches a whole message, or its first `most` bytes. Returns `None` if it is gone.
    pub(super) async fn whole(&mut self, uid: u32, most: Option<usize>) -> Result<Option<Message>> {
        let part = most.map(|most| format!("<0.{most}>")).unwrap_or_default();
        self.fetch(uid, &format!("UID BODY.PEEK[]{part}")).await
    }

    async fn fetch(&mut self, uid: u32, what: &str) -> Result<Option<Message>> {
        let answer = self.command_within(&format!("UID FETCH {uid} ({what})"), FETCH_TIMEOUT).await?;
        Ok(answer.messages.into_iter().find(|message| message.uid == uid && message.bytes.is_some()))
    }

    /// Marks a message as seen.
    pub(super) async fn mark_seen(&mut self, uid: u32) -> Result<()> {
        self.command(&format!("UID STORE {uid} +FLAGS.SILENT (\\Seen)")).await.map(drop)
    }

    /// Polls for news.
    pub(super) async fn look(&mut self) -> Result<()> {
        self.command("NOOP").await.map(drop)
    }

    /// Returns whether the server reported new messages since the last search. Any response may carry such a report.
    pub(super) fn has_news(&self) -> bool {
        self.has_news
    }

    /// Waits until the server reports messages, up to this long.
    pub(super) async fn idle(&mut self, longest: Duration) -> Result<()> {
        let tag = self.send("IDLE").await?;
        self.until_continued(&tag).await?;
        let end = Instant::now() + longest;
        while !self.has_news {
            match timeout_at(end, self.next(end + TIMEOUT)).await {
                Ok(said) => self.note(&said?)?,
                Err(_) => break,
            }
        }
        self.write(b"DONE\r\n").await?;
        self.until_done(&tag, TIMEOUT).await.map(drop)
    }

    async fn command(&mut self, command: &str) -> Result<ImapAnswer> {
        self.command_within(command, TIMEOUT).await
    }

    async fn command_within(&mut self, command: &str, patience: Duration) -> Result<ImapAnswer> {
        let tag = self.send(command).await?;
        self.until_done(&tag, patience).await
    }

    async fn send(&mut self, command: &str) -> Result<String> {
        self.number += 1;
        let tag = format!("a{}", self.number);
        self.write(format!("{tag} {command}\r\n").as_bytes()).await?;
        Ok(tag)
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = timeout(TIMEOUT, async {
            self.wire.write_all(bytes).await?;
            self.wire.flush().await
        });
        written.await.map_err(|_| silent())??;
        Ok(())
    }

    async fn until_continued(&mut self, tag: &str) -> Result<()> {
        let end = Instant::now() + TIMEOUT;
        loop {
            match self.next(end).await? {
                Said::Continue => return Ok(()),
                Said::Done { tag: done, text, .. } if done == tag => return Err(refused(&text)),
                said => self.note(&said)?,
            }
        }
    }

    async fn until_done(&mut self, tag: &str, patience: Duration) -> Result<ImapAnswer> {
        let mut answer = ImapAnswer::default();
        loop {
            // Any response shows that the server is alive.
            match self.next(Instant::now() + patience).await? {
                Said::Done { tag: done, is_ok, text } if done == tag => {
                    return if is_ok { Ok(answer) } else { Err(refused(&text)) };
                }
                Said::UidValidity(validity) => answer.folder.validity = validity,
                Said::UidNext(next) => answer.folder.next = Some(next),
                Said::Found(mut found) => answer.found.append(&mut found),
                Said::Message(message) => answer.messages.push(message),
                said => self.note(&said)?,
            }
        }
    }

    /// Records responses that the server may send at any time.
    fn note(&mut self, said: &Said) -> Result<()> {
        match said {
            Said::Exists => self.has_news = true,
            Said::Capabilities(names) => self.capabilities.clone_from(names),
            Said::Status { is_bye: true, text, .. } => {
                return Err(Failure::Broken(format!("the IMAP server ended the connection: {text}")));
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the next response. Cancel safe: partial data is kept.
    async fn next(&mut self, end: Instant) -> Result<Said> {
        loop {
            match frame::extent(&self.buffer, self.most.saturating_add(1 << 16)) {
                Extent::Whole(length) => {
                    let said = frame::read(&self.buffer[..length]);
                    self.buffer.drain(..length);
                    return Ok(said);
                }
                Extent::TooLong => {
                    return Err(Failure::Broken("the IMAP server sends more than was asked for".into()));
                }
                Extent::Partial => {
                    let read = timeout_at(end, self.wire.read_buf(&mut self.buffer)).await;
                    if read.map_err(|_| silent())?? == 0 {
                        return Err(Failure::Broken("the IMAP server closed the connection".into()));
                    }
                }
            }
        }
    }
}

fn refused(text: &str) -> Failure {
    Failure::Refused(format!("the IMAP server refuses: {text}"))
}

/// Returns whether a sign-in was refused only temporarily.
fn is_passing(text: &str) -> bool {
    let text = text.to_ascii_uppercase();
    ["[UNAVAILABLE]", "[INUSE]", "[LIMIT]", "[SERVERBUG]", "TEMPORAR", "TOO MANY"]
        .iter()
        .any(|word| text.contains(word))
}

fn silent() -> Failure {
    Failure::Broken("the IMAP server did not answer in time".into())
}

/// Quotes a string.
fn quoted(text: &str) -> Result<String> {
    if text.bytes().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
        return Err(Failure::Login("channels.email has a name or password with a line break in it".into()));
    }
    Ok(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}
