//! Glob patterns with `*`, `?` and `[…]`, as in file names and in `${NAME#pattern}`.

use super::marks::is_mark;

/// Whether a text contains pattern characters or unknowns.
pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
        || text.contains(is_mark)
        || text.find('[').is_some_and(|at| text[at..].contains(']'))
}

/// Whether the whole text matches the pattern. An unknown in the pattern matches anything.
pub(super) fn fits(pattern: &[char], text: &[char]) -> bool {
    let (mut p, mut t) = (0, 0);
    // The position of the last star, and how much of the text it currently takes.
    let mut star: Option<(usize, usize)> = None;
    loop {
        if p < pattern.len() && (pattern[p] == '*' || is_mark(pattern[p])) {
            star = Some((p, t));
            p += 1;
            continue;
        }
        if t == text.len() {
            return pattern[p..].iter().all(|c| *c == '*' || is_mark(*c));
        }
        if let Some(length) = one(&pattern[p.min(pattern.len())..], text[t]) {
            p += length;
            t += 1;
            continue;
        }
        let Some((place, taken)) = star else { return false };
        star = Some((place, taken + 1));
        p = place + 1;
        t = taken + 1;
    }
}

/// How many characters of the pattern this character matches.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '[' => match bracket(pattern, c) {
            Some((true, length)) => Some(length),
            Some((false, _)) => None,
            None => (c == '[').then_some(1),
        },
        '\\' if pattern.len() > 1 => (pattern[1] == c).then_some(2),
        own => (*own == c).then_some(1),
    }
}

/// Whether the bracket expression contains the character, and how long it is; `None` if it is not closed.
fn bracket(pattern: &[char], c: char) -> Option<(bool, usize)> {
    let is_negated = matches!(pattern.get(1), Some('!' | '^'));
    let first = 1 + usize::from(is_negated);
    let (mut at, mut is_in) = (first, false);
    loop {
        let from = *pattern.get(at)?;
        if from == ']' && at > first {
            return Some((is_in != is_negated, at + 1));
        }
        if from == '[' && pattern.get(at + 1) == Some(&':') {
            let rest = &pattern[at + 2..];
            let length = rest.iter().position(|c| *c == ':')?;
            let class: String = rest[..length].iter().collect();
            is_in |= in_class(&class, c);
            at += length + 4;
            continue;
        }
        let to = match (pattern.get(at + 1), pattern.get(at + 2)) {
            (Some('-'), Some(to)) if *to != ']' => {
                at += 2;
                *to
            }
            _ => from,
        };
        is_in |= from <= c && c <= to;
        at += 1;
    }
}

fn in_class(class: &str, c: char) -> bool {
    match class {
        "alpha" => c.is_alphabetic(),
        "digit" => c.is_ascii_digit(),
        "alnum" => c.is_alphanumeric(),
        "upper" => c.is_uppercase(),
        "lower" => c.is_lowercase(),
        "space" | "blank" => c.is_whitespace(),
        "punct" => c.is_ascii_punctuation(),
        "xdigit" => c.is_ascii_hexdigit(),
        _ => true,
    }
}
