//! References in strings: `${NAME}`, `${NAME:-default}`, `${credential:NAME}`, `${file:/PATH}`, and `$$` for a
//! literal `$`.
//!
//! They are resolved when a value is used, after the layers are merged, so a reference that a later layer overrides costs
//! nothing and cannot fail. Inserted text is never searched for references again.

use std::borrow::Cow;
use std::path::Path;

use aethon_core::secret::Secret;

use crate::credentials;
use crate::echo::shown;

/// What references can refer to.
#[derive(Clone, Copy)]
pub(crate) struct References<'a> {
    /// The environment as it was when the sources were collected.
    pub(crate) environment: &'a [(String, String)],
    /// The directory of credentials, one per file.
    pub(crate) credentials: &'a Path,
}

/// A string with its references resolved.
#[derive(Debug)]
pub(crate) struct Expanded<'t> {
    /// The text.
    pub(crate) text: Cow<'t, str>,
    /// Whether any part of it came from a reference.
    pub(crate) is_referenced: bool,
    /// The credentials inserted into it.
    pub(crate) credentials: Vec<Secret>,
}

/// A reference that cannot be resolved.
#[derive(Debug)]
pub(crate) struct Unresolved {
    /// The reference and its problem.
    pub(crate) found: String,
    /// The values allowed.
    pub(crate) allowed: String,
}

impl References<'_> {
    /// The environment variable `name`.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Resolves the references in `text`.
    pub(crate) fn expand<'t>(&self, text: &'t str) -> Result<Expanded<'t>, Unresolved> {
        let mut expanded =
            Expanded { text: Cow::Borrowed(text), is_referenced: false, credentials: Vec::new() };
        if !text.contains('$') {
            return Ok(expanded);
        }
        let mut output = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(position) = rest.find('$') {
            output.push_str(&rest[..position]);
            rest = &rest[position + 1..];
            if let Some(after) = rest.strip_prefix('$') {
                output.push('$');
                rest = after;
            } else if let Some(after) = rest.strip_prefix('{') {
                let (body, after) = after.split_once('}').ok_or_else(|| Unresolved {
                    found: "a `${` without its `}`".to_owned(),
                    allowed:
                        "${NAME}, ${NAME:-default}, ${credential:NAME} or ${file:/PATH}; a literal `$` is \
                              written `$$`"
                            .to_owned(),
                })?;
                expanded.is_referenced = true;
                output.push_str(&self.resolve(body, &mut expanded.credentials)?);
                rest = after;
            } else {
                output.push('$');
            }
        }
        output.push_str(rest);
        expanded.text = Cow::Owned(output);
        Ok(expanded)
    }

    fn resolve(&self, body: &str, taken: &mut Vec<Secret>) -> Result<String, Unresolved> {
        if let Some(name) = body.strip_prefix("credential:") {
            let value = credentials::read(self.credentials, name).map_err(|(found, allowed)| {
                // The name of a credential is shown; what does not look like a name may be a credential itself.
                let without =
                    |text: String| if name.is_empty() { text } else { text.replace(name, shown(name)) };
                let found = format!("${{credential:{}}}, but {}", shown(name), without(found));
                Unresolved { found, allowed: without(allowed) }
            })?;
            taken.push(Secret::new(value.as_str()));
            return Ok(value);
        }
        if let Some(path) = body.strip_prefix("file:") {
            let value = file(path)?;
            taken.push(Secret::new(value.as_str()));
            return Ok(value);
        }
        let (name, fallback) = match body.split_once(":-") {
            Some((name, fallback)) => (name, Some(fallback)),
            None => (body, None),
        };
        if !is_variable_name(name) {
            return Err(Unresolved {
                found: format!("${{{}}}, which names no variable", shown(body)),
                allowed: "${NAME} with letters, digits and underscores; a literal `${` is written `$${`"
                    .to_owned(),
            });
        }
        match (self.variable(name), fallback) {
            // As in a shell, `:-` also replaces an empty variable.
            (Some(""), Some(fallback)) | (None, Some(fallback)) => Ok(fallback.replace("$$", "$")),
            (Some(value), _) => Ok(value.to_owned()),
            (None, None) => Err(Unresolved {
                found: format!("${{{0}}}, but the environment variable {0} is not set", shown(name)),
                allowed: format!("a variable that is set, or a fallback as in ${{{}:-value}}", shown(name)),
            }),
        }
    }
}

