//! A package for Debian and its kin: an `ar` archive of the format's version, the fields, and the files.
//!
//! It has no maintainer scripts: nothing of ours runs as root when it is installed, upgraded or removed, and no home is ever
//! touched. The units are for those who enable them.

use super::archive::{self, Stamp};
use super::payload::Payload;
use anyhow::Result;
use md5::{Digest, Md5};
use std::fmt::Write as _;

/// What the fields say.
#[derive(Debug, Clone)]
pub(crate) struct Fields {
    pub(crate) version: String,
    /// Who answers for the package: a name and a mail address.
    pub(crate) maintainer: String,
    pub(crate) architecture: String,
    /// What must be installed, as `Depends` has it.
    pub(crate) depends: String,
}

/// Returns a version as Debian orders it: what comes before a release sorts before it.
pub(crate) fn version(version: &str) -> String {
    version.replace('-', "~")
}

/// Returns the name of a processor as Debian has it.
pub(crate) fn architecture(name: &str) -> &str {
    match name {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "i386",
        "powerpc64" => "ppc64el",
        other => other,
    }
}

/// Returns where a file of the archive stands on a Debian system.
fn place(path: &str) -> String {
    match path {
        "share/doc/aethon/LICENSE" => "usr/share/doc/aethon/copyright".to_owned(),
        // What belongs to a package and what an administrator adds have different folders.
        _ if path.starts_with("share/zsh/") => {
            format!("usr/{}", path.replace("site-functions", "vendor-completions"))
        }
        _ if path.starts_with("share/systemd/") => format!("usr/{}", path.replacen("share", "lib", 1)),
        _ => format!("usr/{path}"),
    }
}

/// Packs the files of the archive as a package.
pub(crate) fn pack(payload: &Payload, fields: &Fields, stamp: Stamp) -> Result<Vec<u8>> {
    let mut files = payload.placed(place);
    for (path, entry) in std::mem::take(&mut files).0 {
        match path.starts_with("usr/share/man/") {
            true => files.file(&format!("{path}.gz"), archive::gz(&entry.content, stamp)?),
            false => drop(files.0.insert(path, entry)),
        }
    }
    let mut control = Payload::default();
    control.file("control", text(fields, &files));
    control.file("md5sums", sums(&files)?);
    let parts = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", archive::tar_gz(&control, "./", stamp)?),
        ("data.tar.gz", archive::tar_gz(&files, "./", stamp)?),
    ];
    let mut package = ar::Builder::new(Vec::new());
    for (name, content) in parts {
        let mut header = ar::Header::new(name.as_bytes().to_vec(), content.len() as u64);
        header.set_mtime(stamp.time);
        header.set_mode(0o100_644);
        package.append(&header, &content[..])?;
    }
    Ok(package.into_inner()?)
}

fn text(fields: &Fields, files: &Payload) -> String {
    let bytes: usize = files.0.values().map(|entry| entry.content.len()).sum();
    format!(
        "Package: aethon
Version: {}
Architecture: {}
Maintainer: {}
Installed-Size: {}
Depends: {}
Recommends: ca-certificates
Section: net
Priority: optional
Description: self-hosted personal assistant
 Browser chat, dashboard, terminal chat, messengers, scheduled jobs and webhooks
 round a language model of your choice, kept in one folder of your own account.
 .
 Start it for your account with: systemctl --user enable --now aethon
",
        fields.version,
        fields.architecture,
        fields.maintainer,
        bytes.div_ceil(1024),
        fields.depends,
    )
}

/// Returns what `dpkg --verify` compares.
fn sums(files: &Payload) -> Result<String> {
    let mut text = String::new();
    for (path, entry) in &files.0 {
        for byte in Md5::digest(&entry.content) {
            write!(text, "{byte:02x}")?;
        }
        writeln!(text, "  {path}")?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> Fields {
        Fields {
            version: "1.2".into(),
            maintainer: "Ada <ada@example.org>".into(),
            architecture: "amd64".into(),
            depends: "libc6 (>= 2.34)".into(),
        }
    }

    #[test]
    fn files_go_where_debian_looks_for_them() {
        for (path, expected) in [
            ("bin/aethon-cli", "usr/bin/aethon-cli"),
            ("share/doc/aethon/LICENSE", "usr/share/doc/aethon/copyright"),
            ("share/doc/aethon/THIRD-PARTY.txt", "usr/share/doc/aethon/THIRD-PARTY.txt"),
            ("share/man/man1/aethon-cli.1", "usr/share/man/man1/aethon-cli.1"),
            ("share/zsh/site-functions/_aethon-cli", "usr/share/zsh/vendor-completions/_aethon-cli"),
            ("share/systemd/user/aethon.service", "usr/lib/systemd/user/aethon.service"),
        ] {
            assert_eq!(place(path), expected, "{path}");
        }
    }

    #[test]
    fn package_has_its_parts_in_the_order_of_the_format_and_the_same_bytes_again() {
        let mut payload = Payload::default();
        payload.program("bin/aethon-cli", b"program".to_vec());
        payload.file("share/man/man1/aethon-cli.1", ".TH");
        let fields = fields();
        let stamp = Stamp { time: 1, level: 9 };
        let package = pack(&payload, &fields, stamp).unwrap();
        assert_eq!(package, pack(&payload, &fields, stamp).unwrap());
        let mut archive = ar::Archive::new(&package[..]);
        let mut names = Vec::new();
        while let Some(entry) = archive.next_entry() {
            names.push(String::from_utf8(entry.unwrap().header().identifier().to_vec()).unwrap());
        }
        assert_eq!(names, ["debian-binary", "control.tar.gz", "data.tar.gz"]);
    }

    #[test]
    fn sums_and_size_are_of_the_files() {
        let mut files = Payload::default();
        files.file("usr/a", "hello\n");
        assert_eq!(sums(&files).unwrap(), "b1946ac92492d2347c6235b4d2611184  usr/a\n");
        assert!(text(&fields(), &files).contains("\nInstalled-Size: 1\n"));
    }
}
