//! `file_list`: lists a folder, down to the requested depth.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aethon_core::tool::{ArgumentRole, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use aethon_core::turn::Trust;
use async_trait::async_trait;
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::background::blocking;
use super::walk::{Extent, Walk};
use super::workspace::Workspace;

/// Maximum number of entries listed.
const MAX_COUNT: usize = 500;
/// Maximum number of entries examined.
const MAX_SEEN: usize = 20_000;
/// Time limit.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum depth that can be requested.
const MAX_DEPTH: usize = 10;

/// Lists folders.
pub(crate) struct FileList {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Path of the folder. Leave it out for the workspace.
    path: Option<String>,
    /// How many levels to show. Leave it out for the folder's own entries only.
    #[schemars(range(min = 1, max = 10))]
    depth: Option<usize>,
    /// Whether to show hidden entries and those that .gitignore leaves out. Leave it out to show neither.
    all: Option<bool>,
}

impl FileList {
    pub(crate) fn new(workspace: Arc<Workspace>) -> Self {
        let spec = ToolSpec::of::<Arguments>(
            "file_list",
            "Lists the entries of a folder with their sizes, folders marked by a slash.",
        )
        .with_role("path", ArgumentRole::ReadPath)
        .reading_only()
        .open_to(Trust::Guest)
        .with_untrusted_output()
        .with_timeout(Duration::from_secs(30));
        Self { spec, workspace }
    }
}

#[async_trait]
impl Tool for FileList {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = self.spec.parse(input)?;
        let (workspace, room) = (self.workspace.for_turn(context.trust()), context.max_output_chars);
        blocking("listing the folder", move || list(&workspace, &arguments, room)).await
    }
}

fn list(workspace: &Workspace, arguments: &Arguments, room: usize) -> Result<ToolOutput, ToolError> {
    let start = workspace.open_directory(arguments.path.as_deref().unwrap_or_default())?;
    let shown = workspace.shown(&start.path);
    let extent = Extent {
        depth: arguments.depth.unwrap_or(1).clamp(1, MAX_DEPTH),
        everything: arguments.all.unwrap_or(false),
        entries: MAX_SEEN,
        until: Instant::now() + TIMEOUT,
    };
    let note =
        workspace.alike_note(arguments.path.as_deref().unwrap_or_default(), &start.path, start.is_alike);
    let mut walk = Walk::new(workspace, start, extent);
    let (mut text, mut count) = (format!("{note}{shown}:\n"), 0);
    let mut why = None;
    while let Some(entry) = walk.next() {
        if count >= MAX_COUNT || text.len() >= room.saturating_sub(200) {
            why = Some("there are more");
            break;
        }
        count += 1;
        let name = entry.path.file_name().unwrap_or_default().to_string_lossy();
        let what = match entry.kind {
            _ if entry.is_closed => " (closed to tools)".to_owned(),
            FileType::Directory => "/".to_owned(),
            FileType::RegularFile => {
                walk.length(&entry).map(|length| format!("  {length} bytes")).unwrap_or_default()
            }
            FileType::Symlink => " (a link)".to_owned(),
            _ => " (no file)".to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}{}{what}", "  ".repeat(entry.depth), visible(&name));
    }
    if count == 0 {
        text.push_str("  (nothing)\n");
    }
    if let Some(why) = why.or(walk.ended) {
        let _ = writeln!(text, "[not all is listed, because {why}; list a folder of it, or use file_search]");
    }
    Ok(ToolOutput::text(text))
}

/// Makes a name printable on one line.
fn visible(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
