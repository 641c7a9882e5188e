//! The picture in the clipboard of the desktop, read by the desktop's own program.
//!
//! A terminal passes text through, but no pictures, so the clipboard is asked beside it. Over SSH this would be the clipboard of
//! the machine at the other end, which has none.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use aethon::core::message::begins_like_picture;
use aethon::core::upload::MAX_UPLOAD;
use anyhow::{Result, anyhow, bail};

/// The programs that print the picture as PNG, with their arguments, in the order in which they are tried.
const PROGRAMS: &[&[&str]] = if cfg!(target_os = "macos") {
    &[&["pngpaste", "-"]]
} else {
    &[
        &["wl-paste", "--no-newline", "--type", "image/png"],
        &["xclip", "-selection", "clipboard", "-target", "image/png", "-out"],
    ]
};

/// What to do where none of them is installed.
const REMEDY: &str = if cfg!(target_os = "macos") {
    "install pngpaste (`brew install pngpaste`)"
} else {
    "install wl-clipboard (for Wayland) or xclip (for X11)"
};

/// How long a program may take. Those of X11 wait for the program that the picture was copied in.
const LIMIT: Duration = Duration::from_secs(10);

/// Returns the picture in the clipboard, as PNG.
///
/// # Errors
///
/// There is none, or no program that reads it; the message names the remedy.
pub(super) async fn picture() -> Result<Vec<u8>> {
    tokio::task::spawn_blocking(|| first_picture(PROGRAMS, crate::environment::is_remote()))
        .await
        .map_err(|_| anyhow!("the clipboard was not read"))?
}

fn first_picture(programs: &[&[&str]], is_remote: bool) -> Result<Vec<u8>> {
    let mut has_program = false;
    for words in programs {
        match printed(words) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Ok(bytes) if bytes.len() > MAX_UPLOAD => {
                bail!("the picture is too large: a file may have {} MB", MAX_UPLOAD >> 20)
            }
            Ok(bytes) if begins_like_picture("image/png", &bytes) => return Ok(bytes),
            _ => has_program = true,
        }
    }
    if is_remote {
        bail!("over SSH there is no clipboard here; copy the file to this machine, and send it with @FILE");
    }
    if has_program {
        bail!("there is no picture in the clipboard; copy one first, or send a file with @FILE");
    }
    bail!("no program here reads pictures from the clipboard: {REMEDY}, or send a file with @FILE")
}

/// Runs a program, and returns what it prints; nothing if it takes too long.
#[expect(clippy::disallowed_methods, reason = "the person asked for the clipboard of their own desktop")]
fn printed(words: &[&str]) -> std::io::Result<Vec<u8>> {
    let [program, arguments @ ..] = words else { return Ok(Vec::new()) };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let (sender, receiver) = channel();
    if let Some(output) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = output.take(MAX_UPLOAD as u64 + 1).read_to_end(&mut bytes);
            // Fails only if the time was over.
            let _ = sender.send(read.map(|_| bytes));
        });
    }
    let bytes = receiver.recv_timeout(LIMIT).unwrap_or_else(|_| Ok(Vec::new()));
    // It has printed all, or it is to end without.
    let _ = child.kill();
    child.wait()?;
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clipboard_without_a_picture_says_what_to_do() {
        let check = |programs: &[&[&str]], is_remote: bool, expected: &str| {
            let refusal = first_picture(programs, is_remote).unwrap_err().to_string();
            assert!(refusal.contains(expected), "{refusal}");
        };
        check(&[&["no-such-program-of-ours"]], false, REMEDY);
        check(&[&["echo", "text"]], false, "no picture in the clipboard");
        check(&[&["false"], &["no-such-program-of-ours"]], false, "no picture in the clipboard");
        check(&[&["no-such-program-of-ours"]], true, "over SSH");
    }

    #[test]
    fn the_first_program_with_a_picture_counts() {
        let picture = first_picture(&[&["false"], &["printf", "\\211PNG\\r\\n\\032\\nrest"]], false).unwrap();
        assert_eq!(picture, b"\x89PNG\r\n\x1a\nrest");
    }
}
