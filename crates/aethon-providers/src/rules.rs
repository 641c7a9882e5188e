//! How a model wants to be asked, as the wire formats branch on it: whether it reasons and in which form it is told how
//! much, what it refuses, and what it needs back. Abilities decide, and names only where a vendor tells its generations
//! apart by nothing else.

use aethon_core::model::Effort;

use crate::capabilities::bare_name;
use crate::catalog::{EffortWord, Efforts, ModelFacts, PromptCaching};

/// The rules of one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ModelRules {
    /// Whether the model is known at all; of others nothing is assumed but that the owner's settings suit them.
    pub(crate) is_known: bool,
    /// Whether it is one of OpenAI's own.
    pub(crate) is_openai: bool,
    /// Whether it can think before it answers.
    pub(crate) reasons: bool,
    /// The efforts that it can be told.
    pub(crate) efforts: Efforts,
    /// Whether it decides by itself how long it thinks, and is told an effort instead of a budget (Claude).
    pub(crate) adaptive_thinking: bool,
    /// Whether it cannot be kept from thinking.
    pub(crate) thinking_always_on: bool,
    /// Whether it refuses a temperature and a nucleus of one's own.
    pub(crate) refuses_sampling: bool,
    /// Whether OpenAI's own host lets it call tools on the responses interface only.
    pub(crate) tools_need_responses: bool,
    /// Whether it wants `max_completion_tokens` on chat completions.
    pub(crate) counts_completion_tokens: bool,
    /// Whether what it thinks is billed and never shown on chat completions.
    pub(crate) hides_thoughts: bool,
    /// Whether it shows its thoughts when asked, and signs them (Gemini).
    pub(crate) tells_thoughts: bool,
    /// Whether it is of the generations that are told a level of thinking and insist on signatures (Gemini).
    pub(crate) insists_on_signatures: bool,
    /// Whether it takes cache points on Bedrock behind the system prompt and messages.
    pub(crate) cache_points: bool,
    /// Whether it takes them behind the tools too.
    pub(crate) tool_cache_points: bool,
}

impl ModelRules {
    /// The rules of a model. The catalogue decides; of a model that is not in it, its generation does, because a vendor's
    /// next model is mostly like the last one.
    pub(crate) fn of(facts: ModelFacts, model: &str) -> Self {
        let name = bare_name(model).to_ascii_lowercase();
        let generation = Generation::of(&name);
        let known = if facts.is_known { facts } else { generation.guess(&name) };
        let is_openai = matches!(generation, Generation::OpenAi(_));
        let is_gemini = matches!(generation, Generation::Gemini(_));
        Self {
            is_known: facts.is_known || generation != Generation::Unknown,
            is_openai,
            reasons: known.reasons,
            efforts: known.efforts,
            adaptive_thinking: known.adaptive_thinking,
            thinking_always_on: known.thinking_always_on,
            refuses_sampling: known.refuses_sampling,
            tools_need_responses: known.tools_need_responses,
            counts_completion_tokens: is_openai && known.reasons,
            hides_thoughts: known.reasons && !SHOWS_THOUGHTS.iter().any(|family| name.starts_with(family)),
            tells_thoughts: is_gemini && known.reasons,
            insists_on_signatures: generation >= Generation::Gemini((3, 0)),
            cache_points: known.prompt_caching.is_some(),
            tool_cache_points: known.prompt_caching.is_some_and(|caching| caching.points_behind_tools),
        }
    }

    /// The word on the wire for an effort: the nearest that the model takes.
    pub(crate) fn effort_word(&self, effort: Effort) -> Option<&'static str> {
        self.efforts.nearest(effort).map(EffortWord::as_str)
    }
}

fn the_usual_words() -> Efforts {
    use EffortWord::{High, Low, Medium, None};
    [None, Low, Medium, High].into_iter().collect()
}

