//! `/paste` and Ctrl-V in the terminal chat: the picture of a fake clipboard goes with the message.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use aethon_tests::{Server, Terminal, home, program};

/// The smallest picture that counts as one.
const PICTURE: &str = r"\211PNG\r\n\032\n\000\000\000\rIHDR\000\000\000\001\000\000\000\001\b\006\000\000\000\037\025\304\211\000\000\000\rIDATx\234c\370\317\300\360\037\000\005\000\001\377\211\231=\035\000\000\000\000IEND\256B`\202";

/// The chat in a desktop whose only clipboard program does this.
fn chat(server: &Server, programs: &Path, script: Option<&str>) -> Terminal {
    if let Some(script) = script {
        let file = programs.join("wl-paste");
        std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = program("aethon-cli", server.home().path());
    command.env("PATH", programs).env_remove("SSH_CONNECTION");
    let mut terminal = Terminal::start_sized(&mut command, 100, 50);
    terminal.wait_for_prompt();
    terminal
}

#[cfg(target_os = "linux")]
#[test]
fn a_picture_of_the_clipboard_goes_with_the_message() {
    let server = Server::start(&[]);
    let folder = home();
    let script = format!("[ \"$*\" = \"--no-newline --type image/png\" ] && printf '{PICTURE}'");
    let mut terminal = chat(&server, folder.path(), Some(&script));
    terminal.enter("/paste");
    terminal.wait_for_screen("its mark", |screen| screen.ends_with("> [picture 1: 70 bytes]"));
    // Ctrl-V keeps what stands in the line.
    terminal.press("and ");
    terminal.press("\u{16}");
    terminal.wait_for_screen("two", |screen| screen.ends_with("70 bytes] and [picture 2: 70 bytes]"));
    terminal.press("!say seen\r");
    let screen = terminal.wait_for_prompt();
    assert!(screen.contains("with picture-1.png, 70 bytes") && screen.contains("picture-2.png"), "{screen}");
    let stored = server.messages("webchat:default")[0].to_string();
    assert_eq!(stored.matches("image/png").count(), 2, "{stored}");
    // It goes with one message only.
    terminal.enter("!say without");
    let screen = terminal.wait_for_prompt();
    assert_eq!(screen.matches("with picture-").count(), 2, "{screen}");
}

#[test]
fn a_clipboard_that_has_none_or_cannot_be_read_names_the_remedy() {
    let server = Server::start(&[]);
    let (with, without) = (home(), home());
    let mut terminal = chat(&server, with.path(), Some("echo only text"));
    terminal.enter("/paste");
    let screen = terminal.wait_for_screen("why not", |screen| screen.contains("send a file with @FILE"));
    if cfg!(target_os = "linux") {
        assert!(screen.contains("there is no picture in the clipboard"), "{screen}");
    }
    terminal.wait_for_prompt();
    let mut terminal = chat(&server, without.path(), None);
    terminal.press("a line that stays \u{16}");
    let screen = terminal.wait_for_screen("the line again", |screen| {
        screen.contains("send a file with @FILE") && screen.ends_with("> a line that stays")
    });
    assert!(screen.contains("install "), "{screen}");
}
