//! Tests the actual abilities of the configured models: chat, streaming, tools, pictures, speed and context window.
//!
//! Each model gets at most three short requests, each with a time-out; together they take a few hundred tokens. The calls
//! belong to no session. They are paid for like any other, and the report shows the cost.

mod question;

use std::sync::Arc;
use std::time::Duration;

use aethon_agent::{CallError, Meter};
use aethon_core::clock::Clock;
use aethon_core::message::Block;
pub use aethon_core::model::WindowSource;
use aethon_core::model::{ModelError, ModelErrorKind, ModelProvider, Readiness, StopReason, Usage};
use aethon_core::tool::ToolSpec;
use aethon_store::OpenMode;
use serde::Serialize;
use serde_json::json;
use tokio::time::timeout;

use self::question::{ModelAnswer, Questions, TIMEOUT};
use crate::error::Result;
use crate::prepared::Prepared;
use crate::wiring;

/// The longest answer requested. Reasoning models spend part of it on thinking.
pub(crate) const MAX_TOKENS: u32 = 1_024;

const COUNT: &str = "Count from one to thirty in words, separated by commas. Answer with nothing else.";
const CALL: &str =
    "The sky is blue. Report its colour with the tool report_colour. Do not answer in any other way.";
/// A line that makes the offline model `fake` call the tool; without it, `fake` calls none.
const CALL_OF_FAKE: &str = "\n!tool report_colour {\"colour\":\"blue\"}";
const LOOK: &str = "Which colour has this picture? Answer with one word.";
/// A red square of 64 by 64 pixels, as base64-encoded PNG. Some models reject smaller pictures.
const RED_SQUARE: &str = "iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAQMAAACQp+OdAAAAA1BMVEX/AAAZ4gk3AAAAD0lEQVR42mNgGAWjgHwAAAJAAAHgTR1EAAAAAElFTkSuQmCC";

/// The test report of one model.
#[derive(Debug, Clone, Serialize)]
pub struct ModelReport {
    /// The provider's name.
    pub provider: String,
    /// The model's id, as configured.
    pub model: String,
    /// Whether it is a fallback.
    pub fallback: bool,
    /// The steps in order. Abilities that were not tested are listed as skipped.
    pub checks: Vec<Check>,
    /// The time to the first piece of the answer.
    pub first_token_ms: Option<u64>,
    /// The speed of the rest.
    pub tokens_per_second: Option<f64>,
    /// The size of the context window.
    pub context_window: Window,
    /// The cost of the test.
    pub spent: Spent,
}

/// The result of one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The ability tested: `reachable`, `chat`, `streaming`, `tools` or `images`.
    pub ability: &'static str,
    /// The outcome.
    pub outcome: Outcome,
    /// The observation, as a sentence.
    pub message: String,
}

/// The outcome of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It works as it should.
    Ok,
    /// It works, but not as it should.
    Partly,
    /// It does not work.
    Failed,
    /// It was not tried.
    Skipped,
}

/// The size of a context window, and its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Window {
    /// The number of tokens that the assistant assumes.
    pub tokens: u64,
    /// The longest context that the model is made for, if its service says so and it is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest: Option<u64>,
    /// The source of that number.
    pub source: WindowSource,
    /// The value that the service reports, if any.
    pub told: Option<u64>,
}

/// The cost of a test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spent {
    /// The number of requests.
    pub calls: u32,
    /// How many of them ended without the service reporting usage; for these the sums contain an estimate.
    pub uncounted: u32,
    /// The tokens.
    pub usage: Usage,
    /// The cost in USD, if the price is known.
    pub cost_usd: Option<f64>,
}

impl ModelReport {
    /// Returns whether the model answers.
    pub fn chats(&self) -> bool {
        self.checks.iter().any(|check| check.ability == "chat" && check.outcome == Outcome::Ok)
    }
}

