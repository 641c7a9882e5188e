//! Audit rows for the changes of a command. By then the change is made, so failing to write the row is only a warning.

use aethon::config::Sources;
use aethon::core::audit::AuditAction;
use anyhow::Result;

/// Records a change to a file of the home: its kind, its subject, and its outcome. Never a value.
pub(crate) fn note(sources: &Sources, action: AuditAction, (subject, outcome): (&str, &str)) -> Result<()> {
    let noted = aethon::audit::note(sources, action, subject, outcome);
    told(crate::setup::runtime()?.block_on(noted).map(drop));
    Ok(())
}

/// Warns if a row could not be written.
pub(crate) fn told(noted: aethon::Result<()>) {
    if let Err(error) = noted {
        let words = aethon::core::visible::readable(&error.to_string());
        eprintln!("warning: this is done, but not in the audit: {words}");
    }
}
