//! `file_read`: reads a text file or a piece of it, matching lines in it, a picture, the text of a document, or output that
//! was too long for one result. The content is untrusted data wherever the file is: the workspace also contains what
//! commands have downloaded. Only the pages that the owner writes for the assistant count as the owner's word.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::time::{Duration, Instant};

use aethon_core::document::{DocumentKind, DocumentReader, DocumentText, HEAD, MAX_DOCUMENT};
use aethon_core::ids::SessionId;
use aethon_core::message::begins_like_picture;
use aethon_core::tool::{ArgumentRole, OutputBlock, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use aethon_core::turn::Trust;
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::background::blocking;
use super::lines::{PieceError, read_piece};
use super::search::{Bounds, lines, pattern};
use super::workspace::Workspace;
use crate::outputs::KeptOutputs;

/// Space reserved for the line that says how to continue.
const NOTE: usize = 200;
/// Maximum size of a picture; models accept no larger ones.
const MAX_PICTURE: u64 = 3_750_000;
/// Supported types of pictures.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/// Maximum number of lines that a search in a file returns.
const MAX_HITS: usize = 200;
/// Context lines beside each.
const BESIDE: usize = 1;
/// Time limit of a search in a file.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Reads files.
pub(crate) struct FileRead {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
    outputs: Option<KeptOutputs>,
    documents: Arc<dyn DocumentReader>,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Path of the file, or the handle of output that was too long.
    path: String,
    /// Number of the first line to read, counted from 1. Leave it out to start at the beginning.
    #[schemars(range(min = 1))]
    offset: Option<usize>,
    /// How many lines to read. Leave it out to read as many as fit.
    #[schemars(range(min = 1))]
    limit: Option<usize>,
    /// A regular expression: only the lines that match are returned, with their numbers. Leave it out to read.
    search: Option<String>,
}

/// The source: a file of the person's, or kept output.
struct Source {
    file: File,
    length: u64,
    is_owners: bool,
    /// Says under which name it was found, if not under its own.
    note: String,
}

impl FileRead {
    pub(crate) fn new(
        workspace: Arc<Workspace>,
        outputs: Option<KeptOutputs>,
        documents: Arc<dyn DocumentReader>,
    ) -> Self {
        let spec = ToolSpec::of::<Arguments>(
            "file_read",
            "Reads a text file, the text of a document (PDF, Word, Excel, PowerPoint, OpenDocument, EPUB, RTF), or a \
             picture (png, jpeg, gif, webp). Relative paths start at the workspace. A long file comes in pieces; the end of each piece says how to read on. With search it tells only \
             the lines that match. The note on output that was cut names a handle, which is read like a path.",
        )
        .with_role("path", ArgumentRole::ReadPath)
        .with_role("search", ArgumentRole::Text)
        .reading_only()
        .open_to(Trust::Guest)
        .with_untrusted_output()
        .with_timeout(Duration::from_secs(60));
        Self { spec, workspace, outputs, documents }
    }
}

#[async_trait]
impl Tool for FileRead {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = self.spec.parse(input)?;
        let chars = context.max_output_chars.saturating_sub(NOTE).max(NOTE);
        let (workspace, outputs, session) =
            (self.workspace.for_turn(context.trust()), self.outputs.clone(), context.session.clone());
        if let Some(outputs) = outputs.as_ref().filter(|_| KeptOutputs::is_handle(&arguments.path)) {
            outputs.fetch(&session, &arguments.path).await;
        }
        let work = move || {
            let source = source(&workspace, outputs.as_ref(), &session, &arguments.path)?;
            read(source, arguments, chars)
        };
        let document = match blocking("reading the file", work).await? {
            Found::Read(output) => return Ok(output),
            Found::Document(document) => document,
        };
        let Document { kind, bytes, arguments, note, or_else } = document;
        let path = &arguments.path;
        let text = match (self.documents.read(kind, bytes, context.trust()).await, or_else) {
            (Ok(text), _) => text,
            // It would have been text in another encoding.
            (Err(_), Some(error)) => return Err(error),
            (Err(why), None) => {
                return Err(ToolError::failed(format!("the text of {path:?} cannot be read: {why}")));
            }
        };
        let work = move || Ok(noted(&note, text_of_document(&text, &arguments, chars)?));
        blocking("reading the document", work).await
    }
}