/// Tests the configured model and then each of its fallbacks, one at a time because models on the same machine would slow each
/// other down.
pub async fn examine(prepared: &Prepared) -> Result<Vec<ModelReport>> {
    prepared.home.prepare()?;
    let storage = wiring::store::storage(prepared, OpenMode::Guest).await?;
    let prices = wiring::prices::prices(&prepared.config, &prepared.catalog);
    let (ledger, bus) = (storage.ledger.clone(), prepared.shared.bus.clone());
    let meter = wiring::prices::meter(&prepared.config.budget, prices.clone(), ledger, prepared.clock(), bus);
    let mut reports = Vec::new();
    for (source, provider) in models(prepared) {
        let questions = Questions::new(provider.clone(), meter.clone(), prepared.clock())?;
        let fallback = !reports.is_empty();
        let trial = Trial { provider: provider.clone(), questions, checks: Vec::new() };
        let mut report = trial.run(source, fallback).await;
        let told = provider.capabilities().price;
        let price = prices(&report.provider, &report.model, told);
        report.spent.cost_usd = price.map(|_| report.spent.usage.cost_usd);
        reports.push(report);
    }
    meter.ended().await;
    if prepared.source.parts.storage.is_none() {
        storage.upkeep.close().await;
    }
    Ok(reports)
}

/// Asks a model for one answer, and returns the time to its first piece.
pub(crate) async fn first_answer(
    provider: Arc<dyn ModelProvider>,
    meter: Meter,
    clock: Arc<dyn Clock>,
) -> std::result::Result<Option<Duration>, CallError> {
    let failed = |why: String| CallError::Model(ModelError::new(ModelErrorKind::Malformed, why));
    if let Readiness::NotConfigured(hint) = provider.readiness() {
        return Err(CallError::Model(ModelError::new(ModelErrorKind::Auth, hint)));
    }
    // The request names the window, because the server would reload the model for another one.
    if provider.capabilities().window.cuts_silently {
        let _ = provider.learn().await;
    }
    let mut questions = Questions::new(provider, meter, clock).map_err(|error| failed(error.to_string()))?;
    let answer = questions.ask(vec![Block::text(COUNT)], Vec::new()).await?;
    if answer.text.trim().is_empty() {
        return Err(failed(empty(&answer)));
    }
    Ok(answer.first_piece)
}

fn models(prepared: &Prepared) -> Vec<(WindowSource, Arc<dyn ModelProvider>)> {
    if let Some(model) = &prepared.source.parts.model {
        return vec![(WindowSource::Program, model.clone())];
    }
    let each = wiring::model::each_in_short(prepared, MAX_TOKENS);
    each.into_iter().map(|(_, provider)| (provider.capabilities().window.source, provider)).collect()
}

/// The test of one model.
struct Trial {
    provider: Arc<dyn ModelProvider>,
    questions: Questions,
    checks: Vec<Check>,
}

impl Trial {
    async fn run(mut self, source: WindowSource, fallback: bool) -> ModelReport {
        let mut speed = Speed::default();
        let mut told = None;
        if let Readiness::NotConfigured(hint) = self.provider.readiness() {
            self.note("reachable", Outcome::Failed, hint);
            self.skip(&["chat", "streaming", "tools", "images"], "the model is not set up");
        } else {
            self.reach().await;
            // Every request names the window, because the server would reload the model for another one.
            if self.provider.capabilities().window.cuts_silently {
                told = self.provider.learn().await.ok().and_then(|report| report.context_window);
            }
            // Some services answer requests but not the probe, so a failed probe does not end the test.
            if let Some(answer) = self.chat().await {
                speed = Speed::of(&answer);
                // Some services know their window only once the model is loaded, which it is now.
                let later = self.provider.learn().await.ok().and_then(|report| report.context_window);
                told = later.or(told);
                self.tools().await;
                self.images().await;
            } else {
                self.skip(&["streaming", "tools", "images"], "the model does not answer");
            }
        }
        let capabilities = self.provider.capabilities();
        let source = match source {
            WindowSource::Program => source,
            _ => capabilities.window.source,
        };
        let tokens = capabilities.context_window;
        let longest = capabilities.window.longest.filter(|longest| *longest > tokens);
        // Ollama gets the window with the request.
        let told = told.filter(|_| !capabilities.window.cuts_silently || source == WindowSource::Service);
        ModelReport {
            provider: capabilities.provider.clone(),
            model: capabilities.model.clone(),
            fallback,
            first_token_ms: speed.first_token_ms,
            tokens_per_second: speed.tokens_per_second,
            context_window: Window { tokens, longest, source, told },
            spent: Spent {
                calls: self.questions.asked,
                uncounted: self.questions.uncounted,
                usage: self.questions.usage,
                cost_usd: None,
            },
            checks: self.checks,
        }
    }

