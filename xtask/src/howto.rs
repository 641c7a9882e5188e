//! `cargo xtask howto`: follows every page of `docs/how-to/`, so that their instructions stay correct.
//!
//! A page contains one diff that applies to the current tree, and a machine-readable line that says how many files it touches,
//! which packages to check, and which unit test of the diff, in the first of them, proves that it works:
//!
//! ```text
//! <!-- howto: files=2 packages=aethon-http test=the_name_of_a_test -->
//! ```
//!
//! The run fails if a page touches another number of files, does not apply to the current tree, does not compile without
//! warnings, or has no such test that passes. All pages are followed in one copy below `target/howto/`, so that it is built
//! once and not once per page. The copy is staged first, and only differences from the last run are transferred to the folder
//! that cargo builds.

use crate::process;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the pages.
const PAGES: &str = "docs/how-to";

/// Follows every page.
pub(crate) fn run(root: &Path) -> Result<()> {
    let pages = read_pages(root)?;
    let work = Work::below(root)?;
    work.stage(root, &pages)?;
    work.check(&pages)?;
    work.test(&pages)?;
    println!("howto: {} pages were followed", pages.len());
    Ok(())
}

/// Removes what the run has built; the next one builds everything again.
pub(crate) fn remove_build(root: &Path) -> Result<()> {
    let build = Work::below(root)?.build();
    match fs::remove_dir_all(&build) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{} cannot be removed", build.display()))
        }
        _ => Ok(()),
    }
}

fn read_pages(root: &Path) -> Result<Vec<Page>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(root.join(PAGES))
        .with_context(|| format!("{PAGES} cannot be read"))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    ensure!(!paths.is_empty(), "there is no page in {PAGES}");
    let read = |path: &PathBuf| {
        let place = format!("{PAGES}/{}", path.file_name().unwrap_or_default().to_string_lossy());
        let text = fs::read_to_string(path).with_context(|| format!("{place} cannot be read"))?;
        Page::read(&place, &text).with_context(|| place)
    };
    paths.iter().map(read).collect()
}

/// A page's declarations, and its diff.
#[derive(Debug)]
struct Page {
    place: String,
    files: usize,
    packages: Vec<String>,
    test: String,
    diff: String,
}

impl Page {
    fn read(place: &str, text: &str) -> Result<Self> {
        let mut promises =
            text.lines().filter_map(|line| line.strip_prefix("<!-- howto:")?.strip_suffix("-->"));
        let promise = promises.next().context("no line `<!-- howto: files=N packages=A,B test=NAME -->`")?;
        let value = |key: &str| {
            let mut words = promise.split_whitespace().filter_map(|word| word.split_once('='));
            words
                .find(|(name, _)| *name == key)
                .map(|(_, value)| value)
                .with_context(|| format!("no `{key}=`"))
        };
        let mut diffs = text.split("\n```diff\n").skip(1).filter_map(|rest| rest.split_once("\n```\n"));
        let (diff, _) = diffs.next().context("no block of ```diff")?;
        ensure!(
            promises.next().is_none() && diffs.next().is_none(),
            "a page makes one promise and holds one diff"
        );
        Ok(Self {
            place: place.to_owned(),
            files: value("files")?.parse().context("`files=` is not a number")?,
            packages: value("packages")?.split(',').map(str::to_owned).collect(),
            test: value("test")?.to_owned(),
            diff: format!("{diff}\n"),
        })
    }

    /// The files touched by the diff.
    fn touched(&self) -> BTreeSet<&str> {
        let names =
            self.diff.lines().filter_map(|line| line.strip_prefix("diff --git a/")?.split_once(" b/"));
        names.flat_map(|(before, after)| [before, after]).collect()
    }

    /// Checks what can be checked without building anything.
    fn keeps_its_promise(&self) -> Result<()> {
        let touched = self.touched();
        ensure!(
            touched.len() == self.files,
            "it promises {} files and touches {}: {touched:?}",
            self.files,
            touched.len()
        );
        let test = format!("fn {}(", self.test);
        ensure!(
            self.diff.lines().any(|line| line.starts_with('+') && line.contains(&test)),
            "the diff adds no test `{}`",
            self.test
        );
        Ok(())
    }

    /// Returns whether the test runner reports that this page's test passed.
    fn is_proved_by(&self, output: &str) -> bool {
        let mut passed =
            output.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... ok"));
        passed.any(|path| path.rsplit("::").next() == Some(self.test.as_str()))
    }
}

/// The folders in which the pages are followed.
struct Work {
    folder: PathBuf,
    /// The workspace with the diffs applied.
    staged: PathBuf,
    /// What cargo builds: the same, but modification times change only with the content.
    tree: PathBuf,
}

