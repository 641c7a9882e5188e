//! Finds the tool that a refusal is about, and how many tools a service takes.
//!
//! Services name a tool by its name, by its place in the list, or by the path of what is wrong in it. A refusal that does
//! none of these changes nothing.

use aethon_core::model::{ModelError, ModelErrorKind};
use aethon_core::tool::server_of;
use serde_json::Value;

/// What comes before the place of a tool in a list.
const LISTS: [&str; 4] = ["function_declarations", "functiondeclarations", "toolconfig.tools", "tools"];
/// What may stand between a list and a place in it.
const BETWEEN: [&str; 8] = ["[", ".", "/", "', ", "\", ", " -> ", "->", "']["];
/// Phrases about a list that is too long.
const TOO_MANY: [&str; 7] =
    ["array too long", "too many", "maximum", "at most", "exceed", "more than", "no more than"];

/// Phrases about what a model has called, or about the conversation. A tool that is named there is not refused.
const CALLS: [&str; 9] = [
    "tool_use_failed",
    "failed_generation",
    "did not match schema",
    "tool call",
    "tool_call",
    "function call",
    "response_format",
    "messages[",
    "contents[",
];
/// Phrases about the declaration of a tool.
const DECLARATIONS: [&str; 6] = [
    "schema for function",
    "function_declarations",
    "functiondeclarations",
    "toolconfig.tools",
    "tools[",
    "tools.",
];

/// How many tools are sent at least to a service that takes fewer without saying how many.
const MIN_TOOLS: usize = 16;

/// What a refusal says about the tools.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ToolRefusal {
    /// One of them is refused: its name as it was sent.
    Tool(String),
    /// There are too many; so many may be sent.
    TooMany(usize),
}

/// Reads a refusal of a request with this body.
pub(crate) fn of(error: &ModelError, body: &[u8]) -> Option<ToolRefusal> {
    let is_wrong = error.kind() == ModelErrorKind::InvalidRequest || error.status() == Some(422);
    if !is_wrong || !matches!(error.status(), Some(400 | 422)) {
        return None;
    }
    let detail = error.detail().filter(|detail| !detail.is_empty())?;
    let body: Value = serde_json::from_slice(body).ok()?;
    let listed = names(&body);
    let named = || by_name(detail, &listed).or_else(|| by_place(detail, &listed));
    let named = || named().or_else(|| by_path(detail, &body, &listed));
    match if is_about_calls(detail) { None } else { named() } {
        Some(name) => Some(ToolRefusal::Tool(name)),
        None => too_many(detail, listed.iter().flatten().count()).map(ToolRefusal::TooMany),
    }
}

/// Returns whether a refusal is about a call or the conversation: it says so before it says anything about a declaration.
fn is_about_calls(detail: &str) -> bool {
    let words = detail.to_lowercase();
    let first = |signs: &[&str]| signs.iter().filter_map(|sign| words.find(sign)).min();
    first(&CALLS).is_some_and(|at| first(&DECLARATIONS).is_none_or(|declared| at < declared))
}

/// Describes a refusal that is about a tool.
pub(crate) fn explained(error: &ModelError, title: &str, tool: &str) -> ModelError {
    let whole = error.to_string();
    let quote = whole.find(" It says: ").map_or("", |at| &whole[at..]);
    let code = error.status().map(|status| format!(" ({status})")).unwrap_or_default();
    let remedy = match server_of(tool) {
        Some(server) => format!("it comes from the MCP server `{server}`; check mcp.servers.{server}"),
        None => "check model.extra".to_owned(),
    };
    let sentence =
        super::sentence::capital(format!("{title} does not accept the tool `{tool}`{code}: {remedy}."));
    let mut explained = ModelError::new(error.kind(), sentence + quote)
        .with_detail(error.detail().unwrap_or_default())
        .with_request_id(error.request_id().map(str::to_owned));
    if let Some(status) = error.status() {
        explained = explained.with_status(status);
    }
    explained
}

/// Returns the tools of a body in their order. `None`: a tool of the service's own.
fn names(body: &Value) -> Vec<Option<String>> {
    tools(body).into_iter().map(|tool| name_of(tool).map(str::to_owned)).collect()
}

fn tools(body: &Value) -> Vec<&Value> {
    let list = body.pointer("/toolConfig/tools").or_else(|| body.get("tools")).and_then(Value::as_array);
    let list = list.map(Vec::as_slice).unwrap_or_default();
    match list.iter().find_map(|tool| tool.get("functionDeclarations")?.as_array()) {
        Some(declared) => declared.iter().collect(),
        None => list.iter().collect(),
    }
}

