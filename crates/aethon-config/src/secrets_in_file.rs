//! Which secrets stand in the configuration file itself instead of being referred to.
//!
//! Copies of the file contain them too.

use std::path::Path;

use serde_json::Value;

use crate::json_schema::schema;
use crate::mask::MASKED_NAMES;
use crate::origins::is_secret;

/// Returns the keys of a configuration file whose values are secrets in clear. A file that cannot be read has none.
pub fn secrets_in_file(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let document = toml::from_str::<Value>(&text).unwrap_or_default();
    let (whole, mut found) = (schema(), Vec::new());
    collect(&document, &whole, &mut Vec::new(), &mut found);
    found
}

fn collect(value: &Value, whole: &Value, steps: &mut Vec<String>, found: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (key, inner) in entries {
                steps.push(key.clone());
                collect(inner, whole, steps, found);
                steps.pop();
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, whole, steps, found)),
        Value::String(text) if !text.trim().is_empty() && !text.contains("${") => {
            let path: Vec<&str> = steps.iter().map(String::as_str).collect();
            let is_masked = path.last().is_some_and(|last| MASKED_NAMES.contains(last));
            if is_masked || is_secret(whole, &path) {
                found.push(path.join("."));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
#[test]
fn secrets_in_clear_are_named_and_references_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    let text = "[model]\nprovider = \"openai\"\napi_key = \"sk-1\"\n[dashboard]\nauth_token = \"t\"\n[webhook]\n\
                secret = \"${credential:HOOK}\"\n[mcp.servers.x.env]\nKEY = \"k\"\n[model.extra]\npassword = \"p\"\n";
    std::fs::write(&path, text).unwrap();
    let mut found = secrets_in_file(&path);
    found.sort();
    assert_eq!(
        found,
        ["dashboard.auth_token", "mcp.servers.x.env.KEY", "model.api_key", "model.extra.password"]
    );
    assert_eq!(secrets_in_file(&folder.path().join("none")), Vec::<String>::new());
}
