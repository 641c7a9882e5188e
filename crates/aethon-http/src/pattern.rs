//! The patterns of the routes table, and the parameter values in a path.
//!
//! A pattern consists of literal segments, `{name}` for exactly one segment, and a trailing `*` for the rest. Paths
//! are matched in their encoded form: a `%2f` never separates segments, and a parameter is decoded only when it is
//! requested.

use std::str::FromStr;

use percent_encoding::percent_decode_str;

/// The values of a pattern's parameters by name, still encoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Params(Vec<(&'static str, String)>);

impl Params {
    /// Decodes and parses a parameter. Returns `None` if it is not UTF-8 or does not parse.
    pub(crate) fn get<T: FromStr>(&self, name: &str) -> Option<T> {
        let (_, value) = self.0.iter().find(|(own, _)| *own == name)?;
        percent_decode_str(value).decode_utf8().ok()?.parse().ok()
    }

    /// Returns the rest that `*` matched, still encoded.
    pub(crate) fn rest(&self) -> &str {
        self.0.iter().find(|(name, _)| *name == "*").map_or("", |(_, value)| value)
    }
}

/// Matches a path against a pattern and returns its parameters.
pub(crate) fn matches(pattern: &'static str, path: &str) -> Option<Params> {
    if pattern == path {
        return Some(Params::default());
    }
    let mut values = Vec::new();
    let (mut pattern, mut path) = (pattern.strip_prefix('/')?, path.strip_prefix('/')?);
    loop {
        if pattern == "*" {
            values.push(("*", path.to_owned()));
            return Some(Params(values));
        }
        let (wanted, pattern_rest) = split(pattern);
        let (found, path_rest) = split(path);
        if let Some(name) = parameter(wanted) {
            if found.is_empty() {
                return None;
            }
            values.push((name, found.to_owned()));
        } else if wanted != found {
            return None;
        }
        match (pattern_rest, path_rest) {
            (None, None) => return Some(Params(values)),
            (Some(next_pattern), Some(next_path)) => (pattern, path) = (next_pattern, next_path),
            _ => return None,
        }
    }
}

/// Returns the part before a pattern's first parameter, if there is one.
pub(crate) fn literal_start(pattern: &str) -> Option<&str> {
    pattern.find(['{', '*']).map(|end| &pattern[..end])
}

fn parameter(segment: &'static str) -> Option<&'static str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

fn split(path: &str) -> (&str, Option<&str>) {
    path.split_once('/').map_or((path, None), |(first, rest)| (first, Some(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_takes_its_segments_and_no_more() {
        let check = |pattern: &'static str, path: &str, expected: Option<&[(&'static str, &str)]>| {
            let owned = |values: &[(&'static str, &str)]| {
                Params(values.iter().map(|&(name, value)| (name, value.into())).collect())
            };
            assert_eq!(matches(pattern, path), expected.map(owned), "{pattern} {path}");
        };
        check("/", "/", Some(&[]));
        check("/", "", None);
        check("/health", "/health", Some(&[]));
        check("/health", "/health/", None);
        check("/health", "//health", None);
        check("/a/{id}", "/a/x%2Fy", Some(&[("id", "x%2Fy")]));
        check("/a/{id}", "/a/", None);
        check("/a/{id}", "/a/x/", None);
        check("/a/{id}/b", "/a/x/b", Some(&[("id", "x")]));
        check("/a/{id}/b/{n}", "/a/x/b/7", Some(&[("id", "x"), ("n", "7")]));
        check("/a/*", "/a/x/y", Some(&[("*", "x/y")]));
        check("/a/*", "/a", None);
        check("/a/{id}", "*", None);
    }

    #[test]
    fn a_parameter_is_decoded_and_read_as_its_type() {
        let params = matches("/a/{id}/b/{n}", "/a/webchat%3Aa%2Fb/b/7").unwrap();
        assert_eq!(params.get::<String>("id").as_deref(), Some("webchat:a/b"));
        assert_eq!((params.get::<u32>("n"), params.get::<u32>("id")), (Some(7), None));
        assert_eq!(params.get::<String>("other"), None);
        assert_eq!(matches("/a/{id}", "/a/%ff").unwrap().get::<String>("id"), None);
    }
}
