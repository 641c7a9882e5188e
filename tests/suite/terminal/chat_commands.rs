//! The commands of the terminal chat on conversations and messages, and Tab.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use aethon_tests::{Server, Terminal, eventually, home, program};

/// The terminal chat beside a server, in this folder, ready for the first line.
fn chat(server: &Server, folder: &Path, arguments: &[&str]) -> Terminal {
    let mut command = program("aethon-cli", server.home().path());
    command.arg("chat").args(arguments).current_dir(folder);
    let mut terminal = Terminal::start_sized(&mut command, 100, 50);
    terminal.wait_for_prompt();
    terminal
}

/// The messages of people in a session.
fn asked(server: &Server, session: &str) -> Vec<String> {
    let said = server.said(&format!("webchat:{session}")).into_iter();
    said.filter(|(role, _)| role == "user").map(|(_, text)| text).collect()
}

/// Waits until no page shows a session as unread.
fn wait_until_read(server: &Server, session: &str) {
    eventually("it is read", || {
        let listed = server.get("/api/sessions").json();
        let id = format!("webchat:{session}");
        let row = listed["sessions"].as_array()?.iter().find(|row| row["session_id"] == *id)?.clone();
        (row["unread"] == false && row["busy"] == false).then_some(())
    });
}

/// Sends a message and waits for its end.
fn say(terminal: &mut Terminal, text: &str) -> String {
    terminal.enter(text);
    terminal.wait_for_prompt()
}

#[test]
fn a_message_is_answered_again_and_taken_back() {
    let server = Server::start(&[]);
    let mut terminal = chat(&server, server.home().path(), &[]);
    assert!(say(&mut terminal, "/retry").contains("you have said nothing in this conversation yet"));
    say(&mut terminal, "!say one");
    let screen = say(&mut terminal, "/retry");
    assert_eq!(screen.matches("\none\n").count(), 2, "{screen}");
    assert_eq!(asked(&server, "default"), ["!say one"], "it was not asked twice");
    // A command is no message.
    say(&mut terminal, "/model");
    let screen = say(&mut terminal, "/retry");
    assert_eq!(screen.matches("\none\n").count(), 3, "{screen}");
    assert_eq!(asked(&server, "default"), ["!say one"]);
    terminal.enter("/undo");
    terminal.wait_for_screen("the message", |screen| screen.ends_with("> !say one"));
    terminal.press("\u{7f}\u{7f}\u{7f}two\r");
    let screen = terminal.wait_for_screen("the answer", |screen| screen.contains("\ntwo\n"));
    assert!(screen.contains("replaces this message and its answer"), "{screen}");
    terminal.wait_for_prompt();
    assert_eq!(asked(&server, "default"), ["!say two"]);
    // Ctrl-C leaves it as it is.
    terminal.enter("/undo");
    terminal.wait_for_screen("the message", |screen| screen.ends_with("> !say two"));
    terminal.press("\u{3}");
    terminal.wait_for_screen("the hint", |screen| screen.contains("the message is unchanged"));
    say(&mut terminal, "!say three");
    assert_eq!(asked(&server, "default"), ["!say two", "!say three"]);
}

