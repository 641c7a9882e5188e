//! Decodes the bytes of texts, whatever charset they claim.
//!
//! Many mails name no charset, a wrong one, or `us-ascii` although they are UTF-8. So UTF-8 is preferred where the bytes are valid
//! in it, a named charset counts if the bytes fit it, and otherwise the bytes themselves are judged.

use encoding_rs::{
    BIG5, EUC_KR, Encoding, GB18030, ISO_2022_JP, KOI8_R, SHIFT_JIS, UTF_8, WINDOWS_1251, WINDOWS_1252,
};
use mail_parser::decoders::charsets::map::charset_decoder;

/// The sequence with which ISO-2022-JP switches to Japanese.
const ISO_2022_JP_SHIFT: &[u8] = b"\x1b$";
/// How many bytes are judged to find out a charset.
const MAX_JUDGED: usize = 4096;

/// Decodes a text. `declared` is the charset that it claims.
pub(super) fn text(bytes: &[u8], declared: Option<&str>) -> String {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let declared = declared.map(|label| label.trim().trim_matches(['"', '\'']).to_ascii_lowercase());
    let declared = declared.filter(|label| !label.is_empty());
    let encoding = declared.as_deref().and_then(by_label);
    if let (None, Some(decode)) =
        (encoding, declared.as_deref().and_then(|name| charset_decoder(name.as_bytes())))
        && declared.as_deref().is_some_and(|name| !is_weak(name))
    {
        return decode(bytes);
    }
    let is_weak = declared.as_deref().is_none_or(is_weak);
    match (encoding.filter(|_| !is_weak), std::str::from_utf8(bytes)) {
        (Some(encoding), utf8) => {
            let (text, had_errors) = encoding.decode_without_bom_handling(bytes);
            match utf8 {
                Ok(utf8) if had_errors => utf8.to_owned(),
                _ if had_errors && encoding == UTF_8 && is_mostly_invalid(&text) => guessed(bytes),
                _ => text.into_owned(),
            }
        }
        (None, Ok(_)) if bytes.windows(2).any(|pair| pair == ISO_2022_JP_SHIFT) => {
            ISO_2022_JP.decode_without_bom_handling(bytes).0.into_owned()
        }
        (None, Ok(utf8)) => utf8.to_owned(),
        (None, Err(_)) => match encoding.filter(|_| declared.as_deref().is_some_and(is_latin)) {
            Some(encoding) => encoding.decode_without_bom_handling(bytes).0.into_owned(),
            None => guessed(bytes),
        },
    }
}

fn by_label(label: &str) -> Option<&'static Encoding> {
    let known = match label {
        "cp932" => "shift_jis",
        "cp936" => "gbk",
        "cp949" => "euc-kr",
        "cp950" => "big5",
        "utf8mb4" => "utf-8",
        other => other,
    };
    Encoding::for_label_no_replacement(known.as_bytes())
}

/// Returns whether programs write this charset without meaning it.
fn is_weak(label: &str) -> bool {
    is_latin(label)
        || label.contains("ascii")
        || matches!(
            label,
            "ansi_x3.4-1968" | "unknown-8bit" | "x-unknown" | "unknown" | "default" | "7bit" | "8bit"
        )
}

fn is_latin(label: &str) -> bool {
    matches!(label, "iso-8859-1" | "latin1" | "iso_8859-1" | "windows-1252" | "cp1252")
}

fn is_mostly_invalid(text: &str) -> bool {
    let (mut invalid, mut foreign) = (0_usize, 0_usize);
    for c in text.chars().filter(|c| !c.is_ascii()) {
        foreign += 1;
        invalid += usize::from(c == '\u{fffd}');
    }
    invalid * 2 > foreign
}

/// Decodes bytes of an unknown charset by the one in which they make the most sense.
fn guessed(bytes: &[u8]) -> String {
    let judged = &bytes[..bytes.len().min(MAX_JUDGED)];
    let best = [WINDOWS_1252, WINDOWS_1251, KOI8_R, GB18030, SHIFT_JIS, EUC_KR, BIG5]
        .into_iter()
        .map(|encoding| {
            let sense = sense(&encoding.decode_without_bom_handling(judged).0);
            (sense * common(judged, encoding) / 100, encoding)
        })
        .fold((i64::MIN, WINDOWS_1252), |best, next| if next.0 > best.0 { next } else { best });
    best.1.decode_without_bom_handling(bytes).0.into_owned()
}

/// Returns which percentage of pairs of bytes is common in this charset: almost any pair means something in those of China
/// and Korea.
fn common(bytes: &[u8], encoding: &'static Encoding) -> i64 {
    let leads = match encoding {
        _ if encoding == GB18030 => 0xb0..=0xd7,
        _ if encoding == EUC_KR => 0xb0..=0xc8,
        _ if encoding == BIG5 => 0xa4..=0xc6,
        _ => return 100,
    };
    let (mut common, mut count, mut at) = (0_i64, 0_i64, 0);
    while at + 1 < bytes.len() {
        if bytes[at].is_ascii() {
            at += 1;
            continue;
        }
        count += 1;
        let is_common = matches!(bytes[at], 0xa1..=0xa3) || leads.contains(&bytes[at]);
        common += i64::from(is_common && (bytes[at + 1] >= 0xa1 || encoding == BIG5));
        at += 2;
    }
    if count == 0 { 0 } else { common * 100 / count }
}

