//! `channels.webchat.socket`: the application on a Unix socket, beside the port or in its place, for the owner alone.

use std::io::{BufReader, Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use aethon_tests::server::server_command;
use aethon_tests::socket::of_type;
use aethon_tests::{Request, Response, Server, eventually, home, run_cli, run_server};
use serde_json::{Value, json};

const ONLY: [&str; 2] = ["channels.webchat.port=-1", "channels.webchat.socket=\"a.sock\""];

fn socket_of(server: &Server) -> PathBuf {
    server.home().path().canonicalize().unwrap().join("run/a.sock")
}

fn send(path: &Path, request: &Request) -> Response {
    let mut stream = UnixStream::connect(path).expect("it serves");
    stream.set_read_timeout(Some(aethon_tests::http::TIMEOUT)).unwrap();
    // Only the Host is made of this address.
    stream.write_all(&request.bytes("127.0.0.1:80".parse().unwrap())).unwrap();
    Response::read(&mut BufReader::new(stream), false).expect("an answer")
}

#[test]
fn unix_socket_alone_serves_its_owner_only() {
    let server = Server::start(&ONLY);
    let path = socket_of(&server);
    assert_eq!(
        server.greeting,
        format!("aethon {} listening on unix:{}", env!("CARGO_PKG_VERSION"), path.display())
    );
    let found = std::fs::symlink_metadata(&path).unwrap();
    assert!(found.file_type().is_socket());
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
    assert_eq!(send(&path, &Request::get("/health")).json(), json!({"status": "ok"}));
    assert_eq!(send(&path, &Request::get("/api/status")).json()["status"], "running");
    let reply = send(&path, &Request::post("/webhook/trigger", &json!({"text": "!say hello"})));
    assert_eq!(reply.status, 200, "{}", reply.text());
    // The rules for Host and Origin are those of loopback.
    assert_eq!(send(&path, &Request::get("/api/status").header("Host", "evil.example")).status, 421);
    let foreign =
        Request::post("/webhook/trigger", &json!({"text": "x"})).header("Origin", "https://evil.example");
    assert_eq!(send(&path, &foreign).status, 403);
    assert_eq!(server.terminate().code(), Some(0));
    assert!(!path.exists(), "it is removed at the end");
}

#[test]
fn port_and_unix_socket_are_both_served() {
    let server =
        Server::start(&["channels.webchat.socket=\"a.sock\"", "dashboard.auth_token=a-token-of-the-owner"]);
    assert!(server.greeting.contains("http://127.0.0.1:"), "{}", server.greeting);
    let path = socket_of(&server);
    assert_eq!(server.get("/health").status, 200);
    assert_eq!(send(&path, &Request::get("/api/status")).status, 401, "the token counts there, too");
    let with = Request::get("/api/status").bearer("a-token-of-the-owner");
    assert_eq!(send(&path, &with).status, 200);
    let log = server.stderr();
    assert!(log.contains("a.sock"), "{log}");
}

#[test]
fn proxy_on_the_unix_socket_is_believed_if_it_is_named() {
    let token = "dashboard.auth_token=a-token-of-the-owner";
    for (named, is_believed) in
        [("server.trusted_proxies=[\"unix\"]", true), ("server.trusted_proxies=[]", false)]
    {
        let server = Server::start(&[&ONLY[..], &[token, named]].concat());
        let sign_in = Request::get("/dashboard?token=a-token-of-the-owner")
            .header("X-Forwarded-For", "203.0.113.9")
            .header("X-Forwarded-Proto", "https");
        let cookie = send(&socket_of(&server), &sign_in).header("set-cookie").unwrap().to_owned();
        assert_eq!(cookie.ends_with("; Secure"), is_believed, "{named}: {cookie}");
    }
}

#[test]
fn the_terminal_attaches_through_the_socket() {
    let server = Server::start(&ONLY);
    let home = server.home();
    let asked = run_cli(home.path(), &["--set", "model.provider=fake", "ask", "!say from the socket"], None);
    let out = String::from_utf8_lossy(&asked.stdout);
    assert!(asked.status.success() && out.contains("from the socket"), "{asked:?}");
    // The daemon answered it: it has the session.
    let sessions = send(&socket_of(&server), &Request::get("/api/sessions")).json();
    assert_eq!(sessions["count"], 1, "{sessions}");
    let listed = run_cli(home.path(), &["sessions", "list", "--json"], None);
    assert!(listed.status.success(), "{listed:?}");
    let address = format!("unix:{}", socket_of(&server).display());
    let elsewhere = aethon_tests::home();
    let named = run_cli(elsewhere.path(), &["--connect", &address, "ask", "!say named"], None);
    assert!(String::from_utf8_lossy(&named.stdout).contains("named"), "{named:?}");
    let doctor = run_cli(home.path(), &["--set", "model.provider=fake", "doctor", "--json"], None);
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("unix:"), "{doctor:?}");
}

