//! How requests to a model must be written, as far as wire formats differ: whether and how it is asked to think, which
//! parts it refuses, and which it needs back. Abilities decide; names are used only where nothing else distinguishes a
//! vendor's generations.

use aethon_core::model::Effort;

use crate::catalog::{EffortWord, Efforts, ModelFacts, PromptCaching, ServiceFacts};

/// The rules for one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ModelRules {
    /// Whether the model is known at all. For others, only the owner's settings apply.
    pub(crate) is_known: bool,
    /// Whether it is one of OpenAI's own.
    pub(crate) is_openai: bool,
    /// Whether it can think before answering.
    pub(crate) reasons: bool,
    /// The efforts it accepts.
    pub(crate) efforts: Efforts,
    /// Whether it decides itself how long to think, and gets an effort instead of a budget (Claude).
    pub(crate) adaptive_thinking: bool,
    /// Whether its thinking cannot be disabled.
    pub(crate) thinking_always_on: bool,
    /// Whether it refuses `temperature` and `top_p`.
    pub(crate) refuses_sampling: bool,
    /// Whether OpenAI's own host supports its tools only in the responses API.
    pub(crate) tools_need_responses: bool,
    /// Whether it requires `max_completion_tokens` in chat completions.
    pub(crate) counts_completion_tokens: bool,
    /// Whether its thoughts are billed but never shown in chat completions.
    pub(crate) hides_thoughts: bool,
    /// Whether it shows its thoughts on request, and signs them (Gemini).
    pub(crate) tells_thoughts: bool,
    /// Whether its generation takes a thinking level and requires signatures (Gemini).
    pub(crate) insists_on_signatures: bool,
    /// Whether its own service searches the web for it.
    pub(crate) searches_web: bool,
    /// Whether it accepts cache points on Bedrock after the system prompt and messages.
    pub(crate) cache_points: bool,
    /// Whether it also accepts them after the tools.
    pub(crate) tool_cache_points: bool,
}

impl ModelRules {
    /// Returns the rules for a model. The catalogue decides; for a model that is not in it, its generation does,
    /// because a vendor's next model is usually like the last one.
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
            // A price for searches is a sign of them, too; the table has gaps.
            searches_web: known.service.searches_web
                || known.price.is_some_and(|price| price.search.is_some()),
            cache_points: known.service.prompt_caching.is_some(),
            tool_cache_points: known
                .service
                .prompt_caching
                .is_some_and(|caching| caching.points_behind_tools),
        }
    }

    /// Returns the wire word for an effort: the nearest that the model accepts.
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

/// Model families that think before answering, besides those whose generations are parsed below.
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

/// Model families that stream their thoughts as text.
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

/// Returns the model's own name, without prefixes of routers and clouds: `openrouter/anthropic/claude-…`,
/// `global.anthropic.claude-…`, `ft:gpt-4o:…`.
pub(crate) fn bare_name(model: &str) -> &str {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.strip_prefix("ft:").unwrap_or(name);
    ["anthropic.", "mistral.", "meta.", "openai.", "amazon.", "cohere.", "deepseek."]
        .iter()
        .find_map(|vendor| name.split_once(vendor).map(|(_, rest)| rest))
        .unwrap_or(name)
}

/// A vendor's generation of models, by version number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Generation {
    /// Of none of the vendors distinguished here.
    Unknown,
    /// `gpt-5.4-mini` is 5.4; the o-series precedes every numbered one.
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

    /// Returns the most likely facts about a model of this generation.
    fn guess(self, name: &str) -> ModelFacts {
        use EffortWord::{High, Low, Medium, Minimal, None};
        let facts = ModelFacts::assumed(true);
        match self {
            Self::Unknown => {
                let reasons = REASONING.iter().any(|family| name.starts_with(family));
                let prompt_caching = name.starts_with("nova-").then_some(caching(false));
                let service = ServiceFacts { prompt_caching, ..facts.service };
                ModelFacts { reasons, efforts: the_usual_words(), service, ..facts }
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
                    service: ServiceFacts { searches_web: version >= (5, 0), ..facts.service },
                    ..facts
                }
            }
            Self::Claude(version) => ModelFacts {
                reasons: version >= (3, 7),
                efforts: [Low, Medium, High].into_iter().collect(),
                adaptive_thinking: version >= (4, 6),
                refuses_sampling: version >= (4, 7),
                service: ServiceFacts {
                    searches_web: version >= (3, 7),
                    prompt_caching: (version >= (3, 7)).then_some(caching(true)),
                    ..facts.service
                },
                ..facts
            },
            Self::Gemini(version) => ModelFacts {
                reasons: version >= (2, 5) && !name.contains("image"),
                service: ServiceFacts {
                    searches_web: version >= (2, 0) && !name.contains("image"),
                    ..facts.service
                },
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

/// Parses `claude-sonnet-4-5-20250929` as 4.5 and `claude-3-7-sonnet` as 3.7. Without a number, it is one of the
/// newest.
fn claude_version(name: &str) -> Option<(u32, u32)> {
    let rest = name.strip_prefix("claude")?;
    let mut numbers =
        rest.split(['-', '.', '@']).filter(|part| part.len() <= 2).filter_map(|part| part.parse().ok());
    Some((numbers.next().unwrap_or(u32::MAX), numbers.next().unwrap_or(0)))
}

/// Parses `gemini-2.5-flash` as 2.5. `gemini-flash-latest` is the newest, whatever that is.
fn gemini_version(name: &str) -> Option<(u32, u32)> {
    let rest = name.strip_prefix("gemini-")?;
    leading_version(rest).or_else(|| rest.ends_with("latest").then_some((u32::MAX, 0)))
}

/// Parses the number at the start of a text, with at most one point.
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
    fn generations_are_distinguished() {
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
