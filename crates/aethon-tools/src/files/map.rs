//! `repo_map`: the definitions in the files of a repository, the most used files first, within a character limit.
//!
//! A model that sees it knows where to look without reading everything. The rank of a file is how many other files
//! mention its definitions.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;
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
use super::outline::{Definition, definitions, knows};
use super::walk::{Extent, Walk};
use super::workspace::Workspace;

/// Limits on entries examined, depth, and time.
const MAX_SEEN: usize = 50_000;
const MAX_DEPTH: usize = 24;
const TIMEOUT: Duration = Duration::from_secs(20);
/// Limits on the size of a file, the number of files, and their total size.
const MAX_SIZE: u64 = 256 << 10;
const MAX_FILES: usize = 4_000;
const MAX_READ: usize = 48 << 20;
/// Maximum number of definitions shown per file.
const MAX_OF_ONE: usize = 24;
/// A name that this many files mention is a common word and means nothing.
const COMMON: usize = 50;

/// Creates maps.
pub(crate) struct RepoMap {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
    most: usize,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The folder to map. Leave it out for the workspace.
    path: Option<String>,
    /// Words that name what you are after, such as names of functions or parts of paths; files with them come first.
    about: Option<String>,
}

/// A file with its definitions.
struct Mapped {
    shown: String,
    definitions: Vec<Definition>,
    words: BTreeSet<u64>,
    score: usize,
}

impl RepoMap {
    pub(crate) fn new(workspace: Arc<Workspace>, most: usize) -> Self {
        let spec = ToolSpec::of::<Arguments>(
            "repo_map",
            "Shows what the source files of a folder define, with lines, the files that others use most first. Use it to find \
             your way in code that you do not know; then read the files.",
        )
        .with_role("path", ArgumentRole::ReadPath)
        .reading_only()
        .open_to(Trust::Guest)
        .with_untrusted_output()
        .with_timeout(TIMEOUT + Duration::from_secs(20));
        Self { spec, workspace, most }
    }
}

#[async_trait]
impl Tool for RepoMap {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = self.spec.parse(input)?;
        let (workspace, room) =
            (self.workspace.for_turn(context.trust()), self.most.min(context.max_output_chars));
        blocking("the map", move || map(&workspace, &arguments, room)).await
    }
}

fn map(workspace: &Workspace, arguments: &Arguments, room: usize) -> Result<ToolOutput, ToolError> {
    let start = workspace.open_directory(arguments.path.as_deref().unwrap_or_default())?;
    let until = Instant::now() + TIMEOUT;
    let extent = Extent { depth: MAX_DEPTH, everything: false, entries: MAX_SEEN, until };
    let mut walk = Walk::new(workspace, start, extent);
    let (mut files, mut read) = (Vec::new(), 0);
    while let Some(entry) = walk.next() {
        let ending = entry.path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_owned();
        if entry.kind != FileType::RegularFile || !knows(&ending) {
            continue;
        }
        let Some(file) = walk.open(&entry) else { continue };
        let mut text = String::new();
        if file.take(MAX_SIZE).read_to_string(&mut text).is_err() {
            continue;
        }
        read += text.len();
        files.push(mapped(workspace.shown(&entry.path), &ending, &text));
        if files.len() >= MAX_FILES || read >= MAX_READ {
            walk.ended = Some("there are too many files");
            break;
        }
    }
    let ended = walk.ended;
    weigh(&mut files, arguments.about.as_deref().unwrap_or_default());
    Ok(ToolOutput::text(format_map(&files, room, ended)))
}

fn mapped(shown: String, ending: &str, text: &str) -> Mapped {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| word.len() > 2);
    let words = words.map(hash).collect();
    Mapped { shown, definitions: definitions(ending, text), words, score: 0 }
}

/// Hashes a word; a collision only raises a file's rank a little.
fn hash(word: &str) -> u64 {
    word.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Sorts files that others use most first, and before them those that match the model's topic.
fn weigh(files: &mut [Mapped], about: &str) {
    let mut mentions: BTreeMap<u64, usize> = BTreeMap::new();
    for file in files.iter() {
        for word in &file.words {
            *mentions.entry(*word).or_default() += 1;
        }
    }
    let wanted: Vec<String> =
        about.split_whitespace().map(str::to_lowercase).filter(|word| word.len() > 2).take(20).collect();
    for file in files.iter_mut() {
        // Do not count the file's own mention.
        let others = |one: &Definition| mentions.get(&hash(&one.name)).map_or(0, |count| count - 1);
        let used = file.definitions.iter().map(others).filter(|count| *count < COMMON).sum::<usize>();
        let path = file.shown.to_lowercase();
        let has = |word: &String| {
            path.contains(word) || file.definitions.iter().any(|one| one.name.to_lowercase().contains(word))
        };
        file.score = used + 1_000_000 * wanted.iter().filter(|word| has(word)).count();
    }
    files.sort_by(|one, other| other.score.cmp(&one.score).then_with(|| one.shown.cmp(&other.shown)));
}

fn format_map(files: &[Mapped], room: usize, ended: Option<&str>) -> String {
    let (mut text, mut shown, mut characters) = (String::new(), 0, 0);
    for file in files {
        let mut piece = format!("{}\n", file.shown);
        for one in file.definitions.iter().take(MAX_OF_ONE) {
            piece.push_str(&format!("  {}: {}\n", one.line, one.text));
        }
        if file.definitions.len() > MAX_OF_ONE {
            piece.push_str(&format!("  [{} more]\n", file.definitions.len() - MAX_OF_ONE));
        }
        let length = piece.chars().count();
        if characters + length > room {
            break;
        }
        (shown, characters) = (shown + 1, characters + length);
        text.push_str(&piece);
    }
    if files.is_empty() {
        text.push_str("there are no source files that a map knows\n");
    }
    if shown < files.len() {
        let folders: BTreeSet<&Path> =
            files[shown..].iter().filter_map(|file| Path::new(&file.shown).parent()).collect();
        text.push_str(&format!(
            "[{} more files in {} folders; give a `path`]\n",
            files.len() - shown,
            folders.len()
        ));
    }
    if let Some(why) = ended {
        text.push_str(&format!("[not all was looked at: {why}]\n"));
    }
    text
}
