//! Decodes a page to text, detecting its encoding as a browser does.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// How much of a page is searched for its encoding declaration, as the HTML standard requires.
const HEAD: usize = 1024;

/// Decodes a body. A byte order mark takes precedence, then the server's header, then the page's own declaration.
/// Invalid bytes become replacement characters.
pub(super) fn decode(bytes: &[u8], content_type: &str) -> String {
    let marked = Encoding::for_bom(bytes).map(|(encoding, _)| encoding);
    let served = label(content_type).and_then(|label| Encoding::for_label(label.as_bytes()));
    let encoding = marked.or(served).or_else(|| declared(bytes)).unwrap_or_else(|| usual(bytes));
    encoding.decode(bytes).0.into_owned()
}

/// Returns the `charset` parameter of a media type.
fn label(content_type: &str) -> Option<&str> {
    let at = content_type.to_ascii_lowercase().find("charset=")?;
    let value = content_type[at + "charset=".len()..].trim_start_matches(['"', '\'', ' ']);
    value.split(['"', '\'', ';', ' ', '>', '/']).next().filter(|value| !value.is_empty())
}

fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD)]);
    let encoding = Encoding::for_label(label(&head)?.as_bytes())?;
    // If the declaration was readable as ASCII, the page cannot be in an encoding of two-byte units.
    Some(encoding.output_encoding())
}

fn usual(bytes: &[u8]) -> &'static Encoding {
    // A truncated body may end within a character.
    let is_utf_8 = std::str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true);
    if is_utf_8 { UTF_8 } else { WINDOWS_1252 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_how_it_is_to_be_read() {
        let check = |bytes: &[u8], content_type: &str, expected: &str| {
            assert_eq!(decode(bytes, content_type), expected, "{content_type}");
        };
        check("grüße".as_bytes(), "text/html", "grüße");
        check(b"gr\xfc\xdfe", "text/html; charset=ISO-8859-1", "grüße");
        check(b"gr\xfc\xdfe", "text/html", "grüße");
        check(b"<meta charset='windows-1251'>\xef\xf0", "text/html", "<meta charset='windows-1251'>пр");
        check("<meta charset=latin1>ü".as_bytes(), "text/html; Charset=\"utf-8\"", "<meta charset=latin1>ü");
        check(b"\xff\xfeh\0i\0", "text/plain; charset=utf-8", "hi");
        check(b"\xef\xbb\xbfhi", "", "hi");
        check(b"\x82\xa0", "text/plain; charset=shift_jis", "あ");
        check(b"caf\xc3", "text/plain", "caf\u{fffd}");
        check(b"a\xffb", "text/plain; charset=utf-8", "a\u{fffd}b");
    }
}
