//! What sets are made of.

use std::sync::Arc;

use aethon_core::channel::Courier;
use aethon_core::clock::Clock;
use aethon_core::history::History;
use aethon_core::live::Live;
use aethon_core::memory::Memory;
use aethon_core::redact::Redactor;
use aethon_core::session::Transcripts;

use crate::files::Workspace;
use crate::lsp::LanguageServers;
use crate::options::Options;
use crate::outputs::KeptOutputs;

/// What tools need of the rest of the program. The facade fills it; what tools *may* is in [`Options`].
#[derive(Clone)]
#[non_exhaustive]
pub struct Needs {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Passages of what was said.
    pub history: Arc<dyn History>,
    /// Conversations as they are kept.
    pub transcripts: Arc<dyn Transcripts>,
    /// Long-term memory, which refuses secrets; none where it is switched off.
    pub memory: Option<Arc<dyn Memory>>,
    /// What is taken out of whatever is shown while a tool runs.
    pub redactor: Live<Redactor>,
    /// Output that was too long, where it is kept.
    pub outputs: Option<KeptOutputs>,
    /// The way out to channels, where there is one.
    pub courier: Option<Arc<dyn Courier>>,
    /// The language servers, where there are any.
    pub lsp: Option<Arc<LanguageServers>>,
}

impl Needs {
    /// What every assistant has.
    pub fn new(clock: Arc<dyn Clock>, history: Arc<dyn History>, transcripts: Arc<dyn Transcripts>) -> Self {
        Self {
            clock,
            history,
            transcripts,
            memory: None,
            redactor: Live::default(),
            outputs: None,
            courier: None,
            lsp: None,
        }
    }
}

/// What a set makes its tools of.
pub(super) struct Ground<'g> {
    pub(super) options: &'g Options,
    pub(super) needs: &'g Needs,
    /// The one way to files.
    pub(super) workspace: Arc<Workspace>,
}

impl<'g> Ground<'g> {
    pub(super) fn new(options: &'g Options, needs: &'g Needs) -> Self {
        Self { options, needs, workspace: Arc::new(Workspace::new(options)) }
    }
}
