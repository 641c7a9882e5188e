//! Builds the sandbox from the options of the tools. A file of its own, because the options hold the sandbox.

use super::pool::{DockerSandbox, Folders};
use crate::options::Options;
use crate::strangers::ChangeableParts;

impl DockerSandbox {
    /// Creates the sandbox of the assistant of these options, for a daemon's address. Contacts nothing yet.
    pub fn new(host: &str, options: &Options) -> Self {
        let parts = ChangeableParts::new(options);
        let folders = Folders {
            home: options.home.as_deref().unwrap_or(&options.workspace),
            workspace: &options.workspace,
            find_parts: Box::new(move |workspace| parts.now(workspace)),
        };
        Self::at(host, options.shell.limits.clone(), folders)
    }
}
