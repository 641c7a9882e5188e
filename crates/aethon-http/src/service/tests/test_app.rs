//! Accessors that tests of other modules need from the test application.

use super::*;

impl ReadResponse {
    /// Returns the body.
    pub(crate) fn text(&self) -> &str {
        &self.body
    }
}

impl TestApp {
    /// Returns the event bus.
    pub(crate) fn bus(&self) -> aethon_core::event::EventBus {
        self.app.deps.activity.bus.clone()
    }

    pub(crate) fn reload(&self, options: &Options) {
        self.app.reload(options, self.app.part());
    }
}
