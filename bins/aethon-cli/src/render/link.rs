//! Links that a terminal opens (OSC 8).
//!
//! An address behind other words is left out only where the terminal is known to show it, and where the words are not an
//! address themselves: a link that says one address and opens another must be seen. Only addresses of the web, of mail and of
//! files on this machine become links; a terminal would hand any other to whatever program claims its scheme.

use super::style::{Style, UNDERLINE};

/// The schemes of addresses that become links.
const SCHEMES: [&str; 4] = ["https://", "http://", "mailto:", "file:///"];

/// The longest address that terminals take as a link, in bytes.
const MAX_ADDRESS: usize = 2000;

/// Returns the text as a link to `url`, if it becomes one, and whether the address has to be shown behind it.
pub(super) fn shown(text: &str, url: &str, style: Style) -> (Option<String>, bool) {
    let is_address = text.is_empty() || text == url;
    let Some(target) = target(url).filter(|_| style.links) else { return (None, !is_address) };
    let words = if text.is_empty() { url } else { text };
    // Each word is a link of its own, so that none goes on into the margin where the line is wrapped. The id joins them.
    let link = |word: &str| match word {
        "" => String::new(),
        word => format!(
            "\u{1b}]8;id={:x};{target}\u{1b}\\{}\u{1b}]8;;\u{1b}\\",
            identity(&target),
            style.paint(UNDERLINE, word)
        ),
    };
    let linked: String = words
        .split_inclusive([' ', '\n'])
        .map(|piece| {
            let word = piece.trim_end_matches([' ', '\n']);
            link(word) + &piece[word.len()..]
        })
        .collect();
    let is_seen =
        is_address || !(url.starts_with("file:") || url.starts_with('/') || looks_like_address(words));
    (Some(linked), !is_seen)
}

/// Returns the address for the terminal, without anything that could end the escape code or the word.
fn target(url: &str) -> Option<String> {
    let url =
        if url.starts_with('/') && !url.starts_with("//") { format!("file://{url}") } else { url.to_owned() };
    let is_known = SCHEMES.iter().any(|scheme| url.to_ascii_lowercase().starts_with(scheme));
    if !is_known {
        return None;
    }
    let mut encoded = String::with_capacity(url.len());
    for byte in url.bytes() {
        match byte {
            0x21..=0x7e => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    (encoded.len() <= MAX_ADDRESS).then_some(encoded)
}

/// Returns whether words name an address, such as `example.org` or `https://example.org/a`.
fn looks_like_address(words: &str) -> bool {
    words.split_whitespace().any(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_host = word.split_once('.').is_some_and(|(_, rest)| rest.starts_with(char::is_alphabetic));
        is_host || word.contains("://") || word.contains('@')
    })
}

/// Joins the words of one link: the same for the same address.
fn identity(target: &str) -> u32 {
    target.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::super::{columns_of, markdown};
    use super::*;

    const LINKS: Style = Style { colour: true, links: true, width: 40 };

    /// The addresses that a text links to, and the text that is seen.
    fn read(out: &str) -> (Vec<String>, String) {
        let (mut addresses, mut seen) = (Vec::new(), String::new());
        for (index, part) in out.split("\u{1b}]8;").enumerate() {
            if index == 0 {
                seen.push_str(part);
                continue;
            }
            let (head, rest) = part.split_once("\u{1b}\\").unwrap();
            let (_, address) = head.split_once(';').unwrap();
            if !address.is_empty() && addresses.last().is_none_or(|last| last != address) {
                addresses.push(address.to_owned());
            }
            seen.push_str(rest);
        }
        (addresses, seen.replace("\u{1b}[4m", "").replace("\u{1b}[0m", ""))
    }

    #[test]
    fn an_address_behind_words_is_a_link_where_the_terminal_shows_links() {
        let check = |source: &str, address: &[&str], seen: &str| {
            let out = markdown(source, LINKS);
            let (addresses, text) = read(&out);
            let expected: Vec<String> = address.iter().map(|&one| one.to_owned()).collect();
            assert_eq!(
                (addresses.as_slice(), text.trim_end()),
                (expected.as_slice(), seen),
                "{source}: {out:?}"
            );
        };
        check("[the guide](https://example.org/a)", &["https://example.org/a"], "the guide");
        check("<https://example.org/a>", &["https://example.org/a"], "https://example.org/a");
        check("[a](mailto:ada@example.org)", &["mailto:ada@example.org"], "a");
        // What says one address and opens another shows both; so does a file.
        check(
            "[bank.example](https://evil.example/)",
            &["https://evil.example/"],
            "bank.example (https://evil.example/)",
        );
        check("[notes](/home/ada/notes.md)", &["file:///home/ada/notes.md"], "notes (/home/ada/notes.md)");
        // Other schemes, and places below nothing that is known here, stay words.
        for source in ["[x](javascript:alert(1))", "[x](vscode://open)", "[x](notes.md)", "[x](//host/share)"]
        {
            let out = markdown(source, LINKS);
            assert!(!out.contains("]8;") && out.contains(" ("), "{source}: {out:?}");
        }
        let without = markdown("[the guide](https://example.org/a)", Style { links: false, ..LINKS });
        assert!(!without.contains("]8;") && without.contains("(https://example.org/a)"), "{without:?}");
    }

    #[test]
    fn a_link_is_wrapped_between_words_and_its_address_takes_no_room() {
        let address = format!("https://example.org/{}", "long/".repeat(30));
        let out =
            markdown(&format!("- one [two three four five six seven eight nine ten]({address})"), LINKS);
        let broken = markdown("[one  \ntwo](https://example.org)", LINKS);
        assert!(out.lines().count() > 1 && broken.lines().count() == 2, "{out:?} {broken:?}");
        for line in out.lines().chain(broken.lines()) {
            assert!(columns_of(line) <= LINKS.width, "{line:?}");
            assert_eq!(
                line.matches("]8;;\u{1b}").count(),
                line.matches("]8;id=").count(),
                "closed: {line:?}"
            );
        }
    }

    #[test]
    fn an_address_cannot_end_the_code_of_its_link() {
        let out = markdown("[x](<https://e.example/a b\u{9c}\u{7}é>)", LINKS);
        assert!(out.contains("https://e.example/a%20b"), "{out:?}");
        let (addresses, _) = read(&out);
        assert!(addresses.iter().all(|address| address.bytes().all(|byte| (0x21..0x7f).contains(&byte))));
        let far = format!("[x](https://e.example/{})", "a".repeat(MAX_ADDRESS));
        assert!(!markdown(&far, LINKS).contains("]8;"));
    }
}
