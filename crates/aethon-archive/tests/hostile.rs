//! Archives that were made with bad intent, or that a disk damaged, are refused with a reason.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::io::{Cursor, Read, Write};
use std::process::Command;

use aethon_archive::{About, Archive, ArchiveWriter, Limits};
use proptest::prelude::*;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const SMALL: Limits =
    Limits { max_entries: 5, max_bytes: 10_000_000, free_bytes: 100_000, max_ratio: 20, max_name: 100 };

/// A row of the directory, and the record at the end.
const ROW: &[u8; 4] = b"PK\x01\x02";
const END: &[u8; 4] = b"PK\x05\x06";

/// Offsets in the end record.
const END_DISK: usize = 4;
const END_ENTRIES: usize = 8;
const END_DIRECTORY_SIZE: usize = 12;
const END_DIRECTORY_OFFSET: usize = 16;

/// Offsets in a row of the directory.
const ROW_METHOD: usize = 10;
const ROW_CHECKSUM: usize = 16;
const ROW_PACKED: usize = 20;
const ROW_SIZE: usize = 24;
const ROW_MODE: usize = 40;
const ROW_OFFSET: usize = 42;

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

/// A ZIP of two files, of which the second is renamed.
fn with_name(name: &[u8]) -> Vec<u8> {
    let mut zip = two();
    while let Some(at) = zip.windows(8).position(|window| window == b"bbbb.txt") {
        zip[at..at + 8].copy_from_slice(name);
    }
    zip
}

fn two() -> Vec<u8> {
    zip(&[("aaaa.txt", b"x"), ("bbbb.txt", b"y")])
}

/// A ZIP of two files of which these bytes of the last record with this signature are overwritten.
fn patched(signature: &[u8; 4], offset: usize, bytes: &[u8]) -> Vec<u8> {
    overwrite(two(), signature, offset, bytes)
}

fn overwrite(mut zip: Vec<u8>, signature: &[u8; 4], offset: usize, bytes: &[u8]) -> Vec<u8> {
    let at = position(&zip, signature) + offset;
    zip[at..at + bytes.len()].copy_from_slice(bytes);
    zip
}

fn position(zip: &[u8], signature: &[u8; 4]) -> usize {
    zip.windows(4).rposition(|window| window == signature).unwrap()
}

/// A ZIP of two files with a record for large files that claims so many entries, in a directory at this offset.
fn large(entries: u64, directory: u64) -> Vec<u8> {
    let mut zip = two();
    let end = position(&zip, END);
    let size = u32::from_le_bytes(zip[end + 12..end + 16].try_into().unwrap());
    let mut record = b"PK\x06\x06".to_vec();
    record.extend(44_u64.to_le_bytes());
    record.extend([45_u16, 45].map(u16::to_le_bytes).concat());
    record.extend([0; 8]);
    record.extend([entries, entries, u64::from(size), directory].map(u64::to_le_bytes).concat());
    record.extend(b"PK\x06\x07\0\0\0\0");
    record.extend((end as u64).to_le_bytes());
    record.extend(1_u32.to_le_bytes());
    zip = overwrite(zip, END, END_ENTRIES, &[0xff; 4]);
    zip = overwrite(zip, END, END_DIRECTORY_SIZE, &[0xff; 8]);
    zip.splice(end..end, record);
    zip
}

/// Bytes that do not pack.
fn noise(bytes: usize) -> Vec<u8> {
    let next = |state: &mut u32| {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some((*state >> 24) as u8)
    };
    let mut state = 1;
    std::iter::from_fn(|| next(&mut state)).take(bytes).collect()
}

/// Opens an archive and returns the content of all entries.
fn read_all(zip: Vec<u8>, limits: Limits) -> Result<Vec<Vec<u8>>, aethon_archive::Error> {
    let mut archive = Archive::open(Cursor::new(zip), limits)?;
    let mut contents = Vec::new();
    for position in 0..archive.entries().len() {
        let (mut content, expected) = (Vec::new(), archive.entries()[position].size);
        let read = archive.read(position)?.read_to_end(&mut content);
        assert!(read.is_err() || content.len() as u64 == expected);
        read.map_err(aethon_archive::unpacking)?;
        contents.push(content);
    }
    Ok(contents)
}

/// Returns why an archive is refused.
fn refusal(zip: Vec<u8>, limits: Limits) -> Option<String> {
    let error = read_all(zip, limits).err()?;
    assert!(error.is_bad_archive(), "{error}");
    Some(error.to_string())
}

#[test]
fn a_plain_archive_is_read() {
    assert_eq!(refusal(zip(&[("a", b"x"), ("b/c", b"yy")]), SMALL), None);
}

