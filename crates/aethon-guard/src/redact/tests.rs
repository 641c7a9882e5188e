//! Secrets in every known form, and what must be left alone.

use super::*;

const SECRET: &str = "pa ss+wörd!/Zz9";
const KEY: &str = "canary/5ecret+Value-0123456789";

fn base64(bytes: &[u8], alphabet: &[u8; 64], pads: bool) -> String {
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            match (place > chunk.len(), pads) {
                (true, true) => out.push('='),
                (true, false) => {}
                _ => out.push(char::from(alphabet[(word >> (18 - 6 * place) & 63) as usize])),
            }
        }
    }
    out
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let lines: Vec<String> = text
        .chars()
        .collect::<Vec<_>>()
        .chunks(width)
        .map(|line| format!("{indent}{}", line.iter().collect::<String>()))
        .collect();
    lines.join("\n")
}

/// Checks that no long piece of the encoded secret is left in `text`.
fn check_gone(text: &str, encoded: &str) {
    let redactor = Redactor::new([Secret::new(SECRET), Secret::new(KEY)]);
    let redacted = redactor.redact(text);
    assert!(redacted.contains(MASK), "nothing was found in {text:?}");
    let plain: String = encoded.chars().filter(|c| !c.is_whitespace()).collect();
    let left: String = redacted.chars().filter(|c| !c.is_whitespace()).collect();
    let pieces = plain.chars().collect::<Vec<_>>();
    for piece in pieces.windows(8) {
        let piece: String = piece.iter().collect();
        assert!(!left.contains(&piece), "{piece:?} is left of {text:?}: {redacted:?}");
    }
}

#[test]
fn a_value_goes_as_it_is() {
    let redactor = Redactor::new([Secret::new(SECRET)]);
    assert_eq!(redactor.redact("x pa ss+wörd!/Zz9 y"), "x *** y");
    assert_eq!(redactor.redact("üpa ss+wörd!/Zz9ü"), "ü***ü");
    assert_eq!(redactor.redact("pa ss+wörd!/Zz9pa ss+wörd!/Zz9"), "******");
    assert!(matches!(redactor.redact("nothing here\n%20 at all \\x41"), Cow::Borrowed(_)));
}

#[test]
fn a_value_goes_in_base64_wherever_it_begins() {
    for secret in [SECRET, KEY] {
        for alphabet in [STANDARD, URL_SAFE] {
            for pads in [true, false] {
                for before in 0..5 {
                    for behind in 0..4 {
                        let bytes =
                            [&b"~~~~~"[..before], secret.as_bytes(), &b"\xff\xff\xff\xff"[..behind]].concat();
                        let encoded = base64(&bytes, alphabet, pads);
                        let own = base64(secret.as_bytes(), alphabet, false);
                        check_gone(&format!("a {encoded} b"), &own);
                        check_gone(&encoded, &own);
                    }
                }
            }
        }
    }
    let redactor = Redactor::new([Secret::new("pa ss+word!")]);
    assert_eq!(redactor.redact("cGEgc3Mrd29yZCE="), "***=", "the digits that it shares go too");
}

#[test]
fn base64_that_is_broken_over_lines_goes() {
    let long = [&[b'.'; 40][..], KEY.as_bytes(), &[b'.'; 50]].concat();
    for shift in 0..3 {
        let encoded = base64(&long[shift..], STANDARD, true);
        for width in [10, 48, 64, 76] {
            for ends in ["\n", "\r\n", "\\n", "\n    ", " \n\t"] {
                let text = wrapped(&encoded, width, "").replace('\n', ends);
                check_gone(&text, &base64(&long[shift..][36 - shift..72], STANDARD, false)[8..24]);
                let redacted = Redactor::new([Secret::new(KEY)]).redact(&text).into_owned();
                assert!(redacted.starts_with(&encoded[..8]), "what stands before stays: {redacted}");
            }
        }
    }
}

