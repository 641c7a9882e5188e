//! What a person sees and types in the terminal chat while a reply is on its way.

use aethon_tests::{Server, Terminal, eventually, program};

/// The terminal chat beside a server, ready for the first line.
fn chat(server: &Server) -> Terminal {
    let mut terminal = Terminal::start_sized(&mut program("aethon-cli", server.home().path()), 100, 40);
    terminal.wait_for_prompt();
    terminal
}

/// The messages of people in the default session.
fn asked(server: &Server) -> Vec<String> {
    let said = server.said("webchat:default").into_iter();
    said.filter(|(role, _)| role == "user").map(|(_, text)| text).collect()
}

#[test]
fn a_line_says_what_is_waited_for_and_since_when() {
    let server = Server::start(&["approval.enabled=false"]);
    let mut terminal = chat(&server);
    terminal.press("!sleep 2500\u{1b}\r!say done\r");
    terminal.wait_for_screen("the first second", |screen| screen.contains("· thinking 1 s  (Ctrl-C stops)"));
    terminal.wait_for_screen("the second one", |screen| screen.contains("· thinking 2 s"));
    let screen = terminal.wait_for_prompt();
    assert!(screen.contains("\ndone\n") && !screen.contains("thinking"), "it is gone: {screen}");
    assert!(screen.contains(" tokens in, ") && screen.contains(" out · 2 s"), "{screen}");
    terminal.press("!tool shell {\"command\": \"sleep 1.5\"}\r");
    terminal.wait_for_screen("the tool", |screen| screen.contains("· running shell 1 s"));
    assert!(!terminal.wait_for_prompt().contains("running"));
}

#[test]
fn typed_text_is_visible_queued_and_sent_in_order() {
    let server = Server::start(&[]);
    let mut terminal = chat(&server);
    terminal.press("!sleep 1500\u{1b}\r!say first\r");
    terminal.wait_for_screen("the wait", |screen| screen.contains("thinking"));
    terminal.press("!say second\r!say thrid");
    terminal.press("\u{7f}\u{7f}\u{7f}");
    let screen = terminal.wait_for_screen("both", |screen| screen.ends_with("> !say th"));
    assert!(screen.contains("  queued: !say second\n"), "{screen}");
    // The rest of the line is still there when the queue is empty.
    let screen = terminal.wait_for_screen("the line", |screen| {
        screen.contains("\nsecond\n") && screen.ends_with("> !say th") && !screen.contains("thinking")
    });
    assert!(!screen.contains("queued") && screen.contains("> !say second\n"), "{screen}");
    terminal.press("ird\r");
    let screen = terminal.wait_for_screen("the third", |screen| screen.contains("\nthird\n"));
    assert!(screen.find("\nfirst\n") < screen.find("\nsecond\n"), "{screen}");
    terminal.wait_for_prompt();
    assert_eq!(asked(&server), ["!sleep 1500\n!say first", "!say second", "!say third"]);
    // A queued message is in the history like any other.
    terminal.press("\u{1b}[A\u{1b}[A");
    terminal.wait_for_screen("the history", |screen| screen.ends_with("> !say second"));
}

#[test]
fn ctrl_c_keeps_everything_that_was_typed() {
    let server = Server::start(&[]);
    let mut terminal = chat(&server);
    terminal.press("!sleep 60000\r");
    terminal.wait_for_screen("the wait", |screen| screen.contains("thinking"));
    terminal.press("!say queued\rrest");
    terminal.wait_for_screen("the line", |screen| screen.ends_with("> rest"));
    terminal.interrupt();
    terminal.wait_for_screen("the line", |screen| {
        screen.contains("· stopped") && screen.ends_with("> !say queued\n. rest")
    });
    assert_eq!(asked(&server), ["!sleep 60000"], "nothing was sent by itself");
    // The next Ctrl-C clears the line and does not leave.
    terminal.press("\u{3}");
    terminal.wait_for_screen("the hint", |screen| screen.contains("again to leave"));
    terminal.press("!say alive\r");
    terminal.wait_for_screen("the answer", |screen| screen.contains("\nalive\n"));
}

#[test]
fn stop_is_understood_during_a_reply() {
    let server = Server::start(&[]);
    let mut terminal = chat(&server);
    terminal.press("!sleep 60000\r");
    terminal.wait_for_screen("the wait", |screen| screen.contains("thinking"));
    terminal.press("/stop\r");
    terminal.wait_for_screen("the end", |screen| screen.contains("· stopped"));
    terminal.wait_for_prompt();
    assert_eq!(asked(&server), ["!sleep 60000"]);
}

#[test]
fn unsent_text_is_in_the_history_when_the_chat_ends() {
    let server = Server::start(&[]);
    let mut terminal = chat(&server);
    terminal.press("!sleep 60000\r");
    terminal.wait_for_screen("the wait", |screen| screen.contains("thinking"));
    terminal.press("a long thought\rand more");
    terminal.wait_for_screen("the line", |screen| screen.ends_with("> and more"));
    terminal.signal(rustix::process::Signal::TERM);
    terminal.wait_for_text("not sent, and kept in the history of the line:");
    terminal.wait_for_text("and more");
    assert_eq!(terminal.end().code(), Some(0));
    let history = server.home().path().join("run/history");
    eventually("the history has it", || {
        let text = std::fs::read_to_string(&history).unwrap_or_default();
        (text.contains("a long thought") && text.contains("and more")).then_some(())
    });
}

#[test]
fn keys_from_before_a_question_are_a_message_and_no_answer() {
    let server = Server::start(&["approval.enabled=true", "approval.requires_approval=[\"file_read\"]"]);
    let mut terminal = chat(&server);
    terminal.press("!sleep 800\u{1b}\r!tool file_read {\"path\": \"notes.txt\"}\r");
    terminal.wait_for_screen("the wait", |screen| screen.contains("thinking"));
    terminal.press("yes\r");
    terminal.wait_for_screen("the message", |screen| screen.contains("  queued: yes"));
    terminal.wait_for_screen("the question", |screen| screen.ends_with("denies:"));
    terminal.press("no\r");
    terminal.wait_for_screen("the denial", |screen| screen.contains("file_read: denied"));
    terminal.wait_for_screen("the message", |screen| screen.contains("\n> yes\n"));
    terminal.wait_for_prompt();
    assert_eq!(asked(&server)[1], "yes");
}
