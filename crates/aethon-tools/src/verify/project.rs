//! Finds the check for a file: the command of its project, or that of its file type.

use std::path::{Path, PathBuf};

/// How many levels above a file its project root may be.
const MAX_STEPS: usize = 12;

/// A check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) command: String,
    pub(super) directory: PathBuf,
}

/// Files that mark a project, and the command that checks it.
const PROJECTS: [(&str, &str); 4] = [
    ("Cargo.toml", "cargo check --quiet --message-format short"),
    ("go.mod", "go build ./..."),
    ("tsconfig.json", "npx --no-install tsc --noEmit --pretty false"),
    ("pyrightconfig.json", "pyright"),
];

/// File types that are checked one by one, and the command.
const KINDS: [(&str, &str); 5] = [
    ("py", "python3 -m py_compile"),
    ("sh", "sh -n"),
    ("bash", "bash -n"),
    ("js", "node --check"),
    ("mjs", "node --check"),
];

/// Finds the check for a file in this directory; the search goes up to `root`.
pub(super) fn detect(directory: &Path, file: &str, root: &Path) -> Option<Check> {
    if !is_plain(file) {
        return None;
    }
    let ending = Path::new(file).extension()?.to_str()?;
    let is_code = matches!(ending, "rs" | "toml" | "go" | "mod" | "ts" | "tsx" | "py");
    let above = directory.ancestors().take(MAX_STEPS).take_while(|above| above.starts_with(root));
    for above in above.filter(|_| is_code) {
        let project = PROJECTS.iter().find(|(name, _)| above.join(name).is_file());
        if let Some((name, command)) = project.filter(|(name, _)| fits(name, ending)) {
            tracing::trace!(name, "a project is checked");
            return Some(Check { command: (*command).to_owned(), directory: above.to_owned() });
        }
    }
    let (_, command) = KINDS.iter().find(|(kind, _)| *kind == ending)?;
    Some(Check { command: format!("{command} './{file}'"), directory: directory.to_owned() })
}

/// Returns whether a change to such a file can break such a project.
fn fits(project: &str, ending: &str) -> bool {
    match project {
        "Cargo.toml" => matches!(ending, "rs" | "toml"),
        "go.mod" => matches!(ending, "go" | "mod"),
        "tsconfig.json" => matches!(ending, "ts" | "tsx"),
        _ => ending == "py",
    }
}

/// Returns whether a name can be quoted safely in a command.
fn is_plain(file: &str) -> bool {
    !file.is_empty() && !file.contains(['\'', '\\', '\n', '\0', '/'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_checked_with_its_project_or_by_its_kind() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path();
        let deep = root.join("crate/src/deep");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(root.join("crate/Cargo.toml"), "").unwrap();
        let check = |directory: &Path, file: &str, expected: Option<(&str, &Path)>| {
            let found = detect(directory, file, root);
            let found = found.as_ref().map(|check| (check.command.as_str(), check.directory.as_path()));
            assert_eq!(found, expected, "{file}");
        };
        let cargo = PROJECTS[0].1;
        check(&deep, "a.rs", Some((cargo, &root.join("crate"))));
        check(&root.join("crate"), "Cargo.toml", Some((cargo, &root.join("crate"))));
        check(&deep, "a.py", Some(("python3 -m py_compile './a.py'", &deep)));
        check(&deep, "run.sh", Some(("sh -n './run.sh'", &deep)));
        check(root, "a.rs", None);
        check(&deep, "notes.md", None);
        check(&deep, "it's.sh", None);
        check(&deep, "none", None);
    }
}
