//! What holds of a database on a server, whether or not it is built in.

use std::path::Path;

use aethon_files::read_given;

use crate::home::Home;

/// The longest name of a machine, in bytes.
const MAX_HOSTNAME: usize = 256;

/// What to do about a clock that is wrong.
pub(crate) const CLOCK_FIX: &str = "keep the clocks of all machines right, by NTP: until then messages carry wrong times, and a \
                                    page that moves between instances loads its conversation again";

/// What `doctor` tells of the database.
pub(crate) struct Checked {
    /// The server and the format.
    pub(crate) words: String,
    /// The number of memories.
    pub(crate) memories: String,
    /// How the clock of this machine differs from the server's.
    pub(crate) clock: Option<String>,
}

/// The name of a home among those that share a server: no other home has it.
pub(crate) fn instance_name(home: &Home) -> String {
    let named = |path: &str| read_given(Path::new(path), MAX_HOSTNAME).ok().flatten();
    let machine = named("/proc/sys/kernel/hostname").or_else(|| named("/etc/hostname"));
    let machine =
        machine.map(|read| String::from_utf8_lossy(&read.bytes).trim().to_owned()).unwrap_or_default();
    format!("{machine}:{}", home.path().display())
}
