//! A rough count of tokens, for models that do not count themselves.
//!
//! Four bytes a token is what common tokenizers come to on English text and code. It is used where a number is better
//! than none: the usage that the offline models report, and services that send no usage.

use aethon_core::message::{Block, Message, ToolResult};
use aethon_core::model::ModelRequest;
use aethon_core::tool::OutputBlock;

/// About what a picture takes.
const IMAGE_TOKENS: usize = 1000;

/// The tokens of so many bytes of text.
pub(crate) fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(4) as u64
}

/// The service's figure, or the estimate where it has none. A zero is none: some send it instead of leaving it out.
pub(crate) fn unless_counted(counted: Option<u64>, estimate: u64) -> u64 {
    counted.filter(|&tokens| tokens > 0).unwrap_or(estimate)
}

/// The tokens that a request takes.
pub(crate) fn request(request: &ModelRequest) -> u64 {
    let conversation: usize = request.messages.iter().map(|message| self::message(message)).sum();
    tokens(request.system.len() + conversation)
}

/// Bytes of a message that a model sees; its role and frame count as eight.
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
        Block::ToolCall(call) => call.name.len() + 40,
        Block::ToolResult(result) => result.output.len() + pictures(result) * IMAGE_TOKENS * 4,
        Block::Folded { summary, .. } => summary.len(),
        Block::Notice { .. } => 0,
    }
}

fn pictures(result: &ToolResult) -> usize {
    result.blocks.iter().filter(|block| matches!(block, OutputBlock::Image { .. })).count()
}