/// Takes files back in a terminal, whatever it is connected to.
fn take_files_back(terminal: &mut Terminal, workspace: &Path) {
    std::fs::write(workspace.join("a.md"), "one").unwrap();
    let lines = [
        "!tool file_write {\"path\": \"a.md\", \"content\": \"two\"}",
        "!then",
        "!tool file_write {\"path\": \"new.md\", \"content\": \"new\"}",
        "!then",
        "!tool shell {\"command\": \"true\"}",
        "!then",
        "!say changed",
    ];
    // Alt-Enter begins another line.
    let screen = say(terminal, &lines.join("\u{1b}\r"));
    assert!(screen.contains("changed"), "{screen}");
    assert_eq!(std::fs::read_to_string(workspace.join("a.md")).unwrap(), "two");
    terminal.enter("/undo");
    let screen = terminal.wait_for_screen("the message", |screen| screen.ends_with("!say changed"));
    assert!(screen.contains("tools have changed a.md, new.md since; /undo files puts them back"), "{screen}");
    assert!(screen.contains("a command ran since; what it changed is not recorded, and stays"), "{screen}");
    // Ctrl-U clears one line of it; Ctrl-C all of it, and the message stays.
    terminal.press("\u{3}");
    terminal.wait_for_screen("the hint", |screen| screen.contains("the message is unchanged"));
    let screen = say(terminal, "/undo files");
    assert!(
        screen.contains("a.md: put back\nnew.md: removed, because it did not exist before\n"),
        "{screen}"
    );
    assert_eq!(std::fs::read_to_string(workspace.join("a.md")).unwrap(), "one");
    assert!(!workspace.join("new.md").exists());
    let screen = say(terminal, "/redo");
    assert!(screen.contains("/redo\na.md: put back\nnew.md: put back\n"), "{screen}");
    assert_eq!(std::fs::read_to_string(workspace.join("a.md")).unwrap(), "two");
    std::fs::write(workspace.join("a.md"), "by hand").unwrap();
    let screen = say(terminal, "/undo files");
    assert!(screen.contains("a.md: left alone, because it was changed since"), "{screen}");
    assert_eq!(std::fs::read_to_string(workspace.join("a.md")).unwrap(), "by hand");
    let screen = say(terminal, "/retry");
    assert!(
        screen
            .contains("tools have changed a.md since; that stays; /undo files before /retry puts them back"),
        "{screen}"
    );
    let screen = say(terminal, "/undo file");
    assert!(screen.contains("there is no /undo file; /undo takes the message back"), "{screen}");
}

#[test]
fn files_are_taken_back_beside_a_server() {
    let server = Server::start(&[]);
    let home = server.home();
    let mut terminal = chat(&server, home.path(), &[]);
    take_files_back(&mut terminal, &home.path().join("workspace"));
}

#[test]
fn files_are_taken_back_without_a_server() {
    let folder = home();
    let mut command = program("aethon-cli", folder.path());
    command.args(["--set", "model.provider=fake", "chat"]);
    let mut terminal = Terminal::start_sized(&mut command, 100, 50);
    terminal.wait_for_prompt();
    take_files_back(&mut terminal, &folder.path().join("workspace"));
}

#[test]
fn what_was_shown_here_is_not_unread_elsewhere() {
    let server = Server::start(&[]);
    let mut terminal = chat(&server, server.home().path(), &[]);
    say(&mut terminal, "!say here");
    wait_until_read(&server, "default");
    // What another client said, shown above the line.
    server.chat("default").say("m1", "!say from elsewhere");
    terminal.wait_for_screen("the other's answer", |screen| screen.contains("from elsewhere"));
    wait_until_read(&server, "default");
    server.chat("other").say("m2", "!say in another conversation");
    eventually("it is unread", || {
        server.get("/api/sessions").text().contains("\"unread\":true").then_some(())
    });
    say(&mut terminal, "/resume other");
    wait_until_read(&server, "other");
}

