//! Repairs messages of a server before the SDK reads them, so that one odd entry or block costs itself.
//!
//! The SDK reads a result as a whole: one tool without a schema, one unknown block of content, and nothing of it is used.
//! Here, single entries are left out or replaced by a sentence, and everything else stays as it came.

use rmcp::model::{ContentBlock, MetaObject, Prompt, Resource, ResourceTemplate, Tool};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::words::brief;

/// Where a repaired list says which entries are missing.
const LEFT_OUT: &str = "aethon/leftOut";
/// Where it says how many entries were not even looked at.
const SURPLUS: &str = "aethon/surplus";
/// How many entries of a list are looked at. Reading more would cost more than the few that can be used are worth.
pub(super) const MAX_ENTRIES: usize = 1_024;

/// The entries that a repaired list lacks.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// The entries that are none, and why.
    pub(super) odd: Vec<String>,
    /// The number of entries beyond those that were looked at.
    pub(super) surplus: usize,
}

/// Returns the omissions of a list.
pub(super) fn left_out(meta: Option<&MetaObject>) -> LeftOut {
    let named = meta.and_then(|meta| meta.get(LEFT_OUT)?.as_array());
    let odd = named.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    let surplus = meta.and_then(|meta| meta.get(SURPLUS)?.as_u64()).unwrap_or_default();
    LeftOut { odd, surplus: usize::try_from(surplus).unwrap_or_default() }
}

/// Checks an entry of a list, and returns whether it was repaired, or why it is none.
type Check = fn(&mut Value) -> Result<bool, &'static str>;

/// Repairs the text of a message; `None` if nothing is to be done.
pub(super) fn text(message: &[u8]) -> Option<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(message).ok()?;
    repair(&mut value).then(|| value.to_string().into_bytes())
}

/// Repairs a message, and returns whether anything was wrong.
pub(super) fn repair(message: &mut Value) -> bool {
    let Some(result) = message.get_mut("result").and_then(Value::as_object_mut) else { return false };
    let mut is_repaired = false;
    let mut is_list = false;
    for (key, check) in [
        ("tools", tool as Check),
        ("prompts", entry::<Prompt>),
        ("resources", entry::<Resource>),
        ("resourceTemplates", entry::<ResourceTemplate>),
    ] {
        if result.contains_key(key) {
            is_list = true;
            is_repaired |= list(result, key, check);
        }
    }
    if result.contains_key("content") && !is_list {
        is_repaired |= content(result);
    }
    if is_list || result.contains_key("content") {
        is_repaired |= fields(result);
    }
    is_repaired
}

/// Leaves the entries of a list out that are none, and says so in the result.
fn list(result: &mut Map<String, Value>, key: &str, check: Check) -> bool {
    let Some(Value::Array(entries)) = result.get_mut(key) else {
        result.insert(key.to_owned(), json!([]));
        note(result, LEFT_OUT, vec!["its list (no list)".to_owned()].into());
        return true;
    };
    let surplus = entries.len().saturating_sub(MAX_ENTRIES);
    entries.truncate(MAX_ENTRIES);
    let (mut odd, mut is_changed, mut at) = (Vec::new(), false, 0);
    entries.retain_mut(|entry| {
        at += 1;
        match check(entry) {
            Ok(was_repaired) => {
                is_changed |= was_repaired;
                true
            }
            Err(why) => {
                let name =
                    entry.get("name").and_then(Value::as_str).map(brief).filter(|name| !name.is_empty());
                odd.push(format!("{} ({why})", name.unwrap_or_else(|| format!("entry {at}"))));
                false
            }
        }
    });
    is_changed |= !odd.is_empty() || surplus > 0;
    if !odd.is_empty() {
        note(result, LEFT_OUT, odd.into());
    }
    if surplus > 0 {
        note(result, SURPLUS, surplus.into());
    }
    is_changed
}

