//! Several programs on one home. A question without a daemon runs in the terminal's own process, a guest.

use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use aethon_tests::{Server, Terminal, eventually, home, program, run_cli};
use rustix::process::{Pid, Signal, kill_process};

/// How long it may take until a guest that was killed is taken over: its lease, two looks, and a busy machine.
const TAKEN_OVER: Duration = Duration::from_secs(90);

fn arguments<'a>(session: &'a str, question: &'a str) -> [&'a str; 6] {
    ["--set", "model.provider=fake", "ask", "--session", session, question]
}

/// A question that a process of its own answers, once its message is stored.
fn guest(home: &Path, question: &str) -> Child {
    let mut command = program("aethon-cli", home);
    let child = command.args(arguments("s", question)).stdout(Stdio::piped()).spawn().unwrap();
    eventually("the question is stored", || {
        let shown = run_cli(home, &["sessions", "show", "webchat:s"], None);
        shown.status.success().then_some(())
    });
    child
}

fn answer(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Checks that each question is followed by its answer. Returns the answers, in their order.
fn answers(server: &Server) -> Vec<String> {
    let said = server.said("webchat:s");
    let pairs = said.chunks(2).map(|pair| {
        let [(asking, question), (answering, answer)] = pair else { panic!("a question alone: {said:?}") };
        assert_eq!((asking.as_str(), answering.as_str()), ("user", "assistant"), "{said:?}");
        assert!(question.ends_with(answer.as_str()), "{said:?}");
        answer.clone()
    });
    pairs.collect()
}

#[test]
fn questions_of_several_processes_in_a_session_get_paired_answers() {
    let home = home();
    let ask = |number: usize| {
        let question = format!("!sleep 200\n!say answer {number}");
        answer(&run_cli(home.path(), &arguments("s", &question), None))
    };
    let told: Vec<String> = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..4).map(|number| scope.spawn(move || ask(number))).collect();
        asking.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(told, ["answer 0", "answer 1", "answer 2", "answer 3"], "each prints its own");
    let mut stored = answers(&Server::start_in(home, &[]));
    stored.sort_unstable();
    assert_eq!(stored, told);
}

#[test]
fn daemon_started_beside_a_guest_lets_it_finish() {
    let home = home();
    let guest = guest(home.path(), "!sleep 4000\n!say by the guest");
    let server = Server::start_in(home.clone(), &[]);
    // Messages to the daemon meanwhile wait for it.
    assert_eq!(answer(&run_cli(home.path(), &arguments("s", "!say by the daemon"), None)), "by the daemon");
    assert_eq!(answer(&guest.wait_with_output().unwrap()), "by the guest");
    assert_eq!(answers(&server), ["by the guest", "by the daemon"]);
}

#[test]
fn daemon_takes_over_a_killed_guest() {
    let home = home();
    let mut guest = guest(home.path(), "!sleep 600000\n!say never");
    let server = Server::start_in(home, &[]);
    assert_eq!(server.messages("webchat:s").len(), 1, "its question is not touched while it lives");
    guest.kill().unwrap();
    guest.wait().unwrap();
    let deadline = Instant::now() + TAKEN_OVER;
    let messages = loop {
        let messages = server.messages("webchat:s");
        if messages.len() > 1 {
            break messages;
        }
        assert!(Instant::now() < deadline, "nobody takes it over");
        std::thread::sleep(Duration::from_millis(100));
    };
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[1]["content"][0]["code"], "interrupted", "{messages:?}");
    // And the conversation continues.
    assert_eq!(answer(&run_cli(server.home().path(), &arguments("s", "!say again"), None)), "again");
}

/// Ends the turn of a guest: it receives a stop, and stores the cancellation.
fn stop(guest: Child) {
    kill_process(Pid::from_child(&guest), Signal::INT).unwrap();
    assert_eq!(guest.wait_with_output().unwrap().stdout, b"Stopped.\n");
}

#[test]
fn end_of_a_guests_turn_reaches_all_clients_of_the_daemon() {
    let home = home();
    let guest = guest(home.path(), "!sleep 600000");
    let server = Server::start_in(home.clone(), &[]);
    let mut chat = program("aethon-cli", home.path());
    let mut terminal = Terminal::start(chat.args(["chat", "--session", "s"]));
    terminal.wait_for_prompt();
    let mut page = server.chat("s");
    page.settle();
    stop(guest);
    let frames = page.until("done");
    assert_eq!(frames.last().unwrap()["text"], "Stopped.", "{frames:?}");
    terminal.wait_for_screen("the guest's turn", |screen| screen.contains("\u{2506} (stopped)"));
    // Later messages arrive in order, and none twice.
    page.say("m1", "!say by the daemon");
    let screen =
        terminal.wait_for_screen("the daemon's answer", |screen| screen.contains("\u{2506} by the daemon"));
    let lines = screen.lines().filter_map(|line| line.strip_prefix("\u{2506} "));
    let answers: Vec<&str> = lines.filter(|line| ["(stopped)", "by the daemon"].contains(line)).collect();
    assert_eq!(answers, ["(stopped)", "by the daemon"], "{screen}");
}

#[test]
fn messages_queued_behind_a_guest_follow_the_end_of_its_turn() {
    let home = home();
    let guest = guest(home.path(), "!sleep 600000");
    let server = Server::start_in(home, &[]);
    let mut page = server.chat("s");
    page.send_json(&serde_json::json!({"type": "message", "id": "m1", "text": "!say by the daemon"}));
    page.until("notice");
    stop(guest);
    let mut end = || page.until("done").pop().unwrap()["text"].take();
    assert_eq!([end(), end()], ["Stopped.", "by the daemon"]);
}
