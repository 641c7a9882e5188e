//! Stopping: SIGTERM, SIGINT, the grace period, the second signal (docs/behaviour.md).

use std::io::{BufRead as _, BufReader, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use aethon_tests::http::{Request, connect};
use aethon_tests::server::server_command;
use aethon_tests::{Server, eventually, home};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

#[test]
fn sigterm_and_sigint_exit_with_status_0() {
    for signal in [Signal::TERM, Signal::INT] {
        let server = Server::start(&[]);
        server.signal(signal);
        assert_eq!(server.wait().0.code(), Some(0), "{signal:?}");
    }
}

#[test]
fn open_sockets_are_closed_with_1001() {
    let server = Server::start(&[]);
    let mut sockets = vec![server.socket("/ws/chat"), server.chat("default"), server.socket("/ws/dashboard")];
    // An idle connection does not hold the end up.
    let _idle = connect(server.address);
    let begun = Instant::now();
    server.signal(Signal::TERM);
    for socket in &mut sockets {
        assert_eq!(socket.close_code(), 1001);
    }
    assert_eq!(server.wait().0.code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(5), "nothing ran, so there is nothing to wait for");
}

#[test]
fn endless_request_does_not_delay_the_shutdown() {
    let server = Server::start(&[]);
    let mut half = connect(server.address);
    half.write_all(b"GET /health HT").unwrap();
    let begun = Instant::now();
    assert_eq!(server.terminate().code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(5), "no turn runs, so there is nothing to wait for");
}

#[test]
fn shutdown_lets_a_running_turn_finish() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "message", "id": "m1", "text": "!stream 20 20\n!say finished"}));
    chat.until("delta");
    server.signal(Signal::TERM);
    let done = chat.until("done").pop().unwrap();
    assert_eq!(done["stop_reason"], "end");
    assert!(done["text"].as_str().unwrap().ends_with("finished"), "{done}");
    assert_eq!(chat.close_code(), 1001);
    let home = server.home();
    assert_eq!(server.wait().0.code(), Some(0));

    let server = Server::start_in(home, &[]);
    let said = server.said("webchat:default");
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[1].1.ends_with("finished"));
}

#[test]
fn shutdown_refuses_new_connections() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "message", "id": "m1", "text": "!stream 1000 20"}));
    chat.until("delta");
    server.signal(Signal::TERM);
    eventually("the port is closed", || TcpStream::connect(server.address).is_err().then_some(()));
}

#[test]
fn interrupted_turn_without_an_id_is_stored_after_the_grace_period() {
    let server = Server::start(&["server.shutdown_grace=1"]);
    let mut socket = server.socket("/ws/chat");
    socket.send("!stream 2000 20");
    eventually("it is stored", || (server.get("/api/sessions").json()["count"] == 1).then_some(()));
    let begun = Instant::now();
    server.signal(Signal::TERM);
    let home = server.home();
    assert_eq!(server.wait().0.code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(6), "the grace is one second");

    let server = Server::start_in(home, &[]);
    let said = server.said("webchat:default");
    assert_eq!(said[0], ("user".into(), "!stream 2000 20".into()));
    assert!(said[1].0 == "assistant" && said[1].1.starts_with("token1 token2 "), "{said:?}");
    // It was stopped, so it is not taken up again by itself: the session is free.
    let mut chat = server.chat("default");
    assert_eq!(chat.say("m2", "!say next").last().unwrap()["text"], "next");
}

#[test]
fn turn_with_an_id_beyond_the_grace_period_is_answered_after_restart() {
    let server = Server::start(&["server.shutdown_grace=1"]);
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "message", "id": "m1", "text": "!stream 200 20\n!say whole"}));
    chat.until("delta");
    let begun = Instant::now();
    server.signal(Signal::TERM);
    let home = server.home();
    assert_eq!(server.wait().0.code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(6), "the grace is one second");

    let server = Server::start_in(home, &[]);
    let said = eventually("it is answered", || {
        let said = server.said("webchat:default");
        (said.len() == 2).then_some(said)
    });
    assert!(said[1].1.starts_with("token1 token2 ") && said[1].1.ends_with("whole"), "{said:?}");
}