fn check_refusals(rows: Vec<(&str, Vec<u8>, &str)>) {
    for (case, bytes, words) in rows {
        let reason = refusal(bytes, SMALL).unwrap_or_else(|| panic!("{case} was read"));
        assert!(reason.contains(words), "{case}: {reason}");
    }
}

#[test]
fn hostile_names_and_kinds_are_refused() {
    let mut link = ZipWriter::new(Cursor::new(Vec::new()));
    link.add_symlink("link", "/etc/passwd", options()).unwrap();
    check_refusals(vec![
        ("a doubled name", with_name(b"aaaa.txt"), "name"),
        ("a climbing name", with_name(b"../b.txt"), "climbs"),
        ("an absolute name", with_name(b"/bbb.txt"), "absolute"),
        ("a backslash", with_name(b"bb\\b.txt"), "backslash"),
        ("a drive", with_name(b"C:bb.txt"), "drive"),
        ("a line break in a name", with_name(b"bb\nb.txt"), "control"),
        ("an empty part of a name", with_name(b"b//b.txt"), "plain path"),
        ("a name that is not UTF-8", with_name(b"\xff\xfebb.txt"), "UTF-8"),
        ("a name that is too long", zip(&[(&"x/".repeat(60), b"x")]), "too long"),
        ("a file that is a folder too", zip(&[("a", b"x"), ("a/b", b"y")]), "a file and a folder"),
        ("a link", link.finish().unwrap().into_inner(), "link"),
        ("a device", patched(ROW, ROW_MODE, &[0, 0x60]), "special"),
    ]);
}

#[test]
fn hostile_sizes_and_structures_are_refused() {
    let mut sealed = zip(&[("a", b"x")]);
    // The flag of an encrypted entry, in the entry and in the directory.
    for (signature, offset) in [(b"PK\x03\x04", 6), (ROW, 8)] {
        let at = position(&sealed, signature);
        sealed[at + offset] |= 1;
    }
    let mut wrong_sum = zip(&[("a", b"some words that are longer")]);
    wrong_sum[35] ^= 1;
    let many: Vec<String> = (0..6).map(|number| format!("f{number}")).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let noise = noise(6_000_000);
    let directory = two().windows(4).position(|window| window == ROW).unwrap() as u64;
    check_refusals(vec![
        ("no archive", b"hello".to_vec(), "not a ZIP"),
        ("nothing", Vec::new(), "not a ZIP"),
        ("cut off", two()[..80].to_vec(), "not a ZIP"),
        ("something before it", [b"#!/bin/sh\n".to_vec(), two()].concat(), "before it"),
        ("something behind it", [two(), b"trailing".to_vec()].concat(), "not a ZIP"),
        ("encryption", sealed, "encrypted"),
        ("a wrong checksum", wrong_sum, "damaged"),
        ("another checksum than in the entry", patched(ROW, ROW_CHECKSUM, &[1, 2, 3, 4]), ""),
        ("an unknown method", patched(ROW, ROW_METHOD, &[12, 0]), ""),
        ("another method than in the entry", patched(ROW, ROW_METHOD, &[0, 0]), ""),
        ("overlapping entries", patched(ROW, ROW_OFFSET, &[0; 4]), ""),
        ("an offset without an entry", patched(ROW, ROW_OFFSET, &[3, 0, 0, 0]), ""),
        ("a size that is too small", patched(ROW, ROW_SIZE, &[0; 4]), ""),
        ("a size that is too large", patched(ROW, ROW_SIZE, &[200, 0, 0, 0]), ""),
        ("a size above the limit", patched(ROW, ROW_SIZE, &[0, 0, 0, 0x7f]), ""),
        ("a packed size beyond the directory", patched(ROW, ROW_PACKED, &[0xff, 0xff, 0, 0]), ""),
        ("several volumes", patched(END, END_DISK, &[1, 0, 1, 0]), ""),
        ("fewer entries than there are", patched(END, END_ENTRIES, &[1, 0, 1, 0]), ""),
        ("more entries than there are", patched(END, END_ENTRIES, &[3, 0, 3, 0]), ""),
        ("a directory elsewhere", patched(END, END_DIRECTORY_OFFSET, &[0; 4]), ""),
        ("a large count that is a lie", large(3, directory), ""),
        ("a large count above the limit", large(u64::MAX, directory), "more than 5"),
        ("a large directory beyond the file", large(2, 1 << 50), ""),
        ("too many entries", zip(&many), "more than 5"),
        ("too many bytes", zip(&[("a", &noise), ("b", &noise)]), "larger than 9 MiB unpacked"),
        ("a bomb", zip(&[("zeros", &vec![0; 5_000_000])]), "no honest archive"),
    ]);
    assert_eq!(refusal(large(2, directory), SMALL), None, "the same without a lie");
}

