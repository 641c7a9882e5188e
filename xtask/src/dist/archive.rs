//! Archives that depend on their files only: sorted, with one time for all, owned by root.

use super::payload::Payload;
use anyhow::Result;
use flate2::{Compression, GzBuilder};
use std::io::Write;
use tar::{EntryType, Header};

/// What an archive says of all of its files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamp {
    /// Seconds since 1970.
    pub(crate) time: u64,
    /// From 0, as it is, to 9, as small as possible.
    pub(crate) level: u32,
}

/// Returns a compressed tar archive of the files, whose paths begin with `prefix`.
pub(crate) fn tar_gz(payload: &Payload, prefix: &str, stamp: Stamp) -> Result<Vec<u8>> {
    let mut tar = tar::Builder::new(gzip(stamp));
    if prefix == "./" {
        // As dpkg writes it: the archive begins with the root itself.
        tar.append(&header(EntryType::Directory, prefix, 0o755, 0, stamp)?, std::io::empty())?;
    }
    for folder in payload.folders() {
        let path = format!("{prefix}{folder}/");
        tar.append(&header(EntryType::Directory, &path, 0o755, 0, stamp)?, std::io::empty())?;
    }
    for (path, entry) in &payload.0 {
        let mode = if entry.is_program { 0o755 } else { 0o644 };
        let length = entry.content.len() as u64;
        let path = format!("{prefix}{path}");
        tar.append(&header(EntryType::Regular, &path, mode, length, stamp)?, &entry.content[..])?;
    }
    Ok(tar.into_inner()?.finish()?)
}

/// Returns the content compressed, without a name or a time in it.
pub(crate) fn gz(content: &[u8], stamp: Stamp) -> Result<Vec<u8>> {
    let mut writer = gzip(stamp);
    writer.write_all(content)?;
    Ok(writer.finish()?)
}

fn gzip(stamp: Stamp) -> flate2::write::GzEncoder<Vec<u8>> {
    // Which system packed it is nothing that the files depend on.
    GzBuilder::new().mtime(0).operating_system(3).write(Vec::new(), Compression::new(stamp.level))
}

fn header(kind: EntryType, path: &str, mode: u32, length: u64, stamp: Stamp) -> Result<Header> {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    // Not `set_path`, which drops the leading `./` of packages.
    let bytes = path.as_bytes();
    let name = &mut header.as_old_mut().name;
    anyhow::ensure!(bytes.len() <= name.len(), "{path} is too long for an archive");
    name[..bytes.len()].copy_from_slice(bytes);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_username("root")?;
    header.set_groupname("root")?;
    header.set_mtime(stamp.time);
    header.set_size(length);
    header.set_cksum();
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;

    const STAMP: Stamp = Stamp { time: 1_700_000_000, level: 6 };

    #[test]
    fn same_files_in_any_order_give_the_same_bytes() {
        let (mut one, mut other) = (Payload::default(), Payload::default());
        one.program("bin/a", b"program".to_vec());
        one.file("share/doc/b", "text");
        other.file("share/doc/b", "text");
        other.program("bin/a", b"program".to_vec());
        let packed = tar_gz(&one, "x-1/", STAMP).unwrap();
        assert_eq!(packed, tar_gz(&other, "x-1/", STAMP).unwrap());
        other.file("share/doc/b", "another text");
        assert_ne!(packed, tar_gz(&other, "x-1/", STAMP).unwrap());
    }

    #[test]
    fn archive_has_folders_first_and_programs_are_executable() {
        let mut payload = Payload::default();
        payload.program("usr/bin/a", b"program".to_vec());
        let packed = tar_gz(&payload, "./", STAMP).unwrap();
        let mut archive = tar::Archive::new(GzDecoder::new(&packed[..]));
        let mut seen = Vec::new();
        for entry in archive.entries().unwrap() {
            let entry = entry.unwrap();
            let path = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
            seen.push((path, entry.header().mode().unwrap(), entry.header().mtime().unwrap()));
        }
        let expected = [("./", 0o755), ("./usr/", 0o755), ("./usr/bin/", 0o755), ("./usr/bin/a", 0o755)];
        let expected = expected.map(|(path, mode)| (path.to_owned(), mode, 1_700_000_000));
        assert_eq!(seen, expected);
    }
}
