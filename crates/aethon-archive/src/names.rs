//! Names of entries.
//!
//! A name that would leave the target folder somewhere, on whatever system, is refused: it was put there with bad intent.

/// Returns why a name is not allowed, or `None`. A trailing slash marks a folder.
pub fn fault(name: &str, max_length: usize) -> Option<&'static str> {
    let path = name.strip_suffix('/').unwrap_or(name);
    let drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    if path.is_empty() || name.len() > max_length {
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
    } else if path.split('/').any(|part| part.len() > 255) {
        Some("has a part that is too long")
    } else {
        None
    }
}

#[cfg(test)]
#[test]
fn names_stay_in_their_folder() {
    for name in ["manifest.json", "workspace/a b.md", "workspace/", "a.b/c..d", "ü/ß", "a/C:/x"] {
        assert_eq!(fault(name, 4096), None, "{name}");
    }
    let bad = [
        "",
        "/",
        "/etc/passwd",
        "../x",
        "a/../../x",
        "a/..",
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
        assert!(fault(name, 4096).is_some(), "{name:?}");
    }
    assert!(fault(&"x".repeat(256), 4096).is_some() && fault(&"x/".repeat(3000), 4096).is_some());
}