    async fn reach(&mut self) {
        match timeout(TIMEOUT, self.provider.probe()).await {
            Ok(Ok(sentence)) => self.note("reachable", Outcome::Ok, sentence),
            Ok(Err(error)) => self.note("reachable", Outcome::Failed, error.to_string()),
            Err(_) => self.note("reachable", Outcome::Failed, question::no_answer()),
        }
    }

    /// Asks for an answer long enough to observe its streaming. `None` if there was no answer.
    async fn chat(&mut self) -> Option<ModelAnswer> {
        let answer = match self.questions.ask(vec![Block::text(COUNT)], Vec::new()).await {
            Ok(answer) => answer,
            Err(error) => {
                self.note("chat", Outcome::Failed, error.to_string());
                return None;
            }
        };
        if answer.text.trim().is_empty() {
            self.note("chat", Outcome::Failed, empty(&answer));
            return None;
        }
        let message = format!("{} characters in {} ms", answer.text.chars().count(), millis(answer.took));
        self.note("chat", Outcome::Ok, message);
        if answer.pieces > 1 {
            let first = answer.first_piece.map_or(0, millis);
            let message = format!("{} pieces, the first after {first} ms", answer.pieces);
            self.note("streaming", Outcome::Ok, message);
        } else {
            let message = "the answer came in one piece; nothing is shown until it is complete";
            self.note("streaming", Outcome::Partly, message.into());
        }
        Some(answer)
    }

    async fn tools(&mut self) {
        if !self.provider.capabilities().tools {
            return self.skip(&["tools"], "the model is known not to support tools");
        }
        let is_fake = self.provider.capabilities().provider == "fake";
        let text = format!("{CALL}{}", if is_fake { CALL_OF_FAKE } else { "" });
        let tool = report_colour();
        let (outcome, message) = match self.questions.ask(vec![Block::text(text)], vec![tool.clone()]).await {
            Ok(answer) => judge_call(&answer, &tool, is_fake),
            Err(error) => (Outcome::Failed, error.to_string()),
        };
        match self.provider.capabilities().tools {
            true => self.note("tools", outcome, message),
            false => self.note(
                "tools",
                Outcome::Failed,
                "the service refuses tools with this model; requests are sent without".into(),
            ),
        }
    }

    async fn images(&mut self) {
        if !self.provider.capabilities().images {
            return self.skip(&["images"], "the model is known not to support images");
        }
        let picture = Block::image("image/png", RED_SQUARE);
        let answer = self.questions.ask(vec![picture, Block::text(LOOK)], Vec::new()).await;
        let (outcome, message) = judge_look(answer);
        self.note("images", outcome, message);
    }

    fn note(&mut self, ability: &'static str, outcome: Outcome, message: String) {
        self.checks.push(Check { ability, outcome, message });
    }

