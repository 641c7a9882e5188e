//! The guard against a corpus of secrets and one of harmless texts.

use super::*;
use aethon_core::secret::Secret;

fn lines(corpus: &'static str) -> impl Iterator<Item = String> {
    let lines = corpus.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| line.replace('¦', ""))
}

#[test]
fn secrets_are_found() {
    let guard = MemoryGuard::default();
    let missed: Vec<String> =
        lines(include_str!("secrets.txt")).filter(|line| guard.find(line).is_none()).collect();
    assert!(missed.is_empty(), "not found:\n{}", missed.join("\n"));
}

#[test]
fn texts_about_secrets_are_welcome() {
    let guard = MemoryGuard::default();
    let alarms: Vec<String> = lines(include_str!("harmless.txt"))
        .filter_map(|line| guard.find(&line).map(|kind| format!("{line}: {kind}")))
        .collect();
    assert!(alarms.is_empty(), "false alarms:\n{}", alarms.join("\n"));
}

#[test]
fn a_secret_is_found_within_a_longer_text() {
    let guard = MemoryGuard::default();
    let harmless: Vec<String> = lines(include_str!("harmless.txt")).collect();
    for secret in lines(include_str!("secrets.txt")) {
        let text = format!("{}\n{secret}\n{}", harmless[0], harmless[1]);
        assert!(guard.find(&text).is_some(), "not found between lines: {secret}");
    }
    assert_eq!(guard.find(&harmless.join("\n")), None);
}

#[test]
fn known_secrets_are_found_and_never_repeated() {
    let known = Live::new(Redactor::new([Secret::new("opal-lantern")]));
    let guard = MemoryGuard::new(known, &[]).unwrap();
    let error = guard.check("the magic word is opal-lantern").unwrap_err();
    assert!(error.is_secret() && !error.to_string().contains("opal"), "{error}");
    assert!(error.to_string().contains("not remembered"), "{error}");
    guard.check("the lantern is opal").unwrap();
    let error = guard.check("my password is hunter2").unwrap_err().to_string();
    assert!(error.contains("a password") && !error.contains("hunter2"), "{error}");
}

#[test]
fn an_owner_adds_patterns() {
    let guard = MemoryGuard::new(Live::default(), &[r"\bACME-\d{4}\b".into()]).unwrap();
    assert!(guard.check("badge acme-1234").unwrap_err().to_string().contains("memory.guard_patterns"));
    guard.check("badge ACME-12").unwrap();
    let refused = MemoryGuard::new(Live::default(), &["fine".into(), "(".into()]).err().unwrap();
    assert!(refused.to_string().contains("pattern 2"), "{refused}");
}

#[test]
fn long_texts_are_judged_in_linear_time() {
    let began = std::time::Instant::now();
    let guard = MemoryGuard::default();
    for piece in ["password ", "4111 ", "a.b.c.", "://", "token for the ", "eyJ.", "-----BEGIN "] {
        let text = piece.repeat(65_536 / piece.len());
        let _ = guard.find(&text);
    }
    // Quadratic time would be hours, so a busy machine cannot come near the bound.
    assert!(began.elapsed() < std::time::Duration::from_secs(60), "{:?}", began.elapsed());
}
