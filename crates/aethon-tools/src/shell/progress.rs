//! What viewers see of a running command: the end of its output, a few times a second at most, with secrets redacted.
//! It is for display only; the result is reported when the command has ended.

use std::time::Duration;

use aethon_core::live::Live;
use aethon_core::tool::ToolContext;
use aethon_guard::redact::Redactor;

use super::output::HeadTailBuffer;

/// How long a command runs before any output is shown: most have ended by then.
pub(super) const FIRST_LOOK: Duration = Duration::from_millis(800);

/// Interval between updates.
pub(super) const PACE: Duration = Duration::from_millis(400);

/// The output of one call, as it is shown.
pub(super) struct Progress<'c> {
    context: &'c ToolContext,
    redactor: &'c Live<Redactor>,
    /// How many bytes had arrived at the last update.
    shown: u64,
}

impl<'c> Progress<'c> {
    pub(super) fn new(context: &'c ToolContext, redactor: &'c Live<Redactor>) -> Self {
        Self { context, redactor, shown: 0 }
    }

    /// Shows new output, if there is any.
    pub(super) fn show(&mut self, kept: &HeadTailBuffer) {
        if kept.total() == self.shown {
            return;
        }
        self.shown = kept.total();
        let text = kept.latest(|text| self.redactor.get().redact(text).into_owned());
        if !text.is_empty() {
            self.context.show_output(text);
        }
    }
}