    fn skip(&mut self, abilities: &[&'static str], why: &str) {
        for ability in abilities {
            self.note(ability, Outcome::Skipped, why.to_owned());
        }
    }
}

fn report_colour() -> ToolSpec {
    let parameters = json!({
        "type": "object",
        "properties": {"colour": {"type": "string", "description": "The name of the colour."}},
        "required": ["colour"],
    });
    ToolSpec::new("report_colour", "Reports a colour.", parameters)
}

fn judge_call(answer: &ModelAnswer, tool: &ToolSpec, is_fake: bool) -> (Outcome, String) {
    let in_words = || aethon_providers::calls_in_words(&answer.text, std::slice::from_ref(tool));
    match answer.calls.first() {
        Some(call) if call.name != tool.name => {
            (Outcome::Partly, format!("it called {}, which it was not offered", quote(&call.name)))
        }
        Some(call) if !call.input["colour"].is_string() => {
            (Outcome::Partly, "it called the tool with wrong arguments".into())
        }
        Some(call) if aethon_providers::is_text_call(&call.id) => {
            (Outcome::Partly, "as text: it wrote the call into its answer; the assistant reads it there".into())
        }
        Some(_) if is_fake => (Outcome::Ok, "it called the tool, as the script in the question says".into()),
        Some(_) => (Outcome::Ok, "it called the tool".into()),
        None if in_words().is_some() => (
            Outcome::Partly,
            "as text: it wrote the call into its answer, where the assistant reads none from a model that is known to \
             call tools"
                .into(),
        ),
        None if answer.text.trim().is_empty() => (Outcome::Failed, empty(answer)),
        None => (Outcome::Failed, format!("no: it answered {}", quote(&answer.text))),
    }
}

fn judge_look(answer: std::result::Result<ModelAnswer, CallError>) -> (Outcome, String) {
    match answer {
        Ok(answer) if answer.text.trim().is_empty() => (Outcome::Failed, empty(&answer)),
        Ok(answer) if says_red(&answer.text) => (Outcome::Ok, "answered: it named the colour".into()),
        Ok(answer) => {
            (Outcome::Partly, format!("answered, but not with the colour red: {}", quote(&answer.text)))
        }
        Err(CallError::Model(error))
            if matches!(error.kind(), ModelErrorKind::InvalidRequest | ModelErrorKind::Refused) =>
        {
            (Outcome::Failed, format!("refused: {error}"))
        }
        Err(error) => (Outcome::Failed, error.to_string()),
    }
}

fn says_red(text: &str) -> bool {
    text.split(|c: char| !c.is_alphabetic()).any(|word| word.eq_ignore_ascii_case("red"))
}

/// Why an answer may be empty.
fn empty(answer: &ModelAnswer) -> String {
    match answer.stop {
        StopReason::Length => "the answer was cut off at the output limit before its first word".into(),
        StopReason::Refusal => "the provider refused to answer".into(),
        _ => "the answer was empty".into(),
    }
}

/// The beginning of the model's text.
fn quote(text: &str) -> String {
    const MAX_LEN: usize = 60;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut = words.floor_char_boundary(MAX_LEN);
    format!("\u{201c}{}{}\u{201d}", &words[..cut], if cut < words.len() { "…" } else { "" })
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Answers faster than this, in seconds, say nothing about speed.
const MIN_LEN: f64 = 0.005;

/// The speed of an answer.
#[derive(Default)]
struct Speed {
    first_token_ms: Option<u64>,
    tokens_per_second: Option<f64>,
}

impl Speed {
    /// Computes the speed from the times of an answer.
    fn of(answer: &ModelAnswer) -> Self {
        let tokens = answer.usage.map_or(0, |usage| usage.output_tokens);
        // The wait for the first piece does not count, unless the model was thinking unseen meanwhile: no language has
        // words so short that every second character is a token.
        let unseen = tokens > answer.seen_chars / 2;
        let begun = answer.first_piece.filter(|_| answer.pieces > 1 && !unseen).unwrap_or_default();
        let seconds = answer.took.saturating_sub(begun).as_secs_f64();
        let tokens_per_second = (tokens > 0 && seconds >= MIN_LEN).then(|| {
            // Token counts are far below 2^52, so they are exact as f64.
            (tokens as f64 / seconds * 10.0).round() / 10.0
        });
        Self { first_token_ms: answer.first_piece.map(millis), tokens_per_second }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(output_tokens: u64, seen_chars: u64, first_ms: u64, took_ms: u64) -> ModelAnswer {
        ModelAnswer {
            text: "one".into(),
            calls: Vec::new(),
            stop: StopReason::End,
            usage: Some(Usage { output_tokens, ..Usage::default() }),
            pieces: 20,
            seen_chars,
            first_piece: Some(Duration::from_millis(first_ms)),
            took: Duration::from_millis(took_ms),
        }
    }

    #[test]
    fn speed_leaves_out_the_wait_unless_the_model_thought_meanwhile() {
        let speed = |answer: &ModelAnswer| Speed::of(answer).tokens_per_second;
        assert_eq!(speed(&answer(100, 400, 1_000, 3_000)), Some(50.0));
        assert_eq!(speed(&answer(600, 400, 1_000, 3_000)), Some(200.0), "most of it was not shown");
        assert_eq!(speed(&ModelAnswer { pieces: 1, ..answer(100, 400, 2_000, 2_000) }), Some(50.0));
        assert_eq!(speed(&answer(100, 400, 0, 1)), None, "too short to tell");
        assert_eq!(speed(&ModelAnswer { usage: None, ..answer(0, 400, 0, 1_000) }), None);
    }

    #[test]
    fn a_colour_is_a_word() {
        assert!(says_red("It is **Red**.") && !says_red("It cannot be rendered as required."));
    }
}
