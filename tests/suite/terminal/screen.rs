//! The terminal chat as a person sees it.

use aethon_tests::{Server, Terminal, eventually, home, program};

/// The terminal chat beside a server, in a window of this size, ready for the first line.
fn chat(server: &Server, columns: u16, rows: u16) -> Terminal {
    let mut terminal = Terminal::start_sized(&mut program("aethon-cli", server.home().path()), columns, rows);
    terminal.wait_for_prompt();
    terminal
}

/// The messages of people in the default session.
fn asked(server: &Server) -> Vec<String> {
    let answer = server.get("/api/sessions/webchat:default");
    if answer.status == 404 {
        return Vec::new();
    }
    let said = server.said("webchat:default").into_iter();
    said.filter(|(role, _)| role == "user").map(|(_, text)| text).collect()
}

/// The last word of a streamed reply on the screen.
fn newest(screen: &str) -> usize {
    let words = screen.split("token").skip(1);
    words.filter_map(|word| word.split_whitespace().next()?.parse().ok()).max().unwrap_or(0)
}

#[test]
fn a_paste_of_several_lines_is_one_message() {
    let server = Server::start(&[]);
    let mut terminal = chat(&server, 100, 30);
    terminal.paste("!say one\nsecond line\n\nfourth line");
    let screen = terminal.wait_for_screen("the paste", |screen| screen.contains("fourth line"));
    assert!(screen.ends_with("> !say one\n. second line\n.\n. fourth line"), "{screen}");
    assert!(asked(&server).is_empty(), "nothing is sent before Enter");
    terminal.press("\r");
    terminal.wait_for_prompt();
    assert_eq!(asked(&server), ["!say one\nsecond line\n\nfourth line"]);
    // Text pasted during a reply waits for the next prompt, in one piece.
    terminal.press("!stream 30 20\r");
    terminal.wait_for_screen("the reply", |screen| screen.contains("token3"));
    terminal.paste("!say later\nas one");
    let screen = terminal.wait_for_screen("the paste", |screen| screen.ends_with(". as one"));
    assert!(!screen.contains("later") || screen.ends_with("> !say later\n. as one"), "{screen}");
    assert_eq!(asked(&server).len(), 2);
    terminal.press("\r");
    terminal.wait_for_prompt();
    assert_eq!(asked(&server)[2], "!say later\nas one");
    // A paste drives nothing.
    terminal.paste("!say a\u{1b}[2Jb");
    terminal.wait_for_screen("the escape as a picture", |screen| screen.ends_with("> !say a␛[2Jb"));
}

#[test]
fn a_backslash_for_a_new_line_is_no_part_of_the_message() {
    let server = Server::start(&[]);
    let mut terminal = chat(&server, 100, 40);
    terminal.enter("!say one\\");
    terminal.wait_for_screen("another line", |screen| screen.ends_with("\n."));
    // One that was pasted belongs to the text.
    terminal.paste("two \\\nthree");
    terminal.press("\r");
    terminal.wait_for_prompt();
    assert_eq!(asked(&server), ["!say one\ntwo \\\nthree"]);
    // Nor is it in the history.
    terminal.press("\u{1b}[A");
    terminal.wait_for_screen("the last message", |screen| screen.ends_with("three"));
    terminal.press("\r");
    let again = eventually("it is said again", || asked(&server).get(1).cloned());
    assert_eq!(again, "!say one\ntwo \\\nthree");
}

#[test]
fn an_unknown_command_is_answered_here() {
    let server = Server::start(&[]);
    let mut terminal = chat(&server, 100, 40);
    terminal.enter("/hepl me");
    let screen = terminal.wait_for_prompt();
    assert!(screen.contains("there is no command /hepl; nothing was sent\ndid you mean /help?"), "{screen}");
    assert!(screen.contains("begins with two: //"), "{screen}");
    assert!(asked(&server).is_empty(), "no model was asked");
    terminal.enter("//hepl !say me");
    terminal.wait_for_prompt();
    assert_eq!(asked(&server), ["/hepl !say me"]);
}

