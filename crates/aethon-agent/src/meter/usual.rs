//! How long answers usually are, and how the service counts and caches input, learnt per model and kind of work.
//!
//! The first reservation should cover most answers, so the figure follows long answers quickly and short ones slowly.
//! It is not stored: a restart begins with a cautious guess again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::ledger::WorkKind;
use aethon_core::model::{Capabilities, Usage};

/// The guesses before the first answer, in tokens: for output that can be watched, and for hidden output.
const FIRST: u64 = 1_000;
const FIRST_HIDDEN: u64 = 4_000;

/// How far the figure moves, as a share of the difference, towards a longer and towards a shorter answer.
const UP: f64 = 0.5;
const DOWN: f64 = 0.05;

/// An answer of fewer tokens (by our count) says nothing about how the service counts.
const ENOUGH: u64 = 64;

/// How many of the service's tokens one of ours may correspond to, at least and at most.
const RATIOS: (f64, f64) = (1.0, 4.0);

/// How fast a model is assumed to think before it is known, in tokens a second, and the least and the most that is
/// believed.
const FIRST_PACE: f64 = 60.0;
const PACES: (f64, f64) = (5.0, 1_000_000.0);

/// The fewest hidden tokens from which a pace can be told.
const FEW_HIDDEN: u64 = 32;

/// How far the input figures move towards a dearer and towards a cheaper request.
const DEARER: f64 = 0.5;
const CHEAPER: f64 = 0.25;

/// How many billed input tokens one estimated token may correspond to, at least and at most.
const SENT: (f64, f64) = (0.1, 4.0);

/// Provider, model and kind of work.
type Key = (String, String, WorkKind);

/// The work that a figure belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) struct WorkOf<'a> {
    pub(super) provider: &'a str,
    pub(super) model: &'a str,
    pub(super) kind: WorkKind,
    /// Whether the model bills output that is not sent.
    pub(super) is_hidden: bool,
}

impl<'a> WorkOf<'a> {
    /// Returns the work of this kind that a model does.
    pub(super) fn by(model: &'a Capabilities, kind: WorkKind) -> Self {
        Self { provider: &model.provider, model: &model.model, kind, is_hidden: model.hidden_output }
    }

    fn key(&self) -> Key {
        (self.provider.to_owned(), self.model.to_owned(), self.kind)
    }
}

/// The learnt figures.
#[derive(Debug, Default)]
pub(super) struct OutputLengthStats(Mutex<HashMap<Key, Usual>>);

/// The usual answer of one model to one kind of work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Usual {
    tokens: f64,
    ratio: f64,
    /// How many tokens are billed that nobody sees, and how fast they come, in tokens a second.
    hidden: f64,
    pace: f64,
    /// How many input tokens the service bills for each that was estimated.
    sent: f64,
    /// The share of them that it has in its cache.
    cached: f64,
}

impl Usual {
    fn first(is_hidden: bool) -> Self {
        Self {
            tokens: (if is_hidden { FIRST_HIDDEN } else { FIRST }) as f64,
            ratio: 1.0,
            hidden: if is_hidden { FIRST_HIDDEN as f64 } else { 0.0 },
            pace: FIRST_PACE,
            sent: 1.0,
            cached: 0.0,
        }
    }

    /// Returns the token count that most answers stay below.
    pub(super) fn tokens(&self) -> u64 {
        self.tokens.ceil() as u64
    }

    /// Returns how many hidden tokens the service has probably produced in this time.
    pub(super) fn hidden_within(&self, time: Duration) -> u64 {
        (self.pace * time.as_secs_f64()).min(self.hidden).floor() as u64
    }

    /// Returns the input that the service probably bills for a request of this many estimated tokens whose bill never
    /// came.
    pub(super) fn input(&self, estimated: u64) -> Usage {
        let input = estimated as f64 * self.sent;
        Usage {
            input_tokens: input.ceil() as u64,
            cached_tokens: (input * self.cached).floor() as u64,
            ..Usage::default()
        }
    }

    /// Converts our count into the one that the service will bill.
    pub(super) fn billed(&self, counted: u64) -> u64 {
        (counted as f64 * self.ratio).ceil() as u64
    }
}

impl OutputLengthStats {
    /// Returns the usual answer, or the first guess.
    pub(super) fn get(&self, work: WorkOf<'_>) -> Usual {
        self.lock().get(&work.key()).copied().unwrap_or_else(|| Usual::first(work.is_hidden))
    }

    /// Learns from an answer: the tokens that the service billed, and those that we counted.
    pub(super) fn learn(&self, work: WorkOf<'_>, billed: u64, counted: u64) {
        let mut known = self.lock();
        let usual = known.entry(work.key()).or_insert_with(|| Usual::first(work.is_hidden));
        let difference = billed as f64 - usual.tokens;
        usual.tokens += difference * if difference > 0.0 { UP } else { DOWN };
        if !work.is_hidden && counted >= ENOUGH {
            let ratio = (billed as f64 / counted as f64).clamp(RATIOS.0, RATIOS.1);
            usual.ratio = f64::midpoint(usual.ratio, ratio);
        }
    }

