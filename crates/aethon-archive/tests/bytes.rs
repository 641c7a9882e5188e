//! Archives with the limits of recordings, byte by byte: valid ones, and every kind of invalid one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::io::{Cursor, Read, Write};

use aethon_archive::{Archive, ArchiveWriter, Limits, Packing};

const CENTRAL: [u8; 4] = 0x0201_4b50_u32.to_le_bytes();
const CENTRAL_BYTES: usize = 46;
const END_BYTES: usize = 22;

/// A ZIP with the sizes of entries in front of them, as most programs write it.
fn written(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn read(bytes: &[u8]) -> aethon_archive::Result<Vec<Vec<u8>>> {
    let mut archive = Archive::open(Cursor::new(bytes.to_vec()), Limits::RECORDING)?;
    let count = archive.entries().len();
    (0..count).map(|place| archive.read_whole(place, 256 << 20)).collect()
}

#[track_caller]
fn refused(bytes: &[u8], expected: &str) {
    let error = read(bytes).expect_err("it is refused");
    assert!(error.is_bad_archive(), "{error}");
    assert!(error.to_string().contains(expected), "{error} does not say {expected:?}");
}

/// Replaces each occurrence of a text by another of the same length.
fn with(bytes: &[u8], that: &[u8], this: &[u8]) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    while let Some(at) = changed.windows(that.len()).position(|window| window == that) {
        changed[at..at + this.len()].copy_from_slice(this);
    }
    changed
}

/// The offset of the directory.
fn directory(bytes: &[u8]) -> usize {
    bytes.windows(4).position(|window| window == CENTRAL).unwrap()
}

/// Overwrites bytes at an offset from the start of the directory.
fn patched(bytes: &[u8], behind: usize, to: &[u8]) -> Vec<u8> {
    let (mut bytes, at) = (bytes.to_vec(), directory(bytes) + behind);
    bytes[at..at + to.len()].copy_from_slice(to);
    bytes
}

/// Overwrites bytes at an offset from the start of the end record.
fn ended(bytes: &[u8], behind: usize, to: &[u8]) -> Vec<u8> {
    let (mut bytes, at) = (bytes.to_vec(), bytes.len() - END_BYTES + behind);
    bytes[at..at + to.len()].copy_from_slice(to);
    bytes
}

#[test]
fn written_entries_are_read_and_dense_ones_are_named() {
    let long: String = (0..10_000).map(|number| format!("much the same again {number} ")).collect();
    let noise: Vec<u8> = (0..100_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let flat = vec![b'a'; 5 << 20];
    let entries: [(&str, &[u8]); 5] =
        [("a.json", b"{}"), ("empty", b""), ("flat", &flat), ("x/long", long.as_bytes()), ("noise", &noise)];
    let write = |stored: &[String]| {
        let mut writer = ArchiveWriter::new(Vec::new(), Limits::RECORDING);
        for (name, content) in entries {
            let packing =
                if stored.iter().any(|own| own == name) { Packing::Stored } else { Packing::Deflated };
            writer.add_written(name, packing, |out| out.write_all(content)).unwrap();
        }
        writer.finish_judged().unwrap()
    };
    let (bytes, bombs) = write(&[]);
    assert_eq!(bombs, ["flat"]);
    refused(&bytes, "bombs");
    let (bytes, bombs) = write(&bombs);
    assert!(bombs.is_empty());
    assert!(read(&bytes).unwrap().iter().zip(entries).all(|(content, (_, expected))| content == expected));
}

#[test]
fn an_archive_of_another_program_is_read() {
    // Made with `python3 -m zipfile`, with a folder and a comment.
    let foreign = include_bytes!("data/foreign.zip");
    let mut archive = Archive::open(Cursor::new(foreign), Limits::RECORDING).unwrap();
    let names: Vec<&str> = archive.entries().iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["folder", "folder/text.txt", "stored.txt"]);
    assert_eq!(archive.read_whole(1, 1 << 20).unwrap(), "hello ".repeat(100).as_bytes());
    assert_eq!(archive.read_whole(2, 1 << 20).unwrap(), b"as it is");
}

