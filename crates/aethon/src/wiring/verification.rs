//! Builds the checks after edits from `[verification]`.

use std::sync::Arc;
use std::time::Duration;

use aethon_config::Config;
use aethon_core::sandbox::Sandbox;
use aethon_tools::{VerifyEdits, VerifyOptions};

use crate::prepared::Prepared;

/// The hook that checks edits, if enabled.
pub(crate) fn hook(prepared: &Prepared) -> Option<Arc<VerifyEdits>> {
    let verification = &prepared.config.verification;
    if !verification.enabled && prepared.shared.lsp.is_none() {
        return None;
    }
    let command = Some(verification.command.trim().to_owned()).filter(|command| !command.is_empty());
    let options = VerifyOptions {
        command,
        detects: may_detect(&prepared.config),
        timeout: Duration::from_secs(verification.timeout_seconds),
        strict: verification.strict,
        runs: verification.enabled,
        lsp: prepared.shared.lsp.clone(),
    };
    let redactor = prepared.shared.redactor.clone();
    Some(Arc::new(VerifyEdits::new(&super::tool_options::options(prepared), redactor, options)))
}

/// Returns whether a check may be derived from a project's files. Such a check executes files that the model can write, so not
/// if commands need approval (always, or in turns tainted by a stranger's text) and no sandbox contains them.
pub(crate) fn may_detect(config: &Config) -> bool {
    let asks = config.security.taint_requires_approval || crate::reach::asks_before_commands(config);
    config.security.sandbox != Sandbox::None || !asks
}
