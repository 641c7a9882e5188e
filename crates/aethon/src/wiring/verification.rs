//! `[verification]` to the checks after edits.

use std::sync::Arc;
use std::time::Duration;

use aethon_config::Config;
use aethon_core::sandbox::Sandbox;
use aethon_tools::{VerifyEdits, VerifyOptions};

use crate::builder::Prepared;

/// What checks edits, if that is wanted.
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
    Some(Arc::new(VerifyEdits::new(&super::tools::options(prepared), redactor, options)))
}

/// Whether a check may be made of a project's files. It runs what stands in them, and the model writes them; so not where a
/// command needs a person's word, always or in a turn that a stranger's text has entered, and nothing else holds it.
pub(crate) fn may_detect(config: &Config) -> bool {
    let approval = &config.approval;
    let asks = config.security.taint_requires_approval
        || approval.enabled && approval.requires_approval.iter().any(|tool| tool == "shell" || tool == "*");
    config.security.sandbox != Sandbox::None || !asks
}
