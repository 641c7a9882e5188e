//! Homes of released formats whose upgrade is killed again and again, and that are under load from their first moment on.

use std::process::Stdio;
use std::time::Duration;

use aethon_tests::server::server_command;
use aethon_tests::{Random, Request, Server};
use serde_json::json;

use super::{number, tell};
use crate::durable::upgrade::{FORMATS, assert_kept, released};

/// Callers at the same time, and what each sends.
const CALLERS: usize = 4;
const MESSAGES: usize = 12;

/// Starts a server and kills it at some moment of its start.
fn killed_in_its_start(home: &std::path::Path, random: &mut Random) {
    let mut command = server_command(home, &[]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    std::thread::sleep(Duration::from_millis(random.between(2, 120)));
    child.kill().expect("it can be killed");
    child.wait().expect("it has ended");
}

/// Sends messages under keys, from a number on. Returns how many were acknowledged with their answer.
fn call(server: &Server, caller: usize, from: usize) -> usize {
    let answered = |message: usize| {
        let text = format!("!say {caller}-{message}");
        let body = json!({"text": text, "session": format!("caller{caller}")});
        let request = Request::post("/webhook/trigger", &body)
            .header("Idempotency-Key", &format!("upgrade-{caller}-{message}"));
        let answer = aethon_tests::http::exchange(server.address, &request.bytes(server.address));
        answer.is_ok_and(|answer| answer.status == 200)
    };
    (from..MESSAGES).take_while(|message| answered(*message)).count()
}

/// All callers continue where they are; the server is killed under them on request.
fn load(server: &Server, at: &mut [usize], kill_after: Option<Duration>) {
    std::thread::scope(|scope| {
        let callers: Vec<_> = (at.iter().copied().enumerate())
            .map(|(caller, from)| scope.spawn(move || call(server, caller, from)))
            .collect();
        if let Some(wait) = kill_after {
            std::thread::sleep(wait);
            server.signal(rustix::process::Signal::KILL);
        }
        for (at, caller) in at.iter_mut().zip(callers) {
            *at += caller.join().expect("a caller ends");
        }
    });
}

/// `cargo xtask torture` runs this.
#[test]
#[ignore = "a chore that runs for minutes: cargo xtask torture"]
fn killed_upgrades_under_load_lose_nothing() {
    let rounds = number("AETHON_TORTURE_UPGRADES", 10);
    let mut random = Random::new(number("AETHON_TORTURE_SEED", 1));
    for round in 0..rounds {
        for format in FORMATS {
            let home = released(format);
            for _ in 0..random.between(0, 4) {
                killed_in_its_start(home.path(), &mut random);
            }
            let mut at = [0; CALLERS];
            let server = Server::start_in(home.clone(), &[]);
            load(&server, &mut at, Some(Duration::from_millis(random.between(5, 150))));
            let server = Server::start_in(server.kill(), &[]);
            load(&server, &mut at, None);
            assert_eq!(at, [MESSAGES; CALLERS], "every caller comes to its end");
            for caller in 0..CALLERS {
                let said = server.exported(&format!("webhook:trigger:caller{caller}"));
                let answers: Vec<&str> = said
                    .iter()
                    .filter(|(role, _)| role == "assistant")
                    .map(|(_, text)| text.trim_end())
                    .collect();
                let expected: Vec<String> =
                    (0..MESSAGES).map(|message| format!("{caller}-{message}")).collect();
                assert_eq!(answers, expected, "round {round}, format {format}, caller {caller}");
            }
            server.terminate();
            assert_kept(&home, format);
        }
    }
    tell(&format!("{rounds} upgrades of each released format were killed and under load; nothing was lost"));
}
