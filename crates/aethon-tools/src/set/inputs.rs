//! The inputs of tool sets.

use std::sync::Arc;

use aethon_core::channel::Courier;
use aethon_core::clock::Clock;
use aethon_core::document::{DocumentReader, NoDocuments};
use aethon_core::history::History;
use aethon_core::live::Live;
use aethon_core::memory::Memory;
use aethon_core::session::Transcripts;
use aethon_guard::redact::Redactor;

use crate::changes::ChangeJournal;
use crate::files::Workspace;
use crate::lsp::LanguageServers;
use crate::options::Options;
use crate::outputs::KeptOutputs;
use crate::shell::CommandRegistry;

/// What tools need from the rest of the program. The facade fills it; what tools *may do* is in [`Options`].
#[derive(Clone)]
#[non_exhaustive]
pub struct Needs {
    /// The source of the current time.
    pub clock: Arc<dyn Clock>,
    /// Search in the conversation.
    pub history: Arc<dyn History>,
    /// The stored conversations.
    pub transcripts: Arc<dyn Transcripts>,
    /// Long-term memory, which refuses secrets; `None` if disabled.
    pub memory: Option<Arc<dyn Memory>>,
    /// Redacts secrets from the output shown while a tool runs.
    pub redactor: Live<Redactor>,
    /// Store for output that was too long; `None` if it is not kept.
    pub outputs: Option<KeptOutputs>,
    /// Keeps what files were before tools change them; `None` if that is not kept.
    pub changes: Option<ChangeJournal>,
    /// Sends to channels; `None` if there are none.
    pub courier: Option<Arc<dyn Courier>>,
    /// The language servers, if any.
    pub lsp: Option<Arc<LanguageServers>>,
    /// Turns documents into text.
    pub documents: Arc<dyn DocumentReader>,
    /// The commands in the background; `None` if nothing else looks at them.
    pub background: Option<CommandRegistry>,
}

impl Needs {
    /// Creates the needs that every assistant has.
    pub fn new(clock: Arc<dyn Clock>, history: Arc<dyn History>, transcripts: Arc<dyn Transcripts>) -> Self {
        Self {
            clock,
            history,
            transcripts,
            memory: None,
            redactor: Live::default(),
            outputs: None,
            changes: None,
            courier: None,
            lsp: None,
            documents: Arc::new(NoDocuments::default()),
            background: None,
        }
    }
}

/// What sets create their tools from.
pub(super) struct ToolInputs<'g> {
    pub(super) options: &'g Options,
    pub(super) needs: &'g Needs,
    /// The only way to files.
    pub(super) workspace: Arc<Workspace>,
}

impl<'g> ToolInputs<'g> {
    pub(super) fn new(options: &'g Options, needs: &'g Needs) -> Self {
        Self { options, needs, workspace: Arc::new(Workspace::new(options)) }
    }
}
