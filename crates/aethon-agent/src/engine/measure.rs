//! The metrics of a turn: how long the person waited, how it ended, and which calls hooks refused.

use std::time::Duration;

use aethon_core::hook::TurnContext;
use aethon_core::message::{Reply, TurnEnd};
use aethon_core::telemetry::{ModelFacts, TelemetryEvent, TelemetryKind, TelemetryStatus};

use super::ends::TurnEnds;
use super::outcome::TurnOutcome;
use crate::dispatcher::Job;

impl TurnEnds {
    /// Measures a finished turn, from the moment its message was accepted.
    pub(super) fn measure(&self, job: &Job, reply: &Reply) {
        let (status, word) = match reply.end {
            TurnEnd::End => (TelemetryStatus::Ok, ""),
            TurnEnd::Stopped => (TelemetryStatus::Stopped, "stopped"),
            TurnEnd::Limit => (TelemetryStatus::Error, "limit"),
            TurnEnd::Budget => (TelemetryStatus::Error, "budget"),
            TurnEnd::Error => (TelemetryStatus::Error, "error"),
        };
        let now = self.services.clock.now();
        let took = Duration::try_from(now.duration_since(job.message.created_at)).unwrap_or_default();
        let why = match &reply.failure {
            Some(failure) => format!("{word}: {}", failure.message),
            None => word.to_owned(),
        };
        let usual = || self.agents.current().get_or_main(&job.inbound.agent).provider();
        let provider = job.provider.clone().unwrap_or_else(usual);
        let mut facts = ModelFacts::new(provider, &reply.model, job.inbound.kind);
        (facts.input_tokens, facts.output_tokens) = (reply.usage.input_tokens, reply.usage.output_tokens);
        (facts.cached_tokens, facts.cost_usd) = (reply.usage.cached_tokens, reply.usage.cost_usd);
        let event = TelemetryEvent::new(TelemetryKind::Turn, &job.inbound.channel, status, now)
            .took(took)
            .within(Some(&reply.session), Some(&reply.turn))
            .with_detail(&why);
        self.services.bus.record(event.with_call(facts));
    }

    /// Measures that a hook refused a turn or a request.
    pub(super) fn measure_refusal(&self, context: &TurnContext, outcome: &TurnOutcome) {
        let Some((reason, sentence)) = &outcome.notice else { return };
        let now = self.services.clock.now();
        let event = TelemetryEvent::new(TelemetryKind::Denial, reason.as_str(), TelemetryStatus::Denied, now)
            .within(Some(&context.session), Some(&context.turn));
        self.services.bus.record(event.with_detail(sentence));
    }
}
