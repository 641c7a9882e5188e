//! Detects the encoding of text: by a byte order mark, a declaration, or the pattern of its bytes.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::error::Error;

/// How much of a text is looked at to find its encoding.
const SAMPLE: usize = 4096;
/// How much of a page may hold its declaration, as the HTML standard says.
const HEAD: usize = 1024;

/// Decodes a text. Fails if it is none.
pub(crate) fn text(bytes: &[u8]) -> Result<Cow<'_, str>, Error> {
    let encoding = guess(bytes).ok_or_else(|| Error::new("it is not text"))?;
    Ok(encoding.decode(bytes).0)
}

/// Decodes a page of HTML or a file of XML, which may name its encoding.
pub(crate) fn page(bytes: &[u8]) -> Cow<'_, str> {
    let marked = Encoding::for_bom(bytes).map(|(encoding, _)| encoding);
    let encoding = marked.or_else(|| declared(bytes)).or_else(|| guess(bytes)).unwrap_or(UTF_8);
    encoding.decode(bytes).0
}

fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD)]).to_ascii_lowercase();
    let mark = ["charset=", "encoding="].iter().find_map(|mark| Some(head.find(mark)? + mark.len()))?;
    let value = head[mark..].trim_start_matches(['"', '\'', ' ']);
    let label = value.split(['"', '\'', ';', ' ', '>', '/', '?']).next()?;
    // If the declaration could be read as ASCII, the page is in no encoding of two-byte units.
    Some(Encoding::for_label(label.as_bytes())?.output_encoding())
}

/// Finds the encoding by the shape of the bytes; `None` if they are no text.
fn guess(bytes: &[u8]) -> Option<&'static Encoding> {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return Some(encoding);
    }
    if let Some(wide) = wide(&bytes[..bytes.len().min(SAMPLE)]) {
        return Some(wide);
    }
    if std::str::from_utf8(bytes).is_ok() && !bytes.contains(&0) {
        return Some(UTF_8);
    }
    let sample = &bytes[..bytes.len().min(SAMPLE)];
    let is_odd = |byte: &&u8| matches!(**byte, 0..=8 | 14..=26 | 28..=31 | 127);
    let odd = sample.iter().filter(is_odd).count();
    (!sample.contains(&0) && odd * 50 < sample.len().max(50)).then_some(WINDOWS_1252)
}

/// UTF-16 without its mark: nearly all text has spaces, line ends or ASCII in it, whose other byte is zero.
fn wide(sample: &[u8]) -> Option<&'static Encoding> {
    let pairs = sample.len() / 2;
    if pairs < 2 {
        return None;
    }
    let zeros = |from: usize| sample.iter().skip(from).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    let encoding = match (even, odd) {
        (0, odd) if odd * 20 >= pairs => UTF_16LE,
        (even, 0) if even * 20 >= pairs => UTF_16BE,
        _ => return None,
    };
    let (text, has_errors) = encoding.decode_without_bom_handling(&sample[..pairs * 2]);
    let odd = text.chars().filter(|c| c.is_control() && !c.is_whitespace()).count();
    (!has_errors || sample.len() == SAMPLE).then_some(encoding).filter(|_| odd * 20 <= pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf_16(text: &str, is_big: bool) -> Vec<u8> {
        let bytes = |unit: u16| if is_big { unit.to_be_bytes() } else { unit.to_le_bytes() };
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn text_is_decoded_by_its_mark_or_its_shape() {
        let check = |bytes: &[u8], expected: &str| assert_eq!(text(bytes).unwrap(), expected, "{bytes:?}");
        check("Größe".as_bytes(), "Größe");
        check(b"\xef\xbb\xbfhi", "hi");
        check(b"Gr\xf6\xdfe 5 \x80", "Größe 5 €");
        check(&[b"\xff\xfe".to_vec(), utf_16("Größe", false)].concat(), "Größe");
        check(&[b"\xfe\xff".to_vec(), utf_16("Größe", true)].concat(), "Größe");
        check(&utf_16("Name;Größe\nČeština;1", false), "Name;Größe\nČeština;1");
        check(&utf_16("Name;Größe\n請求書;1", true), "Name;Größe\n請求書;1");
        assert!(text(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0").is_err());
        assert!(text(&[0, 1, 2, 3, 250, 7, 0, 0, 0, 9]).is_err());
    }

    #[test]
    fn a_page_says_how_it_is_to_be_read() {
        let check = |bytes: &[u8], expected: &str| assert_eq!(page(bytes), expected);
        check(b"<meta charset=windows-1251>\xef\xf0", "<meta charset=windows-1251>пр");
        check(
            b"<?xml version='1.0' encoding='ISO-8859-1'?>\xe4",
            "<?xml version='1.0' encoding='ISO-8859-1'?>ä",
        );
        check("<p>ä".as_bytes(), "<p>ä");
        check(b"<p>\xe4", "<p>ä");
    }
}