impl Work {
    fn below(root: &Path) -> Result<Self> {
        let folder = root.join("target/howto");
        let work = Self { staged: folder.join("staged"), tree: folder.join("tree"), folder };
        for folder in [&work.staged, &work.tree] {
            fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        }
        Ok(work)
    }

    /// Where cargo keeps what it builds of the copy.
    fn build(&self) -> PathBuf {
        self.folder.join("build")
    }

    /// Applies every page to a copy of the workspace: first each on its own, so that none needs another, then all of them.
    fn stage(&self, root: &Path, pages: &[Page]) -> Result<()> {
        let mut files = files_of(root)?;
        mirror(root, &self.staged, &files)?;
        for page in pages {
            println!("howto: {}", page.place);
            page.keeps_its_promise()
                .and_then(|()| self.apply(page, &["--check"]))
                .with_context(|| page.place.clone())?;
        }
        for page in pages {
            self.apply(page, &[]).with_context(|| format!("{}, behind other pages", page.place))?;
            files.extend(page.touched().into_iter().map(str::to_owned));
        }
        mirror(&self.staged, &self.tree, &files)
    }

    fn apply(&self, page: &Page, options: &[&str]) -> Result<()> {
        let patch = self.folder.join("page.diff");
        fs::write(&patch, &page.diff).context("the diff cannot be written")?;
        let arguments = [&["apply", "--whitespace=error-all"], options, &[text(&patch)?]].concat();
        // The copy is inside a repository, and git would resolve the diff's paths relative to that.
        let variables = [("GIT_CEILING_DIRECTORIES", text(&self.folder)?)];
        process::run_with(&self.staged, "git", &arguments, &variables)
    }

    /// Compiles the packages that the pages name, including tests and examples.
    fn check(&self, pages: &[Page]) -> Result<()> {
        let packages = pages.iter().flat_map(|page| &page.packages);
        let build = self.build();
        let arguments = [&["check", "--locked", "--all-targets"], selection(packages).as_slice()].concat();
        process::run_with(&self.tree, "cargo", &arguments, &variables(&build)?)
    }

    /// Runs the test of each page.
    fn test(&self, pages: &[Page]) -> Result<()> {
        let homes = selection(pages.iter().filter_map(|page| page.packages.first()));
        let names: Vec<&str> = pages.iter().map(|page| page.test.as_str()).collect();
        let build = self.build();
        let arguments =
            [&["test", "--locked", "--lib", "--bins"], homes.as_slice(), &["--"], &names].concat();
        let output = process::output_with(&self.tree, "cargo", &arguments, &variables(&build)?)?;
        for page in pages {
            ensure!(page.is_proved_by(&output), "{}: no test `{}` ran", page.place, page.test);
        }
        Ok(())
    }
}

/// Makes warnings errors whatever the caller's environment, and keeps the build out of the workspace's own.
fn variables(build: &Path) -> Result<[(&'static str, &str); 2]> {
    Ok([("CARGO_TARGET_DIR", text(build)?), ("RUSTFLAGS", "-D warnings")])
}

fn selection<'a>(packages: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let packages: BTreeSet<&str> = packages.map(String::as_str).collect();
    packages.into_iter().flat_map(|package| ["-p", package]).collect()
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("the path {} is not UTF-8", path.display()))
}

/// The current files of the workspace: those tracked by git, or that would be.
fn files_of(root: &Path) -> Result<BTreeSet<String>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = process::output(root, "git", &arguments)?;
    let names = listed.split('\0').filter(|name| !name.is_empty());
    // git also lists files that are deleted but not yet committed.
    Ok(names.filter(|name| root.join(name).is_file()).map(str::to_owned).collect())
}

/// Makes `to` contain these files of `from` and nothing else. Identical files are left alone, so that cargo builds only what
/// changed.
fn mirror(from: &Path, to: &Path, files: &BTreeSet<String>) -> Result<()> {
    for name in files {
        let (source, copy) = (from.join(name), to.join(name));
        let content = fs::read(&source).with_context(|| format!("{} cannot be read", source.display()))?;
        if fs::read(&copy).is_ok_and(|there| there == content) {
            continue;
        }
        let folder = copy.parent().context("a file has no folder")?;
        fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        fs::write(&copy, content).with_context(|| format!("{} cannot be written", copy.display()))?;
    }
    remove_others(to, to, files)
}

