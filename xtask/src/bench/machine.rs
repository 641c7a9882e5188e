//! Describes the machine on which the figures were measured.

use crate::process;
use std::fs;
use std::path::Path;

/// Describes processor, memory, kernel, compiler and revision in one paragraph.
pub(super) fn describe(root: &Path) -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let processor =
        field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| "unknown processor".to_owned());
    let memory = field(&read("/proc/meminfo"), "MemTotal").unwrap_or_default();
    let memory: u64 = memory.trim_end_matches("kB").trim().parse().unwrap_or(0);
    let kernel = read("/proc/sys/kernel/osrelease");
    let kernel: Vec<&str> = kernel.trim().split('.').take(2).collect();
    let compiler = process::output(root, "rustc", &["--version"]).unwrap_or_default();
    format!(
        "{processor}, {cores} cores, {} GiB, Linux {}, {}, revision {}",
        memory.div_ceil(1024 * 1024),
        kernel.join("."),
        compiler.trim(),
        revision(root)
    )
}

/// The commit, and whether the working tree matches it.
fn revision(root: &Path) -> String {
    let commit = process::output(root, "git", &["rev-parse", "--short", "HEAD"]).unwrap_or_default();
    let changes =
        process::output(root, "git", &["status", "--porcelain", "--untracked-files=no"]).unwrap_or_default();
    let and = if changes.trim().is_empty() { "" } else { " with changes" };
    format!("{}{and}", commit.trim())
}

fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_proc_is_read() {
        let text = "processor\t: 0\nmodel name\t: Some CPU\nmodel name\t: Other\n";
        assert_eq!(field(text, "model name").as_deref(), Some("Some CPU"));
        assert_eq!(field(text, "flags"), None);
    }
}
