//! Writing a message in the user's own editor.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Opens this text in the user's editor and returns the edited text. The file is private and removed afterwards.
pub(super) fn edited(text: &str, folder: &Path) -> Result<String> {
    let Some(mut command) = command() else {
        bail!("no editor is set; set EDITOR, for example EDITOR=nano aethon-cli");
    };
    let file = folder.join(format!("message-{}.md", std::process::id()));
    let mut draft = OpenOptions::new();
    let opened = draft.write(true).create(true).truncate(true).mode(0o600).open(&file);
    opened.and_then(|mut draft| draft.write_all(text.as_bytes())).context("the draft cannot be written")?;
    let outcome = match command.arg(&file).status() {
        Ok(status) if status.success() => {
            std::fs::read_to_string(&file).context("the draft cannot be read back")
        }
        Ok(status) => Err(anyhow::anyhow!("the editor ended with {status}")),
        Err(error) => Err(error).context("the editor cannot be started"),
    };
    match outcome {
        Ok(text) => {
            // A draft that stays behind is replaced by the next one.
            let _ = std::fs::remove_file(&file);
            Ok(text.trim_end().to_owned())
        }
        Err(error) => Err(error.context(format!("the text is kept in {}", file.display()))),
    }
}

/// Returns the command of the user's editor, to which a file is to be added; `None` if none is set.
#[expect(clippy::disallowed_methods, reason = "the user's own editor, which has the terminal until it ends")]
pub(super) fn command() -> Option<Command> {
    let editor = crate::environment::editor()?;
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{editor} \"$1\""), "sh"]);
    Some(command)
}
