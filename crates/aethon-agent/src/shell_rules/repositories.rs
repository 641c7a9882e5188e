//! Git hooks, git settings and folders of programs, as far as the command itself wrote them: what git would run of
//! them.

use super::commands::FileKind;
use super::judge::{Checked, Judge, OutputResult};
use super::marks::UNKNOWN;
use super::paths::base_name;
use super::programs::{Inner, settings_of_git};

/// The names of hooks, whichever folder they are in.
const HOOKS: &[&str] = &[
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "post-index-change",
    "fsmonitor-watchman",
    "sendemail-validate",
];

/// The settings files that git reads by itself.
const SETTINGS: &[&str] = &[".git/config", ".git/config.worktree", ".gitconfig", ".config/git/config"];

impl Judge<'_> {
    /// Judges what git finds by itself. If a hook runs git again, hooks are not run again.
    pub(super) fn git_files(&mut self) -> OutputResult {
        if std::mem::replace(&mut self.is_in_git, true) {
            return Ok(vec![UNKNOWN.to_string()]);
        }
        self.meter.steps(self.files.texts.len() / 8)?;
        let paths = || self.files.texts.keys();
        let is_hook = |path: &&String| HOOKS.contains(&base_name(path)) || path.contains(".git/hooks/");
        let hooks: Vec<String> = paths().filter(is_hook).cloned().collect();
        let is_read = |path: &&String| {
            SETTINGS.iter().any(|name| {
                path.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('/'))
            })
        };
        let settings: Vec<String> = paths().filter(is_read).cloned().collect();
        for file in hooks {
            self.run_file(&file, &[], FileKind::Itself)?;
        }
        for file in settings {
            self.git_settings(&file)?;
        }
        self.is_in_git = false;
        Ok(vec![UNKNOWN.to_string()])
    }

    /// Judges the settings in a file that the command wrote.
    pub(super) fn git_settings(&mut self, file: &str) -> OutputResult {
        for text in self.known_contents(file).unwrap_or_default() {
            self.meter.bytes(text.len())?;
            self.meter.enter()?;
            self.all(settings_of_git(&text))?;
            self.meter.leave();
        }
        Ok(vec![UNKNOWN.to_string()])
    }

    /// Judges the programs in a folder that the command wrote.
    pub(super) fn programs_in(&mut self, folder: &str) -> OutputResult {
        let folder = format!("{}/", self.path(folder).trim_end_matches('/'));
        self.meter.steps(self.files.texts.len() / 8)?;
        let files = self.files.texts.keys().filter(|path| path.starts_with(&folder));
        for file in files.cloned().collect::<Vec<_>>() {
            self.run_file(&file, &[], FileKind::Itself)?;
        }
        Ok(vec![UNKNOWN.to_string()])
    }

    fn all(&mut self, inner: Vec<Inner>) -> Checked {
        inner.into_iter().try_for_each(|inner| self.inner(inner).map(drop))
    }
}