#[test]
fn hostile_archives_are_refused_one_by_one() {
    let good = written(&[("aaaaaaaaaa", b"hello hello hello hello hello"), ("bbbbbbbbbb", b"second")]);
    assert_eq!(read(&good).unwrap().len(), 2);
    refused(b"", "not a ZIP");
    refused(b"PK\x03\x04 and nothing", "not a ZIP");
    refused(&good[..good.len() - 1], "not a ZIP");
    refused(&[&good[..], b"trailing"].concat(), "not a ZIP");
    refused(&[b"prefix", &good[..]].concat(), "");
    for (name, expected) in [
        ("/aaaaaaaaa", "absolute"),
        ("../aaaaaaa", "climbs"),
        ("a/../../aa", "climbs"),
        ("a\\aaaaaaaa", "backslash"),
        ("C:aaaaaaaa", "drive"),
        ("a//aaaaaaa", "plain path"),
        ("aaaa\0aaaaa", "control"),
        ("bbbbbbbbbb", "same name"),
    ] {
        refused(&with(&good, b"aaaaaaaaaa", name.as_bytes()), expected);
    }
    refused(&with(&good, b"aaaaaaaaaa", b"\xff\xfeaaaaaaaa"), "UTF-8");
    // Directory offsets: flags 8, method 10, checksum 16, sizes 20 and 24, attributes 38, offset 42.
    refused(&patched(&good, 8, &[1, 8]), "");
    refused(&patched(&good, 10, &[12, 0]), "");
    refused(&patched(&good, 16, &[1, 2, 3, 4]), "");
    refused(&patched(&good, 24, &[5, 0, 0, 0]), "");
    refused(&patched(&good, 24, &[200, 0, 0, 0]), "");
    refused(&patched(&good, 24, &[0, 0, 0xff, 0x0f]), "");
    refused(&patched(&good, 24, &[0, 0, 0, 0x7f]), "");
    refused(&patched(&good, 20, &[0xff, 0xff, 0, 0]), "");
    refused(&patched(&good, 41, &[0o120_000_u32.to_le_bytes()[1]]), "link");
    refused(&patched(&good, 42, &[3, 0, 0, 0]), "");
    refused(&patched(&good, 10, &[0, 0]), "");
    // The second entry of the directory lies over the first.
    let second = CENTRAL_BYTES + 10;
    refused(&patched(&good, second + 42, &[0; 4]), "");
    // The end record: volume 4, entries 8 and 10, offset of the directory 16.
    refused(&ended(&good, 4, &[1, 0]), "");
    refused(&ended(&good, 8, &[1, 0, 1, 0]), "");
    refused(&ended(&good, 8, &[3, 0, 3, 0]), "");
    refused(&ended(&good, 8, &[0xff, 0xff, 0xff, 0xff]), "");
    refused(&ended(&good, 8, &[0x10, 0x27, 0x10, 0x27]), "5000");
    refused(&ended(&good, 16, &[0; 4]), "");
}

#[test]
fn an_entry_that_lies_about_its_size_is_not_unpacked_beyond_it() {
    let mut bytes = written(&[("events.jsonl", &vec![0; 16 << 20])]);
    refused(&bytes, "bombs");
    let at = directory(&bytes) + 24;
    bytes[at..at + 4].copy_from_slice(&1000_u32.to_le_bytes());
    let mut archive = match Archive::open(Cursor::new(bytes), Limits::RECORDING) {
        Ok(archive) => archive,
        Err(error) => return assert!(error.is_bad_archive(), "{error}"),
    };
    let mut content = Vec::new();
    assert!(archive.read(0).unwrap().read_to_end(&mut content).is_err());
    assert!(content.len() <= 1 << 20, "{}", content.len());
}

/// Programs that people have open what is written here.
#[test]
fn unzip_and_python_read_what_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zip");
    let mut writer = ArchiveWriter::new(std::fs::File::create(&path).unwrap(), Limits::RECORDING);
    for (name, packing) in [("events.jsonl", Packing::Deflated), ("snapshots/000001.json", Packing::Stored)] {
        writer.add_written(name, packing, |out| out.write_all(b"{\"a\": 1}\n")).unwrap();
    }
    writer.finish_judged().unwrap();
    let path = path.to_str().unwrap();
    for command in [["unzip", "-t", path, ""], ["python3", "-m", "zipfile", "-t"]] {
        let mut arguments: Vec<&str> = command[1..].iter().copied().filter(|word| !word.is_empty()).collect();
        if command[0] == "python3" {
            arguments.push(path);
        }
        match std::process::Command::new(command[0]).args(arguments).output() {
            Ok(output) => assert!(output.status.success(), "{}: {output:?}", command[0]),
            Err(error) if std::env::var_os("CI").is_none() => println!("without {}: {error}", command[0]),
            Err(error) => panic!("{} is needed: {error}", command[0]),
        }
    }
}
