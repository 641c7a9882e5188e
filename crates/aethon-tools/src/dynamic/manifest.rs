//! The manifest of a tool that was created at runtime, and its validation.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Maximum size of a program in bytes; it is passed as an argument.
const MAX_CODE: usize = 64 << 10;
/// Maximum characters of a description.
const MAX_DESCRIPTION: usize = 2_000;
/// Maximum size of a schema in bytes.
const MAX_SCHEMA: usize = 16 << 10;
/// Maximum length of a name.
const MAX_NAME: usize = 48;
/// Maximum timeout of a call in seconds.
const MAX_CALL: u64 = 600;

/// A tool as stored: `manifest.json`, with the program beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// Its name.
    pub(super) name: String,
    /// Its description, for the model.
    pub(super) description: String,
    /// JSON Schema of its arguments, an object.
    #[serde(default = "anything")]
    pub(super) parameters: Value,
    /// What runs the program.
    pub(super) interpreter: Interpreter,
    /// Timeout of a call.
    #[serde(default = "usual_time")]
    pub(super) timeout_seconds: u64,
}

/// What runs a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Interpreter {
    /// `sh -c`.
    Sh,
    /// `bash -c`.
    Bash,
    /// `python3 -c`.
    Python3,
    /// `node -e`.
    Node,
    /// `perl -e`.
    Perl,
}

pub(super) fn anything() -> Value {
    json!({"type": "object", "properties": {}})
}

fn usual_time() -> u64 {
    60
}

impl Interpreter {
    fn words(self) -> &'static str {
        match self {
            Self::Sh => "sh -c",
            Self::Bash => "bash -c",
            Self::Python3 => "python3 -c",
            Self::Node => "node -e",
            Self::Perl => "perl -e",
        }
    }
}

impl Manifest {
    /// Checks whether this is a valid tool with this program; the error is a sentence for the model.
    pub(super) fn check(&self, code: &str) -> Result<(), String> {
        check_name(&self.name)?;
        let parameters = &self.parameters;
        let is_object = parameters.get("type").and_then(Value::as_str) == Some("object");
        let wrong =
            if self.description.trim().is_empty() || self.description.chars().count() > MAX_DESCRIPTION {
                format!("`description` must say what the tool does, in at most {MAX_DESCRIPTION} characters")
            } else if !is_object || parameters.to_string().len() > MAX_SCHEMA {
                "`parameters` must be a JSON Schema with \"type\": \"object\"".to_owned()
            } else if code.trim().is_empty() || code.len() > MAX_CODE || code.contains('\0') {
                format!("`code` must be a program of at most {MAX_CODE} bytes")
            } else if !(1..=MAX_CALL).contains(&self.timeout_seconds) {
                format!("`timeout_seconds` must be between 1 and {MAX_CALL}")
            } else {
                return Ok(());
            };
        Err(wrong)
    }

    /// Returns the command that runs the program with these arguments on its standard input.
    pub(super) fn command(&self, code: &str, input: &Value) -> String {
        let (words, code, input) = (self.interpreter.words(), quoted(code), quoted(&input.to_string()));
        format!("printf '%s' {input} | {words} {code}")
    }
}

/// Checks whether a tool may have this name, which becomes the name of a folder.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    if begins && name.len() <= MAX_NAME && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(format!(
        "`name` must be of a-z, 0-9 and _, begin with a letter, and have at most {MAX_NAME} characters"
    ))
}

/// Quotes a text for the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(change: impl FnOnce(&mut Manifest)) -> Manifest {
        let mut manifest = Manifest {
            name: "add".into(),
            description: "Adds two numbers.".into(),
            parameters: anything(),
            interpreter: Interpreter::Sh,
            timeout_seconds: 5,
        };
        change(&mut manifest);
        manifest
    }

    #[test]
    fn incomplete_manifests_are_rejected() {
        assert_eq!(manifest(|_| {}).check("cat"), Ok(()));
        for name in ["", "Add", "../x", "a b", "a/b", "1a", "_a", ".", &"a".repeat(49)] {
            assert!(manifest(|it| it.name = name.to_owned()).check("cat").is_err(), "{name:?}");
        }
        assert!(manifest(|it| it.description.clear()).check("cat").is_err());
        assert!(manifest(|it| it.parameters = json!([])).check("cat").is_err());
        assert!(manifest(|it| it.timeout_seconds = 0).check("cat").is_err());
        for code in ["", " ", "a\0b", &"x".repeat(MAX_CODE + 1)] {
            assert!(manifest(|_| {}).check(code).is_err());
        }
    }

    #[test]
    fn program_and_arguments_reach_the_interpreter_as_they_are() {
        let command = manifest(|_| {}).command("echo 'it'; cat", &json!({"a": "it's $HOME `id`"}));
        assert_eq!(command, r#"printf '%s' '{"a":"it'\''s $HOME `id`"}' | sh -c 'echo '\''it'\''; cat'"#);
    }
}