fn name_of(tool: &Value) -> Option<&str> {
    let known = ["/function/name", "/toolSpec/name", "/name"];
    known.iter().find_map(|place| tool.pointer(place)?.as_str())
}

/// Finds a tool by its name. An ordinary word counts only in quotation marks.
fn by_name(detail: &str, listed: &[Option<String>]) -> Option<String> {
    let places = listed.iter().flatten().filter_map(|name| Some((place_of(detail, name)?, name)));
    // Of two at the same place, the longer one is meant.
    places.min_by_key(|(place, name)| (*place, usize::MAX - name.len())).map(|(_, name)| name.clone())
}

fn place_of(detail: &str, name: &str) -> Option<usize> {
    let is_distinct = name.contains("__");
    let found = detail.match_indices(name).find(|(at, _)| {
        let before = detail[..*at].chars().next_back();
        let after = detail[at + name.len()..].chars().next();
        let continues = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        let is_quote =
            |c: Option<char>| c.is_some_and(|c| matches!(c, '\'' | '"' | '`' | '‘' | '’' | '“' | '”'));
        !continues(before) && !continues(after) && (is_distinct || (is_quote(before) && is_quote(after)))
    });
    found.map(|(at, _)| at)
}

/// Finds a tool by its place: `tools[3]`, `tools.3`, and `tools.4.member`, which AWS counts from 1.
fn by_place(detail: &str, listed: &[Option<String>]) -> Option<String> {
    let words = detail.to_lowercase();
    for list in LISTS {
        for (at, _) in words.match_indices(list) {
            let rest = &words[at + list.len()..];
            let Some(rest) = BETWEEN.iter().find_map(|between| rest.strip_prefix(between)) else { continue };
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let Ok(place) = rest[..end].parse::<usize>() else { continue };
            let place = if rest[end..].starts_with(".member") { place.checked_sub(1)? } else { place };
            // Gemini has one tool with all declarations in it.
            let is_list_of_all = list == "tools" && words.contains("declarations");
            if let Some(Some(name)) = listed.get(place).filter(|_| !is_list_of_all) {
                return Some(name.clone());
            }
        }
    }
    None
}

/// Finds the only tool with the property at the end of a path in a schema: `properties.filters.items`.
fn by_path(detail: &str, body: &Value, listed: &[Option<String>]) -> Option<String> {
    let at = detail.find("properties")?;
    let separators = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'));
    let mut steps = detail[at..].split(separators).filter(|step| !step.is_empty());
    steps.next()?;
    let property = steps.next()?;
    let has = |tool: &&Value| {
        let known = [
            "/function/parameters",
            "/toolSpec/inputSchema/json",
            "/input_schema",
            "/parameters",
            "/parameters_json_schema",
        ];
        let schema = known.iter().find_map(|place| tool.pointer(place));
        schema.and_then(|schema| schema.get("properties")?.get(property)).is_some()
    };
    let tools = tools(body);
    let mut owners = tools.iter().zip(listed).filter(|(tool, _)| has(tool));
    let (_, owner) = owners.next()?;
    let is_only = owners.next().is_none();
    // A built-in tool is not refused for its schema.
    owner.clone().filter(|name| is_only && server_of(name).is_some())
}

