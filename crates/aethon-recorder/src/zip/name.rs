//! Validates entry names.
//!
//! Nothing is ever unpacked to disk here. A name that would escape the target folder elsewhere is refused all the same:
//! it was put there with bad intent, and the file may be passed on.

/// Maximum length of a name, in bytes.
const MAX_LEN: usize = 255;

/// Returns why a name is not allowed, or `None`.
pub(super) fn fault(name: &str) -> Option<&'static str> {
    let path = name.strip_suffix('/').unwrap_or(name);
    let drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    if path.is_empty() || name.len() > MAX_LEN {
        Some("is empty or too long")
    } else if name.contains('\\') {
        Some("has a backslash")
    } else if name.starts_with('/') {
        Some("is absolute")
    } else if drive {
        Some("names a drive")
    } else if name.chars().any(char::is_control) {
        Some("has control characters")
    } else if path.split('/').any(|part| part == "..") {
        Some("climbs out of its folder")
    } else if path.split('/').any(|part| part.is_empty() || part == ".") {
        Some("is not a plain path")
    } else {
        None
    }
}

#[cfg(test)]
#[test]
fn names_stay_in_their_folder() {
    for name in ["manifest.json", "snapshots/000001.json", "snapshots/", "a.b/c..d", "ü/ß"] {
        assert_eq!(fault(name), None, "{name}");
    }
    let bad = [
        "",
        "/",
        "/etc/passwd",
        "../x",
        "a/../../x",
        "a\\b",
        "C:/x",
        "c:x",
        "a//b",
        "./a",
        "a/.",
        "a\0b",
        "a\nb",
    ];
    for name in bad {
        assert!(fault(name).is_some(), "{name:?}");
    }
    assert!(fault(&"x".repeat(256)).is_some());
}
