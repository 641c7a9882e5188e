//! Every tool call has its result: what a crash left open is closed here.

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