fn caching(points_behind_tools: bool) -> PromptCaching {
    PromptCaching { least_tokens: 0, points_behind_tools }
}

/// Families that think before they answer, beside those whose generations are read below.
const REASONING: &[&str] = &[
    "gpt-oss",
    "deepseek-r1",
    "deepseek-reasoner",
    "deepseek-v4",
    "qwen3",
    "qwq",
    "magistral",
    "glm-4.5",
    "glm-5",
    "kimi-k2-thinking",
    "minimax-m",
    "grok-4",
    "nova-2",
    "mistral-small-2603",
    "mistral-medium-3-5",
];

/// Families that stream what they think as text.
const SHOWS_THOUGHTS: &[&str] = &[
    "claude",
    "gemini",
    "gpt-oss",
    "deepseek",
    "qwen",
    "qwq",
    "magistral",
    "mistral",
    "glm",
    "kimi",
    "minimax",
    "nova",
];

/// A vendor's generation of models, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Generation {
    /// Of none of the vendors that are told apart here.
    Unknown,
    /// `gpt-5.4-mini` is 5.4; the o-series comes before every numbered one.
    OpenAi((u32, u32)),
    Claude((u32, u32)),
    Gemini((u32, u32)),
}

impl Generation {
    fn of(name: &str) -> Self {
        let is_o_series =
            name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let openai =
            if is_o_series { Some((0, 0)) } else { name.strip_prefix("gpt-").and_then(leading_version) };
        openai
            .map(Self::OpenAi)
            .or_else(|| claude_version(name).map(Self::Claude))
            .or_else(|| gemini_version(name).map(Self::Gemini))
            .unwrap_or(Self::Unknown)
    }

    /// What is most likely true of a model of this generation.
    fn guess(self, name: &str) -> ModelFacts {
        use EffortWord::{High, Low, Medium, Minimal, None};
        let facts = ModelFacts::assumed(true);
        match self {
            Self::Unknown => {
                let reasons = REASONING.iter().any(|family| name.starts_with(family));
                let prompt_caching = name.starts_with("nova-").then_some(caching(false));
                ModelFacts { reasons, efforts: the_usual_words(), prompt_caching, ..facts }
            }
            Self::OpenAi(version) => {
                let reasons = version == (0, 0) || version >= (5, 0);
                let least = match version {
                    (0, 0) => Low,
                    (5, 0) => Minimal,
                    _ => None,
                };
                ModelFacts {
                    reasons,
                    efforts: [least, Low, Medium, High].into_iter().collect(),
                    refuses_sampling: reasons,
                    tools_need_responses: version >= (5, 4),
                    ..facts
                }
            }
            Self::Claude(version) => ModelFacts {
                reasons: version >= (3, 7),
                efforts: [Low, Medium, High].into_iter().collect(),
                adaptive_thinking: version >= (4, 6),
                refuses_sampling: version >= (4, 7),
                prompt_caching: (version >= (3, 7)).then_some(caching(true)),
                ..facts
            },
            Self::Gemini(version) => ModelFacts {
                reasons: version >= (2, 5) && !name.contains("image"),
                efforts: match (version, name.contains("flash")) {
                    (_, true) => [Minimal, Low, Medium, High].into_iter().collect(),
                    ((3, 0), false) => [Low, High].into_iter().collect(),
                    _ => [Low, Medium, High].into_iter().collect(),
                },
                ..facts
            },
        }
    }
}

/// `claude-sonnet-4-5-20250929` is 4.5, `claude-3-7-sonnet` 3.7; without a number it is one of the newest.
fn claude_version(name: &str) -> Option<(u32, u32)> {
    let rest = name.strip_prefix("claude")?;
    let mut numbers =
        rest.split(['-', '.', '@']).filter(|part| part.len() <= 2).filter_map(|part| part.parse().ok());
    Some((numbers.next().unwrap_or(u32::MAX), numbers.next().unwrap_or(0)))
}