/// The type of a file, by its content.
enum Found {
    /// Something that is read at once.
    Read(ToolOutput),
    /// A document, which the reader of documents takes.
    Document(Document),
}

/// A document, and what is asked about it.
struct Document {
    kind: DocumentKind,
    bytes: Vec<u8>,
    arguments: Arguments,
    /// Says under which name it was found, if not under its own.
    note: String,
    /// What is said if it cannot be read, other than why.
    or_else: Option<ToolError>,
}

fn source(
    workspace: &Workspace,
    outputs: Option<&KeptOutputs>,
    session: &SessionId,
    path: &str,
) -> Result<Source, ToolError> {
    if let Some(outputs) = outputs.filter(|_| KeptOutputs::is_handle(path)) {
        let gone = |_| {
            ToolError::failed(format!(
                "there is no kept output {path:?}; it is kept for a week, for its own conversation"
            ))
        };
        let file = outputs.open(session, path).map_err(gone)?;
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        return Ok(Source { file, length, is_owners: false, note: String::new() });
    }
    let opened = workspace.open(path)?;
    Ok(Source {
        is_owners: workspace.is_page(&opened.path),
        note: workspace.alike_note(path, &opened.path, opened.is_alike),
        file: opened.file,
        length: opened.length,
    })
}

fn read(mut source: Source, arguments: Arguments, chars: usize) -> Result<Found, ToolError> {
    let path = &arguments.path;
    let cannot = |error: std::io::Error| ToolError::failed(format!("{path:?} cannot be read: {error}"));
    let mut head = Vec::with_capacity(HEAD);
    source.file.by_ref().take(HEAD as u64).read_to_end(&mut head).map_err(cannot)?;
    source.file.seek(SeekFrom::Start(0)).map_err(cannot)?;
    if let Some(mime) = PICTURES.into_iter().find(|mime| begins_like_picture(mime, &head)) {
        return picture(source, path, mime).map(Found::Read);
    }
    let kind = DocumentKind::of(&head, path, "");
    if let Some(kind) = kind.filter(|kind| !kind.is_textual()) {
        return whole(source, kind, arguments, None).map(Found::Document);
    }
    let other_encoding = kind.unwrap_or(DocumentKind::Plain);
    let Source { mut file, length, is_owners, note } = source;
    // Lines of two-byte units cannot be searched as they are.
    let is_wide = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    let read =
        if is_wide { Err(not_text(path, length)) } else { text_of(&mut file, length, &arguments, chars) };
    match read {
        Ok(output) => Ok(Found::Read(noted(&note, output).of_the_owner(is_owners))),
        Err(error) if error.to_string().contains(NOT_TEXT) && length <= MAX_DOCUMENT as u64 => {
            // A sample tells more than just that it is not text.
            let sample: Vec<String> = head.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
            let error = ToolError::failed(format!("{error}, beginning with {}", sample.join(" ")));
            file.seek(SeekFrom::Start(0)).map_err(cannot)?;
            let source = Source { file, length, is_owners, note };
            whole(source, other_encoding, arguments, Some(error)).map(Found::Document)
        }
        Err(error) => Err(error),
    }
}

/// Reads the bytes of a document.
fn whole(
    source: Source,
    kind: DocumentKind,
    arguments: Arguments,
    or_else: Option<ToolError>,
) -> Result<Document, ToolError> {
    let path = &arguments.path;
    if source.length > MAX_DOCUMENT as u64 {
        let length = source.length;
        return Err(ToolError::failed(format!(
            "{path:?} is a document of {length} bytes; at most {MAX_DOCUMENT} are read"
        )));
    }
    let mut bytes = Vec::new();
    let read = source.file.take(MAX_DOCUMENT as u64).read_to_end(&mut bytes);
    read.map_err(|error| ToolError::failed(format!("{path:?} cannot be read: {error}")))?;
    Ok(Document { kind, bytes, arguments, note: source.note, or_else })
}

