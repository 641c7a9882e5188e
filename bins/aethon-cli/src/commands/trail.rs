//! What a command changed, as a row of the audit. A change that was made is made: a row that cannot be written is a warning.

use std::path::Path;

use aethon::Home;
use aethon::core::audit::AuditAction;
use anyhow::Result;

/// Notes a change of a file of this home: of what kind, what it is about, and what was done. Never a value.
pub(crate) fn note(home: &Path, action: AuditAction, (subject, outcome): (&str, &str)) -> Result<()> {
    let home = Home::at(home);
    let noted = aethon::audit::note(&home, action, subject, outcome);
    told(crate::runtime()?.block_on(noted).map(drop));
    Ok(())
}

/// Warns where a row could not be written.
pub(crate) fn told(noted: aethon::Result<()>) {
    if let Err(error) = noted {
        let words = aethon::core::visible::readable(&error.to_string());
        eprintln!("warning: this is done, but not in the audit: {words}");
    }
}