fn note(result: &mut Map<String, Value>, key: &str, value: Value) {
    if !result.get("_meta").is_some_and(Value::is_object) {
        result.insert("_meta".to_owned(), json!({}));
    }
    if let Some(meta) = result.get_mut("_meta") {
        meta[key] = value;
    }
}

/// Removes fields of a result that have the wrong form.
fn fields(result: &mut Map<String, Value>) -> bool {
    let before = result.len();
    result.retain(|key, value| match key.as_str() {
        "_meta" => value.is_object(),
        "nextCursor" | "resultType" | "cacheScope" => value.is_string(),
        "ttlMs" => value.is_u64(),
        _ => true,
    });
    result.len() != before
}

fn parses<T: DeserializeOwned>(value: &Value) -> bool {
    T::deserialize(value).is_ok()
}

/// Checks an entry of another list.
fn entry<T: DeserializeOwned>(value: &mut Value) -> Result<bool, &'static str> {
    if parses::<T>(value) { Ok(false) } else { Err("not understood") }
}

/// Checks a tool, and removes malformed optional fields.
fn tool(value: &mut Value) -> Result<bool, &'static str> {
    let Value::Object(fields) = value else { return Err("not an object") };
    match fields.get("name") {
        Some(Value::String(name)) if !name.trim().is_empty() => {}
        Some(Value::String(_)) | None => return Err("no name"),
        Some(_) => return Err("its name is no text"),
    }
    match fields.get("inputSchema") {
        Some(Value::Object(_)) => {}
        None | Some(Value::Null) => return Err("no input schema"),
        Some(_) => return Err("its input schema is no object"),
    }
    if parses::<Tool>(value) {
        return Ok(false);
    }
    let Value::Object(fields) = value else { return Ok(false) };
    let hint = |hints: &Value| hints.get("readOnlyHint").and_then(Value::as_bool);
    let reads = fields.get("annotations").and_then(hint);
    fields.retain(|key, value| match key.as_str() {
        "name" | "inputSchema" => true,
        "description" | "title" => value.is_string(),
        _ => false,
    });
    if let Some(reads) = reads {
        fields.insert("annotations".into(), json!({ "readOnlyHint": reads }));
    }
    if parses::<Tool>(value) { Ok(true) } else { Err("not understood") }
}

/// Replaces blocks of the result of a call that cannot be read by a sentence.
fn content(result: &mut Map<String, Value>) -> bool {
    let before = result.get("content").cloned();
    let had_error = result.get("isError").cloned();
    let blocks = match result.remove("content") {
        Some(Value::Array(blocks)) => blocks,
        Some(Value::Null) | None => Vec::new(),
        Some(Value::String(text)) => vec![json!({ "type": "text", "text": text })],
        Some(single) => vec![single],
    };
    let blocks: Vec<Value> = blocks.into_iter().map(block).collect();
    result.insert("content".into(), blocks.into());
    match result.get("isError") {
        None | Some(Value::Bool(_)) => {}
        Some(Value::String(word)) => {
            let is_error = word.eq_ignore_ascii_case("true");
            result.insert("isError".into(), is_error.into());
        }
        Some(_) => {
            result.remove("isError");
        }
    }
    before.as_ref() != result.get("content") || had_error.as_ref() != result.get("isError")
}

fn block(value: Value) -> Value {
    if parses::<ContentBlock>(&value) {
        return value;
    }
    let kind = value.get("type").and_then(Value::as_str).map(brief);
    let text = match (kind.as_deref(), &value) {
        (_, Value::String(text)) => text.clone(),
        (Some("text"), block) => match block.get("text") {
            Some(other) if !other.is_null() => {
                format!("[a text that is no string: {}]", brief(&other.to_string()))
            }
            _ => "[a text without words]".to_owned(),
        },
        (Some(kind), block) => match block.get("text").and_then(Value::as_str) {
            Some(text) => format!("[content of the kind {kind:?}] {text}"),
            None => format!("[content of the kind {kind:?}, which cannot be read here]"),
        },
        (None, _) => "[content of no kind, which cannot be read here]".to_owned(),
    };
    json!({ "type": "text", "text": text })
}

