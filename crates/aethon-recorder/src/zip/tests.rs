//! Valid files, and one by one every kind of invalid file.

use std::io::{Read, Write};

use tempfile::NamedTempFile;

use super::*;

/// Creates a file with these bytes.
fn file(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

fn written(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(tempfile::tempfile().unwrap());
    for (name, content) in entries {
        zip.add(name, |out| out.write_all(content)).unwrap();
    }
    let mut file = zip.finish().unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

fn refusal(bytes: &[u8]) -> String {
    let file = file(bytes);
    let opened = Archive::open(file.path()).and_then(|archive| {
        archive.entries().iter().try_for_each(|entry| archive.whole(entry, MAX_ENTRY).map(drop))
    });
    let error = opened.expect_err("it is refused");
    assert!(error.is_bad_recording(), "{error}");
    error.to_string()
}

/// Replaces the only occurrence of `that` with `this`.
fn with(bytes: &[u8], that: &[u8], this: &[u8]) -> Vec<u8> {
    assert_eq!(that.len(), this.len());
    let mut changed = bytes.to_vec();
    let places: Vec<usize> =
        (0..bytes.len() - that.len()).filter(|&at| &bytes[at..at + that.len()] == that).collect();
    assert!(!places.is_empty());
    for at in places {
        changed[at..at + this.len()].copy_from_slice(this);
    }
    changed
}

/// Returns the offset of the directory.
fn directory(bytes: &[u8]) -> usize {
    bytes.windows(4).position(|window| window == CENTRAL.to_le_bytes()).unwrap()
}

/// Overwrites bytes at an offset from the start of the directory.
fn patched(bytes: &[u8], behind: usize, to: &[u8]) -> Vec<u8> {
    let (mut bytes, at) = (bytes.to_vec(), directory(bytes) + behind);
    bytes[at..at + to.len()].copy_from_slice(to);
    bytes
}

#[test]
fn what_was_written_is_read() {
    let long = "much the same again ".repeat(10_000);
    let noise: Vec<u8> = (0..100_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let flat = vec![b'a'; 5 << 20];
    let entries: [(&str, &[u8]); 5] =
        [("a.json", b"{}"), ("empty", b""), ("x/long", long.as_bytes()), ("noise", &noise), ("flat", &flat)];
    let bytes = written(&entries);
    let file = file(&bytes);
    let archive = Archive::open(file.path()).unwrap();
    assert_eq!(archive.entries().len(), entries.len());
    for (name, content) in entries {
        let entry = archive.entry(name).unwrap();
        assert_eq!(entry.size, content.len() as u64);
        assert!(archive.whole(entry, MAX_ENTRY).unwrap() == content, "{name}");
    }
    // Content that compresses too well is stored, or no reader would accept it.
    assert!(bytes.len() > flat.len());
}

#[test]
fn a_file_that_others_have_packed_is_read() {
    // Made with `python3 -m zipfile`, with a folder and a comment.
    const FOREIGN: &[u8] = include_bytes!("../../tests/data/foreign.zip");
    let file = file(FOREIGN);
    let archive = Archive::open(file.path()).unwrap();
    let names: Vec<&str> = archive.entries().iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["folder/", "folder/text.txt", "stored.txt"]);
    assert_eq!(archive.whole(&archive.entries()[1], 1 << 20).unwrap(), "hello ".repeat(100).as_bytes());
    assert_eq!(archive.whole(&archive.entries()[2], 1 << 20).unwrap(), b"as it is");
}

#[test]
fn hostile_files_are_refused_one_by_one() {
    let good = written(&[("aaaaaaaaaa", b"hello hello hello hello hello"), ("bbbbbbbbbb", b"second")]);
    let check = |bytes: &[u8], expected: &str| {
        let refusal = refusal(bytes);
        assert!(refusal.contains(expected), "{refusal:?} does not say {expected:?}");
    };
    check(b"", "not a ZIP");
    check(b"PK\x03\x04 and nothing", "not a ZIP");
    check(&good[..good.len() - 1], "not a ZIP");
    check(&[&good[..], b"trailing"].concat(), "not a ZIP");
    check(&[b"prefix", &good[..]].concat(), "not where it says");
    for (name, expected) in [
        ("/aaaaaaaaa", "absolute"),
        ("../aaaaaaa", "climbs"),
        ("a/../../aa", "climbs"),
        ("a\\aaaaaaaa", "backslash"),
        ("C:aaaaaaaa", "drive"),
        ("a//aaaaaaa", "plain path"),
        ("aaaa\0aaaaa", "control"),
        ("bbbbbbbbbb", "twice"),
        ("BBBBBBBBBB", "twice"),
    ] {
        check(&with(&good, b"aaaaaaaaaa", name.as_bytes()), expected);
    }
    check(&with(&good, b"aaaaaaaaaa", b"\xff\xfeaaaaaaaa"), "not UTF-8");
    // Directory offsets: flags 8, method 10, checksum 16, sizes 20 and 24, attributes 38, offset 42.
    check(&patched(&good, 8, &[1, 8]), "encrypted");
    check(&patched(&good, 10, &[12, 0]), "not known here");
    check(&patched(&good, 16, &[1, 2, 3, 4]), "another checksum");
    check(&patched(&good, 24, &[5, 0, 0, 0]), "more bytes");
    check(&patched(&good, 24, &[200, 0, 0, 0]), "fewer bytes");
    check(&patched(&good, 24, &[0, 0, 0xff, 0x0f]), "bombs");
    check(&patched(&good, 24, &[0, 0, 0, 0x7f]), "too large");
    check(&patched(&good, 20, &[0xff, 0xff, 0, 0]), "not where");
    check(&patched(&good, 41, &[0o120_000_u32.to_le_bytes()[1]]), "link");
    check(&patched(&good, 42, &[3, 0, 0, 0]), "not where");
    check(&patched(&good, 10, &[0, 0]), "damaged");
    let second = directory(&good) + CENTRAL_BYTES + 10;
    let mut overlapping = good.clone();
    overlapping[second + 42..second + 46].fill(0);
    check(&overlapping, "something else");
    let end = good.len() - END_BYTES;
    let with_end = |behind: usize, to: &[u8]| {
        let mut bytes = good.clone();
        bytes[end + behind..end + behind + to.len()].copy_from_slice(to);
        bytes
    };
    check(&with_end(4, &[1, 0]), "volumes");
    check(&with_end(8, &[1, 0, 1, 0]), "says 1");
    check(&with_end(8, &[3, 0, 3, 0]), "says 3");
    check(&with_end(8, &[0xff, 0xff, 0xff, 0xff]), "ZIP64");
    check(&with_end(8, &[0x10, 0x27, 0x10, 0x27]), "10000 entries");
    check(&with_end(16, &[0; 4]), "not where");
}

#[test]
fn a_bomb_is_refused_before_it_is_unpacked() {
    // Sixteen megabytes of zeros, as `zip` would pack them.
    let mut packed = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(&vec![0; 16 << 20]).unwrap();
    let packed = packed.finish().unwrap();
    assert!((16 << 20) / packed.len() > 900);
    let mut bytes = written(&[("events.jsonl", b"x")]);
    // Swap the content for the bomb by rebuilding the file around it.
    let start = 30 + "events.jsonl".len();
    let (old, rest) = (directory(&bytes) - start, bytes.split_off(directory(&bytes)));
    bytes.truncate(start);
    bytes.extend(&packed);
    let mut rest = rest;
    rest[20..24].copy_from_slice(&u32::try_from(packed.len()).unwrap().to_le_bytes());
    rest[24..28].copy_from_slice(&(16_u32 << 20).to_le_bytes());
    let end = rest.len() - END_BYTES;
    let offset = u32::try_from(bytes.len()).unwrap();
    rest[end + 16..end + 20].copy_from_slice(&offset.to_le_bytes());
    bytes.extend(&rest);
    assert!(old < 10 && refusal(&bytes).contains("bombs"));
    // An entry that lies about its size is not unpacked beyond that size.
    let at = bytes.len() - rest.len() + 24;
    bytes[at..at + 4].copy_from_slice(&1000_u32.to_le_bytes());
    assert!(refusal(&bytes).contains("more bytes"));
}

#[test]
fn links_pipes_and_folders_are_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let target = file(&written(&[("a", b"b")]));
    let link = folder.path().join("link.zip");
    std::os::unix::fs::symlink(target.path(), &link).unwrap();
    assert!(Archive::open(&link).unwrap_err().is_bad_recording());
    assert!(Archive::open(folder.path()).unwrap_err().is_bad_recording());
    assert!(Archive::open(&folder.path().join("none")).unwrap_err().is_not_found());
}
