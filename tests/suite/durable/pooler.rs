//! PgBouncer in transaction mode between the instances and their PostgreSQL server.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use aethon_postgres::testkit::{OwnServer, unprivileged};
use aethon_tests::{Server, eventually};
use serde_json::json;
use tempfile::TempDir;

use super::instances::home_on;

const PROGRAM: &str = "/usr/sbin/pgbouncer";

/// A running pooler, which ends with this.
struct Pooler {
    child: Child,
    _folder: TempDir,
    /// The address of the database through it.
    url: String,
}

impl Pooler {
    fn start(database: &OwnServer) -> Self {
        assert!(Path::new(PROGRAM).exists(), "this needs PgBouncer: on Debian, `apt-get install pgbouncer`");
        let (before, rest) = database.url.split_once("@127.0.0.1:").expect("an address");
        let (target, name) = rest.split_once('/').expect("an address");
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let users = path("users");
        std::fs::write(&users, "\"aethon\" \"open sesame\"\n").expect("users");
        let settings = format!(
            "[databases]\n{name} = host=127.0.0.1 port={target} dbname={name}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = scram-sha-256\nauth_file = {}\npool_mode = transaction\n\
             default_pool_size = 8\nmax_client_conn = 200\n",
            users.display()
        );
        std::fs::write(path("pgbouncer.ini"), settings).expect("settings");
        for (name, mode) in [("", 0o755), ("users", 0o644), ("pgbouncer.ini", 0o644)] {
            std::fs::set_permissions(path(name), std::fs::Permissions::from_mode(mode)).expect("readable");
        }
        let child = unprivileged(Path::new(PROGRAM))
            .arg(path("pgbouncer.ini"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let pooler = Self { child, _folder: folder, url: format!("{before}@127.0.0.1:{port}/{name}") };
        eventually("it listens", || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
        pooler
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        // It runs behind `setsid --wait`, in a session of its own.
        let pid = rustix::process::Pid::from_child(&self.child);
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", pid.as_raw_nonzero()));
        for child in children.unwrap_or_default().split_whitespace().filter_map(|pid| pid.parse().ok()) {
            let child = rustix::process::Pid::from_raw(child);
            child.map(|child| rustix::process::kill_process(child, rustix::process::Signal::INT));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn instances_work_behind_a_pooler_in_transaction_mode_and_say_what_is_missing() {
    let database = OwnServer::start();
    let pooler = Pooler::start(&database);
    let (one, two) =
        (Server::start_in(home_on(&pooler.url), &[]), Server::start_in(home_on(&pooler.url), &[]));
    for round in 0..5 {
        one.chat("shared").say(&format!("a{round}"), "!say from one");
        two.chat("shared").say(&format!("b{round}"), "!tool current_time {}\n!then\n!say from two");
    }
    let said = |server: &Server| server.said("webchat:shared").len();
    // The end of the other's turn may be shown late, and be taken for that of one's own.
    eventually("all of it is stored", || ((said(&one), said(&two)) == (30, 30)).then_some(()));
    let memory = json!({"content": "The rent is paid on the 5th.", "category": "money"});
    assert_eq!(one.post("/api/memory", &memory).status, 201);
    assert_eq!(two.get("/api/memory?q=rent").json()["entries"].as_array().map(Vec::len), Some(1));
    // What runs at the other one is shown when it is stored, and the log says what would be needed.
    let mut reader = two.chat("slow");
    one.chat("slow").say("m1", "!say shown in the end");
    assert_eq!(reader.until("done").pop().map(|done| done["text"].clone()), Some(json!("shown in the end")));
    for server in [&one, &two] {
        eventually("the log says it", || server.stderr().contains("pooler in session mode").then_some(()));
    }
    // Everything else goes on: a killed instance's turn, too.
    let mut chat = one.chat("killed");
    chat.send_json(&json!({"type": "message", "id": "m1", "text": "!sleep 1000\n!say goes on"}));
    chat.until("ack");
    let killed = Instant::now();
    one.kill();
    let is_answered = || two.said("webchat:killed").last().is_some_and(|(_, last)| last == "goes on");
    eventually("it is answered", || is_answered().then_some(()));
    assert!(killed.elapsed() < Duration::from_secs(20 + 6), "{:?}", killed.elapsed());
}
