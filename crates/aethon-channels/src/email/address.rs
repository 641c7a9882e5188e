//! Addresses of mail: the forms in which headers write them, and the one in which they are compared.

use unicode_normalization::UnicodeNormalization as _;

use super::encoded_words;

/// The longest local part and domain, in bytes.
const MAX_PARTS: (usize, usize) = (64, 100);

/// Returns the form in which an address is compared: in lower case, with composed letters, and with the domain in its
/// ASCII form. Anything that is not an address is only trimmed and lowercased.
pub fn canonical(address: &str) -> String {
    let address: String = address.trim().nfc().collect::<String>().to_lowercase();
    match address.split_once('@') {
        // Characters that show nothing disguise a domain.
        Some((_, domain)) if domain.contains(is_invisible) => address,
        Some((local, domain)) if !domain.is_ascii() => match idna::domain_to_ascii(domain) {
            Ok(domain) => format!("{local}@{domain}"),
            Err(_) => address,
        },
        _ => address,
    }
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Returns the domain of a server's statement in the form in which domains are compared.
pub(super) fn canonical_domain(domain: &str) -> String {
    idna::domain_to_ascii(domain).unwrap_or_else(|_| domain.to_ascii_lowercase())
}

/// Returns whether this is a complete address in the form in which addresses are compared, whose characters need no
/// decoding or quoting.
pub(super) fn is_address(address: &str) -> bool {
    let Some((local, domain)) = address.split_once('@') else { return false };
    let is_plain = |c: char| {
        c.is_ascii_alphanumeric()
            || ".!#$%&'*+/=?^_`{|}~-".contains(c)
            || (!c.is_ascii() && c.is_alphanumeric())
    };
    let is_domain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    (1..=MAX_PARTS.0).contains(&local.len())
        && (1..=MAX_PARTS.1).contains(&domain.len())
        && local.chars().all(is_plain)
        && domain.bytes().all(is_domain)
        && !domain.starts_with(['.', '-'])
        && !domain.ends_with(['.', '-'])
}

/// Returns the address of a field that names exactly one: `ada@x`, `Ada <ada@x>`, or the same address as its own name.
pub(super) fn only_address(value: &str) -> Option<String> {
    let mut bare = String::new();
    let (mut depth, mut is_quoted) = (0_u32, false);
    let mut characters = value.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' if depth > 0 || is_quoted => drop(characters.next()?),
            '"' if depth == 0 => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            _ if depth > 0 => {}
            _ => bare.push(c),
        }
    }
    if depth > 0 || is_quoted {
        return None;
    }
    // Lists may end with nothing.
    let bare = bare.trim().trim_end_matches(',').trim_end();
    if bare.contains([',', ';', ':']) {
        return None;
    }
    let (name, address) = match bare.split_once('<') {
        Some((name, rest)) => (name.trim(), rest.trim_end().strip_suffix('>')?),
        None => ("", bare),
    };
    let address = canonical(address);
    // Another address as the name is a disguise.
    let names_itself =
        || canonical(encoded_words::decoded(name.as_bytes()).trim().trim_matches('\'')) == address;
    if name.contains('>') || (name.contains('@') && !names_itself()) {
        return None;
    }
    is_address(&address).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_in_the_forms_that_programs_write() {
        for (value, expected) in [
            ("ada@x.example", "ada@x.example"),
            ("Ada <ADA@X.example>", "ada@x.example"),
            ("ada@x.example <ada@x.example>", "ada@x.example"),
            ("Ada@X.example <ada@x.example>", "ada@x.example"),
            ("'ada@x.example' (work) <ada@x.example>", "ada@x.example"),
            ("\"ada@x.example\" <ada@x.example>", "ada@x.example"),
            ("<ada@x.example>", "ada@x.example"),
            ("ada@x.example,", "ada@x.example"),
            ("Ada <ada@bücher.example>", "ada@xn--bcher-kva.example"),
            ("ada@BÜCHER.example", "ada@xn--bcher-kva.example"),
            ("ada@xn--bcher-kva.example", "ada@xn--bcher-kva.example"),
            ("Jürgen <jürgen@x.example>", "jürgen@x.example"),
            ("ju\u{308}rgen@x.example", "jürgen@x.example"),
            ("用户@例子.广告", "用户@xn--fsqu00a.xn--4rr70v"),
            ("пётр@почта.рф", "пётр@xn--80a1acny.xn--p1ai"),
            ("Müller, Jürgen <j@x.example>", ""),
            ("ada@x.example <eve@y.example>", ""),
            ("eve@y.example <ada@x.example>", ""),
            ("ada@x.example, eve@y.example", ""),
            ("<ada@x.example> <eve@y.example>", ""),
            ("ada@x.example <ada@x.example> <eve@y.example>", ""),
            ("group: ada@x.example;", ""),
            ("ada", ""),
            ("a\u{202e}b@x.example", ""),
            ("ada@x.example\u{200b}", ""),
            ("", ""),
        ] {
            assert_eq!(only_address(value).unwrap_or_default(), expected, "{value}");
        }
    }

    #[test]
    fn entries_of_lists_are_compared_in_one_form() {
        for (entry, expected) in [
            (" Ada@X.example ", "ada@x.example"),
            ("ada@Bücher.example", "ada@xn--bcher-kva.example"),
            ("JÜRGEN@x.example", "jürgen@x.example"),
            ("Ada", "ada"),
        ] {
            assert_eq!(canonical(entry), expected);
        }
    }
}
