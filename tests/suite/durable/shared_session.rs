//! Several writers in one session: a terminal follows its own turn and says whose the others are. Issue 7, items 1 and 29.

use std::path::Path;
use std::process::Output;

use aethon_tests::{Server, Terminal, eventually, program, run_cli};
use serde_json::{Value, json};

fn ask(home: &Path, session: &str, text: &str) -> Output {
    run_cli(home, &["ask", "--session", session, text], None)
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

#[test]
fn ten_questions_at_once_in_one_session_get_their_own_answers() {
    let server = Server::start(&[]);
    let home = server.home();
    let answers: Vec<(usize, Value)> = std::thread::scope(|scope| {
        let asking = |number: usize| {
            let home = home.path();
            move || {
                let text = format!("!sleep {}\n!say answer {number}.", number % 3 * 20);
                let output = run_cli(home, &["ask", "--json", "--session", "shared", &text], None);
                (number, serde_json::from_str(&said(&output)).expect("JSON"))
            }
        };
        let all: Vec<_> = (0..10).map(|number| scope.spawn(asking(number))).collect();
        all.into_iter().map(|one| one.join().expect("it was asked")).collect()
    });
    let messages = server.messages("webchat:shared");
    for (number, answer) in &answers {
        assert_eq!(answer["text"], format!("answer {number}."), "{answers:?}");
        let turn: Vec<&Value> = messages.iter().filter(|message| message["turn"] == answer["turn"]).collect();
        let stored: String = turn.iter().map(|message| message["content"].to_string()).collect();
        assert_eq!(turn.len(), 2, "{answer}");
        assert!(stored.contains(&format!("!say answer {number}.")), "{answer} is of another turn: {stored}");
    }
}

#[test]
fn question_queued_behind_another_writer_gets_its_own_answer() {
    let server = Server::start(&[]);
    let mut other = server.chat("shared");
    other.send_json(&json!({"type": "message", "id": "m1", "text": "!sleep 600\n!say theirs"}));
    other.until("ack");
    let home = server.home();
    assert_eq!(said(&ask(home.path(), "shared", "!say mine")), "mine");
    let answer = run_cli(home.path(), &["ask", "--json", "-s", "shared", "!say mine again"], None);
    let answer: Value = serde_json::from_str(&said(&answer)).expect("JSON");
    assert_eq!((&answer["text"], &answer["session_id"]), (&"mine again".into(), &"webchat:shared".into()));
}

#[test]
fn terminal_chat_shows_other_writers_and_keeps_the_input_line() {
    let server = Server::start(&[]);
    let mut terminal = Terminal::start(&mut program("aethon-cli", server.home().path()));
    terminal.wait_for_prompt();
    terminal.press("half a thou");
    terminal.wait_for_screen("what is typed", |screen| screen.ends_with("> half a thou"));
    let mut other = server.chat("default");
    other.say("m1", "!say a **loud** answer");
    let screen = terminal.wait_for_screen("the other message", |screen| screen.contains("a loud answer"));
    assert!(screen.contains("┆ elsewhere: !say a **loud** answer\n┆ a loud answer"), "{screen}");
    terminal.wait_for_screen("the line as it was", |screen| screen.ends_with("> half a thou"));
    terminal.press("\u{15}");
    terminal.wait_for_prompt();
    terminal.enter("!say my own");
    let screen = terminal.wait_for_prompt();
    assert!(screen.contains("> !say my own") && screen.contains("\nmy own\n"), "{screen}");
    assert_eq!(screen.matches("a loud answer").count(), 1, "{screen}");
}

#[test]
fn interleaved_writers_each_get_their_own_answers() {
    let server = Server::start(&[]);
    let mut other = server.chat("default");
    let mut terminal = Terminal::start(&mut program("aethon-cli", server.home().path()));
    terminal.wait_for_prompt();
    for round in 0..4 {
        let message = json!({"type": "message", "id": format!("m{round}"),
            "text": format!("!sleep 150\n!say theirs {round}.")});
        other.send_json(&message);
        other.until("ack");
        terminal.enter(&format!("!say mine {round}."));
        let screen = terminal.wait_for_screen("both answers", |screen| {
            screen.contains(&format!("\nmine {round}.\n")) && screen.contains(&format!("┆ theirs {round}."))
        });
        let theirs = screen.find(&format!("┆ theirs {round}.")).expect("theirs");
        assert!(theirs < screen.find(&format!("\nmine {round}.\n")).expect("mine"), "{screen}");
        terminal.wait_for_prompt();
        other.until("done");
    }
    assert_eq!(server.said("webchat:default").len(), 16);
}

#[test]
fn ctrl_c_stops_the_own_turn_only() {
    let server = Server::start(&[]);
    let mut other = server.chat("default");
    let mut terminal = Terminal::start(&mut program("aethon-cli", server.home().path()));
    terminal.wait_for_prompt();
    other.send_json(&json!({"type": "message", "id": "m1", "text": "!stream 40 30\n!say theirs is whole"}));
    let turn = other.until("delta").last().unwrap()["turn"].clone();
    terminal.enter("!stream 400 30");
    eventually("the second message waits", || {
        let pending = server.get("/api/sessions/webchat:default").json()["pending"].as_array()?.len();
        (pending == 2).then_some(())
    });
    terminal.interrupt();
    let done =
        std::iter::repeat_with(|| other.until("done").pop().unwrap()).find(|done| done["turn"] == turn);
    let text = done.unwrap()["text"].to_string();
    assert!(text.ends_with("theirs is whole\""), "{text}");
    terminal.wait_for_screen("the stop", |screen| screen.contains("stopped"));
}
