//! Payment card numbers: the length fits the first digits, and the check digit is right.

/// The shortest and the longest number.
const LENGTHS: std::ops::RangeInclusive<usize> = 13..=19;

/// Finds a card number in a text.
pub(super) fn find(text: &str) -> Option<&'static str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let (digits, end) = run(bytes, at);
        let is_part_of_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_')
            || bytes.get(end).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
        if !is_part_of_word && LENGTHS.contains(&digits.len()) && is_card(&digits) {
            return Some("the number of a payment card");
        }
        at = end;
    }
    None
}

/// The digits from here on, ignoring single blanks and dashes between them, and where they end.
fn run(bytes: &[u8], start: usize) -> (Vec<u8>, usize) {
    let (mut digits, mut at, mut end) = (Vec::new(), start, start);
    while let Some(&byte) = bytes.get(at) {
        if byte.is_ascii_digit() {
            digits.push(byte - b'0');
            end = at + 1;
        } else if !(matches!(byte, b' ' | b'-') && end == at) {
            break;
        }
        at += 1;
    }
    (digits, end)
}

fn is_card(digits: &[u8]) -> bool {
    let first =
        |count: usize| digits[..count].iter().fold(0_u32, |number, digit| number * 10 + u32::from(*digit));
    let (two, three, four) = (first(2), first(3), first(4));
    let is_known = match digits.len() {
        13 | 19 if digits[0] == 4 => true,
        14 => (300..=305).contains(&three) || matches!(two, 36 | 38 | 39),
        15 => matches!(two, 34 | 37),
        16 => {
            digits[0] == 4
                || (51..=55).contains(&two)
                || (2221..=2720).contains(&four)
                || four == 6011
                || (644..=659).contains(&three)
                || (3528..=3589).contains(&four)
                || matches!(two, 62 | 50 | 67)
        }
        17..=19 => matches!(two, 62 | 67),
        _ => false,
    };
    let is_monotonous = digits.iter().all(|digit| *digit == digits[0]);
    is_known && !is_monotonous && has_check_digit(digits)
}

/// Whether the Luhn checksum is right.
fn has_check_digit(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, &digit)| match u32::from(digit) * 2 {
            double if place % 2 == 1 => double / 10 + double % 10,
            _ => u32::from(digit),
        })
        .sum();
    sum.is_multiple_of(10)
}
