//! Lists of words as one text.

/// Returns whether a name is among these, which are separated by blanks.
pub(crate) fn is_in(names: &str, name: &str) -> bool {
    names.split(' ').any(|own| own == name)
}