#[test]
fn second_signal_exits_at_once_and_loses_nothing_acknowledged() {
    let server = Server::start(&["server.shutdown_grace=60"]);
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "message", "id": "m1", "text": "!stream 40 25\n!say answer-1"}));
    chat.send_json(&json!({"type": "message", "id": "m2", "text": "!say answer-2"}));
    chat.until("ack");
    chat.until("ack");
    let begun = Instant::now();
    server.signal(Signal::TERM);
    eventually("the port is closed", || TcpStream::connect(server.address).is_err().then_some(()));
    server.signal(Signal::TERM);
    let home = server.home();
    assert_eq!(server.wait().0.code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(5), "at once");

    let server = Server::start_in(home, &[]);
    let said = eventually("both are answered", || {
        let said = server.said("webchat:default");
        (said.len() >= 4 && server.get("/api/sessions/webchat:default").json()["busy"] == false)
            .then_some(said)
    });
    let questions: Vec<&str> =
        said.iter().filter(|(role, _)| role == "user").map(|(_, text)| text.as_str()).collect();
    assert_eq!(questions, ["!stream 40 25\n!say answer-1", "!say answer-2"]);
    assert!(said.iter().any(|(_, text)| text == "answer-2"), "{said:?}");
}

#[test]
fn shutdown_under_load_is_orderly() {
    let server = Server::start(&["server.shutdown_grace=5"]);
    let address = server.address;
    let load: Vec<_> = (0..4)
        .map(|worker| {
            std::thread::spawn(move || {
                let body = json!({"text": format!("!say worker {worker}")});
                let mut answered = 0_u32;
                // Ends when the server does.
                while let Ok(mut connection) = TcpStream::connect(address) {
                    let request = Request::post(&format!("/webhook/load{worker}"), &body);
                    if connection.write_all(&request.bytes(address)).is_err() {
                        break;
                    }
                    let mut reader = std::io::BufReader::new(connection);
                    match aethon_tests::Response::read(&mut reader, false) {
                        Ok(answer) if answer.status == 200 => answered += 1,
                        _ => break,
                    }
                }
                answered
            })
        })
        .collect();
    eventually("every worker has a session", || {
        let sessions = server.get("/api/sessions").json();
        (sessions["count"] == 4).then_some(())
    });
    let home = server.home();
    assert_eq!(server.terminate().code(), Some(0));
    let answered: Vec<u32> = load.into_iter().map(|worker| worker.join().unwrap()).collect();

    let server = Server::start_in(home, &[]);
    for (worker, answered) in answered.into_iter().enumerate() {
        let said = server.said(&format!("webhook:load{worker}"));
        let replies = said.iter().filter(|(role, _)| role == "assistant").count();
        assert!(replies >= answered as usize, "{replies} of {answered} answers are stored");
    }
}

#[test]
fn broken_storage_delays_the_shutdown_briefly() {
    let server = Server::start_breakable(&["server.shutdown_grace=1"]);
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "message", "id": "m1", "text": "!sleep 300\n!say whole"}));
    chat.until("ack");
    server.break_disk();
    eventually("the storage fails", || (server.get("/api/ready").status == 503).then_some(()));
    let begun = Instant::now();
    server.signal(Signal::TERM);
    assert_eq!(server.wait().0.code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(6), "the storage has its share of the time, and no more");
}

#[test]
fn early_sighup_does_not_end_the_server() {
    let home = home();
    let mut command = server_command(home.path(), &[]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let process = Pid::from_child(&child);
    // From `exec` to the first instruction the signal has its usual effect; from then on it is caught.
    let hangup: u64 = 1 << (Signal::HUP.as_raw() - 1);
    eventually("hangups are caught", || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
        (u64::from_str_radix(caught.trim(), 16).ok()? & hangup != 0).then_some(())
    });
    // Long before it can listen.
    for _ in 0..100 {
        kill_process(process, Signal::HUP).unwrap();
    }
    let mut greeting = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut greeting).unwrap();
    assert!(greeting.contains("listening on"), "{greeting:?}");
    kill_process(process, Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
