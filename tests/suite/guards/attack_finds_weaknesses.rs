//! `aethon-cli doctor --attack` against a listener that has one weakness at a time: each is found, and by its own probe only.
//!
//! The listener is the test's own and keeps the rules that the attack is about, as plainly as they can be written, except for
//! the one that it has to break.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use aethon_tests::{home, run_cli};
use serde_json::Value;

const TOKEN: &str = "the-owner-s-own-token";
/// How long a head may take; the attack uses the same value.
const HEAD: Duration = Duration::from_secs(2);
const SETTINGS: [&str; 2] = ["server.header_timeout_seconds=2", "server.body_timeout_seconds=2"];
/// How long a body may take, likewise.
const WHOLE: Duration = Duration::from_secs(2);
const OWNERS: [&str; 2] =
    ["dashboard.auth_token=the-owner-s-own-token", "webhook.secret=a-secret-of-webhooks"];

/// The rule that is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weakness {
    Host,
    NearHost,
    Origin,
    CrossSite,
    Form,
    Socket,
    Token,
    Backups,
    OldCookie,
    SideDoor,
    Folder,
    Webhook,
    UnsignedBody,
    Loosening,
    References,
    ShownSecret,
    TwoReadings,
    Body,
    Head,
    Headers,
    Slow,
    SlowBody,
    Crowd,
    HalfSent,
    Guesses,
}

use Weakness::*;

/// Each, and the words by which its finding is known.
const PLANTED: [(Weakness, &str); 25] = [
    (Host, "a name of another site that points here (DNS rebinding)"),
    (NearHost, "a name of another site that points here (DNS rebinding)"),
    (Origin, "a post that a page of another site sends"),
    (CrossSite, "a post that a browser marks as cross-site"),
    (Form, "a form that pretends to be JSON"),
    (Socket, "a socket that a page of another site opens"),
    (Token, "requests without the token, or with a wrong one"),
    (Backups, "requests without the token, or with a wrong one"),
    (OldCookie, "a sign-in that has expired or was forged"),
    (SideDoor, "addresses written in other ways"),
    (Folder, "files outside the folder of the pages"),
    (Webhook, "a webhook without a signature"),
    (UnsignedBody, "a large webhook body that has no signature"),
    (Loosening, "a change that loosens protection, without the token shown again"),
    (References, "references to secrets in values of a change"),
    (ShownSecret, "the secrets of the configuration in what the API shows"),
    (TwoReadings, "requests that two servers would parse differently (smuggling)"),
    (Body, "oversized bodies and headers"),
    (Head, "oversized bodies and headers"),
    (Headers, "the page forbids foreign code, framing and content sniffing"),
    (Slow, "a request that is never finished"),
    (SlowBody, "a webhook body that is never finished"),
    (Crowd, "hundreds of connections from one address"),
    (HalfSent, "many webhooks whose bodies are half sent"),
    (Guesses, "guesses at the token"),
];

/// What all connections of a listener share.
struct Listener {
    address: SocketAddr,
    weakness: Option<Weakness>,
    has_token: bool,
    open: AtomicUsize,
    half_sent: AtomicUsize,
    guesses: AtomicUsize,
    is_over: AtomicBool,
}

impl Listener {
    fn breaks(&self, weakness: Weakness) -> bool {
        self.weakness == Some(weakness)
    }