    /// Learns from an answer how many tokens were billed that nobody saw, and in which time they came.
    pub(super) fn learn_hidden(&self, work: WorkOf<'_>, hidden: u64, time: Duration) {
        let mut known = self.lock();
        let usual = known.entry(work.key()).or_insert_with(|| Usual::first(work.is_hidden));
        usual.hidden = f64::midpoint(usual.hidden, hidden as f64);
        if hidden >= FEW_HIDDEN {
            let pace = (hidden as f64 / time.as_secs_f64().max(1e-3)).clamp(PACES.0, PACES.1);
            usual.pace = f64::midpoint(usual.pace, pace);
        }
    }

    /// Learns from an answered request: the service's count, and the estimated tokens.
    pub(super) fn learn_input(&self, work: WorkOf<'_>, usage: &Usage, estimated: u64) {
        if estimated < ENOUGH || usage.input_tokens == 0 {
            return;
        }
        let mut known = self.lock();
        let usual = known.entry(work.key()).or_insert_with(|| Usual::first(work.is_hidden));
        let input = usage.input_tokens as f64;
        let sent = (input / estimated as f64).clamp(SENT.0, SENT.1) - usual.sent;
        usual.sent += sent * if sent > 0.0 { DEARER } else { CHEAPER };
        let cached = usage.cached_tokens as f64 / input - usual.cached;
        usual.cached += cached * if cached < 0.0 { DEARER } else { CHEAPER };
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Usual>> {
        // Every statement leaves the map consistent, so a poisoned lock is usable.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: WorkOf<'_> = WorkOf { provider: "p", model: "m", kind: WorkKind::Turn, is_hidden: false };
    const HIDDEN: WorkOf<'_> = WorkOf { is_hidden: true, ..TURN };
    const COMPACTION: WorkOf<'_> = WorkOf { kind: WorkKind::Compaction, ..TURN };

    #[test]
    fn usuals_learn_the_billed_and_cached_input() {
        let usuals = OutputLengthStats::default();
        let expected = || {
            let usage = usuals.get(TURN).input(10_000);
            (usage.input_tokens, usage.cached_tokens)
        };
        let learn = |input_tokens, cached_tokens| {
            let usage = Usage { input_tokens, cached_tokens, ..Usage::default() };
            usuals.learn_input(TURN, &usage, 10_000);
        };
        assert_eq!(expected(), (10_000, 0), "at first the estimate is all there is");
        (0..20).for_each(|_| learn(4_000, 3_000));
        let (input, cached) = expected();
        assert!((4_000..4_100).contains(&input) && (2_900..3_100).contains(&cached), "{input} {cached}");
        (0..3).for_each(|_| learn(12_000, 0));
        let (input, cached) = expected();
        assert!(input > 10_000 && cached < input / 8, "dearer requests count at once: {input} {cached}");
        learn(0, 0);
        assert_eq!(expected(), (input, cached), "no count says nothing");
    }

    #[test]
    fn hidden_output_is_estimated_from_the_time_and_from_other_answers() {
        let usuals = OutputLengthStats::default();
        let hidden = |seconds| {
            let usual = usuals.get(HIDDEN);
            usual.hidden_within(Duration::from_secs(seconds))
        };
        assert_eq!((hidden(0), hidden(10), hidden(1_000)), (0, 600, FIRST_HIDDEN));
        (0..10).for_each(|_| usuals.learn_hidden(HIDDEN, 0, Duration::from_secs(1)));
        assert!(hidden(1_000) < 10, "it hides nothing");
        (0..10).for_each(|_| usuals.learn_hidden(HIDDEN, 500, Duration::from_secs(5)));
        assert!((450..=500).contains(&hidden(1_000)) && (95..=105).contains(&hidden(1)), "{}", hidden(1));
    }

    #[test]
    fn usuals_follow_long_answers_at_once_and_short_ones_slowly() {
        let usuals = OutputLengthStats::default();
        let tokens = || usuals.get(TURN).tokens();
        let learn = |billed| usuals.learn(TURN, billed, 0);
        assert_eq!(tokens(), FIRST);
        learn(5_000);
        assert_eq!(tokens(), 3_000);
        (0..60).for_each(|_| learn(100));
        assert!((200..400).contains(&tokens()), "{}", tokens());
        assert_eq!(usuals.get(COMPACTION).tokens(), FIRST);
        assert_eq!(usuals.get(WorkOf { is_hidden: true, ..COMPACTION }).tokens(), FIRST_HIDDEN);
    }

    #[test]
    fn usuals_learn_the_token_ratio_of_the_service() {
        let usuals = OutputLengthStats::default();
        let billed = |counted| usuals.get(TURN).billed(counted);
        let learn = |billed, counted| usuals.learn(TURN, billed, counted);
        learn(4, 1);
        assert_eq!(billed(100), 100, "one short answer says nothing");
        learn(200, 100);
        assert_eq!(billed(100), 150);
        (0..9).for_each(|_| learn(9_000, 100));
        assert!((390..=400).contains(&billed(100)), "{}", billed(100));
        (0..20).for_each(|_| learn(1, 100));
        assert!(billed(100) <= 101, "it is never taken for less");
    }
}
