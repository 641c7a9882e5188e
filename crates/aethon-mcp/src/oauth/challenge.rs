//! The `WWW-Authenticate` header of a 401 or 403.

use aethon_core::exchange::ExchangeResponse;

/// Maximum length of a header that is read.
const MAX_LENGTH: usize = 8 * 1024;

/// The demands of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Challenge {
    /// Where the metadata of the protected resource is.
    pub resource_metadata: Option<String>,
    /// The scopes that are needed, separated by blanks.
    pub scope: Option<String>,
    /// The error code, such as `insufficient_scope`.
    pub error: Option<String>,
}

impl Challenge {
    /// Returns the challenge for bearer tokens in a response, if it has one.
    pub fn of(response: &ExchangeResponse) -> Option<Self> {
        let named = response.headers.iter().filter(|(name, _)| name == "www-authenticate");
        named.filter_map(|(_, value)| Self::parse(value)).next()
    }

    /// Parses the value of a header.
    pub fn parse(header: &str) -> Option<Self> {
        let header = header.get(..MAX_LENGTH).unwrap_or(header);
        let mut rest = header;
        let mut found: Option<Self> = None;
        while !rest.trim_start_matches([' ', ',', '\t']).is_empty() {
            rest = rest.trim_start_matches([' ', ',', '\t']);
            let end = rest.find([' ', '=', ',']).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            match after.trim_start_matches(' ').strip_prefix('=') {
                // A parameter of the scheme before it.
                Some(value) => {
                    let (value, after) = value_of(value.trim_start());
                    if let Some(challenge) = found.as_mut() {
                        challenge.set(word, value);
                    }
                    rest = after;
                }
                // Another scheme; the parameters of the one that was looked for are complete.
                None if found.is_some() => break,
                None => {
                    found = word.eq_ignore_ascii_case("bearer").then(Self::default);
                    rest = after;
                }
            }
        }
        found
    }

    /// Returns whether the token is fine and allows too little.
    pub fn needs_more_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    fn set(&mut self, name: &str, value: String) {
        let place = match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => &mut self.resource_metadata,
            "scope" => &mut self.scope,
            "error" => &mut self.error,
            _ => return,
        };
        place.get_or_insert(value);
    }
}

/// Splits a value, quoted or not, from what follows it.
fn value_of(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read_in_every_form() {
        let check = |header: &str, expected: Option<[Option<&str>; 3]>| {
            let expected = expected.map(|[metadata, scope, error]| Challenge {
                resource_metadata: metadata.map(str::to_owned),
                scope: scope.map(str::to_owned),
                error: error.map(str::to_owned),
            });
            assert_eq!(Challenge::parse(header), expected, "{header}");
        };
        check("Bearer", Some([None; 3]));
        check("bearer", Some([None; 3]));
        check(
            r#"Bearer resource_metadata="https://a.example/.well-known/x""#,
            Some([Some("https://a.example/.well-known/x"), None, None]),
        );
        check(
            r#"Bearer error="insufficient_scope", scope="a:read a:write", resource_metadata="https://a/""#,
            Some([Some("https://a/"), Some("a:read a:write"), Some("insufficient_scope")]),
        );
        check(r#"Bearer realm="a, \"b\" c" , scope = x"#, Some([None, Some("x"), None]));
        check(r#"Basic realm="x", Bearer scope="y""#, Some([None, Some("y"), None]));
        check(r#"Bearer scope="y", Basic scope="x""#, Some([None, Some("y"), None]));
        check(r#"Bearer scope="never ends"#, Some([None, Some("never ends"), None]));
        check(r#"Bearer scope="a", scope="b""#, Some([None, Some("a"), None]));
        check(r#"Basic realm="x""#, None);
        check("", None);
        check("=,=,= ,", None);
        check("Bearer scope=\u{e4}\u{f6}", Some([None, Some("\u{e4}\u{f6}"), None]));
    }
}
