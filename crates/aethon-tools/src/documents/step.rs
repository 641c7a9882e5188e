//! What runs in a child: it builds its walls, reads a document from its input, and writes the text to its output.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use aethon_core::document::{DocumentKind, MAX_DOCUMENT};

use super::{STEP, answer, walls};

/// Reads a document of a kind: hands its text to a sink, and returns notes on what is missing, or why it cannot be read.
type ReadDocument = fn(DocumentKind, Vec<u8>, &mut dyn FnMut(&str)) -> Result<Vec<String>, String>;

/// Reads a document if the program was started for that, and returns its exit code. Call this first in `main`: the walls
/// are for a process with a single thread.
pub fn document_step(arguments: &[OsString], read: ReadDocument) -> Option<ExitCode> {
    let (first, rest) = arguments.split_first()?;
    if first != STEP {
        return None;
    }
    let [kind] = rest else { return Some(ExitCode::FAILURE) };
    let kind = kind.to_str().and_then(DocumentKind::parse).unwrap_or(DocumentKind::Plain);
    walls::build();
    // An error means that the parent is gone.
    Some(run(kind, read).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS))
}

fn run(kind: DocumentKind, read: ReadDocument) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(MAX_DOCUMENT as u64).read_to_end(&mut bytes)?;
    let mut output = std::io::stdout().lock();
    let mut sink = |text: &str| {
        // If nobody listens any more, the next thing that happens is the end.
        let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| read(kind, bytes, &mut sink)));
    let end = match outcome {
        Ok(Ok(notes)) => answer::of_notes(&notes),
        Ok(Err(why)) => answer::of_refusal(&why),
        Err(_) => answer::of_refusal("it is damaged, or made to break its reader"),
    };
    output.write_all(&end)?;
    output.flush()
}
