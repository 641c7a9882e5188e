//! Every tool call has its result right behind it: what a crash left open is closed here, and what was stored in between
//! moves behind the result.

use aethon_core::message::{Block, Message, Role, ToolResult};
use jiff::Timestamp;

/// The tool message that is missing at the end of a turn's messages: results that say `why`, for calls that have none.
/// `None` when all of them have one.
pub(crate) fn missing_results<'m>(
    messages: impl DoubleEndedIterator<Item = &'m Message>,
    why: &str,
    now: Timestamp,
) -> Option<Message> {
    let mut answered: Vec<&str> = Vec::new();
    for message in messages.rev() {
        match message.role {
            Role::Tool => answered.extend(message.content.iter().filter_map(|block| match block {
                Block::ToolResult(result) => Some(result.call.as_str()),
                _ => None,
            })),
            Role::Assistant => {
                let open = message.tool_calls().filter(|call| !answered.contains(&call.id.as_str()));
                let results: Vec<Block> =
                    open.map(|call| Block::ToolResult(ToolResult::failed(call, why))).collect();
                return (!results.is_empty()).then(|| Message::new(Role::Tool, results, now));
            }
            Role::User => return None,
            Role::System => {}
        }
    }
    None
}

/// Puts results right behind their calls. What somebody posts into a session, and the summary of a turn that goes on, are
/// stored when they come, which may be between the two; a model is refused such a conversation.
pub(super) fn together(messages: &mut [Message]) {
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

/// Whether these results are of calls in that message.
pub(super) fn has_calls_of(message: &Message, results: &Message) -> bool {
    let is_of = |call: &str| {
        results.content.iter().any(|block| matches!(block, Block::ToolResult(result) if result.call == call))
    };
    message.turn == results.turn && message.tool_calls().any(|call| is_of(&call.id))
}