/// Judges how much sense a text makes, in hundredths of a point per character that is not ASCII.
fn sense(text: &str) -> i64 {
    let (mut points, mut count) = (0_i64, 0_i64);
    let mut before = ' ';
    for c in text.chars() {
        if !c.is_ascii() {
            count += 1;
            points += points_of(c, before);
        }
        before = c;
    }
    if count == 0 { 0 } else { points * 100 / count }
}

fn points_of(c: char, before: char) -> i64 {
    match c {
        '\u{fffd}' | '\u{80}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' => -20,
        // Words are in one script.
        'Ѐ'..='ӿ' if before.is_ascii_alphabetic() => -4,
        'а'..='я' | 'ё' => 3,
        // Capital letters within a word come from the wrong one of two Cyrillic charsets.
        'А'..='Я' if before.is_lowercase() => -6,
        'А'..='Я' if before.is_uppercase() => 0,
        'А'..='Я' => 2,
        'Ѐ'..='ӿ' => -2,
        'ぁ'..='ヿ' => 5,
        '가'..='힣' => 4,
        '一'..='鿿' if before.is_ascii_alphabetic() => -2,
        '一'..='鿿' => 3,
        '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff5e}' => 3,
        'ｦ'..='ﾟ' => -3,
        'à'..='ö' | 'ø'..='ÿ' | 'ß' if before.is_ascii_lowercase() || before.is_ascii_uppercase() => 4,
        'À'..='Ö' | 'Ø'..='Ý' | 'à'..='ö' | 'ø'..='ÿ' if !before.is_alphabetic() => 2,
        'À'..='ÿ' => -1,
        '’' | '‘' | '“' | '”' | '–' | '—' | '…' | '€' => 3,
        _ => -1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], declared: Option<&str>, expected: &str) {
        assert_eq!(text(bytes, declared), expected, "{declared:?} {bytes:?}");
    }

    fn in_charset(encoding: &'static Encoding, text: &str) -> Vec<u8> {
        encoding.encode(text).0.into_owned()
    }

    #[test]
    fn named_charsets_are_decoded() {
        for (label, words) in [
            ("utf-8", "Grüße, мир, 你好"),
            ("\"UTF-8\"", "Grüße"),
            ("iso-8859-1", "Grüße"),
            ("windows-1252", "“Grüße” – 5 €"),
            ("iso-8859-2", "Zażółć gęślą jaźń"),
            ("windows-1250", "Příliš žluťoučký kůň"),
            ("koi8-r", "Привет, мир"),
            ("koi8-u", "Привіт, їжаче"),
            ("windows-1251", "Привет, мир"),
            ("iso-8859-5", "Привет"),
            ("iso-8859-7", "Καλημέρα"),
            ("windows-1255", "שלום"),
            ("windows-1256", "مرحبا"),
            ("windows-874", "สวัสดี"),
            ("gb18030", "你好，世界"),
            ("GB2312", "你好，世界"),
            ("cp936", "你好，世界"),
            ("big5", "你好，世界"),
            ("shift_jis", "こんにちは"),
            ("cp932", "こんにちは"),
            ("euc-jp", "こんにちは"),
            ("iso-2022-jp", "こんにちは, world"),
            ("euc-kr", "안녕하세요"),
            ("ks_c_5601-1987", "안녕하세요"),
        ] {
            let encoding = by_label(&label.trim_matches('"').to_ascii_lowercase()).unwrap();
            check(&in_charset(encoding, words), Some(label), words);
        }
        check(b"Gr+APwA3w-e", Some("utf-7"), "Grüße");
    }

    #[test]
    fn wrong_and_missing_charsets_are_found_out() {
        for label in [
            None,
            Some("us-ascii"),
            Some("ascii"),
            Some("iso-8859-1"),
            Some("x-unknown"),
            Some("nonsense"),
            Some("gb18030x"),
        ] {
            check("café, naïve".as_bytes(), label, "café, naïve");
        }
        for (encoding, words) in [
            (WINDOWS_1252, "Die Grüße aus München sind schön"),
            (WINDOWS_1252, "Le café est à côté de l’école"),
            (WINDOWS_1251, "Привет! Купи, пожалуйста, молоко."),
            (KOI8_R, "Привет! Купи, пожалуйста, молоко."),
            (GB18030, "请买牛奶，谢谢。"),
            (SHIFT_JIS, "牛乳を買ってください。"),
            (EUC_KR, "우유를 사 주세요."),
            (ISO_2022_JP, "牛乳を買ってください。"),
        ] {
            check(&in_charset(encoding, words), None, words);
            check(&in_charset(encoding, words), Some("unknown-8bit"), words);
        }
        check(&in_charset(WINDOWS_1252, "Grüße"), Some("utf-8"), "Grüße");
        check("你好".as_bytes(), Some("iso-2022-jp"), "你好");
        check(b"\xef\xbb\xbfhi", None, "hi");
    }
}
