//! Archives that somebody made with bad intent, or that a disk damaged, are refused in words.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::io::{Cursor, Read, Write};

use aethon_archive::{About, Archive, ArchiveWriter, Limits};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const SMALL: Limits = Limits {
    max_entries: 5,
    max_unpacked: 10_000_000,
    free_bytes: 100_000,
    max_ratio: 20,
    judges_entries: false,
    max_name: 100,
};

fn options() -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(CompressionMethod::Deflated)
}

/// A ZIP of these files.
fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        writer.start_file(*name, options()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Replaces every occurrence of a name by another of the same length.
fn renamed(mut zip: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    while let Some(at) = zip.windows(from.len()).position(|window| window == from.as_bytes()) {
        zip[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    zip
}

/// Opens an archive and reads all of it. Returns why it was refused.
fn refusal(zip: Vec<u8>, limits: Limits) -> Option<String> {
    let mut archive = match Archive::open(Cursor::new(zip), limits) {
        Ok(archive) => archive,
        Err(error) => {
            assert!(error.is_bad_archive(), "{error}");
            return Some(error.to_string());
        }
    };
    for position in 0..archive.entries().len() {
        let read = archive.read(position).unwrap().read_to_end(&mut Vec::new());
        if let Err(error) = read {
            return Some(aethon_archive::unpacking(error).to_string());
        }
    }
    None
}

#[test]
fn a_plain_archive_is_read() {
    assert_eq!(refusal(zip(&[("a", b"x"), ("b/c", b"yy")]), SMALL), None);
}

#[test]
fn a_hostile_archive_is_refused_with_the_reason() {
    let two = || zip(&[("aaaa.txt", b"x"), ("bbbb.txt", b"y")]);
    let mut link = ZipWriter::new(Cursor::new(Vec::new()));
    link.add_symlink("link", "/etc/passwd", options()).unwrap();
    let mut sealed = zip(&[("a", b"x")]);
    // The flag of an encrypted entry, in the entry and in the directory.
    for signature in [b"PK\x03\x04", b"PK\x01\x02"] {
        let at = sealed.windows(4).position(|window| window == signature).unwrap();
        sealed[at + if signature[2] == 3 { 6 } else { 8 }] |= 1;
    }
    let mut overlapping = two();
    // The second entry of the directory points to the first.
    let second = overlapping.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
    overlapping[second + 42..second + 46].fill(0);
    let mut wrong_sum = zip(&[("a", b"some words that are longer")]);
    wrong_sum[35] ^= 1;
    let many: Vec<String> = (0..6).map(|number| format!("f{number}")).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let rows: Vec<(&str, Vec<u8>, &str)> = vec![
        ("no archive", b"hello".to_vec(), "not a ZIP"),
        ("nothing", Vec::new(), "not a ZIP"),
        ("cut off", two()[..80].to_vec(), "not a ZIP"),
        ("something before it", [b"#!/bin/sh\n".to_vec(), two()].concat(), "before it"),
        ("a doubled name", renamed(two(), "bbbb.txt", "aaaa.txt"), "name"),
        ("a climbing name", renamed(two(), "bbbb.txt", "../b.txt"), "climbs"),
        ("an absolute name", renamed(two(), "bbbb.txt", "/bbb.txt"), "absolute"),
        ("a backslash", renamed(two(), "bbbb.txt", "bb\\b.txt"), "backslash"),
        ("a drive", renamed(two(), "bbbb.txt", "C:bb.txt"), "drive"),
        ("a line break in a name", renamed(two(), "bbbb.txt", "bb\nb.txt"), "control"),
        ("a file as a folder", renamed(two(), "bbbb.txt", "aaaa.txt"), "name"),
        ("a file that is a folder too", zip(&[("a", b"x"), ("a/b", b"y")]), "a file and a folder"),
        ("a link", link.finish().unwrap().into_inner(), "link"),
        ("encryption", sealed, "encrypted"),
        ("overlapping entries", overlapping, ""),
        ("a wrong checksum", wrong_sum, "damaged"),
        ("too many entries", zip(&many), "more than 5"),
        ("a bomb", zip(&[("zeros", &vec![0; 5_000_000])]), "no honest archive"),
        ("a name that is too long", zip(&[(&"x/".repeat(60), b"x")]), "too long"),
    ];
    for (what, bytes, words) in rows {
        let said = refusal(bytes, SMALL).unwrap_or_else(|| panic!("{what} was read"));
        assert!(said.contains(words), "{what}: {said}");
    }
}

#[test]
fn any_single_damaged_byte_is_refused_or_harmless_and_never_ends_the_program() {
    let whole = zip(&[("a", b"some words"), ("b/c", b"more words")]);
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            let _ = refusal(damaged, SMALL);
        }
    }
}

#[test]
fn what_the_writer_wrote_is_never_refused_as_a_bomb() {
    let mut writer = ArchiveWriter::new(Vec::new(), SMALL);
    for name in ["a", "b", "c"] {
        let zeros = vec![0; 400_000];
        let about = About { size: zeros.len() as u64, ..About::default() };
        writer.add(name, about, &*zeros).unwrap();
    }
    let archive = writer.finish().unwrap();
    assert_eq!(refusal(archive, SMALL), None);
}

#[test]
fn a_file_that_grows_is_read_up_to_its_size() {
    let mut writer = ArchiveWriter::new(Vec::new(), SMALL);
    let about = About { size: 3, is_executable: true, modified: None };
    assert_eq!(writer.add("a", about, std::io::repeat(b'x')).unwrap(), 3);
    let sum = writer.sums()["a"].clone();
    let mut archive = Archive::open(Cursor::new(writer.finish().unwrap()), SMALL).unwrap();
    assert_eq!(archive.read_whole(0, 10).unwrap(), b"xxx");
    assert!(archive.entries()[0].is_executable);
    assert_eq!(sum, "cd2eb0837c9b4c962c22d2ff8b5441b7b45805887f051d39bf133b583baf6860");
}