#[test]
fn a_conversation_is_found_resumed_and_exported() {
    let server = Server::start(&[]);
    let folder = home();
    server.chat("garden").say("m1", "!say the roses are red");
    server.chat("kitchen").say("m1", "!say bread");
    let mut terminal = chat(&server, folder.path(), &["--continue"]);
    let screen = terminal.screen();
    assert!(screen.contains("conversation kitchen\n> !say bread\nbread\n"), "{screen}");
    let screen = say(&mut terminal, "/search roses");
    assert!(screen.contains("webchat:garden"), "{screen}");
    terminal.enter("/resume");
    let screen = terminal.wait_for_screen("the choice", |screen| screen.ends_with("number>"));
    assert!(screen.contains("  1  kitchen") && screen.contains("  2  garden"), "{screen}");
    // What is no number is no message either, and is not lost.
    terminal.enter("the garden");
    terminal.wait_for_screen("the line", |screen| screen.ends_with("kitchen> the garden"));
    terminal.press("\u{15}/resume\r");
    terminal.wait_for_screen("the choice", |screen| screen.ends_with("number>"));
    terminal.press("2\r");
    let screen = terminal.wait_for_screen("the garden", |screen| screen.ends_with("garden>"));
    assert!(
        screen.contains("conversation garden\n> !say the roses are red\nthe roses are red\n"),
        "{screen}"
    );
    assert_eq!(asked(&server, "kitchen"), ["!say bread"]);
    say(&mut terminal, "/export");
    let written = folder.path().join("garden.md");
    assert!(std::fs::read_to_string(&written).unwrap().contains("the roses are red"));
    assert_eq!(std::fs::metadata(&written).unwrap().permissions().mode() & 0o777, 0o600);
    let screen = say(&mut terminal, "/export garden.md");
    assert!(screen.contains("garden.md exists; name another file"), "{screen}");
    say(&mut terminal, "/export all.json");
    let json = std::fs::read_to_string(folder.path().join("all.json")).unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{json}");
    // The clipboard is filled by a sequence that terminals understand.
    let before = terminal.length();
    say(&mut terminal, "/copy");
    let base64 = "dGhlIHJvc2VzIGFyZSByZWQ=";
    assert!(
        terminal.all()[before..].contains(&format!("\u{1b}]52;c;{base64}\u{7}")),
        "{}",
        terminal.screen()
    );
    assert!(say(&mut terminal, "/usage").contains("tokens in"), "{}", terminal.screen());
}

#[test]
fn output_of_a_command_goes_along_if_it_is_wanted() {
    let server = Server::start(&[]);
    let folder = home();
    std::fs::write(folder.path().join("notes.md"), "milk and honey").unwrap();
    let mut terminal = chat(&server, folder.path(), &[]);
    terminal.enter("/run ls; echo @notes.md >&2; exit 3");
    let screen = terminal.wait_for_screen("the line", |screen| screen.ends_with("> [output 1: 2 lines]"));
    assert!(screen.contains("\nnotes.md\n@notes.md\n"), "{screen}");
    assert!(screen.contains("the next message takes the output along"), "{screen}");
    assert_eq!(server.get("/api/sessions").json()["count"], 0, "nothing is sent by itself");
    terminal.press("why?\r");
    eventually("it is stored", || (server.get("/api/sessions").json()["count"] == 1).then_some(()));
    terminal.wait_for_prompt();
    let command = "`ls; echo @notes.md >&2; exit 3` (exit status: 3) printed:";
    let expected = format!("{command}\n\n```text\nnotes.md\n@notes.md\n```\n why?");
    // What a command prints is only text, and sends no file.
    assert_eq!(asked(&server, "default"), [expected]);
}

#[test]
fn files_that_a_message_names_go_with_it() {
    let server = Server::start(&[]);
    let folder = home();
    std::fs::write(folder.path().join("notes.md"), "milk and honey").unwrap();
    std::fs::write(folder.path().join("fake.png"), "no picture").unwrap();
    let mut terminal = chat(&server, folder.path(), &[]);
    // Tab completes the name.
    terminal.press("!say see @no\t");
    terminal.wait_for_screen("the name", |screen| screen.ends_with("> !say see @notes.md"));
    terminal.press("\r");
    let screen =
        terminal.wait_for_screen("the answer", |screen| screen.contains("· with notes.md, 14 bytes"));
    assert!(!screen.contains("error"), "{screen}");
    terminal.wait_for_prompt();
    let transcript = server.get("/api/sessions/webchat:default").text();
    assert!(transcript.contains("\"notes.md\"") && transcript.contains("milk and honey"), "{transcript}");
    // A file that cannot go is no reason to lose the message.
    terminal.enter("!say and @fake.png");
    let screen = terminal.wait_for_screen("the line", |screen| {
        screen.ends_with("> !say and @fake.png") && screen.contains("nothing was sent")
    });
    assert!(screen.contains("fake.png is not a picture"), "{screen}");
    assert_eq!(asked(&server, "default").len(), 1);
}

