//! The C-style escapes of `$'…'`, `echo -e` and `printf`.

/// Resolves the escapes in a text as `$'…'` does.
pub(super) fn unescape(raw: &str) -> String {
    let mut text = String::new();
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        let Some(kind) = chars.next() else {
            text.push('\\');
            break;
        };
        let (radix, most) = match kind {
            'x' => (16, 2),
            'u' => (16, 4),
            'U' => (16, 8),
            '0'..='7' => (8, 3),
            _ => (0, 0),
        };
        if radix == 0 {
            match kind {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                'a' => text.push('\u{7}'),
                'b' => text.push('\u{8}'),
                'f' => text.push('\u{c}'),
                'v' => text.push('\u{b}'),
                'e' | 'E' => text.push('\u{1b}'),
                'c' => text.extend(chars.next().map(|c| ((c as u32 & 0x1f) as u8) as char)),
                '\\' | '\'' | '"' | '?' => text.push(kind),
                other => text.extend(['\\', other]),
            }
            continue;
        }
        let mut digits: String = if radix == 8 { kind.into() } else { String::new() };
        while digits.len() < most {
            match chars.next_if(|c| c.is_digit(radix)) {
                Some(digit) => digits.push(digit),
                None => break,
            }
        }
        match u32::from_str_radix(&digits, radix) {
            Ok(0) => return text,
            Ok(code) => text.extend(char::from_u32(if radix == 8 { code & 0xff } else { code })),
            Err(_) => text.extend(['\\', kind]),
        }
    }
    text
}