/// `gemini-2.5-flash` is 2.5; `gemini-flash-latest` is the newest, whichever that is.
fn gemini_version(name: &str) -> Option<(u32, u32)> {
    let rest = name.strip_prefix("gemini-")?;
    leading_version(rest).or_else(|| rest.ends_with("latest").then_some((u32::MAX, 0)))
}

/// The number with one point or none that a text begins with.
fn leading_version(text: &str) -> Option<(u32, u32)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (major, minor) = text[..end].split_once('.').unwrap_or((&text[..end], "0"));
    Some((major.parse().ok()?, minor.parse().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(model: &str) -> ModelRules {
        ModelRules::of(ModelFacts::assumed(true), model)
    }

    #[test]
    fn generations_are_told_apart() {
        let check = |model: &str, read: fn(&ModelRules) -> bool, expected: bool| {
            assert_eq!(read(&rules(model)), expected, "{model}");
        };
        for (model, expected) in [
            ("gpt-5", false),
            ("gpt-5.2", false),
            ("gpt-5.4", true),
            ("gpt-5.10-mini", true),
            ("gpt-6", true),
            ("o4-mini", false),
        ] {
            check(model, |rules| rules.tools_need_responses, expected);
        }
        for model in ["gpt-5", "gpt-5.4-mini", "o1", "o3-mini", "openai/gpt-5"] {
            check(
                model,
                |rules| rules.counts_completion_tokens && rules.reasons && rules.hides_thoughts,
                true,
            );
        }
        for model in ["gpt-4o", "gpt-4.1", "gpt-oss-20b", "olmo-2", "llama3.2"] {
            check(model, |rules| rules.counts_completion_tokens || rules.refuses_sampling, false);
        }
        for (model, adaptive, refuses) in [
            ("claude-3-5-sonnet-20241022", false, false),
            ("claude-sonnet-4-5-20250929", false, false),
            ("anthropic/claude-opus-4.6", true, false),
            ("global.anthropic.claude-opus-4-7-20260401-v1:0", true, true),
            ("claude-sonnet-5", true, true),
        ] {
            check(model, |rules| rules.adaptive_thinking, adaptive);
            check(model, |rules| rules.refuses_sampling, refuses);
        }
        for (model, tells, insists) in [
            ("gemini-2.0-flash", false, false),
            ("gemini-2.5-flash", true, false),
            ("gemini-2.5-flash-image", false, false),
            ("models/gemini-3-pro-preview", true, true),
            ("gemini-3.1-flash", true, true),
            ("gemini-flash-latest", true, true),
        ] {
            check(model, |rules| rules.tells_thoughts, tells);
            check(model, |rules| rules.insists_on_signatures, insists);
        }
    }

    #[test]
    fn the_catalogue_stands_above_the_generation() {
        let facts =
            ModelFacts { is_known: true, reasons: true, efforts: Efforts::NONE, ..ModelFacts::assumed(true) };
        let rules = ModelRules::of(facts, "gpt-5.4");
        assert!(rules.reasons && !rules.refuses_sampling && !rules.tools_need_responses);
        assert_eq!(rules.effort_word(Effort::High), None);
    }

    #[test]
    fn an_effort_becomes_the_nearest_word_that_the_model_takes() {
        let check = |model: &str, expected: [&str; 4]| {
            let rules = rules(model);
            assert_eq!(Effort::ALL.map(|effort| rules.effort_word(effort).unwrap()), expected, "{model}");
        };
        check("gpt-5", ["minimal", "low", "medium", "high"]);
        check("gpt-5.4", ["none", "low", "medium", "high"]);
        check("o4-mini", ["low", "low", "medium", "high"]);
        check("gemini-3-pro-preview", ["low", "low", "low", "high"]);
        check("gemini-3-flash", ["minimal", "low", "medium", "high"]);
        check("unheard-of", ["none", "low", "medium", "high"]);
    }
}