    /// Answers until it is over.
    fn serve(self: &Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            if self.is_over.load(Ordering::SeqCst) {
                return;
            }
            let (own, stream) = (Arc::clone(self), stream.unwrap());
            own.open.fetch_add(1, Ordering::SeqCst);
            let talk = move || {
                own.talk(stream);
                own.open.fetch_sub(1, Ordering::SeqCst);
            };
            thread::Builder::new().stack_size(128 << 10).spawn(talk).unwrap();
        }
    }

    fn talk(&self, mut stream: TcpStream) {
        if self.breaks(Crowd) && self.open.load(Ordering::SeqCst) > 200 {
            return;
        }
        let Some(head) = self.head(&mut stream) else { return };
        let is_crowded = self.breaks(HalfSent) && self.half_sent.load(Ordering::SeqCst) > 20;
        if is_crowded && head.starts_with("GET /health ") {
            return;
        }
        let is_signed = head.contains("X-Aethon-Signature: ");
        // A body whose signature is to be judged; no other is waited for.
        let is_awaited = head.starts_with("POST /webhook/")
            && (is_signed || (self.breaks(UnsignedBody) && head.contains("Content-Length: 1000000")));
        if is_awaited {
            self.half_sent.fetch_add(1, Ordering::SeqCst);
            self.body(&mut stream, self.breaks(SlowBody) || !is_signed);
            self.half_sent.fetch_sub(1, Ordering::SeqCst);
        }
        let (status, more) = self.answer(&head);
        let _ = write!(stream, "HTTP/1.1 {status} x\r\n{more}Content-Length: 0\r\nConnection: close\r\n\r\n");
    }

    /// The head of a request. `None` when it does not come, or not in time.
    fn head(&self, stream: &mut TcpStream) -> Option<String> {
        let most = if self.breaks(Head) { 8 << 20 } else { 32 << 10 };
        let begun = Instant::now();
        let mut bytes = Vec::new();
        while !bytes.windows(4).any(|end| end == b"\r\n\r\n") && bytes.len() < most {
            let left = HEAD.saturating_sub(begun.elapsed());
            if self.is_over.load(Ordering::SeqCst) || (left.is_zero() && !self.breaks(Slow)) {
                return None;
            }
            stream.set_read_timeout(Some(left.max(Duration::from_millis(100)))).unwrap();
            let mut part = [0; 16 << 10];
            match stream.read(&mut part) {
                Ok(0) => return None,
                Ok(read) => bytes.extend_from_slice(&part[..read]),
                // The wait was over; the loop decides.
                Err(_) => {}
            }
        }
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Reads until the client is gone or, without patience, its time is over.
    fn body(&self, stream: &mut TcpStream, is_patient: bool) {
        let begun = Instant::now();
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        while !self.is_over.load(Ordering::SeqCst) && (is_patient || begun.elapsed() < WHOLE) {
            match stream.read(&mut [0; 16 << 10]) {
                Ok(0) => return,
                Ok(_) => {}
                // Either the time for this look is over, or the connection is.
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    }

    /// The status of the answer, and further headers.
    fn answer(&self, head: &str) -> (u16, &'static str) {
        let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
        let count = |name: &str| head.lines().filter(|line| line.starts_with(name)).count();
        let (method, path) = head.split_once(' ').unwrap_or_default();
        let path = path.split(' ').next().unwrap_or_default();
        let is_doubtful =
            count("Host: ") != 1 || (count("Content-Length: ") > 0 && count("Transfer-Encoding: ") > 0);
        let is_foreign =
            field("Origin: ").is_some() && !self.breaks(if method == "GET" { Socket } else { Origin });
        let is_crossing = field("Sec-Fetch-Site: ").is_some() && !self.breaks(CrossSite);
        let length: u64 = field("Content-Length: ").and_then(|length| length.parse().ok()).unwrap_or(0);
        let status = match path {
            _ if head.len() >= 32 << 10 && !self.breaks(Head) => 431,
            _ if is_doubtful => {
                if self.breaks(TwoReadings) {
                    200
                } else {
                    400
                }
            }
            _ if !self.is_own(field("Host: ").unwrap_or_default()) => 421,
            _ if field("Cookie: ").is_some() => {
                if self.breaks(OldCookie) {
                    200
                } else {
                    401
                }
            }
            _ if is_foreign || is_crossing => 403,
            _ if length > 1 << 20 => {
                if self.breaks(Body) {
                    200
                } else {
                    413
                }
            }
            "/" | "/health" => 200,
            "/webhook/trigger" => {
                if self.breaks(Webhook) && length < 100 {
                    200
                } else {
                    403
                }
            }
            path if path.starts_with("/webhook/") && method == "POST" => 403,
            "//api/status" if self.breaks(SideDoor) => 200,
            "/api/backups" if self.breaks(Backups) => 200,
            "/metrics" if self.breaks(Token) => 200,
            path if path.starts_with("/dashboard/static/") => {
                if self.breaks(Folder) && path.ends_with("passwd") { 200 } else { 404 }
            }
            "/api/config?dry_run=true" if field("X-Aethon-Confirm: ") == Some(TOKEN) => {
                if self.breaks(References) { 200 } else { 422 }
            }
            _ => self.inside(path, field("Authorization: Bearer "), field("Content-Type: ")),
        };
        if status == 200 && path == "/api/config" && self.breaks(ShownSecret) {
            return (200, "X-Shown: a-secret-of-webhooks\r\n");
        }
        let is_page = status == 200 && !self.breaks(Headers);
        let headers = "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n\
            X-Content-Type-Options: nosniff\r\n";
        (status, if is_page { headers } else { "" })
    }

    /// Whether a name is this listener's own.
    fn is_own(&self, host: &str) -> bool {
        let is_near = self.breaks(NearHost) && host.starts_with("localhost.");
        host == self.address.to_string() || is_near || self.breaks(Host)
    }

    /// The status of what only the owner may ask for.
    fn inside(&self, path: &str, token: Option<&str>, kind: Option<&str>) -> u16 {
        if self.has_token && token != Some(TOKEN) {
            let guesses = token.map_or(0, |_| self.guesses.fetch_add(1, Ordering::SeqCst));
            return if guesses > 20 && !self.breaks(Guesses) { 429 } else { 401 };
        }
        match (path, kind) {
            ("/ws/chat", _) => 101,
            ("/api/memory/search", Some("text/plain")) if !self.breaks(Form) => 415,
            ("/api/status" | "/api/memory/search", _) => 200,
            ("/api/config?dry_run=true", _) if !self.breaks(Loosening) => 403,
            (path, _) if path.starts_with("/api/sessions/") || path.starts_with("/api/config") => 200,
            _ => 404,
        }
    }
}

/// Has the program attack a listener with this weakness; its status, and the faults it found.
fn attack(weakness: Option<Weakness>, has_token: bool) -> (i32, Vec<String>) {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let listener = Arc::new(Listener {
        address,
        weakness,
        has_token,
        open: AtomicUsize::new(0),
        half_sent: AtomicUsize::new(0),
        guesses: AtomicUsize::new(0),
        is_over: AtomicBool::new(false),
    });
    let serving = {
        let listener = Arc::clone(&listener);
        thread::spawn(move || listener.serve(&socket))
    };
    let home = home();
    let _daemon = pretend(home.path(), address);
    let settings = SETTINGS.iter().chain(OWNERS.iter().filter(|_| has_token));
    let arguments: Vec<&str> =
        settings.flat_map(|set| ["--set", set]).chain(["doctor", "--attack", "--json"]).collect();
    let output = run_cli(home.path(), &arguments, None);
    listener.is_over.store(true, Ordering::SeqCst);
    drop(TcpStream::connect(address));
    serving.join().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = report["findings"].as_array().unwrap().iter();
    let broken = findings.filter(|finding| finding["health"] != "ok");
    let broken = broken.map(|finding| finding["message"].as_str().unwrap().to_owned()).collect();
    (output.status.code().unwrap(), broken)
}

/// Makes the home look as if a daemon ran on it, for as long as the returned guard lives.
fn pretend(home: &Path, address: SocketAddr) -> File {
    let run = home.join("run");
    std::fs::create_dir_all(&run).unwrap();
    std::fs::write(run.join("server.address"), format!("http://{address}")).unwrap();
    let alive = File::create(run.join("server.alive")).unwrap();
    alive.lock().unwrap();
    alive
}

#[test]
fn a_listener_that_keeps_the_rules_holds() {
    for has_token in [false, true] {
        assert_eq!(attack(None, has_token), (0, Vec::new()), "token: {has_token}");
    }
}

#[test]
fn each_planted_weakness_is_found_by_its_own_probe() {
    let found = |(weakness, words): (Weakness, &'static str)| {
        // With a token, a foreign name is refused for want of it.
        let (status, broken) = attack(Some(weakness), !matches!(weakness, Host | NearHost));
        assert_eq!(status, 1, "{weakness:?}: {broken:?}");
        assert!(broken.len() == 1 && broken[0].contains(words), "{weakness:?}: {broken:?}");
    };
    for some in PLANTED.chunks(4) {
        thread::scope(|scope| some.iter().for_each(|&planted| drop(scope.spawn(move || found(planted)))));
    }
}
