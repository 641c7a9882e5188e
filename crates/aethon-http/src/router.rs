//! From a raw path to a row of the table.
//!
//! Patterns are literal segments, `{name}` for exactly one segment, and a last `*` for the rest. Paths are matched as
//! they came, still encoded: a `%2f` never separates segments, and what a parameter stands for is decoded only
//! afterwards. Public is what the table says is public, and there only in a clean spelling; everything else, known or
//! not, is gated.

use http::{HeaderValue, Method};
use percent_encoding::percent_decode_str;

use crate::routes::{Access, Needs, ROUTES, Route};

/// What a path and a method lead to.
pub(crate) enum Target {
    /// A row, with the values of its parameters.
    Route(&'static Route, Params),
    /// A path that is known under these other methods only.
    OtherMethods(HeaderValue),
    /// Nothing.
    Nothing,
}

/// The values of a pattern's parameters, still encoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Params(Vec<String>);

impl Params {
    /// A parameter, decoded. `None` when there is no such parameter, or when it is not UTF-8.
    pub(crate) fn get(&self, index: usize) -> Option<String> {
        percent_decode_str(self.0.get(index)?).decode_utf8().ok().map(Into::into)
    }

    /// The rest that a `*` stands for, as it came.
    pub(crate) fn rest(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }
}

/// Whether a path may be asked for without a token.
pub(crate) fn access(path: &str) -> Access {
    let is_public =
        ROUTES.iter().any(|route| route.access == Access::Public && is_in_area(route.pattern, path));
    if is_public { Access::Public } else { Access::Gated }
}

/// Finds the row for a method and a path, among those whose condition `exists` confirms.
pub(crate) fn resolve(method: &Method, path: &str, exists: impl Fn(Needs) -> bool) -> Target {
    let mut others: Vec<&str> = Vec::new();
    for route in ROUTES.iter().filter(|route| exists(route.needs)) {
        let Some(params) = matches(route.pattern, path) else { continue };
        if route.answers(method) {
            return Target::Route(route, params);
        }
        others.extend(route.methods().iter().filter(|method| !others.contains(method)).collect::<Vec<_>>());
    }
    if others.is_empty() {
        return Target::Nothing;
    }
    HeaderValue::try_from(others.join(", ")).map_or(Target::Nothing, Target::OtherMethods)
}

fn matches(pattern: &str, path: &str) -> Option<Params> {
    if pattern == path {
        return Some(Params::default());
    }
    let mut values = Vec::new();
    let (mut pattern, mut path) = (pattern.strip_prefix('/')?, path.strip_prefix('/')?);
    loop {
        if pattern == "*" {
            values.push(path.to_owned());
            return Some(Params(values));
        }
        let (wanted, pattern_rest) = split(pattern);
        let (found, path_rest) = split(path);
        if wanted.starts_with('{') {
            if found.is_empty() {
                return None;
            }
            values.push(found.to_owned());
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

fn split(path: &str) -> (&str, Option<&str>) {
    path.split_once('/').map_or((path, None), |(first, rest)| (first, Some(rest)))
}

/// Whether the path lies in the area of a public pattern: the pattern itself, or anything clean below what stands before
/// its first parameter.
fn is_in_area(pattern: &str, path: &str) -> bool {
    match pattern.find(['{', '*']) {
        None => pattern == path,
        Some(end) => path.strip_prefix(&pattern[..end]).is_some_and(is_clean),
    }
}

/// Whether it is spelled in the one way that no proxy, browser or file system reads differently.
fn is_clean(rest: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    rest.split('/').all(|segment| !matches!(segment, "" | "." | "..") && segment.bytes().all(is_plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_takes_its_segments_and_no_more() {
        let check = |pattern: &str, path: &str, expected: Option<&[&str]>| {
            let expected = expected.map(|values| Params(values.iter().map(|&value| value.into()).collect()));
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        };
        check("/", "/", Some(&[]));
        check("/", "", None);
        check("/health", "/health", Some(&[]));
        check("/health", "/health/", None);
        check("/health", "//health", None);
        check("/a/{id}", "/a/x%2Fy", Some(&["x%2Fy"]));
        check("/a/{id}", "/a/", None);
        check("/a/{id}", "/a/x/", None);
        check("/a/{id}/b", "/a/x/b", Some(&["x"]));
        check("/a/*", "/a/x/y", Some(&["x/y"]));
        check("/a/*", "/a", None);
        check("/a/{id}", "*", None);
    }

    #[test]
    fn a_parameter_is_decoded_after_matching() {
        let Target::Route(_, params) = resolve(&Method::GET, "/api/sessions/webchat%3Aa%2Fb", |_| true)
        else {
            panic!("known");
        };
        assert_eq!(params.get(0).as_deref(), Some("webchat:a/b"));
        assert_eq!(params.get(1), None);
        assert_eq!(matches("/a/{id}", "/a/%ff").and_then(|params| params.get(0)), None);
    }

    #[test]
    fn only_the_named_exceptions_are_public() {
        for path in [
            "/",
            "/health",
            "/webhook/trigger",
            "/webhook/github",
            "/webhook/a/b",
            "/dashboard/static/js/app.js",
            "/dashboard/static/nothing",
        ] {
            assert_eq!(access(path), Access::Public, "{path}");
        }
        for path in [
            "",
            "*",
            "//",
            "/health/",
            "/HEALTH",
            "/Health",
            "//health",
            "/health%20",
            "/%68ealth",
            "/./health",
            "/health/../api/status",
            "/api/status",
            "//api/status",
            "/dashboard",
            "/dashboard/",
            "/dashboard/static",
            "/dashboard/static/",
            "/dashboard/static/../../api/status",
            "/dashboard/static/..%2f..%2fapi",
            "/dashboard/static/%2e%2e/x",
            "/dashboard/static//x",
            "/dashboard/static/a\\..\\b",
            "/dashboard/static/./x",
            "/dashboard/Static/x",
            "/dashboard/static%2fx",
            "/webhook",
            "/webhook/",
            "/webhook%2fx",
            "/Webhook/x",
            "/webhook/../api/status",
            "/webhook//x",
            "/webhook/%2e%2e/api",
            "/webhook/x/",
            "/webhook/x%00",
            "/ws/chat",
            "/docs",
            "/openapi.json",
            "/metrics",
            "/unknown",
        ] {
            assert_eq!(access(path), Access::Gated, "{path}");
        }
    }
}
