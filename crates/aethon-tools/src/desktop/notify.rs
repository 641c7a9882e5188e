//! `notify`: a notification on the person's desktop.

use std::ffi::OsString;
use std::path::PathBuf;

use aethon_core::tool::{ArgumentRole, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::program::{Programs, Until};

/// Maximum characters of the title and of the text.
const MAX_LEN: (usize, usize) = (120, 1_000);

const SCRIPT: &str = "function run(argv) {
  const app = Application.currentApplication();
  app.includeStandardAdditions = true;
  app.displayNotification(argv[1], { withTitle: argv[0] });
}";

/// Shows notifications.
pub(crate) struct Notify {
    spec: ToolSpec,
    programs: Programs,
    program: PathBuf,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The subject, in a few words.
    title: String,
    /// The message.
    text: Option<String>,
}

impl Notify {
    /// Creates the tool, or says why the machine has no notifications.
    pub(crate) fn new(programs: &Programs) -> Result<Self, String> {
        let program = if programs.is_mac() {
            programs.find("osascript").ok_or("osascript is not on the search path")?
        } else if !programs.has_variable("DBUS_SESSION_BUS_ADDRESS")
            && !programs.has_variable("XDG_RUNTIME_DIR")
        {
            return Err(
                "there is no desktop session: DBUS_SESSION_BUS_ADDRESS is not set for the service".into()
            );
        } else {
            programs.find("notify-send").ok_or("install libnotify (notify-send)")?
        };
        let spec = ToolSpec::of::<Arguments>(
            "notify",
            "Shows a notification on the desktop of the machine that the assistant runs on. To reach the person elsewhere \
             use send_message.",
        )
        .with_role("title", ArgumentRole::Text)
        .with_role("text", ArgumentRole::Text);
        Ok(Self { spec, programs: programs.clone(), program })
    }
}

#[async_trait]
impl Tool for Notify {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, _context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let Arguments { title, text } = self.spec.parse(input)?;
        let bounded =
            |text: &str, most| OsString::from(text.replace('\0', "").chars().take(most).collect::<String>());
        let (title, text) =
            (bounded(title.trim(), MAX_LEN.0), bounded(text.unwrap_or_default().trim(), MAX_LEN.1));
        if title.is_empty() {
            return Err(ToolError::failed("`title` is empty"));
        }
        let before: &[&str] = if self.programs.is_mac() {
            &["-l", "JavaScript", "-e", SCRIPT]
        } else {
            &["--app-name=Aethon", "--"]
        };
        let arguments = before.iter().map(OsString::from).chain([title, text]).collect();
        self.programs.run(&self.program, arguments, None, Until::Answer).await?;
        Ok(ToolOutput::text("shown"))
    }
}
