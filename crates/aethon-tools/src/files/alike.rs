//! Names that look alike: what a person reads and types is often not, byte for byte, the name of the file. A Mac writes
//! letters and their accents apart, screenshots have narrow blanks in their names, and a phone makes apostrophes and dashes
//! typographic.
//!
//! A path that does not exist is compared with the entries of the directory where it breaks off. That directory is opened
//! and judged like any other, entries that are closed to tools do not count, and what is found passes all rules again under
//! its own name.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use aethon_core::tool::ToolError;
use aethon_files::beneath;
use rustix::fs::Dir;
use unicode_normalization::UnicodeNormalization;

use super::paths::{is_straight, real};
use super::workspace::Workspace;

/// Maximum number of entries compared.
const MAX_ENTRIES: usize = 10_000;
/// Maximum number of names in an error.
const NAMED: usize = 5;
/// Names longer than this are not compared for their nearness.
const MAX_NEAR: usize = 120;

/// What a directory contains in place of a name that it does not.
#[derive(Debug)]
pub(super) struct Alike {
    /// The directory, by its real path.
    folder: PathBuf,
    /// The name that is missing.
    missing: String,
    /// What follows it in the path.
    rest: PathBuf,
    /// The names that look the same.
    same: Vec<String>,
    /// Names that differ a little.
    near: Vec<String>,
}

impl Alike {
    /// Returns the path with the one name that looks the same.
    pub(super) fn path(&self) -> Option<PathBuf> {
        let [name] = self.same.as_slice() else { return None };
        let path = self.folder.join(name);
        Some(if self.rest.as_os_str().is_empty() { path } else { path.join(&self.rest) })
    }

    /// Returns the names that look the same, if the path ends with the missing name.
    pub(super) fn same(&self) -> &[String] {
        if self.rest.as_os_str().is_empty() { &self.same } else { &[] }
    }

    /// Says that a path does not exist, and which names come near.
    pub(super) fn error(&self, path: &str) -> ToolError {
        let listed = |names: &[String]| {
            let names: Vec<String> = names.iter().take(NAMED).map(|name| format!("{name:?}")).collect();
            names.join(", ")
        };
        let missing = match self.rest.as_os_str().is_empty() {
            true => format!("there is no file {path:?}"),
            false => format!("there is no file {path:?}: there is no folder {:?}", self.missing),
        };
        ToolError::failed(match (self.same.as_slice(), self.near.as_slice()) {
            ([], []) => missing,
            ([], near) => format!("{missing}; there is {}", listed(near)),
            (same, _) => format!("{missing}; several names look like it, so say which: {}", listed(same)),
        })
    }
}

impl Workspace {
    /// Compares a path that does not exist with what is there; `None` if the directory in which it breaks off may not be
    /// read. Blocks.
    pub(super) fn alike(&self, path: &str, wanted: &Path) -> Option<Alike> {
        let real = real(wanted);
        if !is_straight(&real) {
            return None;
        }
        let base = self.base_of(&real)?;
        let mut handle = beneath::directory(&base, &base, None).ok()?;
        let mut parts = real.strip_prefix(&base).ok()?.components();
        let missing = loop {
            let part = parts.next()?.as_os_str();
            match beneath::inner(&handle, part) {
                Ok(inner) => handle = inner,
                Err(error) if error.kind() == ErrorKind::NotFound => break part.to_str()?.to_owned(),
                Err(_) => return None,
            }
        };
        let folder = self.check_directory(&handle, path, &base).ok()?;
        let (mut same, mut near) = (Vec::new(), Vec::new());
        let wanted = folded(&missing);
        for entry in Dir::read_from(&handle).ok()?.flatten().take(MAX_ENTRIES) {
            let Some(name) = OsStr::from_bytes(entry.file_name().to_bytes()).to_str() else { continue };
            let is_closed = || self.blocklist().has_name(&folder.join(name), &base);
            if matches!(name, "." | "..") {
                continue;
            }
            let found = folded(name);
            if found == wanted {
                if !is_closed() {
                    same.push(name.to_owned());
                }
            } else if let Some(distance) =
                distance(&wanted, &found).filter(|_| !is_hidden(name, &missing) && !is_closed())
            {
                near.push((distance, name.to_owned()));
            }
        }
        same.sort_unstable();
        near.sort_unstable();
        near.truncate(NAMED);
        let near = near.into_iter().map(|(_, name)| name).collect();
        Some(Alike { folder, missing, rest: parts.as_path().to_owned(), same, near })
    }
}

