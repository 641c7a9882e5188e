//! The clock of this program beside the server's.

use std::time::Duration;

use aethon_core::time::in_words;

use crate::error::Error;
use crate::owner::server_now;
use crate::store::Store;

/// How far the clocks may differ, in milliseconds: the numbers of frames are times, and a client that moves to an instance whose
/// clock is behind cannot go on where it was.
const MAX_APART: u64 = 2_000;

impl Store {
    /// Compares the clock of this program with the server's, and says in words when they differ by more than two seconds.
    ///
    /// # Errors
    ///
    /// The server does not answer.
    pub async fn clock_warning(&self) -> Result<Option<String>, Error> {
        let asked = self.now();
        let server = self.read(server_now).await?;
        let answered = self.now();
        // It was read at some moment in between.
        let (least, most) = (asked - server, answered - server);
        let apart = if least > 0 { least } else { most.min(0) };
        if apart.unsigned_abs() <= MAX_APART {
            return Ok(None);
        }
        let way = if apart > 0 { "ahead of" } else { "behind" };
        let amount = in_words(Duration::from_millis(apart.unsigned_abs()));
        Ok(Some(format!("the clock of this machine is {amount} {way} that of the PostgreSQL server")))
    }
}
