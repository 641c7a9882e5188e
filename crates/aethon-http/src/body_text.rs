//! Bodies in JSON as senders write them: with a byte order mark, or in another encoding than UTF-8.
//!
//! A signature covers the bytes that arrive, so that nothing here is applied before it is checked.

use std::borrow::Cow;

use bytes::Bytes;
use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};
use http::HeaderMap;
use http::header::CONTENT_TYPE;

/// Returns a body in UTF-8, if its declared charset is another one. Senders that name another one and mean UTF-8 are
/// common, so that what is UTF-8 stays.
pub(crate) fn in_utf8(headers: &HeaderMap, body: Bytes) -> Bytes {
    if std::str::from_utf8(&body).is_ok() {
        return body;
    }
    let declared =
        headers.get(CONTENT_TYPE).and_then(|value| Encoding::for_label(charset(value.as_bytes())?));
    match declared.map(|encoding| encoding.decode(&body)) {
        Some((text, _, false)) => Bytes::from(text.into_owned()),
        _ => body,
    }
}

/// Returns the bytes of a JSON text without a byte order mark, in UTF-8 if they are UTF-16. The first character of a JSON
/// object is ASCII, which shows its encoding.
pub(crate) fn unmarked(body: &[u8]) -> Cow<'_, [u8]> {
    let encoding = match body {
        [0xef, 0xbb, 0xbf, rest @ ..] => return Cow::Borrowed(rest),
        [0xff, 0xfe, ..] => UTF_16LE,
        [0xfe, 0xff, ..] => UTF_16BE,
        [first, 0, second, ..] if *first != 0 && *second != 0 => UTF_16LE,
        [0, first, 0, second, ..] if *first != 0 && *second != 0 => UTF_16BE,
        body => return Cow::Borrowed(body),
    };
    match encoding.decode(body) {
        (text, _, false) => Cow::Owned(text.into_owned().into_bytes()),
        _ => Cow::Borrowed(body),
    }
}

/// Returns the charset parameter of a media type.
fn charset(value: &[u8]) -> Option<&[u8]> {
    let mut parameters = value.split(|byte| *byte == b';').skip(1);
    parameters.find_map(|parameter| {
        let (name, value) = parameter.split_at(parameter.iter().position(|byte| *byte == b'=')?);
        let value = value.get(1..)?.trim_ascii();
        let value = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value);
        name.trim_ascii().eq_ignore_ascii_case(b"charset").then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn read(media_type: &'static str, body: &[u8]) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        let body = in_utf8(&headers, Bytes::copy_from_slice(body));
        let value: serde_json::Value = crate::request::parse(&body).ok()?;
        value["text"].as_str().map(str::to_owned)
    }

    #[test]
    fn bodies_are_read_in_the_encoding_they_have() {
        let json = "{\"text\": \"Grüße\"}";
        let utf_16 = |bytes: fn(u16) -> [u8; 2]| json.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
        let (little, big) = (utf_16(u16::to_le_bytes), utf_16(u16::to_be_bytes));
        let latin: Vec<u8> = json.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
        let marked = |mark: &[u8], bytes: &[u8]| [mark, bytes].concat();
        let utf_8_mark = b"\xef\xbb\xbf";
        let rows: Vec<(&'static str, Vec<u8>)> = vec![
            ("application/json", json.into()),
            ("application/json", marked(utf_8_mark, json.as_bytes())),
            ("application/json; charset=utf-8", marked(utf_8_mark, json.as_bytes())),
            ("application/json; charset=UTF8", json.into()),
            ("application/vnd.x+json; charset=\"utf-8\"", json.into()),
            ("application/json; charset=nonsense", json.into()),
            // A charset that is not meant.
            ("application/json; charset=iso-8859-1", json.into()),
            ("application/json; charset=iso-8859-1", latin.clone()),
            ("application/json; Charset=Windows-1252", latin.clone()),
            ("application/json; charset=latin1; v=1", latin.clone()),
            ("application/json", marked(&[0xff, 0xfe], &little)),
            ("application/json", marked(&[0xfe, 0xff], &big)),
            ("application/json", little.clone()),
            ("application/json", big.clone()),
            ("application/json; charset=utf-16le", little.clone()),
            ("application/json; charset=utf-16be", big.clone()),
            ("application/json; charset=utf-16", marked(&[0xff, 0xfe], &little)),
        ];
        for (media_type, body) in rows {
            assert_eq!(read(media_type, &body).as_deref(), Some("Grüße"), "{media_type} {body:?}");
        }
        assert_eq!(read("application/json", &latin), None, "an encoding that is not declared is not guessed");
        assert_eq!(read("application/json", &marked(utf_8_mark, &marked(utf_8_mark, json.as_bytes()))), None);
        assert_eq!(read("application/json", &[0xff, 0xfe, 0x7b]), None);
    }
}
