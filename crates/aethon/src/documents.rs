//! Documents as text: the readers of `aethon-documents`, each in a child of this program that `aethon-tools` walls in.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use aethon_core::document::DocumentReader;

use crate::flags::Flags;

/// Runs a step if this program was started again as one, and returns its exit code: a part of the sandbox of the kernel,
/// or the reading of a document. Call this first in `main`: a step must be the only thread of its process.
pub fn step(arguments: &[OsString]) -> Option<ExitCode> {
    aethon_tools::step(arguments).or_else(|| reading(arguments))
}

#[cfg(feature = "documents")]
fn reading(arguments: &[OsString]) -> Option<ExitCode> {
    aethon_tools::document_step(arguments, |kind, bytes, sink| {
        aethon_documents::read(kind, bytes, sink).map_err(|error| error.to_string())
    })
}

#[cfg(not(feature = "documents"))]
fn reading(_arguments: &[OsString]) -> Option<ExitCode> {
    None
}

/// The reader of documents of this program.
#[cfg(feature = "documents")]
pub(crate) fn reader(flags: &Flags) -> Arc<dyn DocumentReader> {
    Arc::new(aethon_tools::DocumentChildren::new(flags.launcher.clone()))
}

/// The reader of documents of a program that was built without them.
#[cfg(not(feature = "documents"))]
pub(crate) fn reader(_flags: &Flags) -> Arc<dyn DocumentReader> {
    Arc::new(aethon_core::document::NoDocuments(
        "this program was built without the reading of documents (the feature `documents`)",
    ))
}
