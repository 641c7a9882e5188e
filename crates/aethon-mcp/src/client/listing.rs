//! Converts a server's list of tools into ours: bounded in number and size, with names that model providers accept, and
//! without characters that a person would not see.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use aethon_core::tool::{Effect, ToolSpec, digested_name};
use aethon_core::untrusted::defuse;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rmcp::model::{PaginatedRequestParams, Tool};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::hints;
use super::oversize::{MAX_MESSAGE, TOO_LARGE};
use super::refusal::Refusal;
use super::repair;
use super::words::brief;

/// Maximum number of tools per server.
const MAX_TOOLS: usize = 128;
/// Maximum number of tools that are looked at to find these.
const MAX_LOOKED_AT: usize = repair::MAX_ENTRIES;
/// How many of the tools that are left out a line in the log names.
const MAX_NAMED: usize = 5;
/// Maximum number of pages in its list.
const MAX_PAGES: usize = 32;
/// Timeout for one page.
const PAGE: Duration = Duration::from_secs(30);
/// Maximum length of a tool name that model providers accept.
const MAX_NAME: usize = 64;
/// Maximum length of a description that model providers accept.
const MAX_DESCRIPTION: usize = 1024;
/// Maximum size of a schema, as text.
const MAX_SCHEMA: usize = 32 * 1024;
/// Maximum size of all schemas of a server together: every model request carries them.
const MAX_SCHEMAS: usize = 256 * 1024;
/// Maximum nesting depth of a schema.
const MAX_DEPTH: usize = 24;

/// The usable part of a server's list.
pub(super) struct Listing {
    pub(super) tools: Vec<Entry>,
    /// Number of tools left out.
    pub(super) left_out: usize,
    /// Some of them, and why.
    pub(super) named: Vec<String>,
}

/// A tool, and the name that its server gives it.
pub(super) struct Entry {
    pub(super) spec: ToolSpec,
    pub(super) remote: String,
}

/// Why there is no list.
pub(super) enum ListFailure {
    /// The server refused it, or did not answer.
    Refused(String),
    /// It came, and cannot be used.
    Unusable(String),
}

/// Reads the list of a server.
pub(super) fn read(
    peer: Peer<RoleClient>,
    server: Arc<str>,
) -> BoxFuture<'static, Result<Listing, ListFailure>> {
    async move {
        let (mut offered, mut odd, mut surplus) = (Vec::new(), Vec::new(), 0);
        let mut cursor = None;
        for page in 0..MAX_PAGES {
            let asked = peer.list_tools(Some(PaginatedRequestParams::default().with_cursor(cursor)));
            let answer = match timeout(PAGE, asked).await {
                Ok(answer) => answer.map_err(|error| failure(&error)),
                Err(_) => {
                    let seconds = PAGE.as_secs();
                    Err(ListFailure::Refused(format!("it did not list its tools within {seconds} s")))
                }
            };
            let answer = match answer {
                Ok(answer) => answer,
                // The pages before are of use without this one.
                Err(ListFailure::Refused(why) | ListFailure::Unusable(why)) if page > 0 => {
                    odd.push(format!("page {} of its list ({why})", page + 1));
                    break;
                }
                Err(failure) => return Err(failure),
            };
            let left_out = repair::left_out(answer.meta.as_ref());
            odd.extend(left_out.odd);
            surplus += left_out.surplus;
            offered.extend(answer.tools);
            cursor = answer.next_cursor.filter(|cursor| !cursor.is_empty());
            if cursor.is_none() || offered.len() > MAX_TOOLS {
                break;
            }
        }
        // Checking a large list takes a while and must not delay others.
        let taken = tokio::task::spawn_blocking(move || take_over(offered, odd, &server)).await;
        let taken = taken.map(|listing| Listing { left_out: listing.left_out + surplus, ..listing });
        taken.map_err(|_| {
            let why = "its list of tools could not be checked because of a fault in the program";
            ListFailure::Unusable(why.to_owned())
        })
    }
    .boxed()
}

fn failure(error: &ServiceError) -> ListFailure {
    match error {
        ServiceError::McpError(error) if error.message == TOO_LARGE => {
            ListFailure::Unusable(format!("its list of tools is larger than {} MiB", MAX_MESSAGE >> 20))
        }
        ServiceError::TransportSend(error) => match Refusal::of(&*error.error) {
            Some(refusal) if refusal.is_too_large => {
                ListFailure::Unusable(format!("its list of tools is larger than {} MiB", MAX_MESSAGE >> 20))
            }
            Some(refusal) => ListFailure::Refused(refusal.why),
            None => ListFailure::Refused("its server is gone".to_owned()),
        },
        ServiceError::UnexpectedResponse => {
            ListFailure::Unusable("it answered with something else than a list of tools".to_owned())
        }
        error => ListFailure::Refused(format!("it did not list its tools: {}", brief(&error.to_string()))),
    }
}

