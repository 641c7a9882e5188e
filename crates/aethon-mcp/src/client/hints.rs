//! The title, the hints and the result schema that a server gives a tool. These are unverified claims, so the model sees them, but
//! they decide nothing.

use rmcp::model::Tool;

use super::words::brief;

/// Maximum length of the form of a result.
const MAX_SCHEMA: usize = 300;

/// Returns the description of a tool with the rest of what its server says.
pub(super) fn described(tool: &Tool) -> String {
    let said = tool.description.as_deref().unwrap_or_default();
    let annotations = tool.annotations.as_ref();
    let title = tool.title.as_deref().or(annotations.and_then(|hints| hints.title.as_deref())).map(brief);
    let title =
        title.filter(|title| !title.is_empty() && !said.contains(title.as_str()) && *title != tool.name);
    let mut parts: Vec<String> = title.map(|title| format!("{title}.")).into_iter().collect();
    if !said.trim().is_empty() {
        parts.push(said.trim().to_owned());
    }
    let hints = annotations.map(|hints| {
        let hint = |hint: Option<bool>, word: &'static str, other: &'static str| match hint {
            Some(true) => word,
            Some(false) => other,
            None => "",
        };
        // A read-only tool cannot be destructive, whatever its other hints claim.
        let writes = hints.read_only_hint != Some(true);
        let destructive = hint(hints.destructive_hint.filter(|_| writes), "destructive", "only adds");
        let idempotent = hint(hints.idempotent_hint.filter(|_| writes), "repeating it changes nothing", "");
        let open = hint(hints.open_world_hint, "", "stays within its own data");
        [destructive, idempotent, open].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>()
    });
    if let Some(hints) = hints.filter(|hints| !hints.is_empty()) {
        parts.push(format!("({})", hints.join("; ")));
    }
    if let Some(schema) = &tool.output_schema {
        let schema = serde_json::Value::Object((**schema).clone()).to_string();
        if schema.len() <= MAX_SCHEMA {
            parts.push(format!("Its result is JSON of the form {schema}"));
        }
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn titles_hints_and_results_are_described() {
        let check = |more: Value, expected: &str| {
            let mut tool = json!({"name": "a", "description": "does it", "inputSchema": {"type": "object"}});
            more.as_object().unwrap().iter().for_each(|(name, value)| tool[name] = value.clone());
            let tool: Tool = serde_json::from_value(tool).unwrap();
            assert_eq!(described(&tool), expected, "{more}");
        };
        check(json!({}), "does it");
        check(json!({"title": "Do it all"}), "Do it all. does it");
        check(json!({"title": "does it"}), "does it");
        check(json!({"annotations": {"title": "Older"}}), "Older. does it");
        check(json!({"annotations": {"readOnlyHint": true, "destructiveHint": true}}), "does it");
        check(
            json!({"annotations": {"destructiveHint": true, "openWorldHint": true}}),
            "does it (destructive)",
        );
        check(
            json!({"annotations": {"destructiveHint": false, "idempotentHint": true, "openWorldHint": false}}),
            "does it (only adds; repeating it changes nothing; stays within its own data)",
        );
        let schema = json!({"type": "object", "properties": {"sum": {"type": "number"}}});
        check(json!({"outputSchema": schema}), &format!("does it Its result is JSON of the form {schema}"));
        let large = json!({"type": "object", "description": "x".repeat(400)});
        check(json!({"outputSchema": large}), "does it");
    }
}
