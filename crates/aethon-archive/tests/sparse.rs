//! A file of holes is left out, because it takes no room where it is and all of it in an archive.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

use aethon_archive::{ArchiveWriter, Found, Limits, add_folder};

#[test]
fn sparse_files_are_skipped_and_reported_and_small_holes_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str, size: u64| {
        let mut file = File::create(folder.path().join(name)).unwrap();
        file.write_all(b"begin").unwrap();
        file.seek(SeekFrom::Start(size)).unwrap();
        file.write_all(b"end").unwrap();
    };
    make("a-database", 1 << 20);
    make("huge", 1 << 42);
    // Each alone is allowed, all together are not.
    (0..6).for_each(|number| make(&format!("many-{number}"), 20 << 20));
    File::create(folder.path().join("only-a-hole")).unwrap().set_len(1 << 40).unwrap();
    std::fs::write(folder.path().join("plain"), vec![0; 1 << 20]).unwrap();

    let mut writer = ArchiveWriter::new(Vec::new(), Limits::BACKUP);
    let mut read = 0;
    let mut visit = |found: Found<'_>| {
        if let Found::Bytes(bytes) = found {
            read += bytes;
        }
        Ok(true)
    };
    let skipped = add_folder(&mut writer, folder.path(), "w/", &mut visit).unwrap();
    let names: Vec<&str> = skipped.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["w/huge", "w/many-3", "w/many-4", "w/many-5", "w/only-a-hole"]);
    assert!(skipped.iter().all(|one| one.reason.contains("is sparse")), "{skipped:?}");
    assert_eq!(
        writer.sums().keys().collect::<Vec<_>>(),
        ["w/a-database", "w/many-0", "w/many-1", "w/many-2", "w/plain"]
    );
    assert!(read < 100 << 20);
}
