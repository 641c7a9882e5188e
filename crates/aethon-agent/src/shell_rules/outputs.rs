//! The output of commands that only write their arguments.

use super::danger::operands;
use super::escapes::{unescape, unescape_output};
use super::marks::{UNKNOWN, is_mark, made_from};
use super::paths::base_name;

/// Programs that transform the text that they read.
pub(super) const FILTERS: &[&str] = &[
    "tr", "rev", "sed", "awk", "gawk", "mawk", "perl", "python3", "python", "ruby", "iconv", "fold", "zcat",
    "gunzip", "gzip", "xz", "unxz", "bunzip2", "bzip2", "zstd", "openssl", "gpg", "jq", "base64", "base32",
    "xxd", "od", "paste", "expand", "factor", "uudecode", "bc", "dc", "recode", "hexdump",
];

/// Returns the output of a command whose arguments determine it.
pub(super) fn said(argv: &[String]) -> Option<String> {
    let (program, arguments) = argv.split_first()?;
    match base_name(program) {
        "echo" => Some(echo(arguments)),
        "printf" => {
            let mut arguments = arguments;
            if arguments.first().is_some_and(|word| word == "--") {
                arguments = &arguments[1..];
            }
            let (format, values) = arguments.split_first()?;
            if format == "-v" {
                return None;
            }
            Some(formatted(format, values))
        }
        "which" => operands(arguments).last().map(|name| format!("{name}\n")),
        "basename" => arguments.first().map(|path| {
            let name = base_name(path.trim_end_matches('/'));
            let end = arguments.get(1).map_or("", String::as_str);
            format!("{}\n", name.strip_suffix(end).unwrap_or(name))
        }),
        "true" | "false" | ":" | "test" | "[" | "cd" | "sleep" | "mkdir" | "touch" | "chmod" | "rm"
        | "let" => Some(String::new()),
        _ => None,
    }
}

fn echo(arguments: &[String]) -> String {
    let is_option = |word: &&String| {
        word.len() > 1 && word.starts_with('-') && word[1..].chars().all(|c| "neE".contains(c))
    };
    let options = arguments.iter().take_while(is_option).count();
    let letters: String =
        arguments[..options].iter().flat_map(|word| word.chars()).filter(|c| *c != '-').collect();
    let text = arguments[options..].join(" ");
    let text = match letters.chars().rev().find(|c| *c != 'n') {
        Some('e') => unescape_output(&text),
        _ => text,
    };
    if letters.contains('n') { text } else { text + "\n" }
}

/// Returns what `printf` writes: the format, repeated until the values are used up.
pub(super) fn formatted(format: &str, values: &[String]) -> String {
    if values.iter().any(|value| !value.is_empty() && value.chars().all(is_mark)) {
        // It may be no value or several, which would shift the others.
        return made_from(values);
    }
    let mut text = String::new();
    let mut values = values.iter();
    loop {
        let left = values.len();
        let mut chars = format.chars().peekable();
        let mut plain = String::new();
        while let Some(c) = chars.next() {
            if c == '\\' {
                plain.push(c);
                plain.extend(chars.next());
                continue;
            }
            if c != '%' {
                plain.push(c);
                continue;
            }
            text.push_str(&unescape(&std::mem::take(&mut plain)));
            let mut flags = String::new();
            while let Some(c) = chars.next_if(|c| "-+ #0123456789.*'".contains(*c)) {
                flags.push(c);
            }
            match chars.next() {
                Some('%') => text.push('%'),
                Some('s' | 'q') if flags.is_empty() => {
                    text.push_str(values.next().map_or("", String::as_str))
                }
                Some('s') => text.push_str(&limited(values.next().map_or("", String::as_str), &flags)),
                Some('b') => text.push_str(&unescape_output(values.next().map_or("", String::as_str))),
                Some('c') => text.extend(values.next().and_then(|value| value.chars().next())),
                Some('d' | 'i' | 'u') if flags.is_empty() => {
                    let value = values.next().map_or("0", String::as_str);
                    let number: Option<i64> = if value.is_empty() { Some(0) } else { value.parse().ok() };
                    text.push_str(&number.map_or(UNKNOWN.to_string(), |number| number.to_string()));
                }
                Some(_) => {
                    values.next();
                    text.push(UNKNOWN);
                }
                None => text.push('%'),
            }
        }
        text.push_str(&unescape(&plain));
        if values.len() == 0 || values.len() == left || text.len() > 1 << 20 {
            return text;
        }
    }
}

/// A value padded or cut as `%-5s` and `%.3s` demand.
fn limited(value: &str, flags: &str) -> String {
    let (width, most) = flags.split_once('.').unwrap_or((flags, ""));
    let shortened: String = match most.parse::<usize>() {
        Ok(most) => value.chars().take(most).collect(),
        Err(_) if flags.contains('.') => return UNKNOWN.to_string(),
        Err(_) => value.to_owned(),
    };
    let is_left = width.starts_with('-');
    match width.trim_start_matches(['-', '0', '+', ' ']).parse::<usize>() {
        Ok(width) if width > 256 => UNKNOWN.to_string(),
        Ok(width) if is_left => format!("{shortened:<width$}"),
        Ok(width) => format!("{shortened:>width$}"),
        Err(_) if width.is_empty() => shortened,
        Err(_) => UNKNOWN.to_string(),
    }
}
