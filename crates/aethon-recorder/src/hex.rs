//! Hexadecimal encoding.

/// Encodes each byte as two lower-case digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble & 15)]);
    bytes.iter().flat_map(|&byte| [digit(byte >> 4), digit(byte)]).collect()
}

#[cfg(test)]
#[test]
fn bytes_have_two_digits() {
    assert_eq!(hex(&[0, 1, 0xab, 0xff]), "0001abff");
}