#[test]
fn no_color_removes_colours_and_keeps_streaming() {
    let home = home();
    let mut command = program("aethon-cli", home.path());
    command.env("NO_COLOR", "1").args(["--set", "model.provider=fake", "ask", "!stream 60 25"]);
    let mut terminal = Terminal::start(&mut command);
    let screen = terminal.wait_for_screen("a beginning", |screen| screen.contains("token2"));
    assert!(!screen.contains("token60"), "it comes bit by bit: {screen}");
    terminal.wait_for_screen("the end", |screen| screen.contains("token60"));
    let all = terminal.all();
    let codes: Vec<&str> = all
        .split("\u{1b}[")
        .skip(1)
        .filter(|code| code.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'))
        .collect();
    assert_eq!(codes, Vec::<&str>::new());
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn ctrl_c_and_resize_leave_no_fragments() {
    let server = Server::start(&[]);
    let mut terminal = chat(&server, 100, 30);
    terminal.enter("!stream 1000 20");
    terminal.wait_for_screen("a reply", |screen| newest(screen) >= 20);
    terminal.resize(40, 30);
    terminal.wait_for_screen("more of it", |screen| newest(screen) >= 60);
    // A key that is pressed meanwhile shows below the reply and at the next prompt, and not in the reply.
    terminal.press("x");
    terminal.wait_for_screen("the key", |screen| screen.lines().last() == Some("> x"));
    terminal.resize(70, 24);
    terminal.wait_for_screen("still more", |screen| newest(screen) >= 90);
    terminal.interrupt();
    let screen = terminal.wait_for_screen("the prompt", |screen| {
        screen.contains("· stopped") && screen.lines().last() == Some("> x")
    });
    let reply = screen.split("!stream 1000 20\n").nth(1).unwrap_or(&screen);
    let words: Vec<&str> = reply.split("· stopped").next().unwrap().split_whitespace().collect();
    let first: usize = words[0].trim_start_matches("token").parse().unwrap_or_else(|_| panic!("{screen}"));
    let expected: Vec<String> = (first..first + words.len()).map(|number| format!("token{number}")).collect();
    assert_eq!(words, expected, "each once and in order:\n{screen}");
    assert!(words.len() > 80 && screen.contains("· stopped"), "{screen}");
    // The next one clears the line, and the one after it leaves.
    terminal.press("\u{3}");
    terminal.wait_for_prompt();
    terminal.press("\u{3}");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn status_breaks_between_words_in_a_narrow_window() {
    let server = Server::start(&[]);
    let status = server.get("/api/status").json();
    let told: Vec<String> =
        status["reach"].as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect();
    let mut terminal = chat(&server, 44, 60);
    terminal.enter("/status");
    let screen = terminal.wait_for_prompt();
    let shown: Vec<&str> = screen.split_whitespace().collect();
    // A word that is longer than a row, such as a path, cannot stay whole.
    for word in told.join(" ").replace('`', "").split_whitespace().filter(|word| word.len() < 36) {
        assert!(shown.contains(&word), "{word} was broken:\n{screen}");
    }
}

#[test]
fn input_lines_are_edited_and_remembered() {
    let server = Server::start(&[]);
    let mut terminal = chat(&server, 60, 20);
    terminal.press("!say helo world");
    // Seven to the left, the letter, to the beginning and to the end.
    terminal.press(&"\u{1b}[D".repeat(7));
    terminal.press("l\u{1}\u{5}!\u{7f}");
    terminal.wait_for_screen("the line", |screen| screen.ends_with("> !say hello world"));
    terminal.press("\r");
    let screen = terminal.wait_for_prompt();
    assert!(screen.contains("\nhello world\n"), "{screen}");
    terminal.press("\u{1b}[A");
    terminal.wait_for_screen("the line again", |screen| screen.ends_with("> !say hello world"));
    terminal.press("\u{3}");
    terminal.wait_for_screen("a hint", |screen| screen.contains("again to leave"));
    terminal.wait_for_prompt();
    terminal.press("\u{4}");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn a_narrow_window_holds_text_tables_and_code() {
    let server = Server::start(&[]);
    let mut terminal = chat(&server, 40, 60);
    terminal.enter("show me");
    let screen = terminal.wait_for_prompt();
    for line in screen.lines().filter(|line| !line.starts_with("    ")) {
        assert!(line.chars().count() <= 40, "{line:?} is too wide:\n{screen}");
    }
    assert!(screen.lines().all(|line| !line.ends_with('│')), "{screen}");
}

#[test]
fn approved_arguments_are_those_that_run() {
    let asking = ["approval.enabled=true", "approval.requires_approval=[\"file_read\"]"];
    let server = Server::start(&asking);
    let mut terminal = chat(&server, 100, 60);
    let call = r#"!tool file_read {"path": "a\u202egpj.\u2066b\u200b\u009b2J\u001b]0;x\u0007\u00a0c"}"#;
    for round in 1..=2 {
        terminal.enter(call);
        let screen = terminal.wait_for_screen("the question", |screen| {
            screen.matches("run it?").count() == round && screen.ends_with("denies:")
        });
        let question = screen.rsplit("needs your approval").next().unwrap();
        let path =
            question.lines().find(|line| line.contains("\"path\"")).unwrap_or_else(|| panic!("{screen}"));
        for mark in ["a‹U+202E›gpj.‹U+2066›b‹U+200B›‹U+009B›2J", r"\u001b]0;x\u0007", "‹U+00A0›c"]
        {
            assert!(path.contains(mark), "round {round}: {mark} in {path}\n{screen}");
        }
        terminal.press("no\r");
        let screen = terminal.wait_for_prompt();
        let line = screen
            .lines()
            .rfind(|line| line.starts_with("· file_read a"))
            .unwrap_or_else(|| panic!("{screen}"));
        assert!(line.contains("a‹U+202E›gpj."), "{line}");
    }
    // Input from before the question is no answer to it.
    terminal.press("!sleep 300\u{1b}\r");
    terminal.press(r#"!tool file_read {"path": "notes.txt"}"#);
    terminal.press("\ryes\r");
    terminal.wait_for_screen("the third question", |screen| {
        screen.matches("run it?").count() == 3 && screen.ends_with("denies:")
    });
    terminal.press("no\r");
    terminal.wait_for_screen("the denial", |screen| screen.contains("denied"));
    terminal.wait_for_prompt();
    let driven: Vec<char> = terminal
        .all()
        .chars()
        .filter(|c| matches!(c, '\u{202e}' | '\u{2066}' | '\u{9b}' | '\u{200b}'))
        .collect();
    assert_eq!(driven, Vec::<char>::new());
}

#[test]
fn model_and_tool_text_has_no_terminal_controls() {
    let server = Server::start(&[]);
    std::fs::create_dir_all(server.home().path().join("workspace")).unwrap();
    let file = server.home().path().join("workspace/evil.txt");
    std::fs::write(&file, "before\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}after").unwrap();
    let mut terminal = chat(&server, 100, 40);
    terminal.enter("!tool file_read {\"path\": \"evil.txt\"}\u{1b}\r!say x &#27;[2J &#x202e; y");
    let screen = terminal.wait_for_prompt();
    assert!(screen.contains("before‹U+001B›]0;owned‹U+0007›‹U+001B›[2J‹U+202E›after"), "{screen}");
    assert!(screen.contains("x ‹U+001B›[2J ‹U+202E› y"), "{screen}");
    // Also from another writer.
    server.chat("default").say("m1", "!say z \u{1b}[2J &#155;2J &#27;]0;owned&#7;");
    let screen = terminal.wait_for_screen("the other answer", |screen| screen.contains("┆ z "));
    assert!(screen.contains("┆ z ‹U+001B›[2J ‹U+009B›2J ‹U+001B›]0;owned‹U+0007›"), "{screen}");
    let all = terminal.all();
    assert!(
        !all.contains("\u{1b}]0;owned") && !all.contains('\u{202e}') && !all.contains('\u{9b}'),
        "{all:?}"
    );
}

/// Prints the screens for a person to look at.
#[test]
#[ignore = "prints screens for a person: cargo xtask shots"]
fn print_terminal_screens() {
    let server = Server::start(&["approval.enabled=true", "approval.requires_approval=[\"shell\"]"]);
    for (columns, rows) in [(90, 60), (40, 60)] {
        let mut terminal = chat(&server, columns, rows);
        terminal.enter("show me what you can do");
        println!("{}\n{}", terminal.wait_for_prompt(), "=".repeat(columns.into()));
        for line in [
            "!tool current_time {}\u{1b}\r!tool file_read {\"path\": \"missing.txt\"}",
            "!error auth",
            "!error network 9",
            "/nothing",
            "/sessions",
        ] {
            terminal.enter(line);
            terminal.wait_for_prompt();
        }
        terminal.enter("!tool shell {\"command\": \"echo hello && date +%Y\"}");
        terminal.wait_for_screen("a question", |screen| screen.ends_with("denies:"));
        terminal.press("yes\r");
        terminal.wait_for_prompt();
        server.chat("default").say(&format!("m{columns}"), "!say # A heading\n!say and *words*");
        println!(
            "{}\n{}",
            terminal.wait_for_screen("another", |screen| screen.contains("elsewhere")),
            "=".repeat(columns.into())
        );
    }
}
