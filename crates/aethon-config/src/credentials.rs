//! `HOME/credentials`: one secret per file, which the configuration references as `${credential:NAME}`.

use std::fs;
use std::io;
use std::path::Path;

use aethon_core::secret::Secret;
use aethon_files::{Refusal, read_given};

use crate::private_file;

/// The maximum size. No key or certificate needs more; a larger file is a mistake.
const MAX_SIZE: usize = 64 * 1024;

/// Returns whether `name` can name a credential: up to 128 letters, digits, `.`, `_` and `-`, not all dots. No such name can
/// escape the directory.
pub fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 128
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        && name.bytes().any(|byte| byte != b'.')
}

/// Lists the names of the stored credentials, sorted. A missing directory holds none.
pub fn list(directory: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if let Some(name) = entry.file_name().to_str()
            && is_name(name)
            // Left by a writer that was killed.
            && !name.starts_with('.')
            && entry.path().is_file()
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// The minimum length of lines that are searched for on their own.
const LONG_LINE: usize = 16;

/// Returns the contents of the stored credentials, referenced or not, so that they can be masked in text. Besides each file as
/// a whole these are its long lines without blanks (those of a PEM key, for example) and the long strings of a JSON document.
/// Unreadable files are skipped: nothing else can read them either.
pub fn values(directory: &Path) -> Vec<Secret> {
    let names = list(directory).unwrap_or_default();
    let mut values = Vec::new();
    for text in names.iter().filter_map(|name| read(directory, name).ok()) {
        values.extend(parts(&text));
        values.push(Secret::new(text));
    }
    values
}

/// The secret fields of a stored sign-in. A server chose the others, such as scopes and addresses, and must not decide which
/// words are masked.
const SIGN_IN_SECRETS: [&str; 3] = ["access_token", "refresh_token", "client_secret"];
/// What every document of a sign-in has.
const SIGN_IN_MARKS: [&str; 3] = ["resource", "token_endpoint", "client_id"];

/// Returns the parts of a credential that are secrets by themselves: its long lines without blanks, and the long strings of a
/// JSON document; of a sign-in at an MCP server, its tokens.
pub fn parts(text: &str) -> Vec<Secret> {
    let lines = text.lines().map(str::trim).filter(|line| line.len() >= LONG_LINE);
    let mut values: Vec<_> =
        lines.filter(|line| !line.contains(char::is_whitespace)).map(Secret::new).collect();
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(document) if SIGN_IN_MARKS.iter().all(|mark| document.get(*mark).is_some()) => {
            let secrets = SIGN_IN_SECRETS.iter().filter_map(|name| document.get(*name)?.as_str());
            values.extend(secrets.filter(|secret| !secret.is_empty()).map(Secret::new));
        }
        Ok(document) => strings(&document, &mut values),
        Err(_) => {}
    }
    values
}

/// Returns a stored credential; `None` if there is none of this name.
pub fn load(directory: &Path, name: &str) -> io::Result<Option<Secret>> {
    require_name(name)?;
    match directory.join(name).symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
        Ok(_) => read(directory, name)
            .map(|text| Some(Secret::new(text)))
            .map_err(|(why, _)| io::Error::other(why)),
    }
}

