//! The output of a call: kept for the report at its end, and until then viewers see its latest lines, a few times a second at
//! most, with secrets redacted.

use aethon_core::live::Live;
use aethon_core::tool::ToolContext;
use aethon_guard::redact::Redactor;

use super::output::HeadTailBuffer;
use super::run::Sink;

/// The output of one call: kept for its report, and shown meanwhile.
pub(super) struct CallOutput<'c> {
    context: &'c ToolContext,
    redactor: &'c Live<Redactor>,
    kept: HeadTailBuffer,
    /// How many bytes had arrived at the last update.
    shown: u64,
}

impl<'c> CallOutput<'c> {
    pub(super) fn new(context: &'c ToolContext, redactor: &'c Live<Redactor>) -> Self {
        Self { context, redactor, kept: HeadTailBuffer::default(), shown: 0 }
    }

    /// Returns everything that was kept.
    pub(super) fn into_kept(self) -> HeadTailBuffer {
        self.kept
    }
}

impl Sink for CallOutput<'_> {
    fn take(&mut self, bytes: &[u8]) {
        self.kept.push(bytes);
    }

    fn look(&mut self) {
        if self.kept.total() == self.shown {
            return;
        }
        self.shown = self.kept.total();
        let text = self.kept.latest(|text| self.redactor.get().redact(text).into_owned());
        if !text.is_empty() {
            self.context.show_output(text);
        }
    }
}
