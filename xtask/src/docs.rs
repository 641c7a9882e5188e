//! `cargo xtask docs`: checks that the API documentation builds without warnings and that links between documents work.

use crate::process;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// Documents at the root, in addition to everything under `docs/`.
const AT_ROOT: [&str; 3] = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"];

/// Builds the API documentation and checks the links of the documents.
pub(crate) fn run(root: &Path) -> Result<()> {
    links(root)?;
    let arguments = ["doc", "--locked", "--workspace", "--no-deps", "--document-private-items", "--quiet"];
    process::run_with(root, "cargo", &arguments, &[("RUSTDOCFLAGS", "-D warnings")])
}

fn links(root: &Path) -> Result<()> {
    let mut documents: Vec<PathBuf> = AT_ROOT.iter().map(|name| root.join(name)).collect();
    collect(&root.join("docs"), &mut documents)?;
    let mut broken = 0;
    for document in &documents {
        let text =
            fs::read_to_string(document).with_context(|| format!("cannot read {}", document.display()))?;
        for link in targets(&text) {
            if let Err(reason) = follow(document, &text, &link.target) {
                println!("{}:{}: `{}`: {reason}", document.display(), link.line, link.target);
                broken += 1;
            }
        }
    }
    if broken > 0 {
        bail!("{broken} broken links");
    }
    println!("docs: the links of {} documents lead somewhere", documents.len());
    Ok(())
}

fn collect(folder: &Path, documents: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, documents)?;
        } else if path.extension().is_some_and(|kind| kind == "md") {
            documents.push(path);
        }
    }
    documents.sort();
    Ok(())
}

struct Link {
    line: usize,
    target: String,
}

/// Collects the relative links of a document: `[text](target)` outside of code.
fn targets(text: &str) -> Vec<Link> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        // Every second part is within backticks.
        for part in line.split('`').step_by(2) {
            for (at, _) in part.match_indices("](") {
                let rest = &part[at + 2..];
                let target = rest.split([')', ' ']).next().unwrap_or_default();
                let elsewhere = target.contains("://") || target.starts_with("mailto:");
                if !elsewhere {
                    found.push(Link { line: index + 1, target: target.to_owned() });
                }
            }
        }
    }
    found
}

/// Follows a link from a document; the error says why it is broken.
fn follow(document: &Path, text: &str, target: &str) -> Result<(), String> {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = document.parent().unwrap_or(Path::new("."));
    let file = if path.is_empty() { document.to_owned() } else { folder.join(path) };
    if !path.is_empty() && !file.exists() {
        return Err("no such file".to_owned());
    }
    if anchor.is_empty() || file.extension().is_none_or(|kind| kind != "md") {
        return Ok(());
    }
    let text = if path.is_empty() {
        text.to_owned()
    } else {
        fs::read_to_string(&file).map_err(|error| error.to_string())?
    };
    if headings(&text).any(|heading| slug(heading) == anchor) {
        return Ok(());
    }
    Err("no such heading".to_owned())
}

fn headings(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim())
}

/// The anchor that Markdown viewers give to a heading.
fn slug(heading: &str) -> String {
    let keep = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
    heading
        .to_lowercase()
        .chars()
        .filter(keep)
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_links_are_found_and_code_is_not() {
        let text = "[a](a.md) and [b](https://b.example) `[c](c.md)`\n```\n[d](d.md)\n```\n[e](#e)\n";
        let found: Vec<_> = targets(text).into_iter().map(|link| (link.line, link.target)).collect();
        assert_eq!(found, [(1, "a.md".to_owned()), (5, "#e".to_owned())]);
    }

    #[test]
    fn a_link_leads_to_a_file_and_a_heading() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("a.md");
        fs::write(folder.path().join("b.md"), "# One two\n").unwrap();
        for (target, leads) in [
            ("b.md", true),
            ("b.md#one-two", true),
            ("#here", true),
            ("b.md#three", false),
            ("c.md", false),
            ("#there", false),
        ] {
            assert_eq!(follow(&from, "## Here\n", target).is_ok(), leads, "{target}");
        }
    }

    #[test]
    fn a_broken_link_fails_the_chore() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("docs")).unwrap();
        for name in AT_ROOT {
            fs::write(folder.path().join(name), "[a](docs/a.md)").unwrap();
        }
        assert!(links(folder.path()).is_err());
        fs::write(folder.path().join("docs/a.md"), "# A").unwrap();
        assert!(links(folder.path()).is_ok());
    }
}