fn remove_others(top: &Path, folder: &Path, files: &BTreeSet<String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(top, &path, files)?;
            continue;
        }
        let name = path.strip_prefix(top).ok().and_then(Path::to_str);
        if !name.is_some_and(|name| files.contains(name)) {
            fs::remove_file(&path).with_context(|| format!("{} cannot be removed", path.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A page\n\n<!-- howto: files=2 packages=a,b test=it_works -->\n\nText.\n\n```diff\n\
        diff --git a/x.rs b/x.rs\n--- a/x.rs\n+++ b/x.rs\n@@ -1 +1,2 @@\n a\n+fn it_works() {}\n\
        diff --git a/y.rs b/y.rs\nnew file mode 100644\n--- /dev/null\n+++ b/y.rs\n@@ -0,0 +1 @@\n+b\n```\n\nMore.\n";

    fn page(text: &str) -> Result<Page> {
        Page::read("page.md", text)
    }

    #[test]
    fn a_page_makes_one_promise_and_holds_one_diff() {
        let read = page(PAGE).unwrap();
        assert_eq!((read.files, read.packages.len(), read.test.as_str()), (2, 2, "it_works"));
        assert_eq!(read.touched(), BTreeSet::from(["x.rs", "y.rs"]));
        assert!(read.diff.starts_with("diff --git") && read.diff.ends_with("+b\n"));
        for (text, missing) in [
            (PAGE.replace("files=2 ", ""), "files"),
            (PAGE.replace("<!-- howto:", "<!--"), "howto"),
            (PAGE.replace("```diff", "```"), "diff"),
            (PAGE.replace("files=2", "files=two"), "number"),
            (PAGE.repeat(2), "one promise"),
        ] {
            let error = format!("{:#}", page(&text).unwrap_err());
            assert!(error.contains(missing), "{missing}: {error}");
        }
    }

    #[test]
    fn a_promise_is_kept_by_the_diff_and_by_the_test_that_ran() {
        page(PAGE).unwrap().keeps_its_promise().unwrap();
        let fails = |text: String| format!("{:#}", page(&text).unwrap().keeps_its_promise().unwrap_err());
        assert!(fails(PAGE.replace("files=2", "files=3")).contains("promises 3 files and touches 2"));
        assert!(fails(PAGE.replace("test=it_works", "test=it_fails")).contains("no test `it_fails`"));
        let check = |output: &str, expected| {
            assert_eq!(page(PAGE).unwrap().is_proved_by(output), expected, "{output}");
        };
        check("running 1 test\ntest a::tests::it_works ... ok\n", true);
        check("test it_works ... ok", true);
        check("test a::tests::it_works ... FAILED", false);
        check("test a::tests::it_works ... ignored", false);
        check("test a::tests::it_works_too ... ok\nrunning 0 tests", false);
    }

    #[test]
    fn pages_are_followed_in_a_copy_that_changes_only_where_they_do() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path();
        fs::write(root.join("x.rs"), "a\n").unwrap();
        fs::write(root.join("z.rs"), "z\n").unwrap();
        fs::write(root.join(".gitignore"), "target\n").unwrap();
        process::run(root, "git", &["init", "-q"]).unwrap();
        process::run(root, "git", &["add", "x.rs"]).unwrap();
        let work = Work::below(root).unwrap();
        fs::write(work.tree.join("left-over.rs"), "x").unwrap();
        let written = || {
            work.stage(root, &[page(PAGE).unwrap()]).unwrap();
            fs::metadata(work.tree.join("x.rs")).unwrap().modified().unwrap()
        };
        assert_eq!(written(), written(), "the second run changes nothing");
        let read = |name: &str| fs::read_to_string(work.tree.join(name)).ok();
        assert_eq!(read("x.rs").as_deref(), Some("a\nfn it_works() {}\n"));
        assert_eq!(read("y.rs").as_deref(), Some("b\n"));
        assert_eq!((read("z.rs").as_deref(), read("left-over.rs")), (Some("z\n"), None));
        assert_eq!(fs::read_to_string(root.join("x.rs")).unwrap(), "a\n", "the workspace is left alone");
    }

    #[test]
    fn a_page_applies_to_the_tree_as_it_is_and_not_to_another_page() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path();
        fs::write(root.join("x.rs"), "a\n").unwrap();
        process::run(root, "git", &["init", "-q"]).unwrap();
        let work = Work::below(root).unwrap();
        let needs =
            PAGE.replace("y.rs", "w.rs").replace("@@ -1 +1,2 @@\n a\n", "@@ -2 +2,2 @@\n fn it_works() {}\n");
        let error = work.stage(root, &[page(PAGE).unwrap(), page(&needs).unwrap()]).unwrap_err();
        assert!(format!("{error:#}").contains("git apply"), "{error:#}");
        assert!(work.stage(root, &[page(PAGE).unwrap()]).is_ok());
    }
}
