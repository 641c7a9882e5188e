//! `file_search`: finds files by name, and lines in files by a pattern.

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aethon_core::tool::{ArgumentRole, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use aethon_core::turn::Trust;
use async_trait::async_trait;
use grep_regex::RegexMatcher;
use ignore::overrides::{Override, OverrideBuilder};
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::background::blocking;
use super::search::{Bounds, Found, lines, pattern};
use super::walk::{Entry, Extent, Walk};
use super::workspace::Workspace;

/// Default number of result lines.
const USUAL: usize = 100;
/// Maximum number of result lines.
const MAX_COUNT: usize = 500;
/// Maximum number of lines per file.
const MAX_IN_ONE: usize = 50;
/// Maximum number of entries examined.
const MAX_SEEN: usize = 200_000;
/// Maximum depth.
const MAX_DEPTH: usize = 32;
/// Time limit.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum number of context lines.
const MAX_CONTEXT: usize = 5;
/// Space reserved for the closing note.
const NOTE: usize = 200;

/// Searches files.
pub(crate) struct FileSearch {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The regular expression that a line must match. Leave it out to find files by their names with glob.
    pattern: Option<String>,
    /// The folder in which to search. Leave it out for the workspace.
    path: Option<String>,
    /// Which files, as in .gitignore: *.md, src/**/*.rs, or !*.lock to leave some out. Leave it out for all.
    glob: Option<String>,
    /// Whether upper and lower case are the same. Leave it out to tell them apart.
    ignore_case: Option<bool>,
    /// How many lines to show before and behind each one, at most 5. Leave it out for none.
    #[schemars(range(max = 5))]
    context: Option<usize>,
    /// The most lines or files to tell. Leave it out for 100.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
    /// Whether to search hidden files and those that .gitignore leaves out. Leave it out to search neither.
    all: Option<bool>,
}

impl FileSearch {
    pub(crate) fn new(workspace: Arc<Workspace>) -> Self {
        let spec = ToolSpec::of::<Arguments>(
            "file_search",
            "Searches the files of a folder and below for lines that match a regular expression, or finds files by name. \
             Tells the file, the number of the line and the line.",
        )
        .with_role("pattern", ArgumentRole::Text)
        .with_role("path", ArgumentRole::ReadPath)
        .reading_only()
        .open_to(Trust::Guest)
        .with_untrusted_output()
        .with_timeout(TIMEOUT + Duration::from_secs(20));
        Self { spec, workspace }
    }
}

#[async_trait]
impl Tool for FileSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = self.spec.parse(input)?;
        let (workspace, room) = (self.workspace.for_turn(context.trust()), context.max_output_chars);
        blocking("the search", move || search(&workspace, &arguments, room)).await
    }
}

fn search(workspace: &Workspace, arguments: &Arguments, room: usize) -> Result<ToolOutput, ToolError> {
    let wanted = arguments.pattern.as_deref().filter(|pattern| !pattern.is_empty());
    let glob = arguments.glob.as_deref().map(str::trim).filter(|glob| !glob.is_empty());
    if wanted.is_none() && glob.is_none() {
        return Err(ToolError::failed("give a `pattern` to find lines, or a `glob` to find files by name"));
    }
    let ignore_case = arguments.ignore_case.unwrap_or(false);
    let matcher = wanted.map(|text| pattern(text, ignore_case)).transpose().map_err(ToolError::failed)?;
    let until = Instant::now() + TIMEOUT;
    let path = arguments.path.as_deref().unwrap_or_default();
    let start = match (workspace.open_directory(path), &matcher) {
        (Ok(start), _) => start,
        // The path may also be a single file.
        (Err(error), Some(matcher)) => {
            let Ok(opened) = workspace.open(path) else { return Err(error) };
            let mut report = Report::new(workspace, arguments, room);
            report.text = workspace.alike_note(path, &opened.path, opened.is_alike);
            report.file(opened.file, &workspace.shown(&opened.path), matcher, until);
            return Ok(ToolOutput::text(report.finish(None)));
        }
        (Err(error), None) => return Err(error),
    };
    let files = names(&start.path, glob, ignore_case)?;
    let everything = arguments.all.unwrap_or(false);
    let extent = Extent { depth: MAX_DEPTH, everything, entries: MAX_SEEN, until };
    let mut report = Report::new(workspace, arguments, room);
    report.text = workspace.alike_note(path, &start.path, start.is_alike);
    let mut walk = Walk::new(workspace, start, extent);
    let mut is_full = false;
    while let Some(entry) = walk.next() {
        if entry.kind != FileType::RegularFile || entry.is_closed || !is_wanted(&files, &entry) {
            continue;
        }
        match &matcher {
            None => report.name(&entry),
            Some(matcher) => report.lines(&walk, &entry, matcher, until),
        }
        if report.left == 0 || report.text.len() >= report.room {
            is_full = true;
            break;
        }
    }
    Ok(ToolOutput::text(report.finish(is_full.then_some("there are more").or(walk.ended))))
}

