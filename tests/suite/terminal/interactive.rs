//! `aethon-cli` at a real terminal: colour, hidden input, questions.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use aethon_tests::terminal::plain;
use aethon_tests::{Server, Terminal, home, program};

/// The terminal chat in this home, ready for the first line.
fn chat(home: &Path, settings: &[&str]) -> Terminal {
    let mut command = program("aethon-cli", home);
    for setting in ["model.provider=fake"].iter().chain(settings) {
        command.args(["--set", setting]);
    }
    let mut terminal = Terminal::start(&mut command);
    terminal.wait_for_text("> ");
    terminal
}

/// Whether a text sets colours or weights; moving the cursor does not count.
fn has_colour(text: &str) -> bool {
    text.split("\u{1b}[")
        .skip(1)
        .any(|code| code.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'))
}

#[test]
fn a_reply_is_rendered_and_streamed() {
    let home = home();
    let mut terminal = chat(home.path(), &[]);
    terminal.press("!say **bo**ld and `code`\r");
    let shown = plain(&terminal.wait_for_text("code\u{1b}"));
    assert!(shown.contains("bold and code"), "{shown}");
    terminal.wait_for_text("> ");
    terminal.press("!stream 30 20\r");
    terminal.wait_for_text("token3");
    terminal.wait_for_text("token30");
    terminal.wait_for_text("> ");
    terminal.press("/quit\r");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn no_color_is_honoured() {
    let home = home();
    let mut command = program("aethon-cli", home.path());
    command.env("NO_COLOR", "1").args(["--set", "model.provider=fake", "ask", "!say **bo**ld and `code`"]);
    let mut terminal = Terminal::start(&mut command);
    terminal.wait_for_text("bold and");
    assert!(!has_colour(&terminal.all()), "{:?}", terminal.all());
    assert_eq!(terminal.end().code(), Some(0));
    let mut command = program("aethon-cli", home.path());
    command.args(["--set", "model.provider=fake", "ask", "!say **bo**ld"]);
    let mut terminal = Terminal::start(&mut command);
    terminal.wait_for_text("bo\u{1b}");
    assert!(has_colour(&terminal.all()), "without it there is colour: {:?}", terminal.all());
}

#[test]
fn ctrl_c_stops_the_turn_and_keeps_the_chat() {
    let home = home();
    let mut terminal = chat(home.path(), &[]);
    terminal.press("!stream 2000 20\r");
    terminal.wait_for_text("token3");
    terminal.interrupt();
    terminal.wait_for_text("stopped");
    terminal.wait_for_text("> ");
    terminal.press("!stream 2 0\r");
    terminal.wait_for_text("token2");
}

#[test]
fn second_ctrl_c_leaves_the_chat() {
    let home = home();
    let mut terminal = chat(home.path(), &[]);
    terminal.press("!stream 2000 20\r");
    terminal.wait_for_text("token3");
    terminal.interrupt();
    terminal.wait_for_text("stopped");
    terminal.wait_for_text("> ");
    // At the prompt the terminal hands the key over as it is.
    terminal.press("\u{3}");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn ctrl_d_leaves_the_chat() {
    let home = home();
    let mut terminal = chat(home.path(), &[]);
    terminal.press("\u{4}");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn an_approval_shows_the_arguments_and_waits_for_a_yes() {
    let home = home();
    std::fs::create_dir(home.path().join("workspace")).unwrap();
    std::fs::write(home.path().join("workspace/notes.txt"), "milk and honey").unwrap();
    let asking = ["approval.enabled=true", "approval.requires_approval=[\"file_read\"]"];
    let mut terminal = chat(home.path(), &asking);
    for (answer, is_read) in [("no", false), ("", false), ("yes", true)] {
        terminal.press("!tool file_read {\"path\": \"notes.txt\"}\r");
        let question = plain(&terminal.wait_for_text("run it?"));
        assert!(question.contains("\"path\": \"notes.txt\"") && question.contains("file_read"), "{question}");
        terminal.press(&format!("{answer}\r"));
        let shown = terminal.wait_for_text("> ");
        assert_eq!(shown.contains("milk and honey"), is_read, "{answer:?}: {}", plain(&shown));
    }
}

#[test]
fn approval_can_be_edited_or_granted_for_the_conversation() {
    let home = home();
    std::fs::create_dir(home.path().join("workspace")).unwrap();
    std::fs::write(home.path().join("workspace/notes.txt"), "milk and honey").unwrap();
    std::fs::write(home.path().join("workspace/other.txt"), "bread and butter").unwrap();
    let asking = ["approval.enabled=true", "approval.requires_approval=[\"file_read\", \"shell\"]"];
    let mut terminal = chat(home.path(), &asking);
    let read = "!tool file_read {\"path\": \"notes.txt\"}\r";
    terminal.press("!tool shell {\"command\": \"echo one\"}\r");
    terminal.wait_for_text("anything else denies: ");
    terminal.press("e\r");
    terminal.wait_for_text("(empty to go back): ");
    // An edit gets round no rule: the person reads why, and gets the prompt again.
    terminal.press("sudo ls\r");
    let refused = plain(&terminal.wait_for_text("anything else denies: "));
    assert!(refused.contains("security.blocked_commands") && refused.contains("run it?"), "{refused}");
    terminal.press("e\r");
    terminal.wait_for_text("(empty to go back): ");
    terminal.press("\r");
    terminal.wait_for_text("anything else denies: ");
    terminal.press("e\r");
    terminal.wait_for_text("(empty to go back): ");
    terminal.press("cat other.txt\r");
    let shown = plain(&terminal.wait_for_text("> "));
    assert!(shown.contains("bread and butter") && !shown.contains("milk and honey"), "{shown}");

    terminal.press(read);
    let question = plain(&terminal.wait_for_text("anything else denies: "));
    assert!(question.contains("s allows: "), "{question}");
    terminal.press("s\r");
    assert!(plain(&terminal.wait_for_text("> ")).contains("milk and honey"));
    terminal.press(read);
    let shown = plain(&terminal.wait_for_text("milk and honey"));
    assert!(!shown.contains("run it?"), "nobody is asked again: {shown}");
    terminal.wait_for_text("> ");
    terminal.press("!tool file_read {\"path\": \"other.txt\"}\r");
    terminal.wait_for_text("anything else denies: ");
    terminal.press("no\r");
    terminal.wait_for_text("> ");
}

#[test]
fn the_commands_of_the_chat() {
    let server = Server::start(&[]);
    server.chat("garden").say("m1", "!say the roses");
    let home = server.home();
    let mut terminal = chat(home.path(), &[]);
    terminal.press("/help\r");
    let help = terminal.wait_for_text("/sessions") + &terminal.wait_for_text("> ");
    for command in ["/help", "/new", "/sessions", "/stop"] {
        assert!(help.contains(command), "{command}: {help}");
    }
    terminal.press("/sessions\r");
    terminal.wait_for_text("webchat:garden");
    terminal.wait_for_text("> ");
    terminal.press("/new kitchen\r");
    terminal.wait_for_text("kitchen");
    terminal.wait_for_text("> ");
    terminal.press("!stream 3 0\r");
    terminal.wait_for_text("token3");
    terminal.wait_for_text("> ");
    assert_eq!(server.said("webchat:kitchen").len(), 2, "the daemon has it");
    terminal.press("/stop\r");
    terminal.wait_for_text("> ");
    terminal.press("/quit\r");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn several_lines_are_one_message() {
    let home = home();
    let mut terminal = chat(home.path(), &[]);
    // Alt-Enter breaks the line, Enter sends.
    terminal.press("!stream 2 0\u{1b}\r!say wo**rd**s\r");
    terminal.wait_for_text("token2");
    let shown = plain(&terminal.wait_for_text("> "));
    assert!(shown.contains("words"), "{shown}");
}

#[test]
fn input_history_is_kept_and_private() {
    let home = home();
    let mut terminal = chat(home.path(), &[]);
    terminal.press("!stream 3 0\r");
    terminal.wait_for_text("token3");
    terminal.wait_for_text("> ");
    terminal.press("/quit\r");
    assert_eq!(terminal.end().code(), Some(0));
    let history = home.path().join("run/history");
    assert_eq!(std::fs::metadata(&history).unwrap().permissions().mode() & 0o777, 0o600);
    let mut terminal = chat(home.path(), &[]);
    // Twice up: past the command that left, to the message.
    terminal.press("\u{1b}[A\u{1b}[A\r");
    terminal.wait_for_text("token3");
}

#[test]
fn secret_input_is_hidden() {
    let home = home();
    let mut command = program("aethon-cli", home.path());
    let mut terminal = Terminal::start(command.args(["secrets", "set", "openai"]));
    terminal.wait_for_text("openai");
    // Typed when the terminal is ready for it, which nothing on the screen tells: the keys wait in the terminal, where
    // echo is off by then or the test fails.
    terminal.wait_for_text(":");
    terminal.press("sk-hidden\r");
    terminal.wait_for_text("stored");
    assert_eq!(
        std::fs::read_to_string(home.path().join("credentials/openai")).unwrap().trim_end(),
        "sk-hidden"
    );
    let shown = terminal.all();
    assert_eq!(terminal.end().code(), Some(0));
    assert!(!shown.contains("sk-hidden"), "{shown}");
}

#[test]
fn removal_asks_for_confirmation() {
    let home = home();
    std::fs::create_dir(home.path().join("credentials")).unwrap();
    let file = home.path().join("credentials/openai");
    std::fs::write(&file, "sk-value").unwrap();
    for (answer, is_removed) in [("no", false), ("", false), ("yes", true)] {
        let mut command = program("aethon-cli", home.path());
        let mut terminal = Terminal::start(command.args(["secrets", "rm", "openai"]));
        terminal.wait_for_text("?");
        terminal.press(&format!("{answer}\r"));
        assert_eq!(terminal.end().code() == Some(0), is_removed, "{answer:?}");
        assert_eq!(file.exists(), !is_removed, "{answer:?}");
    }
}
