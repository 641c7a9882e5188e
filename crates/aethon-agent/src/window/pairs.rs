//! Keeps every tool call directly followed by its result: calls that a crash left open get one here, and messages
//! stored in between move behind the result.

use aethon_core::message::{Block, Message, Role, ToolCall, ToolResult};
use jiff::Timestamp;

/// Builds the tool message that a turn's messages lack: results that say `why` for calls that have none. `None` if
/// every call has its result.
pub(crate) fn missing_results<'m>(
    messages: impl DoubleEndedIterator<Item = &'m Message>,
    why: impl Fn(&ToolCall) -> &'static str,
    now: Timestamp,
) -> Option<Message> {
    let open = open_calls(messages);
    let results: Vec<Block> =
        open.iter().map(|call| Block::ToolResult(ToolResult::failed(call, why(call)))).collect();
    (!results.is_empty()).then(|| Message::new(Role::Tool, results, now))
}

/// Returns the calls of a turn's messages that have no result.
pub(crate) fn open_calls<'m>(messages: impl DoubleEndedIterator<Item = &'m Message>) -> Vec<&'m ToolCall> {
    let mut answered: Vec<&str> = Vec::new();
    for message in messages.rev() {
        match message.role {
            Role::Tool => answered.extend(message.content.iter().filter_map(|block| match block {
                Block::ToolResult(result) => Some(result.call.as_str()),
                _ => None,
            })),
            Role::Assistant => {
                let is_open = |call: &&ToolCall| !answered.contains(&call.id.as_str());
                return message.tool_calls().filter(is_open).collect();
            }
            Role::User => return Vec::new(),
            Role::System => {}
        }
    }
    Vec::new()
}

/// Moves results directly behind their calls. Posted messages and the summary of an ongoing turn are stored when they
/// arrive, which may be between the two; services reject such a conversation.
pub(super) fn reorder_results(messages: &mut [Message]) {
    for place in 1..messages.len() {
        if messages[place].role != Role::Tool || has_calls_of(&messages[place - 1], &messages[place]) {
            continue;
        }
        let calls = messages[..place].iter().rposition(|message| has_calls_of(message, &messages[place]));
        if let Some(calls) = calls {
            messages[calls + 1..=place].rotate_right(1);
        }
    }
}

/// Returns whether these results belong to calls in that message.
pub(super) fn has_calls_of(message: &Message, results: &Message) -> bool {
    let is_of = |call: &str| {
        results.content.iter().any(|block| matches!(block, Block::ToolResult(result) if result.call == call))
    };
    message.turn == results.turn && message.tool_calls().any(|call| is_of(&call.id))
}