/// Compiles the filter for file names; `None` if all names are wanted.
fn names(start: &Path, glob: Option<&str>, ignore_case: bool) -> Result<Option<Override>, ToolError> {
    let Some(glob) = glob else { return Ok(None) };
    let mut builder = OverrideBuilder::new(start);
    let wrong = |error: ignore::Error| ToolError::failed(format!("`glob` cannot be used: {error}"));
    builder.case_insensitive(ignore_case).map_err(wrong)?;
    builder.add(glob).map_err(wrong)?;
    builder.build().map(Some).map_err(wrong)
}

fn is_wanted(files: &Option<Override>, entry: &Entry) -> bool {
    files.as_ref().is_none_or(|files| {
        let said = files.matched(&entry.path, false);
        said.is_whitelist() || (said.is_none() && files.num_whitelists() == 0)
    })
}

/// The result as it grows.
struct Report<'w> {
    workspace: &'w Workspace,
    text: String,
    room: usize,
    left: usize,
    context: usize,
    files: usize,
}

impl<'w> Report<'w> {
    fn new(workspace: &'w Workspace, arguments: &Arguments, room: usize) -> Self {
        Self {
            workspace,
            text: String::new(),
            room: room.saturating_sub(NOTE).max(NOTE),
            left: arguments.limit.unwrap_or(USUAL).clamp(1, MAX_COUNT),
            context: arguments.context.unwrap_or(0).min(MAX_CONTEXT),
            files: 0,
        }
    }

    fn name(&mut self, entry: &Entry) {
        self.left -= 1;
        self.files += 1;
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{}", self.workspace.shown(&entry.path));
    }

    fn lines(&mut self, walk: &Walk<'_>, entry: &Entry, matcher: &RegexMatcher, until: Instant) {
        if let Some(file) = walk.open(entry) {
            let name = self.workspace.shown(&entry.path);
            self.file(file, &name, matcher, until);
        }
    }

    fn file(&mut self, file: File, name: &str, matcher: &RegexMatcher, until: Instant) {
        let bounds = Bounds { hits: self.left.min(MAX_IN_ONE), context: self.context, first: 1, until };
        let Found { lines, hits, ended } = lines(matcher, file, bounds);
        if hits == 0 {
            return;
        }
        self.left -= hits;
        self.files += 1;
        let mut before = None;
        for line in lines {
            if self.context > 0 && before.is_some_and(|before| before + 1 < line.number) {
                self.text.push_str("--\n");
            }
            let mark = if line.is_match { ':' } else { '-' };
            let _ = writeln!(self.text, "{name}{mark}{}{mark} {}", line.number, line.text);
            before = Some(line.number);
        }
        if let Some(why) = ended {
            let _ = writeln!(self.text, "{name}: [not all of this file was searched, because {why}]");
        }
    }

    fn finish(self, ended: Option<&str>) -> String {
        let mut text = self.text;
        if self.files == 0 {
            text.push_str("nothing was found\n");
        }
        if let Some(why) = ended {
            let _ = writeln!(
                text,
                "[the search ended early, because {why}; narrow it with path, glob or pattern]"
            );
        }
        text
    }
}
