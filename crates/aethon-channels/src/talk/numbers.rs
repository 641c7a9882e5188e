//! Telephone numbers that are written in several ways but belong to one person.
//!
//! WhatsApp puts a digit into some countries' mobile numbers that their owners leave out, or leaves one out that they write.

/// Returns whether two ways of writing are the same number.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (canonical(one), canonical(other));
    one.is_some() && one == other
}

/// Returns the number with its country and without signs, in one of its ways of writing. `None` if it is no number.
fn canonical(written: &str) -> Option<String> {
    let is_sign = |c: char| c.is_whitespace() || "()-./\u{2011}\u{2013}".contains(c);
    let digits: String = written.chars().filter(|c| !is_sign(*c)).collect();
    let digits = digits.strip_prefix('+').or_else(|| digits.strip_prefix("00")).unwrap_or(&digits);
    if !(5..=20).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Mexico: a 1 before the ten digits of a mobile. Argentina: a 9.
    for (with, country) in [("521", "52"), ("549", "54")] {
        if let Some(rest) = digits.strip_prefix(with).filter(|rest| rest.len() == 10) {
            return Some(format!("{country}{rest}"));
        }
    }
    // Brazil: mobiles of eight digits, which begin with 6 to 9, got a 9 in front of them.
    if let Some(rest) = digits.strip_prefix("55").filter(|rest| rest.len() == 11) {
        let (area, number) = rest.split_at(2);
        let old = number.strip_prefix('9').filter(|old| old.starts_with(['6', '7', '8', '9']));
        if let Some(old) = old {
            return Some(format!("55{area}{old}"));
        }
    }
    Some(digits.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_same_in_each_way_of_writing() {
        for (one, other, expected) in [
            ("525512345678", "5215512345678", true),
            ("+52 55 1234 5678", "5215512345678", true),
            ("0052 1 55 1234-5678", "5215512345678", true),
            ("5491112345678", "541112345678", true),
            ("+54 (9) 11 1234-5678", "541112345678", true),
            ("5511987654321", "551187654321", true),
            ("551187654321", "+55 11 98765-4321", true),
            ("5511923456789", "551123456789", false),
            ("4915112345678", "+49 151 12345678", true),
            ("4915112345678", "491511234567", false),
            ("525512345678", "525512345679", false),
            ("5215512345678", "5215512345679", false),
            ("521551234567", "52551234567", false),
            ("US.13", "US.13", false),
            ("", "", false),
            ("49151 x", "49151", false),
        ] {
            assert_eq!(is_same(one, other), expected, "{one} {other}");
            assert_eq!(is_same(other, one), expected, "{other} {one}");
        }
    }
}
