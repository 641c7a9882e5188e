//! All tools of a request as they are sent, and the calls in both directions.

use std::collections::HashMap;
use std::sync::Arc;

use aethon_core::message::{Block, Message, ToolCall, ToolResult};
use aethon_core::model::ModelRequest;
use aethon_core::tool::{ToolSpec, digested_name, is_plain_name};
use serde_json::Value;

use super::names::{Direction, NameMap};
use super::reduce::SchemaForm;
use super::{fold, reduce, references};

/// Maximum length of a tool's name.
const MAX_NAME: usize = 64;
/// Maximum length of a tool's description.
const MAX_DESCRIPTION: usize = 1024;

/// The tools of a request, in the form of a service.
#[derive(Debug)]
pub(crate) struct FittedTools {
    pub(crate) specs: Arc<[ToolSpec]>,
    /// The tools whose names or properties are sent under other names, by their own.
    renamed: HashMap<String, NameMap>,
    /// The own names of tools, by those that are sent.
    own: HashMap<String, String>,
}

impl FittedTools {
    /// Fits tools.
    pub(crate) fn of<'s>(specs: impl Iterator<Item = &'s ToolSpec>, form: SchemaForm) -> Self {
        let (mut renamed, mut own) = (HashMap::new(), HashMap::new());
        let fit = |spec: &ToolSpec| {
            let mut names = NameMap::default();
            let mut fitted = fit(spec, form, &mut names);
            fitted.name = sent_name(&spec.name);
            if fitted.name != spec.name {
                own.insert(fitted.name.clone(), spec.name.clone());
            }
            if !names.is_plain() {
                renamed.insert(spec.name.clone(), names);
            }
            fitted
        };
        let specs = specs.map(fit).collect();
        Self { specs, renamed, own }
    }

    /// Returns the own name of a tool that is sent under this one.
    pub(crate) fn own_name<'n>(&'n self, sent: &'n str) -> &'n str {
        self.own.get(sent).map_or(sent, String::as_str)
    }

    /// Returns the request with these tools, and with the calls of the conversation as they are sent.
    pub(crate) fn request(&self, request: &ModelRequest) -> ModelRequest {
        let mut sent = request.clone().with_tools(self.specs.clone());
        if request.messages.iter().any(|message| self.changes(message)) {
            let message = |message: &Arc<Message>| match self.changes(message) {
                true => Arc::new(self.message(message)),
                false => message.clone(),
            };
            sent.messages = Arc::new(request.messages.iter().map(message).collect());
        }
        sent
    }

    /// Converts a call of the model to the tool's own names.
    pub(crate) fn back(&self, call: ToolCall) -> ToolCall {
        let name = self.own_name(&call.name).to_owned();
        let input = match self.renamed.get(&name) {
            Some(names) => reduce::convert(names, &call.input, Direction::Back),
            None => call.input,
        };
        ToolCall { name, input, ..call }
    }

    fn changes(&self, message: &Message) -> bool {
        let is_changed = |name: &str| !is_plain_name(name, MAX_NAME) || self.renamed.contains_key(name);
        message.content.iter().any(|block| match block {
            Block::ToolCall(call) => is_changed(&call.name),
            Block::ToolResult(result) => is_changed(&result.name),
            _ => false,
        })
    }

    fn message(&self, message: &Message) -> Message {
        let mut sent = message.clone();
        for block in &mut sent.content {
            match block {
                Block::ToolCall(call) => {
                    if let Some(names) = self.renamed.get(&call.name) {
                        call.input = reduce::convert(names, &call.input, Direction::Out);
                    }
                    call.name = sent_name(&call.name);
                }
                Block::ToolResult(ToolResult { name, .. }) => *name = sent_name(name),
                _ => {}
            }
        }
        sent
    }
}

/// Returns the name under which a tool is sent, whether it is still offered or not.
fn sent_name(name: &str) -> String {
    if is_plain_name(name, MAX_NAME) { name.to_owned() } else { digested_name(name, MAX_NAME) }
}

fn fit(spec: &ToolSpec, form: SchemaForm, names: &mut NameMap) -> ToolSpec {
    let folded = fold::fold(&references::draw_in(&spec.parameters));
    let parameters: Value = reduce::arguments(&folded.schema, form, names);
    let mut fitted = spec.clone();
    fitted.parameters = parameters;
    let remarks = folded.remarks.join(" ");
    let room = MAX_DESCRIPTION.saturating_sub(remarks.chars().count() + 1);
    if !remarks.is_empty() && fitted.description.chars().count() > room {
        fitted.description = fitted.description.chars().take(room).collect();
    }
    fitted.description = [fitted.description.trim(), &remarks].join(" ").trim().to_owned();
    if fitted.description.is_empty() {
        // Some services require one.
        fitted.description.clone_from(&spec.name);
    }
    fitted
}