fn strings(value: &serde_json::Value, found: &mut Vec<Secret>) {
    match value {
        serde_json::Value::String(text) if text.len() >= LONG_LINE && !text.starts_with("http") => {
            found.push(Secret::new(text));
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        serde_json::Value::Object(fields) => fields.values().for_each(|field| strings(field, found)),
        _ => {}
    }
}

/// Stores a credential, replacing one of the same name.
pub fn store(directory: &Path, name: &str, value: &Secret) -> io::Result<()> {
    require_name(name)?;
    private_file::create_directory(directory)?;
    private_file::write(&directory.join(name), value.expose().as_bytes())
}

/// Removes a credential. Returns `false` if there was none.
pub fn remove(directory: &Path, name: &str) -> io::Result<bool> {
    require_name(name)?;
    match fs::remove_file(directory.join(name)) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn require_name(name: &str) -> io::Result<()> {
    if is_name(name) {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("{name:?} is not a name for a credential; letters, digits, `.`, `_` and `-` are allowed"),
    ))
}

/// Reads a credential without its trailing newline; the error names the problem and the allowed form.
pub(crate) fn read(directory: &Path, name: &str) -> Result<String, (String, String)> {
    if !is_name(name) {
        return Err((
            format!("{name:?} is not a name for a credential"),
            "letters, digits, `.`, `_` and `-`".to_owned(),
        ));
    }
    let path = directory.join(name);
    if matches!(path.symlink_metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound) {
        return Err((
            format!("there is no secret {name} in {}", directory.display()),
            format!("a stored secret; `aethon-cli secrets set {name}` stores one"),
        ));
    }
    let allowed = || format!("a file {} with the secret", path.display());
    read_file(&path)
        .map_err(|found| (format!("{} {}", path.display(), found.trim_start_matches("it ")), allowed()))
}

/// Reads a secret from a file, without its trailing newline. The error says what is wrong with it, as in `it cannot be read`.
pub(crate) fn read_file(path: &Path) -> Result<String, String> {
    let unreadable = |why: String| format!("it cannot be read: {why}");
    let unfit = || format!("it is not a file of at most {MAX_SIZE} bytes");
    // It may be a link, as secrets are that a container or a service is given.
    let contents = read_given(path, MAX_SIZE).map_err(|refusal| match refusal {
        Refusal::Failed(error) => unreadable(error.to_string()),
        _ => unfit(),
    })?;
    let Some(contents) = contents else {
        return Err(unreadable("there is no such file".to_owned()));
    };
    if !contents.is_whole {
        return Err(unfit());
    }
    let mut value = String::from_utf8(contents.bytes).map_err(|error| unreadable(error.to_string()))?;
    // Some editors put a byte order mark at the start of a file; no service issues one.
    if value.starts_with('\u{feff}') {
        value.remove(0);
    }
    if value.ends_with('\n') {
        value.pop();
        if value.ends_with('\r') {
            value.pop();
        }
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_values_are_listed_with_their_long_parts() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("plain"), "hunter2hunter2\n").unwrap();
        fs::write(
            home.path().join("pem"),
            "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n-----END KEY-----\n",
        )
        .unwrap();
        fs::write(home.path().join("account"), r#"{"type": "x", "key": {"private": ["0123456789abcdef"]}}"#)
            .unwrap();
        let values = values(home.path());
        let holds = |wanted: &str| values.iter().any(|value| value.expose() == wanted);
        assert!(holds("hunter2hunter2") && holds("MIIEvQIBADANBgkqhkiG9w0") && holds("0123456789abcdef"));
        assert!(!holds("x") && !holds("-----BEGIN KEY-----"));
        assert!(super::values(&home.path().join("none")).is_empty());
    }

    #[test]
    fn sign_in_document_keeps_only_its_tokens_secret() {
        let grant = r#"{
            "resource": "https://tools.example/mcp", "issuer": "https://tools.example", "proof": "basic",
            "token_endpoint": "https://tools.example/token", "revocation_endpoint": "ftp://tools.example/revoke",
            "client_id": "client-with-a-long-name", "client_secret": "client-canary",
            "access_token": "access-canary", "refresh_token": null, "expires_at": 7,
            "scopes": ["repository:read-and-write"], "missing_scopes": ["the-assistant-and-its-owner"]
        }"#;
        let exposed: Vec<String> = parts(grant).iter().map(|part| part.expose().to_owned()).collect();
        assert_eq!(exposed, ["access-canary", "client-canary"]);
    }

    #[test]
    fn names_that_leave_the_directory_are_refused() {
        let check = |name: &str, expected: bool| assert_eq!(is_name(name), expected, "{name:?}");
        check("openai", true);
        check("OPENAI_API-KEY.v2", true);
        check(".hidden", true);
        check("..a", true);
        check("", false);
        check(".", false);
        check("..", false);
        check("../a", false);
        check("a/b", false);
        check("a\\b", false);
        check("a b", false);
        check("a\0b", false);
        check("clé", false);
        check(&"a".repeat(129), false);
    }

    #[test]
    fn a_stored_credential_is_listed_read_and_removed() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("credentials");
        assert!(list(&directory).unwrap().is_empty());
        store(&directory, "key", &Secret::new("one\n")).unwrap();
        store(&directory, "key", &Secret::new("two\r\n")).unwrap();
        assert_eq!(list(&directory).unwrap(), ["key"]);
        assert_eq!(read(&directory, "key").unwrap(), "two");
        assert!(remove(&directory, "key").unwrap());
        assert!(!remove(&directory, "key").unwrap());
        assert!(store(&directory, "../key", &Secret::new("x")).is_err());
        assert!(remove(&directory, "../config.toml").is_err());
    }

    #[test]
    fn a_single_trailing_newline_is_dropped() {
        let home = tempfile::tempdir().unwrap();
        let check = |content: &str, expected: &str| {
            fs::write(home.path().join("key"), content).unwrap();
            assert_eq!(read(home.path(), "key").unwrap(), expected, "{content:?}");
        };
        check("a", "a");
        check("a\n", "a");
        check("a\r\n", "a");
        check("a\n\n", "a\n");
        check(" a ", " a ");
        check("", "");
    }

    #[test]
    fn a_directory_or_an_enormous_file_is_no_credential() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("directory")).unwrap();
        fs::write(home.path().join("large"), vec![b'a'; 70_000]).unwrap();
        assert!(read(home.path(), "directory").is_err());
        assert!(read(home.path(), "large").is_err());
    }
}