/// Takes the tools over. `odd` are entries that were no tools.
fn take_over(offered: Vec<Tool>, odd: Vec<String>, server: &str) -> Listing {
    let (mut tools, mut names, mut room) = (Vec::new(), HashSet::new(), MAX_SCHEMAS);
    let all = offered.len() + odd.len();
    let mut named: Vec<String> = odd.into_iter().take(MAX_NAMED).map(|entry| brief(&entry)).collect();
    let mut seen = HashSet::new();
    let offered: Vec<Tool> = offered.into_iter().take(MAX_LOOKED_AT).collect();
    let given = Names::of(server, offered.iter().map(|tool| &*tool.name));
    for tool in offered {
        let checked =
            if tools.len() < MAX_TOOLS { check(&tool, server, &given, room) } else { Err("one too many") };
        let checked = checked.and_then(|(entry, size)| {
            let is_new = seen.insert(entry.remote.clone()) && names.insert(entry.spec.name.clone());
            if is_new { Ok((entry, size)) } else { Err("a name twice") }
        });
        match checked {
            Ok((entry, size)) => {
                room -= size;
                tools.push(entry);
            }
            Err(why) => {
                if named.len() < MAX_NAMED {
                    named.push(format!("{} ({why})", brief(&tool.name)));
                }
            }
        }
    }
    let left_out = all - tools.len();
    // Some servers list in random order; models must see the same list every time.
    tools.sort_by(|one, other| one.spec.name.cmp(&other.spec.name));
    Listing { left_out, named, tools }
}

/// Converts a tool. Returns it with the size of its schema, or why it cannot be used.
fn check(tool: &Tool, server: &str, names: &Names, room: usize) -> Result<(Entry, usize), &'static str> {
    let name = names.name(server, &tool.name).ok_or("no usable name")?;
    let (parameters, size) = schema(&tool.input_schema).ok_or("a schema that is too large or no object")?;
    if size > room {
        return Err("too much schema together");
    }
    let spec = ToolSpec::new(name, description(server, &hints::described(tool)), parameters)
        .with_untrusted_output()
        .described_outside();
    let only_reads = tool.annotations.as_ref().and_then(|hints| hints.read_only_hint) == Some(true);
    // Its arguments go to a foreign program, whatever that claims to do with them.
    let spec = match only_reads {
        true => spec.reading_only().with_effect(Effect::Consults),
        false => spec.with_effect(Effect::Sends),
    };
    Ok((Entry { spec, remote: tool.name.to_string() }, size))
}

/// The names under which the tools of a server are offered.
struct Names {
    /// Names in plain characters that several tools would have.
    shared: HashSet<String>,
}

impl Names {
    fn of<'n>(server: &str, tools: impl Iterator<Item = &'n str>) -> Self {
        let (mut first, mut shared) = (HashMap::new(), HashSet::new());
        for tool in tools {
            let plain = plain_name(server, tool);
            if *first.entry(plain.clone()).or_insert(tool) != tool {
                shared.insert(plain);
            }
        }
        Self { shared }
    }

    /// Returns `SERVER__TOOL` in characters that model providers accept. A name that is too long, or that another tool
    /// would have, too, ends in a digest of the tool's own name, so that it is the same after every start.
    fn name(&self, server: &str, tool: &str) -> Option<String> {
        if !tool.chars().any(char::is_alphanumeric) {
            return None;
        }
        let (own, plain) = (format!("{server}__{tool}"), plain_name(server, tool));
        let is_plain =
            own == plain || (plain.contains(char::is_alphanumeric) && !self.shared.contains(&plain));
        let has_words = plain[server.len()..].contains(|c: char| c.is_ascii_alphanumeric());
        let is_short = plain.len() <= MAX_NAME;
        Some(if is_plain && has_words && is_short { plain } else { digested_name(&own, MAX_NAME) })
    }
}

fn plain_name(server: &str, tool: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    format!("{server}__{}", tool.chars().map(plain).collect::<String>())
}

fn description(server: &str, said: &str) -> String {
    let text = format!("From the MCP server `{server}`: {}", defuse(said).trim());
    text.chars().take(MAX_DESCRIPTION).collect()
}

/// Returns the schema for models, and its size.
fn schema(schema: &Map<String, Value>) -> Option<(Value, usize)> {
    let Value::Object(mut schema) = clean(&Value::Object(schema.clone()), MAX_DEPTH)? else { return None };
    if schema.entry("type").or_insert_with(|| json!("object")) != "object" {
        return None;
    }
    schema.entry("properties").or_insert_with(|| json!({}));
    let schema = Value::Object(schema);
    let size = schema.to_string().len();
    (size <= MAX_SCHEMA).then_some((schema, size))
}

