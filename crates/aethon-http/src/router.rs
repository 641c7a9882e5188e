//! Maps a raw path to a row of the table.
//!
//! A path is public only if the table says so and it is spelled cleanly. Everything else, known or not, is gated.
//! `pattern` describes how patterns match.

use http::{HeaderValue, Method};

use crate::pattern::{Params, literal_start, matches};
use crate::routes::{Access, Needs, ROUTES, Route};

/// The result of resolving a path and a method.
pub(crate) enum Target {
    /// A row and the values of its parameters.
    Route(&'static Route, Params),
    /// The path exists, but only with these other methods.
    OtherMethods(HeaderValue),
    /// No row has this path.
    Nothing,
}

/// Returns whether a path may be requested without a token.
pub(crate) fn access(path: &str) -> Access {
    let is_public =
        ROUTES.iter().any(|route| route.access == Access::Public && is_in_area(route.pattern, path));
    if is_public { Access::Public } else { Access::Gated }
}

/// Finds the row for a method and a path, among those for which `exists` returns true.
pub(crate) fn resolve(method: &Method, path: &str, exists: impl Fn(Needs) -> bool) -> Target {
    let mut others: Vec<&str> = Vec::new();
    // A word of the table is no id: those are made by the program. A name that a person chose may be any word.
    let is_word = ROUTES.iter().any(|route| route.pattern == path && exists(route.needs));
    for route in ROUTES.iter().filter(|route| exists(route.needs)) {
        let Some(params) = matches(route.pattern, path) else { continue };
        if is_word && route.pattern.ends_with("{id}") {
            continue;
        }
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

/// Returns whether the path lies in the area of a public pattern: the pattern itself, or any clean path below the
/// part before its first parameter.
fn is_in_area(pattern: &str, path: &str) -> bool {
    match literal_start(pattern) {
        None => pattern == path,
        Some(start) => path.strip_prefix(start).is_some_and(is_clean),
    }
}

/// Returns whether no proxy, browser or file system could read this spelling differently.
fn is_clean(rest: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    rest.split('/').all(|segment| !matches!(segment, "" | "." | "..") && segment.bytes().all(is_plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_beside_an_id_has_its_own_methods() {
        let check = |method: Method, path: &str, allow: Option<&str>| match resolve(&method, path, |_| true) {
            Target::Route(route, _) => assert_eq!(allow, None, "{method} {path} is {}", route.pattern),
            Target::OtherMethods(methods) => assert_eq!(methods.to_str().ok(), allow, "{method} {path}"),
            Target::Nothing => panic!("{method} {path}"),
        };
        check(Method::POST, "/api/memory/search", None);
        check(Method::GET, "/api/memory/search", Some("POST"));
        check(Method::PUT, "/api/memory/stats", Some("GET, HEAD"));
        check(Method::DELETE, "/api/sessions/recordings", Some("GET, HEAD"));
        check(Method::DELETE, "/api/memory/7", None);
        // A SOP may be called `check`.
        check(Method::GET, "/api/sops/check", None);
        check(Method::PATCH, "/api/sops/check", Some("GET, HEAD, POST, PUT, DELETE"));
    }

    #[test]
    fn no_path_is_public_except_the_named_ones() {
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