#[test]
fn tab_completes_commands_and_conversations() {
    let server = Server::start(&[]);
    server.chat("garden").say("m1", "!say roses");
    let mut terminal = chat(&server, server.home().path(), &[]);
    terminal.press("/ef\t");
    terminal.wait_for_screen("the command", |screen| screen.ends_with("> /effort"));
    terminal.press("me\t\r");
    terminal.wait_for_screen("the effort", |screen| screen.contains("\neffort medium\n"));
    terminal.wait_for_prompt();
    terminal.press("/resume g\t\r");
    terminal.wait_for_screen("the garden", |screen| screen.ends_with("garden>"));
}

#[test]
fn a_message_is_written_in_the_editor() {
    let server = Server::start(&[]);
    let folder = home();
    let script = folder.path().join("edit");
    std::fs::write(&script, "#!/bin/sh\nprintf '!say from the editor' >> \"$1\"\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut command = program("aethon-cli", server.home().path());
    command.env("EDITOR", &script);
    let mut terminal = Terminal::start(&mut command);
    terminal.wait_for_prompt();
    terminal.enter("/edit");
    terminal.wait_for_screen("the draft", |screen| screen.ends_with("> !say from the editor"));
    terminal.press("\r");
    terminal.wait_for_screen("the answer", |screen| screen.contains("\nfrom the editor\n"));
    terminal.wait_for_prompt();
    let left = std::fs::read_dir(server.home().path().join("run")).unwrap().flatten();
    let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("message-"));
    assert_eq!(left.count(), 0, "the draft is gone");
    // Ctrl-O takes the line there.
    terminal.press("so: \u{f}");
    terminal.wait_for_screen("the line", |screen| screen.ends_with("> so: !say from the editor"));
    let mut terminal = chat(&server, folder.path(), &[]);
    let screen = say(&mut terminal, "/edit");
    assert!(screen.contains("no editor is set; set EDITOR"), "{screen}");
}

#[test]
fn a_long_paste_is_one_word_in_the_line_and_sent_whole() {
    let server = Server::start(&[]);
    let mut terminal = chat(&server, server.home().path(), &[]);
    let long: Vec<String> = (1..=200).map(|number| format!("line {number}")).collect();
    terminal.press("!say ok ");
    // crossterm waits for another key if more than it reads at once comes together with keys that were typed before.
    terminal.wait_for_screen("the line", |screen| screen.ends_with("> !say ok"));
    terminal.paste(&long.join("\n"));
    terminal.wait_for_screen("the fold", |screen| screen.ends_with("> !say ok [paste 1: 200 lines]"));
    terminal.press("\r");
    terminal.wait_for_screen("the answer", |screen| screen.contains("\nok line 1\n"));
    terminal.wait_for_prompt();
    assert_eq!(asked(&server, "default"), [format!("!say ok {}", long.join("\n"))]);
    terminal.press("/quit\r");
    let history = server.home().path().join("run/history");
    assert_eq!(terminal.end().code(), Some(0));
    let history = std::fs::read_to_string(history).unwrap();
    assert!(history.contains("line 200") && !history.contains("[paste"), "{history}");
}

#[test]
fn lines_are_edited_with_the_keys_of_vi() {
    let server = Server::start(&[]);
    let mut terminal = chat(&server, server.home().path(), &["--vi"]);
    terminal.press("!say wordx");
    terminal.wait_for_screen("the line", |screen| screen.ends_with("> !say wordx"));
    terminal.press("\u{1b}");
    terminal.wait_for_screen("normal mode", |screen| screen.ends_with(": !say wordx"));
    terminal.press("x");
    terminal.wait_for_screen("the change", |screen| screen.ends_with(": !say word"));
    terminal.press("\r");
    terminal.wait_for_screen("the answer", |screen| screen.contains("\nword\n"));
}
