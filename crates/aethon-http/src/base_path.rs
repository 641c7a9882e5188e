//! The path below which a proxy offers the service (`server.base_path`), such as `/aethon`.
//!
//! Some proxies take that path away and some keep it, so both are served: a request below it is answered like the same one
//! without it. What the service itself names (pages, cookie, redirects, the OpenAPI document) lies below it.

use http::Uri;
use http::uri::PathAndQuery;

/// The path, without a slash at its end. Empty: the service has the whole host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BasePath(String);

impl BasePath {
    /// Creates it from a validated setting.
    pub fn new(path: &str) -> Self {
        Self(path.trim().trim_end_matches('/').to_owned())
    }

    /// Returns the address of a path of ours, as a browser must request it.
    pub(crate) fn address(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }

    /// Returns the path for which a browser keeps the cookie.
    pub(crate) fn cookie_path(&self) -> &str {
        if self.0.is_empty() { "/" } else { &self.0 }
    }

    /// Returns whether the service has the whole host.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the path away from the target of a request, where a proxy kept it. It is taken away once only.
    pub(crate) fn strip(&self, uri: &mut Uri) {
        if self.0.is_empty() {
            return;
        }
        let Some(inner) = uri.path_and_query().and_then(|whole| whole.as_str().strip_prefix(self.0.as_str()))
        else {
            return;
        };
        let inner = match inner.as_bytes().first() {
            Some(b'/') => inner.to_owned(),
            // The path alone, without a slash, is the chat.
            None | Some(b'?') => format!("/{inner}"),
            Some(_) => return,
        };
        let mut parts = uri.clone().into_parts();
        let Ok(inner) = PathAndQuery::try_from(inner) else { return };
        parts.path_and_query = Some(inner);
        if let Ok(stripped) = Uri::from_parts(parts) {
            *uri = stripped;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_taken_away_once_and_only_as_a_whole() {
        for (base, target, expected) in [
            ("/aethon", "/aethon/api/status?x=1", "/api/status?x=1"),
            ("/aethon", "/aethon/", "/"),
            ("/aethon", "/aethon", "/"),
            ("/aethon", "/aethon?token=x", "/?token=x"),
            ("/aethon", "/api/status", "/api/status"),
            ("/aethon", "/aethonx/api", "/aethonx/api"),
            ("/aethon", "/aethon/aethon/health", "/aethon/health"),
            ("/aethon", "/aethon//api/status", "//api/status"),
            ("/aethon", "/Aethon/health", "/Aethon/health"),
            ("/aethon", "/%61ethon/health", "/%61ethon/health"),
            ("/aethon", "/x?/aethon/", "/x?/aethon/"),
            ("/a/b", "/a/b/health", "/health"),
            ("/a/b", "/a/health", "/a/health"),
            ("/aethon", "http://home.example/aethon/health", "http://home.example/health"),
            ("", "/aethon/health", "/aethon/health"),
        ] {
            let mut uri: Uri = target.parse().unwrap();
            BasePath::new(base).strip(&mut uri);
            assert_eq!(uri.to_string(), expected, "{target} below {base:?}");
        }
    }

    #[test]
    fn a_cookie_belongs_to_the_path() {
        assert_eq!(BasePath::new("").cookie_path(), "/");
        assert_eq!(BasePath::new("/aethon").cookie_path(), "/aethon");
    }
}
