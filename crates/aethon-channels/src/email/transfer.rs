//! Transfer encodings, read as far as they go: gateways add footers below base64 and break quoted-printable lines.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Padding may be missing, and the last bits may be anything.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Decodes base64 up to the first line that is none.
pub(super) fn base64(encoded: &[u8]) -> Vec<u8> {
    let mut letters = Vec::with_capacity(encoded.len());
    for line in encoded.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
        let length = line.iter().take_while(|byte| is_letter(byte)).count();
        let is_whole = line[length..].iter().all(|byte| *byte == b'=');
        // A footer in words: its first one may look like base64.
        if !is_whole
            && (length == 0 || line[length..].iter().any(u8::is_ascii_whitespace) || line[length] != b'=')
        {
            break;
        }
        letters.extend(&line[..length]);
        if length < line.len() {
            break;
        }
    }
    // A single left-over letter holds no whole byte.
    if letters.len() % 4 == 1 {
        letters.pop();
    }
    LENIENT.decode(&letters).unwrap_or_default()
}

/// Decodes quoted-printable. Damaged parts stay unchanged.
pub(super) fn quoted_printable(encoded: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(encoded.len());
    let mut rest = encoded;
    while let Some((&first, behind)) = rest.split_first() {
        if first != b'=' {
            out.push(first);
            rest = behind;
            continue;
        }
        let blanks = behind.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        match (&behind[blanks..], behind) {
            ([b'\r', b'\n', after @ ..] | [b'\n', after @ ..], _) => rest = after,
            ([], _) => rest = &[],
            (_, [high, low, after @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                out.push(hex(*high) << 4 | hex(*low));
                rest = after;
            }
            _ => {
                out.push(first);
                rest = behind;
            }
        }
    }
    out
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_decoded_up_to_a_footer() {
        let check = |encoded: &str, expected: &str| {
            assert_eq!(String::from_utf8_lossy(&base64(encoded.as_bytes())), expected, "{encoded:?}");
        };
        check("SGVsbG8gd29ybGQ=\r\n", "Hello world");
        check("SGVsbG8g\r\nd29ybGQ", "Hello world");
        check("SGVs bG8g", "");
        check("SGVsbG8gd29ybGQ=\r\n\r\n-- \r\nScanned by a gateway\r\n", "Hello world");
        check("SGVsbG8gd29ybGQh\r\nThis mail was scanned.\r\n", "Hello world!");
        check("SGVsbG8gd29ybGQh\r\n_______________\r\nlist mailing list", "Hello world!");
        check("", "");
        check("====", "");
    }

    #[test]
    fn damaged_quoted_printable_stays_readable() {
        let check = |encoded: &str, expected: &str| {
            assert_eq!(
                String::from_utf8_lossy(&quoted_printable(encoded.as_bytes())),
                expected,
                "{encoded:?}"
            );
        };
        check("Gr=C3=BC=c3=9fe", "Grüße");
        check("soft=\r\n break", "soft break");
        check("soft= \t\r\n break=\n!", "soft break!");
        check("1+1=2, =ZZ, a = b", "1+1=2, =ZZ, a = b");
        check("https://a.example/?q=x&r=3Dy", "https://a.example/?q=x&r=y");
        check("cut off =", "cut off ");
        check("-- \r\nAda", "-- \r\nAda");
    }
}
