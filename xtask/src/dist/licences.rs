//! `THIRD-PARTY.txt`: whose code is in the programs, and under which licence. Equal texts are there once.

use super::parts::Part;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

/// Between two texts.
const RULE: &str = "------------------------------------------------------------------------------";

/// Writes the document.
pub(crate) fn document(parts: &[Part]) -> Result<String> {
    let mut text = String::from(
        "Aethon is licensed under the Apache License 2.0. The programs contain the following works of others.\n\n",
    );
    // By its words, because lines are wrapped in different ways.
    let mut texts: BTreeMap<String, (String, Vec<&Part>)> = BTreeMap::new();
    for part in parts {
        writeln!(text, "{} {}: {} ({})", part.name, part.version, part.licence, part.origin)?;
        if part.texts.is_empty() && !part.authors.is_empty() {
            writeln!(text, "    by {}", part.authors.join(", "))?;
        }
        for path in &part.texts {
            let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            let content = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
            let words = content.split_whitespace().collect::<Vec<_>>().join(" ");
            texts.entry(words).or_insert((content, Vec::new())).1.push(part);
        }
    }
    let mut texts: Vec<(String, Vec<&Part>)> = texts.into_values().collect();
    texts.sort_by(|one, other| one.1.cmp(&other.1).then_with(|| one.0.cmp(&other.0)));
    for (content, parts) in texts {
        let mut names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        names.dedup();
        writeln!(text, "\n{RULE}\n{}\n{RULE}\n\n{}", names.join(", "), content.trim_end())?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_stand_once_with_all_their_parts() {
        let folder = tempfile::tempdir().unwrap();
        let part = |name: &str, licence: &str| {
            let path = folder.path().join(name);
            fs::write(&path, licence).unwrap();
            Part { name: name.to_owned(), texts: vec![path], licence: "MIT".to_owned(), ..Part::default() }
        };
        let parts =
            [part("a", "Copyright A\n\nPermission"), part("b", "Copyright A Permission\n"), part("c", "C")];
        let text = document(&parts).unwrap();
        assert!(text.contains(&format!("{RULE}\na, b\n{RULE}\n\nCopyright A\n")), "{text}");
        assert_eq!(text.matches("Permission").count(), 1);
        assert!(text.contains(&format!("{RULE}\nc\n{RULE}\n\nC\n")), "{text}");
    }
}
