//! Slack, Meta's Graph API and a mail server on loopback that accept the assistant and then stay silent, for measuring the cost
//! of idle channels.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use serde_json::{Value, json};
use tungstenite::Message;

use crate::stub::Seen;

/// Slack's Web API and a Socket Mode socket.
pub struct Slack {
    /// The address it listens on.
    pub address: SocketAddr,
}

/// Meta's Graph API, as far as an idle WhatsApp number needs it.
pub struct Graph {
    /// The address it listens on.
    pub address: SocketAddr,
}

/// An empty mailbox. There is no SMTP, because nothing is sent.
pub struct Mailbox {
    /// The address it listens on.
    pub address: SocketAddr,
}

impl Slack {
    /// Starts the service.
    pub fn start() -> Self {
        let socket = listen(|connection| {
            let Ok(mut socket) = tungstenite::accept(connection) else { return };
            let _ = socket.send(Message::text(json!({"type": "hello"}).to_string()));
            // Reading makes the library answer pings.
            while socket.read().is_ok() {}
        });
        let address = listen(move |connection| {
            let Ok(seen) = Seen::read(&connection) else { return };
            let answer = match seen.line.as_str() {
                "POST /api/auth.test" => {
                    json!({"ok": true, "user_id": "UBOT", "user": "aethon", "team": "test", "bot_id": "B1"})
                }
                "POST /api/apps.connections.open" => {
                    json!({"ok": true, "url": format!("ws://{socket}/link")})
                }
                _ => json!({"ok": false, "error": "unknown_method"}),
            };
            answer_json(&connection, &answer);
        });
        Self { address }
    }

    /// The settings with which a server uses it.
    pub fn settings(&self) -> Vec<String> {
        vec![
            "channels.slack.enabled=true".into(),
            format!("channels.slack.api_base=http://{}/api", self.address),
            "channels.slack.bot_token=xoxb-quiet".into(),
            "channels.slack.app_token=xapp-quiet".into(),
        ]
    }
}

impl Graph {
    /// Starts the service.
    pub fn start() -> Self {
        let address = listen(|connection| {
            let Ok(seen) = Seen::read(&connection) else { return };
            match seen.line.split('?').next() {
                Some("GET /v26.0/11") => answer_json(
                    &connection,
                    &json!({"display_phone_number": "+1 555 0100", "verified_name": "Home", "id": "11"}),
                ),
                _ => refuse(&connection, &json!({"error": {"code": 100, "message": "it is quiet here"}})),
            }
        });
        Self { address }
    }

    /// The settings with which a server uses it.
    pub fn settings(&self) -> Vec<String> {
        vec![
            "channels.whatsapp.enabled=true".into(),
            format!("channels.whatsapp.api_base=http://{}", self.address),
            "channels.whatsapp.phone_number_id=11".into(),
            "channels.whatsapp.token=quiet".into(),
            "channels.whatsapp.secret=quiet".into(),
            "channels.whatsapp.verify_token=quiet".into(),
        ]
    }
}

impl Mailbox {
    /// Starts the mailbox.
    pub fn start() -> Self {
        Self { address: listen(|connection| drop(talk(&connection))) }
    }

    /// The settings with which a server uses it.
    pub fn settings(&self) -> Vec<String> {
        let port = self.address.port();
        vec![
            "channels.email.enabled=true".into(),
            "channels.email.api_base=127.0.0.1".into(),
            format!("channels.email.imap_port={port}"),
            format!("channels.email.smtp_port={port}"),
            "channels.email.tls=false".into(),
            "channels.email.username=aethon@test.example".into(),
            "channels.email.password=quiet".into(),
            "channels.email.trust_from=true".into(),
        ]
    }
}

/// Serves each connection on its own thread. Never joined; it ends with the process.
fn listen(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it has an address");
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(connection));
        }
    });
    address
}

fn answer_json(connection: &TcpStream, answer: &Value) {
    respond(connection, "200 OK", answer);
}

fn refuse(connection: &TcpStream, answer: &Value) {
    respond(connection, "400 Bad Request", answer);
}

fn respond(mut connection: &TcpStream, status: &str, answer: &Value) {
    let body = answer.to_string();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = connection.write_all((head + &body).as_bytes());
}

/// Serves IMAP, as far as an empty mailbox needs it.
fn talk(connection: &TcpStream) -> std::io::Result<()> {
    let (mut reader, mut writer) = (BufReader::new(connection), connection);
    writer.write_all(b"* OK [CAPABILITY IMAP4rev1] at your service\r\n")?;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let (tag, command) = line.trim_end().split_once(' ').unwrap_or_default();
        let untagged = match command.split(' ').next().unwrap_or_default() {
            "CAPABILITY" => "* CAPABILITY IMAP4rev1 AUTH=PLAIN IDLE\r\n",
            "SELECT" | "EXAMINE" => {
                "* FLAGS (\\Seen)\r\n* 0 EXISTS\r\n* 0 RECENT\r\n* OK [UIDVALIDITY 1] ids\r\n* OK [UIDNEXT 1] next\r\n"
            }
            "UID" => "* SEARCH\r\n",
            "AUTHENTICATE" | "IDLE" => {
                writer.write_all(b"+ go on\r\n")?;
                // Reads the password, or the end of the wait.
                reader.read_line(&mut String::new())?;
                ""
            }
            _ => "",
        };
        writer.write_all(format!("{untagged}{tag} OK done\r\n").as_bytes())?;
    }
}
