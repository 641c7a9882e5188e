//! The catalog of SOPs over real folders: which files count, which are refused, and which texts are kept.

use std::fs;

use super::*;

const TEXT: &str = "# T\n## Overview\nx\n## Steps\n### 1. a\n";

fn folder(path: &Path) -> SopFolder {
    SopFolder::new(path.join("sops"), Live::default())
}

fn name(name: &str) -> SopName {
    SopName::parse(name).unwrap()
}

async fn names(sops: &SopFolder) -> Vec<String> {
    sops.sops().await.unwrap().iter().map(|sop| sop.name.to_string()).collect()
}

#[tokio::test]
async fn new_file_counts_at_once_and_shadows_a_built_in_sop() {
    let home = tempfile::tempdir().unwrap();
    let sops = folder(home.path());
    assert_eq!(names(&sops).await, ["code-assist", "codebase-summary", "pdd"]);
    let path = home.path().join("sops");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("notes.sop.md"), TEXT).unwrap();
    fs::write(path.join("pdd.sop.md"), TEXT.replace("# T", "# Ours")).unwrap();
    assert_eq!(names(&sops).await, ["code-assist", "codebase-summary", "notes", "pdd"]);
    assert_eq!(sops.sop(&name("pdd")).await.unwrap().unwrap().title, "Ours");
    fs::write(path.join("notes.sop.md"), TEXT.replace("# T", "# Changed")).unwrap();
    assert_eq!(sops.sop(&name("notes")).await.unwrap().unwrap().title, "Changed");
    fs::remove_file(path.join("notes.sop.md")).unwrap();
    assert!(sops.sop(&name("notes")).await.unwrap().is_none());
}

#[tokio::test]
async fn a_broken_file_is_named_and_stops_no_other() {
    let home = tempfile::tempdir().unwrap();
    let (sops, path) = (folder(home.path()), home.path().join("sops"));
    fs::create_dir(&path).unwrap();
    fs::write(path.join("good.sop.md"), TEXT).unwrap();
    fs::write(path.join("bad.sop.md"), "# T\n").unwrap();
    fs::write(path.join("Bad Name.sop.md"), TEXT).unwrap();
    fs::write(path.join("pdd.sop.md"), [b'#', b' ', b'T', b'\n', 0xff]).unwrap();
    std::os::unix::fs::symlink(path.join("good.sop.md"), path.join("link.sop.md")).unwrap();
    assert_eq!(names(&sops).await, ["code-assist", "codebase-summary", "good", "pdd"]);
    let broken = sops.broken().await.unwrap();
    let listed: Vec<_> = broken
        .iter()
        .map(|file| (file.path.file_name().unwrap().to_str().unwrap(), file.faults[0].line))
        .collect();
    assert_eq!(listed, [("Bad Name.sop.md", 1), ("bad.sop.md", 1), ("link.sop.md", 1), ("pdd.sop.md", 2)]);
    assert!(sops.sop(&name("pdd")).await.unwrap().is_some(), "the built-in one is there");
}

#[tokio::test]
async fn a_half_written_file_is_a_draft_whose_version_a_change_can_name() {
    let home = tempfile::tempdir().unwrap();
    let (sops, path) = (folder(home.path()), home.path().join("sops"));
    sops.save(&name("pdd"), TEXT, Expected::Anything).await.unwrap();
    for half in [&b"# Half\n"[..], b"# Half\n\xff"] {
        fs::write(path.join("pdd.sop.md"), half).unwrap();
        let broken = sops.broken().await.unwrap();
        let draft = broken[0].draft.clone().unwrap();
        assert_eq!((&draft.name, &*draft.content), (&name("pdd"), &*String::from_utf8_lossy(half)));
        let built_in = Expected::OneOf(vec![builtin::find(&name("pdd")).unwrap().version()]);
        let refused = sops.remove(&name("pdd"), built_in).await;
        assert!(matches!(refused, Err(SopRefusal::Failed(error)) if error.is_changed_elsewhere()));
        sops.save(&name("pdd"), TEXT, Expected::OneOf(vec![draft.version()])).await.unwrap();
    }
    fs::write(path.join("pdd.sop.md"), "# Half\n").unwrap();
    let draft = sops.broken().await.unwrap().remove(0).draft.unwrap();
    sops.remove(&name("pdd"), Expected::OneOf(vec![draft.version()])).await.unwrap();
    assert!(!path.join("pdd.sop.md").exists());
}

#[tokio::test]
async fn a_file_that_cannot_be_read_in_full_is_neither_replaced_nor_removed() {
    let home = tempfile::tempdir().unwrap();
    let (sops, path) = (folder(home.path()), home.path().join("sops"));
    fs::create_dir(&path).unwrap();
    let large = "x".repeat(MAX_BYTES + 1);
    fs::write(path.join("large.sop.md"), &large).unwrap();
    fs::write(path.join("other.md"), TEXT).unwrap();
    std::os::unix::fs::symlink("other.md", path.join("link.sop.md")).unwrap();
    for file in ["large", "link"] {
        let saved = sops.save(&name(file), TEXT, Expected::Anything).await;
        assert!(matches!(saved, Err(SopRefusal::File(_))), "{file}: {saved:?}");
        let removed = sops.remove(&name(file), Expected::Anything).await;
        assert!(matches!(removed, Err(SopRefusal::File(_))), "{file}: {removed:?}");
    }
    assert_eq!(fs::read_to_string(path.join("large.sop.md")).unwrap(), large);
    assert!(path.join("link.sop.md").is_symlink());
}

#[tokio::test]
async fn new_sop_never_replaces_an_existing_one() {
    let home = tempfile::tempdir().unwrap();
    let sops = folder(home.path());
    sops.save(&name("notes"), TEXT, Expected::Nothing).await.unwrap();
    for taken in ["notes", "pdd"] {
        let refused = sops.save(&name(taken), TEXT, Expected::Nothing).await;
        assert!(matches!(refused, Err(SopRefusal::Failed(error)) if error.is_changed_elsewhere()));
    }
}

#[tokio::test]
async fn saving_refuses_secrets_and_keeps_built_in_sops() {
    let home = tempfile::tempdir().unwrap();
    let sops = folder(home.path());
    let saved = sops.save(&name("notes"), TEXT, Expected::Anything).await.unwrap();
    assert_eq!(saved.title, "T");
    let refused = sops.save(&name("notes"), "# T\n", Expected::Anything).await;
    assert!(matches!(refused, Err(SopRefusal::Faults(_))));
    let secret = TEXT.replace("\nx\n", "\npassword=Hunter2Hunter2\n");
    assert!(matches!(
        sops.save(&name("notes"), &secret, Expected::Anything).await,
        Err(SopRefusal::Secret(_))
    ));
    sops.save(&name("pdd"), TEXT, Expected::Anything).await.unwrap();
    sops.remove(&name("pdd"), Expected::Anything).await.unwrap();
    assert!(matches!(sops.remove(&name("pdd"), Expected::Anything).await, Err(SopRefusal::BuiltIn(_))));
    assert!(sops.sop(&name("pdd")).await.unwrap().is_some());
    sops.remove(&name("notes"), Expected::Anything).await.unwrap();
    assert!(matches!(sops.remove(&name("notes"), Expected::Anything).await, Err(SopRefusal::Unknown(_))));
}
