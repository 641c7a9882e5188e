//! What the assistant needs of the runtime that it is opened in. A program may bring any, and tokio panics where a part is missing.

use std::panic::catch_unwind;
use std::time::Duration;

use tokio::runtime::Handle;

use crate::error::{Error, Result};

/// Returns the runtime of the caller if it has timers, without which no turn could have an end.
pub(crate) fn with_timers() -> Result<Handle> {
    let runtime = Handle::try_current().map_err(|error| {
        let remedy = "call this inside a Tokio runtime (tokio 1), in `#[tokio::main]` for example";
        Error::refused(format!("there is no Tokio runtime here: {remedy}")).because(error)
    })?;
    // Nothing else tells whether a runtime has timers. A panic hook may print the panic all the same.
    match catch_unwind(|| drop(tokio::time::sleep(Duration::ZERO))) {
        Ok(()) => Ok(runtime),
        Err(_) => Err(Error::refused(
            "this Tokio runtime has no timers: build it with `enable_time` or `enable_all`",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_runtime_or_timer_is_an_error() {
        let outside = with_timers().unwrap_err();
        assert!(outside.is_refusal() && outside.to_string().contains("no Tokio runtime"), "{outside}");
        let bare = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let without = bare.block_on(async { with_timers() }).unwrap_err();
        assert!(without.is_refusal() && without.to_string().contains("enable_time"), "{without}");
        let timed = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        assert!(timed.block_on(async { with_timers() }).is_ok());
    }
}