/// Returns whether a name is hidden and no hidden one is wanted.
fn is_hidden(name: &str, wanted: &str) -> bool {
    name.starts_with('.') && !wanted.starts_with('.')
}

/// Returns a name in the form in which names that look alike are equal: composed letters, plain blanks, apostrophes,
/// quotation marks and dashes, no invisible characters, lower case.
pub(super) fn folded(name: &str) -> String {
    let plain = |c: char| match c {
        '\u{ad}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}' => None,
        '\u{fe00}'..='\u{fe0f}' => None,
        c if c.is_whitespace() => Some(' '),
        '‘' | '’' | '‚' | '‛' | '′' | 'ʼ' | 'ʹ' | '´' | '`' | '＇' => Some('\''),
        '“' | '”' | '„' | '‟' | '″' | '«' | '»' | '＂' => Some('"'),
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' | '﹣' | '－' => Some('-'),
        '∶' | '：' | '꞉' => Some(':'),
        '∕' | '／' | '⁄' => Some('/'),
        c => Some(c),
    };
    // Some characters become others by decomposition, so that the mapping comes before and after it.
    let text: String = name.chars().filter_map(plain).collect();
    let text: String = text.nfkc().filter_map(plain).flat_map(char::to_lowercase).collect();
    let text: String = text.nfkc().collect();
    text.split(' ').filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns how many letters differ between two names, if these are few for their length.
fn distance(one: &str, other: &str) -> Option<usize> {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let shorter = one.len().min(other.len());
    let allowed = (shorter / 4).clamp(1, 4);
    if one.len().max(other.len()) > MAX_NEAR || one.len().abs_diff(other.len()) > allowed || shorter < 2 {
        return None;
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, left) in one.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(left != right);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().filter(|distance| *distance <= allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_alike_have_one_form() {
        let check = |one: &str, other: &str| assert_eq!(folded(one), folded(other), "{one:?} {other:?}");
        check("Screenshot 2026-11-26 at 3.15.10 PM.png", "Screenshot 2026-11-26 at 3.15.10\u{202f}PM.png");
        check("a b.txt", "a\u{a0}b.txt");
        check("a b.txt", "a\u{3000}b.txt");
        check("a b.txt", "a\u{2009}b.txt");
        check("a b.txt", " a  b.txt");
        check("Übersicht für März.txt", "U\u{308}bersicht fu\u{308}r Ma\u{308}rz.txt");
        check("한국어.md", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}\u{110b}\u{1165}.md");
        check("ガイド.md", "カ\u{3099}イト\u{3099}.md");
        check("Ada's list.txt", "Ada’s list.txt");
        check("Ada's list.txt", "Adaʼs list.txt");
        check("say \"hi\".txt", "say “hi”.txt");
        check("2020-2021.csv", "2020–2021.csv");
        check("2020-2021.csv", "2020\u{2011}2021.csv");
        check("README.md", "readme.MD");
        check("STRASSE.txt", "strasse.txt");
        check("ABC.txt", "ＡＢＣ.txt");
        check("office.txt", "o\u{fb03}ce.txt");
        check("wait....txt", "wait….txt");
        check("note.txt", "no\u{200b}te.txt");
        check("名前.txt", "\u{feff}名前.txt");
        let differ = |one: &str, other: &str| assert_ne!(folded(one), folded(other), "{one:?} {other:?}");
        differ("a.txt", "b.txt");
        differ("März.txt", "Marz.txt");
        differ("ab.txt", "a b.txt");
        differ("が.md", "か.md");
    }

    #[test]
    fn near_names_differ_in_few_letters() {
        assert_eq!(distance("report.txt", "report.txt"), Some(0));
        assert_eq!(distance("report.txt", "reprot.txt"), Some(2));
        assert_eq!(distance("report.txt", "reports.txt"), Some(1));
        assert_eq!(distance("report.txt", "resort.csv"), None);
        assert_eq!(distance("a", "b"), None);
        assert_eq!(distance("x.md", "y.md"), Some(1));
    }
}
