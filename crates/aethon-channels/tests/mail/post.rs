//! The SMTP server. Accepts mail from clients that sign in, and can lose its response or refuse.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::PASSWORD;

/// The server.
pub struct Post {
    pub port: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    letters: Vec<String>,
    losses: u32,
    answer: Option<String>,
}

impl Post {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state: Arc<Mutex<State>> = Arc::default();
        let serving = state.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, serving.clone()));
            }
        });
        Self { port, state }
    }

    /// The accepted mails.
    pub fn letters(&self) -> Vec<String> {
        self.state.lock().unwrap().letters.clone()
    }

    /// Accepts the next mails, but breaks the connection before confirming them.
    pub fn lose(&self, count: u32) {
        self.state.lock().unwrap().losses = count;
    }

    /// The next recipient is answered like this.
    pub fn answer(&self, answer: &str) {
        self.state.lock().unwrap().answer = Some(answer.to_owned());
    }
}

async fn serve(stream: TcpStream, state: Arc<Mutex<State>>) {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    let mut answer = "220 mail.home.example ESMTP".to_owned();
    let mut is_signed_in = false;
    loop {
        if write.write_all(format!("{answer}\r\n").as_bytes()).await.is_err() {
            return;
        }
        let Some(line) = line(&mut read).await else { return };
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        answer = match word.to_ascii_uppercase().as_str() {
            "EHLO" => "250-mail.home.example\r\n250-8BITMIME\r\n250 AUTH PLAIN XOAUTH2".to_owned(),
            "AUTH" => {
                let (kind, proof) = rest.split_once(' ').unwrap();
                let right = format!("\0bot@home.example\0{PASSWORD}").into_bytes();
                is_signed_in = match kind {
                    "PLAIN" => STANDARD.decode(proof).unwrap() == right,
                    _ => super::is_token(proof),
                };
                match (is_signed_in, kind) {
                    (true, _) => "235 welcome".to_owned(),
                    (false, "PLAIN") => "535 5.7.8 wrong".to_owned(),
                    (false, _) => format!("334 {}", STANDARD.encode(r#"{"status":"401"}"#)),
                }
            }
            "NOOP" | "RSET" if is_signed_in => "250 ok".to_owned(),
            "MAIL" if is_signed_in => {
                assert!(rest.starts_with("FROM:<bot@home.example>"), "{rest}");
                "250 ok".to_owned()
            }
            "RCPT" if is_signed_in => {
                assert!(rest.starts_with("TO:<ada@x.example>"), "{rest}");
                state.lock().unwrap().answer.take().unwrap_or_else(|| "250 ok".to_owned())
            }
            "DATA" if is_signed_in => {
                let _ = write.write_all(b"354 go on\r\n").await;
                let mut letter = String::new();
                loop {
                    let Some(line) = self::line(&mut read).await else { return };
                    assert!(line.len() < 998);
                    if line == "." {
                        break;
                    }
                    letter.push_str(line.strip_prefix('.').unwrap_or(&line));
                    letter.push_str("\r\n");
                }
                let mut state = state.lock().unwrap();
                state.letters.push(letter);
                if state.losses > 0 {
                    state.losses -= 1;
                    return;
                }
                "250 taken".to_owned()
            }
            "QUIT" => {
                let _ = write.write_all(b"221 bye\r\n").await;
                return;
            }
            _ => format!("503 not now: {word}"),
        };
    }
}

async fn line(read: &mut (impl tokio::io::AsyncBufRead + Unpin)) -> Option<String> {
    let mut line = String::new();
    let length = read.read_line(&mut line).await.ok()?;
    assert!(length == 0 || line.ends_with("\r\n"), "{line:?}");
    (length > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned())
}