#[cfg(test)]
mod tests {
    use rmcp::model::{CallToolResult, ListToolsResult};

    use super::*;

    fn repaired(result: Value) -> Value {
        let mut message = json!({"jsonrpc": "2.0", "id": 1, "result": result});
        repair(&mut message);
        message["result"].take()
    }

    #[test]
    fn odd_tools_are_left_out_and_named_and_the_others_stay() {
        let schema = json!({"type": "object"});
        let result = repaired(json!({"tools": [
            {"name": "good", "inputSchema": schema},
            {"name": "none"},
            {"name": "null", "inputSchema": null},
            {"name": "text", "inputSchema": "object"},
            {"inputSchema": schema},
            {"name": 7, "inputSchema": schema},
            {"name": " ", "inputSchema": schema},
            "tool",
            null,
            {"name": "odd", "inputSchema": schema, "description": 4, "annotations": {"readOnlyHint": true, "title": 3}},
        ], "nextCursor": 5, "_meta": "x", "ttlMs": "soon"}));
        let list: ListToolsResult = serde_json::from_value(result).unwrap();
        let names: Vec<&str> = list.tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["good", "odd"]);
        assert_eq!(list.tools[1].annotations.as_ref().unwrap().read_only_hint, Some(true));
        assert_eq!(list.next_cursor, None);
        assert_eq!(
            left_out(list.meta.as_ref()).odd,
            [
                "none (no input schema)",
                "null (no input schema)",
                "text (its input schema is no object)",
                "entry 5 (no name)",
                "entry 6 (its name is no text)",
                "entry 7 (no name)",
                "entry 8 (not an object)",
                "entry 9 (not an object)",
            ]
        );
        let tool = json!({"name": "a", "inputSchema": {}});
        let many: Value = vec![tool; MAX_ENTRIES + 7].into();
        let list: ListToolsResult = serde_json::from_value(repaired(json!({"tools": many}))).unwrap();
        assert_eq!((list.tools.len(), left_out(list.meta.as_ref()).surplus), (MAX_ENTRIES, 7));
        for odd in [json!(null), json!({}), json!("x")] {
            let list: ListToolsResult = serde_json::from_value(repaired(json!({"tools": odd}))).unwrap();
            assert!(list.tools.is_empty());
        }
    }

    #[test]
    fn odd_blocks_become_a_sentence_beside_the_rest() {
        let texts = |result: Value| -> (Vec<String>, Option<bool>) {
            let result: CallToolResult = serde_json::from_value(repaired(result)).unwrap();
            let text = |block: &ContentBlock| block.as_text().map(|text| text.text.clone());
            (result.content.iter().filter_map(text).collect(), result.is_error)
        };
        let good = json!({"type": "text", "text": "good"});
        let (said, _) = texts(json!({"content": [good, {"type": "hologram"}, {"type": "text", "text": 42},
            {"type": "text"}, {"type": "video", "text": "words"}, 7, "bare"]}));
        assert_eq!(said[0], "good");
        assert!(
            said[1].contains("hologram") && said[2].contains("42") && said[4].contains("words"),
            "{said:?}"
        );
        assert_eq!((said.len(), said[6].as_str()), (7, "bare"));
        assert_eq!(texts(json!({"content": "words", "isError": "true"})), (vec!["words".into()], Some(true)));
        assert_eq!(texts(json!({"content": good, "isError": 3})), (vec!["good".into()], None));
        assert_eq!(texts(json!({"content": null})), (vec![], None));
    }

    #[test]
    fn valid_fields_are_unchanged() {
        for message in [
            json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "a", "inputSchema": {}}]}}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "a"}]}}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "x"}}),
            json!({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}}),
            json!([1]),
        ] {
            let mut value = message.clone();
            assert!(!repair(&mut value), "{message}");
            assert_eq!(value, message);
        }
    }
}
