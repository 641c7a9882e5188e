//! `clipboard_read` and `clipboard_write`: the text on the person's clipboard.

use std::ffi::OsString;
use std::path::PathBuf;

use aethon_core::tool::{ArgumentRole, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::program::{Programs, Until};

/// Maximum size of the text written.
const MAX_LEN: usize = 1 << 20;

/// The programs that access the clipboard, with their arguments.
struct ClipboardPrograms {
    read: (PathBuf, &'static [&'static str]),
    write: (PathBuf, &'static [&'static str]),
}

/// Returns how to access the clipboard on this machine, or why that is impossible.
fn clipboard_programs(programs: &Programs) -> Result<ClipboardPrograms, String> {
    let both = |read: &str, write: &str| Some((programs.find(read)?, programs.find(write)?));
    if programs.is_mac() {
        let (read, write) =
            both("pbpaste", "pbcopy").ok_or("pbcopy and pbpaste are not on the search path")?;
        return Ok(ClipboardPrograms { read: (read, &[]), write: (write, &[]) });
    }
    let is_wayland = programs.has_variable("WAYLAND_DISPLAY");
    if !is_wayland && !programs.has_variable("DISPLAY") {
        return Err(
            "there is no graphical session: neither WAYLAND_DISPLAY nor DISPLAY is set for the service"
                .into(),
        );
    }
    if is_wayland && let Some((read, write)) = both("wl-paste", "wl-copy") {
        return Ok(ClipboardPrograms {
            read: (read, &["--no-newline", "--type", "text"]),
            write: (write, &[]),
        });
    }
    let (read, write) = both("xclip", "xclip")
        .filter(|_| programs.has_variable("DISPLAY"))
        .ok_or(if is_wayland { "install wl-clipboard (wl-copy and wl-paste)" } else { "install xclip" })?;
    Ok(ClipboardPrograms {
        read: (read, &["-selection", "clipboard", "-o"]),
        write: (write, &["-selection", "clipboard", "-i"]),
    })
}

/// Reads the clipboard.
pub(crate) struct ClipboardRead {
    spec: ToolSpec,
    programs: Programs,
    clipboard: ClipboardPrograms,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

impl ClipboardRead {
    /// Creates the tool, or says why the machine has no clipboard.
    pub(crate) fn new(programs: &Programs) -> Result<Self, String> {
        let spec = ToolSpec::of::<Nothing>("clipboard_read", "Reads the text on the person's clipboard.")
            .reading_only()
            .with_untrusted_output();
        Ok(Self { spec, clipboard: clipboard_programs(programs)?, programs: programs.clone() })
    }
}

#[async_trait]
impl Tool for ClipboardRead {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, _context: &ToolContext, _input: Value) -> Result<ToolOutput, ToolError> {
        let (program, arguments) = &self.clipboard.read;
        let text = self.programs.run(program, words(arguments), None, Until::Answer).await?;
        Ok(ToolOutput::text(if text.is_empty() {
            "[the clipboard is empty, or holds no text]".into()
        } else {
            text
        }))
    }
}

/// Writes to the clipboard.
pub(crate) struct ClipboardWrite {
    spec: ToolSpec,
    programs: Programs,
    clipboard: ClipboardPrograms,
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    /// The text.
    text: String,
}

impl ClipboardWrite {
    /// Creates the tool, or says why the machine has no clipboard.
    pub(crate) fn new(programs: &Programs) -> Result<Self, String> {
        let spec = ToolSpec::of::<Text>(
            "clipboard_write",
            "Puts a text on the person's clipboard, in place of what is there.",
        )
        .with_role("text", ArgumentRole::Text);
        Ok(Self { spec, clipboard: clipboard_programs(programs)?, programs: programs.clone() })
    }
}

#[async_trait]
impl Tool for ClipboardWrite {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, _context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let Text { text } = self.spec.parse(input)?;
        if text.len() > MAX_LEN {
            return Err(ToolError::failed(format!("the text is longer than {MAX_LEN} bytes")));
        }
        let (program, arguments) = &self.clipboard.write;
        let told = format!("{} characters are on the clipboard", text.chars().count());
        self.programs.run(program, words(arguments), Some(text), Until::Started).await?;
        Ok(ToolOutput::text(told))
    }
}

fn words(arguments: &[&str]) -> Vec<OsString> {
    arguments.iter().map(OsString::from).collect()
}
