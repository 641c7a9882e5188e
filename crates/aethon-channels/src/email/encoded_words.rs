//! Encoded words in headers (RFC 2047): `=?utf-8?q?Gr=C3=BC=C3=9Fe?=`.
//!
//! Some programs split a character between two words, so the bytes of neighbours in one charset are joined before they are
//! decoded.

use super::charset;
use super::transfer;

/// How much of a value is decoded, in bytes.
const MAX_VALUE: usize = 16 << 10;

/// Decodes a header value, which may contain bytes beyond ASCII that were not encoded at all.
pub(super) fn decoded(value: &[u8]) -> String {
    let value = &value[..value.len().min(MAX_VALUE)];
    let mut out = String::new();
    let mut run: Option<(String, Vec<u8>)> = None;
    let mut rest = value;
    while !rest.is_empty() {
        let start = find(rest, b"=?");
        let word = start.and_then(|start| Some((start, word(&rest[start..])?)));
        let Some((start, word)) = word else {
            // Not a word after all: take what stands before the next possible one.
            let upto = start.map_or(rest.len(), |start| start + 2);
            finish(&mut run, &mut out);
            out.push_str(&charset::text(&rest[..upto], None));
            rest = &rest[upto..];
            continue;
        };
        let between = &rest[..start];
        if !(run.is_some() && between.iter().all(u8::is_ascii_whitespace)) {
            finish(&mut run, &mut out);
            out.push_str(&charset::text(between, None));
        }
        if run.as_ref().is_some_and(|(charset, _)| *charset != word.charset) {
            finish(&mut run, &mut out);
        }
        run.get_or_insert_with(|| (word.charset.clone(), Vec::new())).1.extend(&word.bytes);
        rest = &rest[start + word.length..];
    }
    finish(&mut run, &mut out);
    out
}

fn finish(run: &mut Option<(String, Vec<u8>)>, out: &mut String) {
    if let Some((charset, bytes)) = run.take() {
        out.push_str(&charset::text(&bytes, Some(&charset)));
    }
}

struct Word {
    charset: String,
    bytes: Vec<u8>,
    length: usize,
}

/// Parses the word at the beginning.
fn word(text: &[u8]) -> Option<Word> {
    let inner = text.strip_prefix(b"=?")?;
    let mut pieces = inner.splitn(3, |byte| *byte == b'?');
    let (charset, encoding, rest) = (pieces.next()?, pieces.next()?, pieces.next()?);
    let end = find(rest, b"?=")?;
    let bytes = match encoding {
        b"b" | b"B" => transfer::base64(&rest[..end]),
        b"q" | b"Q" => {
            let spaced: Vec<u8> =
                rest[..end].iter().map(|byte| if *byte == b'_' { b' ' } else { *byte }).collect();
            transfer::quoted_printable(&spaced)
        }
        _ => return None,
    };
    let is_name = |byte: &u8| byte.is_ascii_graphic();
    if charset.is_empty() || charset.len() > 40 || !charset.iter().all(is_name) {
        return None;
    }
    let charset = String::from_utf8_lossy(charset).to_ascii_lowercase();
    let charset = charset.split('*').next().unwrap_or_default().to_owned();
    let length = 2 + (inner.len() - rest.len()) + end + 2;
    Some(Word { charset, bytes, length })
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_words_are_decoded_across_their_splits() {
        for (value, expected) in [
            ("plain", "plain"),
            ("=?utf-8?q?Gr=C3=BC=C3=9Fe?=", "Grüße"),
            ("=?utf-8?Q?Gr=C3?= =?utf-8?Q?=BC=C3=9Fe?=", "Grüße"),
            ("=?UTF-8?B?R3LD?=\t=?utf-8?B?vMOfZQ==?=", "Grüße"),
            ("=?utf-8?B?R3LD?= =?utf-8?Q?=BC=C3=9Fe?= an alle", "Grüße an alle"),
            ("Re: =?iso-8859-1?Q?Gr=FC=DFe?= =?utf-8?Q?_=C3=A4?=", "Re: Grüße ä"),
            ("=?utf-8?q?a?= b =?utf-8?q?c?=", "a b c"),
            ("=?utf-8*de?q?Gr=C3=BC=C3=9Fe?=", "Grüße"),
            ("=?utf-8?q?two words, not encoded?=", "two words, not encoded"),
            ("=?gb2312?B?xOO6ww==?=", "你好"),
            ("=?koi8-r?B?8NLJ18XU?=", "Привет"),
            ("=?iso-2022-jp?B?GyRCJDMkcyRLJEEkTxsoQg==?=", "こんにちは"),
            ("=?us-ascii?Q?caf=C3=A9?=", "café"),
            ("=?utf-8?x?a?=", "=?utf-8?x?a?="),
            ("=?utf-8?q?never closed", "=?utf-8?q?never closed"),
            ("1 =? 2 ?= 3", "1 =? 2 ?= 3"),
            ("Grüße roh", "Grüße roh"),
        ] {
            assert_eq!(decoded(value.as_bytes()), expected, "{value}");
        }
        assert_eq!(decoded(b"Gr\xfc\xdfe aus M\xfcnchen"), "Grüße aus München");
    }
}