#[test]
fn a_value_goes_in_hexadecimal_digits() {
    for secret in [SECRET, KEY] {
        let small: Vec<String> = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        let large: Vec<String> = secret.bytes().map(|byte| format!("{byte:02X}")).collect();
        for digits in [small, large] {
            let words: Vec<String> = digits.chunks(2).map(<[String]>::concat).collect();
            for text in [
                digits.concat(),
                digits.join(" "),
                digits.join(":"),
                digits.join("-"),
                digits.join("\n"),
                format!("\\x{}", digits.join("\\x")),
                format!("[0x{}]", digits.join(", 0x")),
                format!("%{}", digits.join("%")),
                format!("&#x{};", digits.join(";&#x")),
                format!("deadbeef {} cafe", digits.concat()),
                wrapped(&digits.concat(), 60, "  "),
                words.join(" "),
            ] {
                let redactor = Redactor::new([Secret::new(secret)]);
                let left = redactor.redact(&text).into_owned();
                assert!(left.contains(MASK), "{text}");
                let digits_left = left.bytes().filter(u8::is_ascii_hexdigit).count();
                assert!(digits_left <= 12, "{text}: {left}");
            }
        }
    }
}

#[test]
fn a_value_goes_url_encoded_and_escaped() {
    let redactor = Redactor::new([Secret::new("pa ss+word!")]);
    let all: String = "pa ss+word!".bytes().map(|byte| format!("%{byte:02x}")).collect();
    for encoded in [
        "pa%20ss%2Bword%21",
        "pa%20ss%2bword!",
        "%70a%20ss+word!",
        "pa+ss%2Bword%21",
        &all,
        &all.to_uppercase(),
    ] {
        assert_eq!(redactor.redact(&format!("q={encoded}&")), "q=***&");
    }
    let redactor = Redactor::new([Secret::new("a\"b/c\\d'eFgh")]);
    for escaped in [
        r#"a\"b/c\\d'eFgh"#,
        r#"a\"b\/c\\d\'eFgh"#,
        r#"\x61\"b\x2fc\\d'eFgh"#,
        "\\u0061\\u0022b/c\\\\d'eFgh",
        r#"a"b/c\d'eFgh"#,
    ] {
        assert_eq!(redactor.redact(&format!("<{escaped}>")), "<***>", "{escaped}");
    }
}

#[test]
fn a_value_goes_backwards_and_broken_over_lines() {
    let redactor = Redactor::new([Secret::new(KEY), Secret::new(SECRET)]);
    for secret in [KEY, SECRET] {
        let backwards: String = secret.chars().rev().collect();
        assert_eq!(redactor.redact(&format!("<{backwards}>")), "<***>");
        for width in [5, 7, 12] {
            for indent in ["", "    ", "\t"] {
                let text = wrapped(secret, width, indent);
                let redacted = redactor.redact(&text).into_owned();
                assert_eq!(redacted.trim(), "***", "{text:?}");
                let crlf = redactor.redact(&text.replace('\n', " \r\n")).into_owned();
                assert_eq!(crlf.trim(), "***", "{text:?}");
            }
        }
    }
    assert_eq!(redactor.redact("pa\nss+wörd!/Zz9"), "***", "broken at its blank");
    assert_eq!(redactor.redact("a\n\n  canary/5ecret+\\\n  Value-0123456789\nb"), "a\n\n  ***\nb");
}

#[test]
fn invisible_characters_hide_nothing() {
    let redactor = Redactor::new([Secret::new(KEY), Secret::new(SECRET)]);
    for hidden in ["\u{200b}", "\u{feff}\u{2060}", "\u{1}"] {
        let apart = |text: &str| text.chars().map(|c| format!("{c}{hidden}")).collect::<String>();
        for secret in [KEY, SECRET, "sk-abcdefghijklmnopqrstuvwx"] {
            let redacted = redactor.redact(&format!("ü{hidden}<{}>", apart(secret))).into_owned();
            assert_eq!(redacted, format!("ü{hidden}<***{hidden}>"), "{secret:?} {hidden:?}");
        }
        let kept = redactor.redact_kept(&apart("password=hunter2 ok")).into_owned();
        assert!(!kept.contains('h') && kept.ends_with(&apart(" ok")), "{kept:?}");
    }
    let harmless = "ö\u{200b}ü";
    assert!(matches!(redactor.redact(harmless), Cow::Borrowed(_)));
}