#[test]
fn a_flipped_bit_never_changes_the_content_of_an_entry() {
    let whole = zip(&[("a", b"some words"), ("b/c", b"more words")]);
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            if let Ok(contents) = read_all(damaged, SMALL) {
                assert_eq!(contents, [b"some words", b"more words"], "bit {bit} of byte {at}");
            }
        }
    }
}

#[test]
fn a_written_archive_is_never_refused_as_a_bomb() {
    let mut writer = ArchiveWriter::new(Vec::new(), SMALL);
    for name in ["a", "b"] {
        let zeros = vec![0; 400_000];
        let about = About { size: zeros.len() as u64, ..About::default() };
        writer.add(name, about, &*zeros).unwrap();
        writer.add_written(&format!("{name}2"), about.size, |out| out.write_all(&zeros)).unwrap();
    }
    let archive = writer.finish().unwrap();
    assert_eq!(refusal(archive, SMALL), None);
}

#[test]
fn a_growing_file_is_read_up_to_its_size() {
    let mut writer = ArchiveWriter::new(Vec::new(), SMALL);
    let about = About { size: 3, is_executable: true, modified: None };
    assert_eq!(writer.add("a", about, std::io::repeat(b'x')).unwrap(), 3);
    let sum = writer.sums()["a"].clone();
    let mut archive = Archive::open(Cursor::new(writer.finish().unwrap()), SMALL).unwrap();
    assert_eq!(archive.read_whole(0, 10).unwrap(), b"xxx");
    assert!(archive.entries()[0].is_executable);
    assert_eq!(sum, "cd2eb0837c9b4c962c22d2ff8b5441b7b45805887f051d39bf133b583baf6860");
}

#[test]
fn a_large_text_is_packed() {
    let text: String = (0..100_000).map(|n| format!("line {n}\n")).collect();
    let mut writer = ArchiveWriter::new(Vec::new(), Limits::RECORDING);
    writer.add_written("text", text.len() as u64, |out| out.write_all(text.as_bytes())).unwrap();
    let zip = writer.finish().unwrap();
    assert!(zip.len() < text.len() / 3, "{} of {} bytes", zip.len(), text.len());
    assert_eq!(read_all(zip, Limits::RECORDING).unwrap(), [text.into_bytes()]);
}

#[test]
fn an_archive_of_another_program_is_read() {
    // Made with `python3 -m zipfile`, with a folder and a comment.
    let foreign = include_bytes!("data/foreign.zip").to_vec();
    let expected = [Vec::new(), "hello ".repeat(100).into_bytes(), b"as it is".to_vec()];
    assert_eq!(read_all(foreign, SMALL).unwrap(), expected);
}

/// Where such a program is missing, the test is skipped; with `CI=true` it fails.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a test starts other programs, and asks whether they may be missing"
)]
fn unzip_and_python_accept_a_written_archive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zip");
    let mut writer = ArchiveWriter::new(std::fs::File::create(&path).unwrap(), Limits::RECORDING);
    writer.add("ü.png", About { size: 3, ..About::default() }, &b"abc"[..]).unwrap();
    writer.add("text", About { size: 4000, ..About::default() }, &[b'x'; 4000][..]).unwrap();
    writer.add_folder("empty/").unwrap();
    writer.add_written("flat", 1 << 20, |out| out.write_all(&vec![b'a'; 1 << 20])).unwrap();
    writer.finish().unwrap();
    for (program, arguments) in [("unzip", &["-t"][..]), ("python3", &["-m", "zipfile", "-t"])] {
        match Command::new(program).args(arguments).arg(&path).output() {
            Ok(output) => assert!(output.status.success(), "{program}: {output:?}"),
            Err(error) if std::env::var_os("CI").is_some_and(|value| value == "true") => {
                panic!("{program} is missing: {error}");
            }
            Err(error) => eprintln!("SKIPPED: {program} is missing: {error}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn a_mutated_archive_is_refused_or_read_within_its_limits(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..6)
    ) {
        let mut bytes = zip(&[("a", b"some words"), ("b/c", b"more words"), ("zeros", &[0; 5_000])]);
        for (at, byte, change) in changes {
            let at = at.index(bytes.len());
            match change {
                0 => drop(bytes.remove(at)),
                1 => bytes.insert(at, byte),
                2 => bytes.extend_from_within(at..),
                _ => bytes[at] = byte,
            }
        }
        let _ = refusal(bytes, SMALL);
    }
}
