//! Fuzz test of damaged recordings: each is refused or read, and no claim in it makes the reader write or allocate.

use std::io::Write as _;

use aethon_core::fuzz_targets;
use aethon_core::recording::EventQuery;

use crate::opened::Opened;

fn read(input: &[u8]) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(input).unwrap();
    let Ok(mut opened) = Opened::open(file.path()) else { return };
    let _ = opened.check();
    let _ = opened.events(&EventQuery::default());
    let _ = opened.entries();
    for snapshot in opened.snapshots().unwrap_or_default() {
        let _ = opened.state(snapshot.n);
    }
}

fuzz_targets! {
    fuzz_recordings: [include_bytes!("../tests/data/written_before.zip").as_slice()] => read;
}
