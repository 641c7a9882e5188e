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

/// Resolves the escapes in a text as `echo -e` and `printf '%b'` do, where octal numbers begin with a zero.
pub(super) fn unescape_output(raw: &str) -> String {
    let mut prepared = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        prepared.push_str(before);
        let mut chars = escape.chars().skip(1);
        match (chars.next(), chars.next()) {
            (Some('c'), _) => return unescape(&prepared),
            (Some('0'), Some('0'..='7')) => {
                prepared.push('\\');
                rest = &escape[2..];
            }
            (Some(next @ ('\'' | '"' | '?')), _) => {
                // These are not escapes there.
                prepared.push_str("\\\\");
                prepared.push(next);
                rest = &escape[2..];
            }
            (Some(next), _) => {
                prepared.push('\\');
                prepared.push(next);
                rest = &escape[1 + next.len_utf8()..];
            }
            (None, _) => {
                prepared.push_str("\\\\");
                rest = "";
            }
        }
    }
    prepared.push_str(rest);
    unescape(&prepared)
}