/// Reads a file that a container, a service manager or a vault was asked to put there, such as `/run/secrets/token`. One
/// without content is refused whatever the key: it was mounted wrongly, and the value would silently be none.
fn file(path: &str) -> Result<String, Unresolved> {
    let unresolved = |found: String, allowed: &str| Unresolved {
        found: format!("${{file:{}}}, but {found}", shown(path)),
        allowed: allowed.to_owned(),
    };
    if !path.starts_with('/') {
        let found = "that is not a full path".to_owned();
        return Err(unresolved(found, "${file:/PATH}, such as ${file:/run/secrets/token}"));
    }
    let allowed = "a file with the value, which this account may read";
    let value = credentials::read_file(Path::new(path)).map_err(|found| unresolved(found, allowed))?;
    if value.trim().is_empty() {
        return Err(unresolved("the file is empty".to_owned(), allowed));
    }
    Ok(value)
}

fn is_variable_name(name: &str) -> bool {
    name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_resolve_or_explain_the_failure() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("key"), "s3cret\n").unwrap();
        let environment = [("NAME", "value"), ("EMPTY", ""), ("OTHER", "${NAME}")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let references = References { environment: &environment, credentials: home.path() };
        let check = |text: &str, expected: Result<&str, &str>| match (references.expand(text), expected) {
            (Ok(expanded), Ok(expected)) => assert_eq!(expanded.text, expected, "{text}"),
            (Err(failure), Err(part)) => assert!(failure.found.contains(part), "{text}: {failure:?}"),
            (outcome, _) => panic!("{text}: {outcome:?}"),
        };
        check("plain", Ok("plain"));
        check("${NAME}", Ok("value"));
        check("a-${NAME}-${NAME}-b", Ok("a-value-value-b"));
        check("${NAME:-other}", Ok("value"));
        check("${NOPE:-other}", Ok("other"));
        check("${NOPE:-}", Ok(""));
        check("${EMPTY}", Ok(""));
        check("${EMPTY:-other}", Ok("other"));
        check("${NOPE:-http://[::1]:80/a-b}", Ok("http://[::1]:80/a-b"));
        check("${NOPE:-x$$y}", Ok("x$y"));
        check("$$", Ok("$"));
        check("$${NAME}", Ok("${NAME}"));
        check("$$${NAME}", Ok("$value"));
        check("cost: 5$ or $HOME", Ok("cost: 5$ or $HOME"));
        check("${OTHER}", Ok("${NAME}"));
        check("é${NAME}ü", Ok("évalueü"));
        check("${credential:key}", Ok("s3cret"));
        check("Bearer ${credential:key}", Ok("Bearer s3cret"));
        check("${NOPE}", Err("${NOPE}, but the environment variable NOPE is not set"));
        check("${NAME", Err("without its `}`"));
        check("${}", Err("names no variable"));
        check("${1ST}", Err("names no variable"));
        check("${NA ME}", Err("names no variable"));
        check("${credential:nope}", Err("${credential:nope}, but"));
        check("${credential:../key}", Err("not a name"));
        check("${credential:}", Err("not a name"));
        let path = |name: &str| home.path().join(name).display().to_string();
        std::fs::write(home.path().join("blank"), " \n").unwrap();
        check(&format!("${{file:{}}}", path("key")), Ok("s3cret"));
        check(&format!("Bearer ${{file:{}}}!", path("key")), Ok("Bearer s3cret!"));
        check(&format!("${{file:{}}}", path("blank")), Err("/blank}, but the file is empty"));
        check(&format!("${{file:{}}}", path("none")), Err("/none}, but it cannot be read"));
        check(&format!("${{file:{}}}", home.path().display()), Err("it is not a file of at most"));
        check("${file:key}", Err("${file:key}, but that is not a full path"));
        check("${file:}", Err("not a full path"));
    }
}