#[test]
fn common_keys_are_known_by_their_shape() {
    let check = |text: &str, expected: &str| assert_eq!(Redactor::default().redact(text), expected, "{text}");
    check("key sk-abcdefghijklmnopqrstuvwx end", "key *** end");
    check("ghp_0123456789abcdefghijklmnopqrstuvwxyz", "***");
    check("AKIAIOSFODNN7EXAMPLE", "***");
    check("a task-force of risk-averse people", "a task-force of risk-averse people");
    check("sk-short", "sk-short");
    check("sk-aaaaaaaaaaaaaaaaaaaaaaaa sk-bbbbbbbbbbbbbbbbbbbbbbbb", "*** ***");
}

#[test]
fn short_values_do_not_tear_holes() {
    assert_eq!(Redactor::new([Secret::new("abc")]).redact("abcabc"), "abcabc");
    let redactor = Redactor::new([Secret::new("secret")]);
    assert_eq!(redactor.redact("secretary, secrets, (secret), terces"), "secretary, secrets, (***), terces");
    let redactor = Redactor::new([Secret::new("password")]);
    assert_eq!(redactor.redact("pass word, pass: word"), "pass word, pass: word");
}

#[test]
fn a_key_between_random_text_is_removed() {
    let redactor = Redactor::new([Secret::new(SECRET), Secret::new(KEY), Secret::new("0x41%41\\n\\x")]);
    let mut state = 1u32;
    for length in 0..400 {
        let text: String = (0..length)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let letters: Vec<char> = "%\\x0\n\r 4a1|ö#&;nu".chars().collect();
                letters[(state >> 24) as usize % letters.len()]
            })
            .collect();
        let redacted = redactor.redact(&format!("{text} {KEY} {text}")).into_owned();
        assert!(!redacted.contains(KEY), "{text:?}: {redacted:?}");
        for cut in 0..KEY.len() {
            let _ = redactor.redact(&format!("{text}{}", &KEY[..cut]));
        }
    }
}

#[test]
fn changing_values_are_taken_over_and_replaced() {
    let before =
        Redactor::new([Secret::new("old-fixed")]).with_changing("a", vec![Secret::new("token-of-a")]);
    let after = Redactor::new([Secret::new("new-fixed")]).with_changing_of(&before);
    assert_eq!(after.redact("old-fixed new-fixed token-of-a"), "old-fixed *** ***");
    let renewed = after.with_changing("a", vec![Secret::new("other-token")]);
    assert_eq!(renewed.redact("token-of-a other-token"), "token-of-a ***");
}

#[test]
fn beginning_of_a_text_holds_no_part_of_a_secret() {
    const SECRET: &str = "SuperSecretHook-9876543210zyxw";
    let redactor = Redactor::new([Secret::new(SECRET)]);
    assert_eq!(redactor.redact_beginning("short", 100), "short");
    assert_eq!(redactor.redact_beginning("äöü!", 3), "äöü…");
    let parts: Vec<&str> = (MIN_VALUE..SECRET.len()).map(|length| &SECRET[..length]).collect();
    for before in (0..120).chain([MARGIN, MARGIN + 99, MARGIN + 100 - SECRET.len() / 2]) {
        for after in [0, 1, 100, 2 * MARGIN] {
            let text = format!("{}{SECRET}{}", "x ".repeat(before / 2), "y".repeat(after));
            for shown in [redactor.redact_beginning(&text, 100), redactor.redact_kept_beginning(&text, 100)] {
                assert!(!parts.iter().any(|part| shown.contains(part)), "{before} {after}: {shown}");
                assert!(shown.chars().count() <= 101, "{before} {after}");
            }
        }
    }
    // Masks are shorter than what they hide, and so bring the end of what was searched forward.
    let many = SECRET.repeat(2 * MARGIN / SECRET.len());
    let shown = redactor.redact_beginning(&many, 100);
    assert!(shown.chars().all(|c| "*…".contains(c)), "{shown}");
}
