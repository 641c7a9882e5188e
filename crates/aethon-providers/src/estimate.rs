//! A rough count of tokens, for when nothing better is available.
//!
//! Common tokenizers average four bytes per token on English text and code. The estimate serves as the usage of the
//! offline models and of services that report no usage.

use aethon_core::message::{Block, Message, ToolResult};
use aethon_core::model::ModelRequest;
use aethon_core::tool::OutputBlock;

/// The approximate cost of a picture.
const IMAGE_TOKENS: usize = 1000;

/// The approximate cost of a page that a provider's search found, which goes back to it in encrypted form.
const SOURCE_TOKENS: usize = 500;

/// Estimates the tokens of this many bytes of text.
pub(crate) fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(4) as u64
}

/// Returns the service's figure, or the estimate if it has none. Some services send zero instead of omitting it, so
/// zero counts as none.
pub(crate) fn unless_counted(counted: Option<u64>, estimate: u64) -> u64 {
    counted.filter(|&tokens| tokens > 0).unwrap_or(estimate)
}

/// Estimates the tokens of a request.
pub(crate) fn request(request: &ModelRequest) -> u64 {
    let conversation: usize = request.messages.iter().map(|message| self::message(message)).sum();
    tokens(request.system.len() + conversation)
}

/// Returns the bytes of a message that a model sees. Role and framing count as eight.
fn message(message: &Message) -> usize {
    8 + message.content.iter().map(block).sum::<usize>()
}

fn block(block: &Block) -> usize {
    match block {
        Block::Text { text, .. }
        | Block::File { text, .. }
        | Block::Reasoning { text, .. }
        | Block::Context { text, .. } => text.len(),
        Block::Image { .. } => IMAGE_TOKENS * 4,
        // Arguments are not serialised just to be counted.
        Block::Search(search) => search.sources.len() * SOURCE_TOKENS * 4,
        Block::ToolCall(call) => call.name.len() + 40,
        Block::ToolResult(result) => result.output.len() + pictures(result) * IMAGE_TOKENS * 4,
        Block::Folded { summary, .. } => summary.len(),
        Block::Notice { .. } => 0,
    }
}

fn pictures(result: &ToolResult) -> usize {
    result.blocks.iter().filter(|block| matches!(block, OutputBlock::Image { .. })).count()
}