#[test]
fn stale_unix_socket_is_replaced_and_a_live_one_kept() {
    let server = Server::start(&ONLY);
    let path = socket_of(&server);
    let home = server.kill();
    assert!(path.exists(), "a killed server leaves it behind");
    let command = server_command(home.path(), &ONLY);
    let server = Server::start_command(home.clone(), command);
    assert_eq!(send(&path, &Request::get("/health")).status, 200);
    assert_eq!(server.terminate().code(), Some(0));

    let refused = |setting: &str, words: &[&str]| {
        let set = format!("channels.webchat.socket=\"{setting}\"");
        let output = run_server(
            home.path(),
            &["--set", "model.provider=fake", "--set", "channels.webchat.port=-1", "--set", &set],
        );
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{setting}: {said}");
        for word in words.iter().chain(&["channels.webchat.socket"]) {
            assert!(said.contains(word), "{word}: {said}");
        }
    };
    let listener = UnixListener::bind(&path).unwrap();
    refused("a.sock", &["another program serves"]);
    drop(listener);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "mine").unwrap();
    refused("a.sock", &["no socket"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    std::fs::remove_file(&path).unwrap();
    symlink(home.path().join("elsewhere.sock"), &path).unwrap();
    refused("a.sock", &["no socket"]);
    assert!(!home.path().join("elsewhere.sock").exists(), "a link is not followed");
    refused(&"x".repeat(150), &["at most"]);
    refused("/tmp/a.sock", &["folder of your own"]);
    refused("nowhere/a.sock", &["mkdir"]);
    let nothing = run_server(home.path(), &["--set", "channels.webchat.port=-1"]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("channels.webchat.socket"));
}

#[test]
fn commands_cannot_connect_to_the_unix_socket() {
    let home = home();
    let server = Server::start_command(
        home.clone(),
        server_command(home.path(), &["channels.webchat.socket=\"a.sock\""]),
    );
    let path = socket_of(&server);
    let script = format!(
        "import socket\ns = socket.socket(socket.AF_UNIX)\ntry:\n  s.settimeout(10)\n  s.connect({:?})\n  \
         s.sendall(b'GET /api/config HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n')\n  \
         print('ANSWER', s.recv(65536).decode().split('\\r\\n')[0])\nexcept OSError as error:\n  print('CLOSED', error)\n",
        path.display().to_string()
    );
    std::fs::write(home.path().join("workspace/try.py"), script).unwrap();
    let mut chat = server.chat("default");
    for (id, command) in [("m1", "python3 try.py"), ("m2", "setsid -w env -i /usr/bin/python3 try.py")] {
        let text = format!("!tool shell {}", json!({"command": command}));
        chat.send_json(&json!({"type": "message", "id": id, "text": text}));
        let frames = chat.until("done");
        let said = of_type(&frames, "done").last().unwrap()["text"].as_str().unwrap().to_owned();
        // Where this machine has no walls at all, a command is like any other program of the owner.
        let has_walls = !server.stderr().contains("on this machine a command could");
        assert!(!has_walls || said.contains("403") || said.contains("CLOSED"), "{command}: {said}");
        assert!(!said.contains("200 OK") || !has_walls, "{said}");
    }
    assert_eq!(send(&path, &Request::get("/health")).status, 200, "the owner's own programs still may");
}

#[test]
fn unix_socket_has_limits_of_its_own() {
    let server =
        Server::start(&["channels.webchat.socket=\"a.sock\"", "dashboard.auth_token=a-token-of-the-owner"]);
    let path = socket_of(&server);
    for _ in 0..60 {
        assert_eq!(server.send(&Request::get("/api/status").bearer("wrong")).status, 401);
    }
    assert_eq!(server.send(&Request::get("/api/status").bearer("wrong")).status, 429);
    assert_eq!(send(&path, &Request::get("/api/status").bearer("wrong")).status, 401, "counted apart");
    eventually("the row of the wrong token is stored", || {
        let rows = send(&path, &Request::get("/api/audit").bearer("a-token-of-the-owner")).json();
        let is_told = |row: &Value| row["by"] == "unix-socket" && row["outcome"] == "wrong";
        rows["audit"].as_array().unwrap().iter().any(is_told).then_some(())
    });
    let mut half = UnixStream::connect(&path).unwrap();
    half.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    half.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    half.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn unix_socket_in_a_tool_writable_folder_is_refused_with_a_remedy() {
    let home = home();
    let shared = home.path().join("workspace");
    std::fs::create_dir(&shared).unwrap();
    std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(0o700)).unwrap();
    // The home folder of the person, which is not that of the assistant.
    let person = aethon_tests::home();
    let way = person.path().join("way");
    symlink(&shared, &way).unwrap();
    let check = |socket: &str, extra: &[&str], is_refused: bool| {
        let set = format!("channels.webchat.socket=\"{socket}\"");
        let sets = [&set, "channels.webchat.port=-1", "model.provider=fake"];
        let sets = sets.iter().chain(extra).flat_map(|set| ["--set", set]);
        let mut command = aethon_tests::program("aethon-server", home.path());
        command.env("HOME", person.path()).args(sets).arg("--check");
        let output = aethon_tests::run(&mut command, None);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(if is_refused { 2 } else { 0 }), "{socket}: {said}");
        let has_remedy = said.contains("channels.webchat.socket") && said.contains("run/ of the home");
        assert_eq!(has_remedy, is_refused, "{socket}: {said}");
    };
    let text = |path: &Path| path.display().to_string();
    check(&text(&shared.join("a.sock")), &[], true);
    check("../workspace/a.sock", &[], true);
    check("../workspace/not/there/a.sock", &[], true);
    check(&text(&way.join("a.sock")), &[], true);
    check(&text(&way.join("a.sock")), &["security.workspace_only=true"], true);
    check(&text(&person.path().join("a.sock")), &[], true);
    check(&text(&person.path().join("a.sock")), &["security.workspace_only=true"], false);
    check(&text(&person.path().join(".ssh/a.sock")), &[], false);
    check("a.sock", &[], false);
    // The start says the same, and nothing is made there.
    let output = run_server(
        home.path(),
        &["--set", "model.provider=fake", "--set", "channels.webchat.socket=\"../workspace/a.sock\""],
    );
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(!shared.join("a.sock").exists());
}
