//! Standard output.

use std::io::Write;

/// Writes to standard output at once. If the pipe is closed, only the display is lost.
pub(super) fn put(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