/// Reads how many tools a service takes that was sent `sent`.
fn too_many(detail: &str, sent: usize) -> Option<usize> {
    let words = detail.to_lowercase();
    let is_about_tools =
        words.contains("tools") || words.contains("functions") || words.contains("declarations");
    if !is_about_tools || !TOO_MANY.iter().any(|sign| words.contains(sign)) {
        return None;
    }
    let digits = words.split(|c: char| !c.is_ascii_digit());
    let numbers = digits.filter_map(|number| number.parse::<usize>().ok());
    let said = numbers.filter(|number| (8..sent).contains(number)).max();
    // Perhaps it does not say how many it takes.
    let is_vague = words.contains("too many") && sent > MIN_TOOLS;
    said.or_else(|| is_vague.then_some((sent / 2).max(MIN_TOOLS)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn chat(count: usize) -> Value {
        let tool = |n: usize| {
            let name = if n == 0 { "shell".to_owned() } else { format!("x__t{n}") };
            let own = format!("own{n}");
            json!({"type": "function", "function": {"name": name, "parameters": {"properties": {own: {}}}}})
        };
        json!({"tools": (0..count).map(tool).collect::<Vec<_>>()})
    }

    fn gemini() -> Value {
        let declared = [json!({"name": "shell"}), json!({"name": "x__t1"}), json!({"name": "x__t2"})];
        json!({"tools": [{"functionDeclarations": declared}, {"googleSearch": {}}]})
    }

    fn bedrock() -> Value {
        let tool = |name: &str| json!({"toolSpec": {"name": name, "inputSchema": {"json": {}}}});
        json!({"toolConfig": {"tools": [tool("shell"), tool("x__t1"), tool("x__t2"), {"cachePoint": {}}]}})
    }

    fn check(body: &Value, status: u16, detail: &str, expected: Option<ToolRefusal>) {
        let error = ModelError::new(ModelErrorKind::InvalidRequest, "no").with_status(status);
        let error = error.with_detail(detail);
        assert_eq!(of(&error, body.to_string().as_bytes()), expected, "{detail}");
    }

    fn tool(name: &str) -> Option<ToolRefusal> {
        Some(ToolRefusal::Tool(name.into()))
    }

    #[test]
    fn tool_that_is_named_in_a_refusal_of_a_call_is_not_refused() {
        let chat = chat(30);
        check(&chat, 400, "Invalid schema for function 'x__t3': 'a function call' is no type", tool("x__t3"));
        check(&chat, 400, "tools.5.custom.input_schema: `tool_calls` is no keyword", tool("x__t5"));
        for detail in [
            "Failed to call a function 'x__t3'. (tool_use_failed)",
            "failed_generation: <function=x__t3>{}</function>",
            "parameters for tool x__t3 did not match schema: missing properties: 'own3'",
            "Tool call validation failed: x__t3",
            "messages[4].tool_calls[0].function.arguments: x__t3 needs an object",
            "No tool output found for function call of 'x__t3'",
            "Invalid value for response_format: properties.own9.items is missing",
            "messages[2].content: 'shell' is no block",
        ] {
            check(&chat, 400, detail, None);
        }
        check(
            &gemini(),
            400,
            "* GenerateContentRequest.contents[3].parts[0].function_response.name: 'x__t2' is unknown",
            None,
        );
    }

    #[test]
    fn refusals_name_a_tool_by_name_place_or_path() {
        let chat = chat(30);
        check(
            &chat,
            400,
            "Invalid schema for function 'x__t3': schema must have type 'object'",
            tool("x__t3"),
        );
        check(&chat, 400, "Invalid schema for function 'x__t12': no", tool("x__t12"));
        check(
            &chat,
            400,
            "Invalid 'tools[4].function.name': string too long, maximum length 64",
            tool("x__t4"),
        );
        check(&chat, 400, "tools.5.custom.input_schema: JSON schema is invalid", tool("x__t5"));
        check(
            &chat,
            422,
            "body.tools.6.function.parameters Input should be a valid dictionary",
            tool("x__t6"),
        );
        check(&chat, 400, "('body', 'tools', 7, 'function'): field required", tool("x__t7"));
        check(&chat, 400, "bad schema at $.properties.own9.items: missing", tool("x__t9"));
        check(&chat, 400, "Invalid schema for function 'shell': no", tool("shell"));
        check(&chat, 400, "the shell is wrong", None);
        check(&chat, 400, "Invalid request", None);
        check(&chat, 400, "", None);
        check(&chat, 500, "Invalid schema for function 'x__t3'", None);
        check(&chat, 400, "tools.99.name", None);
        check(
            &chat,
            400,
            "Invalid 'tools': array too long. Expected an array with maximum length 16, but got 30",
            Some(ToolRefusal::TooMany(16)),
        );
        check(&chat, 400, "Too many tools in the request", Some(ToolRefusal::TooMany(16)));
        check(&chat, 400, "At most 20 functions may be given", Some(ToolRefusal::TooMany(20)));
        check(&chat, 400, "max_tokens is too large: the maximum is 16", None);
        let gemini = gemini();
        check(
            &gemini,
            400,
            "* GenerateContentRequest.tools[0].function_declarations[2].parameters: bad",
            tool("x__t2"),
        );
        check(&gemini, 400, "tools[0].functionDeclarations[1].name: invalid", tool("x__t1"));
        check(&gemini, 400, "tools[0].function_declarations[9]: bad", None);
        let bedrock = bedrock();
        check(
            &bedrock,
            400,
            "The value at toolConfig.tools.2.toolSpec.inputSchema.json.type must be object",
            tool("x__t2"),
        );
        check(
            &bedrock,
            400,
            "Value at 'toolConfig.tools.2.member.toolSpec.name' failed to satisfy constraint",
            tool("x__t1"),
        );
    }

    #[test]
    fn refused_tool_points_at_its_server() {
        let error =
            ModelError::new(ModelErrorKind::InvalidRequest, "No; check model.model_id. It says: \"bad\".");
        let said = explained(&error.with_status(400), "the server at h", "x__t").to_string();
        assert_eq!(
            said,
            "The server at h does not accept the tool `x__t` (400): it comes from the MCP server `x`; check \
             mcp.servers.x. It says: \"bad\"."
        );
    }
}
