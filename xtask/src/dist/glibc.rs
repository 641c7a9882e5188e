//! Which version of the C library a program needs.
//!
//! The versions of the symbols that it uses are names in its table of strings, so the newest `GLIBC_` in the file is the one
//! that must be there. A constant that only looks like such a name would ask for more than is needed, never for less.

/// A version such as 2.34.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(u32, u32);

impl std::fmt::Display for Version {
    fn fmt(&self, form: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(form, "{}.{}", self.0, self.1)
    }
}

/// Returns the newest version that the program needs. `None` if it is linked statically.
pub(crate) fn needed(program: &[u8]) -> Option<Version> {
    program.split(|byte| *byte == 0).filter_map(|word| version(word.strip_prefix(b"GLIBC_")?)).max()
}

fn version(text: &[u8]) -> Option<Version> {
    let text = std::str::from_utf8(text).ok()?;
    let mut numbers = text.split('.').map(str::parse::<u32>);
    Some(Version(numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_version_counts_and_other_words_do_not() {
        let newest = |text: &[u8]| needed(text).map(|version| version.to_string());
        assert_eq!(newest(b"\0GLIBC_2.9\0GLIBC_2.34\0GLIBC_2.4\0"), Some("2.34".to_owned()));
        assert_eq!(newest(b"\0GLIBC_2.2.5\0"), Some("2.2".to_owned()));
        assert_eq!(newest(b"\0GLIBC_PRIVATE\0GLIBC_"), None);
    }
}
