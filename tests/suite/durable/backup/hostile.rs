//! Backups that are hostile or damaged are refused, and nothing is written.

use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::{cli, files, furnished, hex, refused, text};

/// A backup of a furnished home, taken apart.
struct BackupParts(Vec<(String, Vec<u8>)>);

impl BackupParts {
    fn of(zip: &Path) -> Self {
        Self(files(&fs::read(zip).unwrap()))
    }

    fn manifest(&self) -> Value {
        let (_, manifest) = self.0.iter().find(|(name, _)| name == "manifest.json").unwrap();
        serde_json::from_slice(manifest).unwrap()
    }

    /// Puts it together again, with the manifest changed.
    fn zip(&self, change: impl FnOnce(&mut Value)) -> Vec<u8> {
        let mut manifest = self.manifest();
        change(&mut manifest);
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default();
        for (name, content) in &self.0 {
            writer.start_file(name.as_str(), options).unwrap();
            let manifest = serde_json::to_vec(&manifest).unwrap();
            writer.write_all(if name == "manifest.json" { &manifest } else { content }).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn with(&self, name: &str, content: &[u8]) -> Self {
        let mut parts = self.0.clone();
        parts.retain(|(known, _)| known != name);
        parts.push((name.to_owned(), content.to_vec()));
        Self(parts)
    }

    fn without(&self, name: &str) -> Self {
        Self(self.0.iter().filter(|(known, _)| known != name).cloned().collect())
    }

    /// Puts it together with another file, whose checksum is right.
    fn zip_with(&self, name: &str, content: &[u8]) -> Vec<u8> {
        self.with(name, content).zip(|manifest| manifest["entries"][name] = json!(hex(content)))
    }
}

#[test]
fn a_hostile_or_damaged_backup_is_refused_and_writes_nothing() {
    let home = furnished();
    let away = tempfile::tempdir().unwrap();
    let file = away.path().join("b.zip");
    cli(home.path(), &["backup", text(&file)], None);
    let parts = BackupParts::of(&file);
    let whole = fs::read(&file).unwrap();
    let database = |at: usize, value: u8| {
        let mut database = parts.0.iter().find(|(name, _)| name == "aethon.db").unwrap().1.clone();
        database[at] = value;
        database
    };
    let mut flipped = whole.clone();
    let at = flipped.windows(4).position(|window| window == b"mine").unwrap_or(200);
    flipped[at] ^= 1;
    let rows: Vec<(&str, Vec<u8>, &str)> = vec![
        ("not a backup", b"hello".to_vec(), "no backup"),
        ("cut off", whole[..whole.len() / 2].to_vec(), "no backup"),
        ("a damaged byte", flipped, "no backup"),
        ("no manifest", parts.without("manifest.json").zip_raw(), "manifest.json"),
        ("a manifest that is none", parts.with("manifest.json", b"{").zip_raw(), "manifest.json"),
        ("a newer format", parts.zip(|manifest| manifest["format_version"] = json!(2)), "format 2"),
        (
            "another checksum",
            parts.zip(|manifest| manifest["entries"]["config.toml"] = json!("00")),
            "checksum",
        ),
        (
            "a file that the manifest does not know",
            parts.with("workspace/x", b"x").zip(|_| {}),
            "not in its manifest",
        ),
        ("a file that is missing", parts.without("models.json").zip(|_| {}), "models.json"),
        ("a start-up file", parts.zip_with(".bashrc", b"x"), ".bashrc"),
        ("a file of the running server", parts.zip_with("run/sign-in.key", b"x"), "run/sign-in.key"),
        ("a secret below a folder", parts.zip_with("credentials/a/b", b"x"), "credentials/a/b"),
        ("a log beside the database", parts.zip_with("aethon.db-wal", b"x"), "aethon.db-wal"),
        ("a climbing name", parts.zip_with("workspace/../../x", b"x"), "climbs"),
        ("an absolute name", parts.zip_with("/etc/x", b"x"), "absolute"),
        ("a database of a newer version", parts.zip_with("aethon.db", &database(63, 99)), "format"),
        ("a database that is none", parts.zip_with("aethon.db", b"hello"), "not a database"),
        (
            "a damaged database",
            parts.zip_with("aethon.db", &database(4096 * 3 + 1, 0xff)),
            "database in the backup",
        ),
    ];
    for (what, bytes, words) in rows {
        fs::write(&file, bytes).unwrap();
        let at = away.path().join("target");
        let why = refused(&at, &["restore", text(&file)], None);
        assert!(why.contains(words), "{what}: {why}");
        let left: Vec<_> =
            fs::read_dir(away.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["b.zip"], "{what}");
    }
    assert!(refused(&away.path().join("target"), &["restore", "/dev/null"], None).contains("not a file"));
}

impl BackupParts {
    fn zip_raw(&self) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in &self.0 {
            writer.start_file(name.as_str(), zip::write::SimpleFileOptions::default()).unwrap();
            writer.write_all(content).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }
}