/// Removes invisible characters; `None` if the value nests too deeply.
fn clean(value: &Value, depth: usize) -> Option<Value> {
    let deeper = depth.checked_sub(1)?;
    Some(match value {
        Value::String(text) => Value::String(defuse(text)),
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| clean(item, deeper)).collect::<Option<_>>()?)
        }
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| Some((defuse(name), clean(value, deeper)?));
            Value::Object(fields.iter().map(field).collect::<Option<_>>()?)
        }
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use rmcp::model::ToolAnnotations;

    use super::*;

    fn offered(name: &str, schema: Value) -> Tool {
        let Value::Object(schema) = schema else { panic!("no object: {schema}") };
        Tool::new(name.to_owned(), "does it", schema)
    }

    fn nested(depth: usize) -> Value {
        (0..depth).fold(json!({}), |inner, _| json!({"properties": {"a": inner}}))
    }

    #[test]
    fn tools_get_names_that_models_take() {
        let names = Names::of("files", [].into_iter());
        let name = |tool: &str| names.name("files", tool);
        let check = |tool: &str, expected: Option<&str>| assert_eq!(name(tool).as_deref(), expected);
        check("read_file", Some("files__read_file"));
        check("read.file/now", Some("files__read_file_now"));
        check("naïve", Some("files__na_ve"));
        check("", None);
        check("../..", None);
        check(&"x".repeat(57), Some(&format!("files__{}", "x".repeat(57))));
        let (one, other) = (name(&"x".repeat(58)).unwrap(), name(&"x".repeat(59)).unwrap());
        assert!(one.len() == 64 && one.starts_with("files__xxx") && one != other, "{one} {other}");
        assert!(name("日本語").unwrap().starts_with("files_____"));
    }

    #[test]
    fn excess_tools_are_left_out_and_counted() {
        let check = |offered: Vec<Tool>, taken: usize| {
            let all = offered.len();
            let listing = take_over(offered, Vec::new(), "s");
            assert_eq!((listing.tools.len(), listing.left_out), (taken, all - taken));
        };
        check((0..200).map(|n| offered(&format!("t{n}"), json!({}))).collect(), MAX_TOOLS);
        check(
            vec![
                offered("a", json!({})),
                offered("a", json!({})),
                offered("b.c", json!({})),
                offered("b/c", json!({})),
            ],
            3,
        );
        check(vec![offered("a", json!({"type": "array"})), offered("b", json!({"type": 5}))], 0);
        check(vec![offered("a", nested(8)), offered("b", nested(100))], 1);
        let large = json!({"properties": {"a": {"description": "x".repeat(40_000)}}});
        check(vec![offered("a", large)], 0);
        let many = (0..100).map(|n| offered(&format!("t{n}"), json!({"title": "x".repeat(20_000)})));
        check(many.collect(), 13);
    }

    #[test]
    fn tools_with_similar_names_are_all_offered_and_keep_their_names() {
        let names = |tools: &[&str]| -> Vec<(String, String)> {
            let offered = tools.iter().map(|tool| offered(tool, json!({}))).collect();
            let listing = take_over(offered, Vec::new(), "s");
            listing.tools.into_iter().map(|tool| (tool.remote, tool.spec.name)).collect()
        };
        let both = names(&["a.b", "a_b"]);
        assert_eq!(both.len(), 2);
        assert!(both.contains(&("a_b".into(), "s__a_b".into())), "{both:?}");
        assert_eq!(both, names(&["a_b", "a.b"]), "the order of the list does not matter");
    }

    #[test]
    fn odd_entries_are_counted_and_named() {
        let listing = take_over(vec![offered("a", json!({}))], vec!["bad (no input schema)".into()], "s");
        assert_eq!((listing.tools.len(), listing.left_out), (1, 1));
        assert_eq!(listing.named, ["bad (no input schema)"]);
    }

    #[test]
    fn hidden_words_do_not_reach_a_model() {
        let mut tool = offered("a", json!({"properties": {"x": {"description": "plain\u{200b}\u{e0041}"}}}));
        tool.description = Some("reads\u{202e} files [UNTRUSTED EXTERNAL CONTENT]".into());
        let listing = take_over(vec![tool], Vec::new(), "s");
        let spec = &listing.tools[0].spec;
        assert_eq!(spec.description, "From the MCP server `s`: reads files [UNTRUSTED-EXTERNAL-CONTENT]");
        assert_eq!(spec.parameters["properties"]["x"]["description"], "plain");
        assert!(spec.untrusted_output && spec.described_outside && spec.sends() && !spec.read_only);
        assert_eq!(spec.parameters["type"], "object");
    }

    #[test]
    fn a_hint_makes_a_tool_one_that_reads() {
        let hinted = |hint| offered("a", json!({})).with_annotations(ToolAnnotations::new().read_only(hint));
        for hint in [true, false] {
            let spec = &take_over(vec![hinted(hint)], Vec::new(), "s").tools[0].spec;
            assert_eq!((spec.read_only, spec.sends(), spec.sends_or_runs()), (hint, !hint, true));
        }
    }

    #[test]
    fn the_order_is_ours() {
        let listing = take_over(["b", "a", "c"].map(|name| offered(name, json!({}))).into(), Vec::new(), "s");
        let names: Vec<_> = listing.tools.iter().map(|tool| tool.spec.name.as_str()).collect();
        assert_eq!(names, ["s__a", "s__b", "s__c"]);
    }
}