/// Returns the part of a document's text that is asked for. What is missing of it is said with each part.
fn text_of_document(
    document: &DocumentText,
    arguments: &Arguments,
    chars: usize,
) -> Result<ToolOutput, ToolError> {
    let length = document.text.len() as u64;
    let notes: String = document.notes.iter().map(|note| format!("[{note}]\n")).collect();
    if document.text.trim().is_empty() && !notes.is_empty() {
        return Ok(ToolOutput::text(notes));
    }
    let chars = chars.saturating_sub(notes.len()).max(NOTE);
    let output = text_of(Cursor::new(&document.text), length, arguments, chars)?;
    Ok(if notes.is_empty() { output } else { ToolOutput::text(format!("{notes}\n{}", output.to_text())) })
}

/// Puts the note on a file's real name before what was read.
fn noted(note: &str, mut output: ToolOutput) -> ToolOutput {
    if let Some(OutputBlock::Text { text }) = output.blocks.first_mut() {
        text.insert_str(0, note);
    }
    output
}

fn picture(source: Source, path: &str, mime: &str) -> Result<ToolOutput, ToolError> {
    let length = source.length;
    if length > MAX_PICTURE {
        return Err(ToolError::failed(format!(
            "{path:?} is a picture ({mime}) of {length} bytes; at most {MAX_PICTURE} can be shown, so make a smaller copy"
        )));
    }
    let mut bytes = Vec::new();
    let read = source.file.take(MAX_PICTURE).read_to_end(&mut bytes);
    read.map_err(|error| ToolError::failed(format!("{path:?} cannot be read: {error}")))?;
    let told = format!("a picture ({mime}, {length} bytes)");
    Ok(ToolOutput::text(format!("{}{told}", source.note)).with_image(mime, STANDARD.encode(bytes)))
}

fn text_of(
    file: impl Read,
    length: u64,
    arguments: &Arguments,
    chars: usize,
) -> Result<ToolOutput, ToolError> {
    match arguments.search.as_deref().filter(|search| !search.is_empty()) {
        Some(search) => found(file, search, arguments, chars),
        None => piece(file, length, arguments, chars),
    }
}

/// Words that say that a file is no text.
const NOT_TEXT: &str = "is not a UTF-8 text file";

fn not_text(path: &str, length: u64) -> ToolError {
    ToolError::failed(format!("{path:?} {NOT_TEXT} ({length} bytes)"))
}

fn piece(file: impl Read, length: u64, arguments: &Arguments, chars: usize) -> Result<ToolOutput, ToolError> {
    let first = arguments.offset.unwrap_or(1).max(1);
    let lines = arguments.limit.unwrap_or(usize::MAX).max(1);
    let path = &arguments.path;
    let piece = read_piece(file, first, lines, chars).map_err(|why| {
        ToolError::failed(match why {
            PieceError::BeyondTheEnd(lines) => format!("{path:?} has only {lines} lines"),
            PieceError::TooFar => format!("line {first} of {path:?} is too far into the file; use search"),
            PieceError::NotText => return not_text(path, length),
            PieceError::Unreadable(error) => format!("{path:?} cannot be read: {error}"),
        })
    })?;
    let mut text = piece.text;
    if text.is_empty() {
        text.push_str("[the file is empty]");
    }
    if let Some(next) = piece.next {
        text.push_str(&format!("[the file continues ({length} bytes in all): read on with offset {next}]\n"));
    }
    Ok(ToolOutput::text(text))
}

fn found(
    file: impl Read,
    search: &str,
    arguments: &Arguments,
    chars: usize,
) -> Result<ToolOutput, ToolError> {
    let matcher = pattern(search, false).map_err(ToolError::failed)?;
    let hits = arguments.limit.unwrap_or(MAX_HITS).clamp(1, MAX_HITS);
    let first = arguments.offset.unwrap_or(1) as u64;
    let bounds = Bounds { hits, context: BESIDE, first, until: Instant::now() + TIMEOUT };
    let found = lines(&matcher, file, bounds);
    let (mut text, mut ended) = (String::new(), found.ended);
    for line in &found.lines {
        if text.len() > chars {
            ended = Some("there are more: go on with offset");
            break;
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}{} {}", line.number, if line.is_match { ':' } else { '-' }, line.text);
    }
    if text.is_empty() {
        text.push_str("[no line matches]\n");
    }
    if let Some(why) = ended {
        let _ = writeln!(text, "[not all matches are shown, because {why}]");
    }
    Ok(ToolOutput::text(text))
}
