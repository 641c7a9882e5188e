//! The facts of models, one row a family. Prices are list prices in USD per million tokens: read, written, read from the
//! provider's cache. Where a vendor has several (by time of day, length or tier), the usual one stands here.

use aethon_core::ledger::Price;

use super::lookup::{Facts, IMAGES, MARKS, THOUGHTS, TOOL_MARKS, TOOLS};
use crate::options::Provider;

/// A family of models.
pub(super) struct Row {
    /// Whose models these are; unset for a family that keeps its name wherever it is served.
    pub(super) provider: Option<Provider>,
    /// How their ids begin, in lower case and without a vendor's path (`openai/`, `anthropic.`) before it.
    pub(super) prefix: &'static str,
    pub(super) facts: Facts,
}

const ANY: Option<Provider> = None;
const BEDROCK: Option<Provider> = Some(Provider::Bedrock);
const MISTRAL: Option<Provider> = Some(Provider::Mistral);

const SEES: u8 = IMAGES | TOOLS;
const CLAUDE: u8 = IMAGES | TOOLS | MARKS | TOOL_MARKS;
const NOVA: u8 = IMAGES | TOOLS | MARKS;
const GEMINI: u8 = IMAGES | TOOLS | THOUGHTS;

const fn row(
    provider: Option<Provider>,
    prefix: &'static str,
    context_window: u64,
    max_output: u64,
    abilities: u8,
    price: Option<Price>,
) -> Row {
    Row { provider, prefix, facts: Facts { context_window, max_output, abilities, price } }
}

const fn usd(input: f64, output: f64) -> Option<Price> {
    Some(Price { input, output, cached_input: None })
}

const fn usd_cached(input: f64, output: f64, cached_input: f64) -> Option<Price> {
    Some(Price { input, output, cached_input: Some(cached_input) })
}

/// The longest matching prefix wins.
#[rustfmt::skip]
pub(super) const MODELS: &[Row] = &[
    // OpenAI
    row(ANY, "gpt-5", 400_000, 128_000, SEES, usd_cached(1.25, 10.0, 0.125)),
    row(ANY, "gpt-5-mini", 400_000, 128_000, SEES, usd_cached(0.25, 2.0, 0.025)),
    row(ANY, "gpt-5-nano", 400_000, 128_000, SEES, usd_cached(0.05, 0.4, 0.005)),
    row(ANY, "gpt-5-pro", 400_000, 128_000, SEES, usd(15.0, 120.0)),
    row(ANY, "gpt-5-chat", 128_000, 16_384, SEES, usd_cached(1.25, 10.0, 0.125)),
    row(ANY, "gpt-5.2", 400_000, 128_000, SEES, usd_cached(1.75, 14.0, 0.175)),
    row(ANY, "gpt-4.1", 1_047_576, 32_768, SEES, usd_cached(2.0, 8.0, 0.5)),
    row(ANY, "gpt-4.1-mini", 1_047_576, 32_768, SEES, usd_cached(0.4, 1.6, 0.1)),
    row(ANY, "gpt-4.1-nano", 1_047_576, 32_768, SEES, usd_cached(0.1, 0.4, 0.025)),
    row(ANY, "gpt-4o", 128_000, 16_384, SEES, usd_cached(2.5, 10.0, 1.25)),
    row(ANY, "gpt-4o-mini", 128_000, 16_384, SEES, usd_cached(0.15, 0.6, 0.075)),
    row(ANY, "gpt-4-turbo", 128_000, 4_096, SEES, usd(10.0, 30.0)),
    row(ANY, "gpt-4", 8_192, 4_096, TOOLS, usd(30.0, 60.0)),
    row(ANY, "gpt-3.5-turbo", 16_385, 4_096, TOOLS, usd(0.5, 1.5)),
    row(ANY, "gpt-oss", 131_072, 32_768, TOOLS, None),
    row(BEDROCK, "gpt-oss-20b", 131_072, 32_768, TOOLS, usd(0.07, 0.3)),
    row(BEDROCK, "gpt-oss-120b", 131_072, 32_768, TOOLS, usd(0.15, 0.6)),
    row(ANY, "o1", 200_000, 100_000, SEES, usd_cached(15.0, 60.0, 7.5)),
    row(ANY, "o1-mini", 128_000, 65_536, TOOLS, usd_cached(1.1, 4.4, 0.55)),
    row(ANY, "o1-pro", 200_000, 100_000, SEES, usd(150.0, 600.0)),
    row(ANY, "o3", 200_000, 100_000, SEES, usd_cached(2.0, 8.0, 0.5)),
    row(ANY, "o3-mini", 200_000, 100_000, TOOLS, usd_cached(1.1, 4.4, 0.55)),
    row(ANY, "o3-pro", 200_000, 100_000, SEES, usd(20.0, 80.0)),
    row(ANY, "o4-mini", 200_000, 100_000, SEES, usd_cached(1.1, 4.4, 0.275)),
    row(ANY, "text-embedding-3-small", 8_191, 1, 0, usd(0.02, 0.0)),
    row(ANY, "text-embedding-3-large", 8_191, 1, 0, usd(0.13, 0.0)),
    row(ANY, "text-embedding-ada", 8_191, 1, 0, usd(0.1, 0.0)),

    // Anthropic, also on Bedrock
    row(ANY, "claude", 200_000, 32_000, CLAUDE, usd_cached(3.0, 15.0, 0.3)),
    row(ANY, "claude-3-", 200_000, 4_096, SEES, usd_cached(3.0, 15.0, 0.3)),
    row(ANY, "claude-3-haiku", 200_000, 4_096, SEES, usd_cached(0.25, 1.25, 0.03)),
    row(ANY, "claude-3-opus", 200_000, 4_096, SEES, usd_cached(15.0, 75.0, 1.5)),
    row(ANY, "claude-3-5", 200_000, 8_192, SEES, usd_cached(3.0, 15.0, 0.3)),
    row(ANY, "claude-3-5-haiku", 200_000, 8_192, CLAUDE, usd_cached(0.8, 4.0, 0.08)),
    row(ANY, "claude-3-7", 200_000, 64_000, CLAUDE, usd_cached(3.0, 15.0, 0.3)),
    row(ANY, "claude-sonnet-4", 200_000, 64_000, CLAUDE, usd_cached(3.0, 15.0, 0.3)),
    row(ANY, "claude-haiku-4", 200_000, 64_000, CLAUDE, usd_cached(1.0, 5.0, 0.1)),
    row(ANY, "claude-opus-4", 200_000, 32_000, CLAUDE, usd_cached(15.0, 75.0, 1.5)),
    row(ANY, "claude-opus-4-5", 200_000, 64_000, CLAUDE, usd_cached(5.0, 25.0, 0.5)),

    // Google
    row(ANY, "gemini", 1_048_576, 8_192, SEES, usd_cached(0.3, 2.5, 0.03)),
    row(ANY, "gemini-2.0-flash", 1_048_576, 8_192, SEES, usd_cached(0.1, 0.4, 0.025)),
    row(ANY, "gemini-2.5-pro", 1_048_576, 65_536, GEMINI, usd_cached(1.25, 10.0, 0.125)),
    row(ANY, "gemini-2.5-flash", 1_048_576, 65_536, GEMINI, usd_cached(0.3, 2.5, 0.03)),
    row(ANY, "gemini-2.5-flash-lite", 1_048_576, 65_536, GEMINI, usd_cached(0.1, 0.4, 0.01)),
    row(ANY, "gemini-2.5-flash-image", 32_768, 32_768, IMAGES, usd(0.3, 30.0)),
    row(ANY, "gemini-3", 1_048_576, 65_536, GEMINI, usd_cached(2.0, 12.0, 0.2)),
    row(ANY, "gemini-3-flash", 1_048_576, 65_536, GEMINI, usd_cached(0.5, 3.0, 0.05)),
    row(ANY, "gemini-embedding", 2_048, 1, 0, usd(0.15, 0.0)),

    // Mistral; the prices are those of Mistral's own service
    row(ANY, "mistral", 128_000, 8_192, TOOLS, None),
    row(ANY, "mistral-large", 128_000, 16_384, SEES, None),
    row(MISTRAL, "mistral-large", 128_000, 16_384, SEES, usd(2.0, 6.0)),
    row(ANY, "mistral-medium", 128_000, 16_384, SEES, None),
    row(MISTRAL, "mistral-medium", 128_000, 16_384, SEES, usd(0.4, 2.0)),
    row(ANY, "mistral-small", 128_000, 16_384, SEES, None),
    row(MISTRAL, "mistral-small", 128_000, 16_384, SEES, usd(0.1, 0.3)),
    row(ANY, "ministral", 128_000, 8_192, TOOLS, None),
    row(MISTRAL, "ministral", 128_000, 8_192, TOOLS, usd(0.1, 0.1)),
    row(ANY, "magistral", 128_000, 32_768, SEES, None),
    row(MISTRAL, "magistral-medium", 128_000, 32_768, SEES, usd(2.0, 5.0)),
    row(MISTRAL, "magistral-small", 128_000, 32_768, SEES, usd(0.5, 1.5)),
    row(ANY, "pixtral", 128_000, 8_192, SEES, None),
    row(MISTRAL, "pixtral", 128_000, 8_192, SEES, usd(2.0, 6.0)),
    row(ANY, "codestral", 256_000, 16_384, TOOLS, None),
    row(MISTRAL, "codestral", 256_000, 16_384, TOOLS, usd(0.3, 0.9)),
    row(ANY, "devstral", 128_000, 16_384, TOOLS, None),
    row(MISTRAL, "devstral", 128_000, 16_384, TOOLS, usd(0.4, 2.0)),
    row(MISTRAL, "mistral-embed", 8_192, 1, 0, usd(0.1, 0.0)),

    // Amazon and others on Bedrock
    row(BEDROCK, "nova-micro", 128_000, 5_120, TOOLS | MARKS, usd_cached(0.035, 0.14, 0.00875)),
    row(BEDROCK, "nova-lite", 300_000, 5_120, NOVA, usd_cached(0.06, 0.24, 0.015)),
    row(BEDROCK, "nova-pro", 300_000, 5_120, NOVA, usd_cached(0.8, 3.2, 0.2)),
    row(BEDROCK, "nova-premier", 1_000_000, 32_000, NOVA, usd_cached(2.5, 12.5, 0.625)),
    row(BEDROCK, "llama3-1", 128_000, 8_192, TOOLS, usd(0.72, 0.72)),
    row(BEDROCK, "llama3-2", 128_000, 8_192, TOOLS, usd(0.72, 0.72)),
    row(BEDROCK, "llama3-3", 128_000, 8_192, TOOLS, usd(0.72, 0.72)),
    row(BEDROCK, "llama4", 128_000, 8_192, SEES, usd(0.24, 0.97)),
    row(BEDROCK, "r1-", 128_000, 32_768, 0, usd(1.35, 5.4)),
    row(BEDROCK, "command-r", 128_000, 4_096, TOOLS, usd(3.0, 15.0)),
    row(BEDROCK, "titan-embed", 8_192, 1, 0, usd(0.02, 0.0)),
    row(BEDROCK, "embed-", 512, 1, 0, usd(0.1, 0.0)),

    // Open weights
    row(ANY, "llama3", 8_192, 4_096, TOOLS, None),
    row(ANY, "llama3.1", 131_072, 8_192, TOOLS, None),
    row(ANY, "llama3.2", 131_072, 8_192, TOOLS, None),
    row(ANY, "llama3.2-vision", 131_072, 8_192, SEES, None),
    row(ANY, "llama3.3", 131_072, 8_192, TOOLS, None),
    row(ANY, "llama4", 131_072, 8_192, SEES, None),
    row(ANY, "qwen2.5", 32_768, 8_192, TOOLS, None),
    row(ANY, "qwen2.5vl", 128_000, 8_192, SEES, None),
    row(ANY, "qwen3", 40_960, 16_384, TOOLS, None),
    row(ANY, "qwen3-vl", 131_072, 16_384, SEES, None),
    row(ANY, "gemma3", 131_072, 8_192, SEES, None),
    row(ANY, "deepseek", 65_536, 8_192, TOOLS, None),
    row(ANY, "deepseek-r1", 131_072, 32_768, TOOLS, None),
    row(ANY, "llava", 4_096, 2_048, IMAGES, None),
    row(ANY, "gemma2", 8_192, 4_096, 0, None),
    row(ANY, "gemma:", 8_192, 4_096, 0, None),

    // Offline
    row(ANY, "fake", 200_000, 32_000, SEES, None),
    row(ANY, "echo", 200_000, 32_000, 0, None),
];
