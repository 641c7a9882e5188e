//! Summaries made in the background at the end of a turn, before they are needed.
//!
//! A summary takes seconds, and a turn that needs one would have to wait for it. So when a window is nearly full, a
//! background task summarises the part that is about to leave it; the turn that needs the room then only stores the
//! result and swaps it in. Nothing is stored before that, so whatever happens to the process or the session in
//! between costs only the summary. There is at most one task per session, and a few at a time.

use std::sync::Arc;

use aethon_core::turn::TurnContext;
use tokio::sync::watch;

use super::conversation::{Allowance, Leaving, leaving};
use super::passes::summarise;
use super::slots::{Prepared, Stage};
use super::summariser::Summariser;
use crate::catch_panic::catch_panic;
use crate::control::{Control, StopSignal};
use crate::engine::agents::RunningAgent;
use crate::engine::shared::Shared;
use crate::window::{ContextWindow, TokenCounter};

/// How full the window must be, as a percentage of the level that triggers a compaction.
const FULL_ENOUGH: u64 = 70;

/// A summary to be made.
struct Order {
    agent: Arc<RunningAgent>,
    context: TurnContext,
    leaving: Leaving,
    counter: TokenCounter,
    /// The most bytes of a summary.
    max_chars: usize,
    stop: StopSignal,
    number: u64,
}

/// Starts summarising the part that will soon leave a window, if it is nearly full.
pub(in crate::engine) fn compact_ahead(
    shared: &Arc<Shared>,
    (agent, context): (&Arc<RunningAgent>, &TurnContext),
    window: &ContextWindow,
    allowance: &Allowance,
) {
    let ahead = &shared.caches.ahead;
    // Every turn passes through here, so the cheap checks come first.
    let is_prepared = ahead.revise(&context.session, window);
    if is_prepared || !shared.options.compaction.ahead || has_room(window, allowance) {
        return;
    }
    let Some(leaving) = leaving(window, &allowance.target_ahead(window, FULL_ENOUGH)) else { return };
    let Some((number, stop, stage)) = ahead.claim(&context.session, leaving.prefix) else { return };
    let order = Order {
        agent: agent.clone(),
        context: context.clone(),
        leaving,
        counter: window.counter,
        max_chars: allowance.limits.summary_chars(),
        stop,
        number,
    };
    let engine = shared.clone();
    shared.tasks.spawn(async move { order.carry_out(&engine, stage).await });
}

impl Order {
    async fn carry_out(self, shared: &Shared, stage: watch::Sender<Stage>) {
        let (session, number) = (self.context.session.clone(), self.number);
        match catch_panic(self.summarise(shared, &stage)).await {
            Ok(Some(prepared)) => {
                tracing::debug!(%session, messages = prepared.summarised.messages, "a summary is ready");
                stage.send_replace(Stage::Ready(prepared));
            }
            Ok(None) => shared.caches.ahead.give_up(&session, number),
            Err(panic) => {
                tracing::error!(%session, panic, "a summary in the background panicked");
                shared.caches.ahead.give_up(&session, number);
            }
        }
    }

    /// Returns the summary, or `None` if it was stopped or no model has seen all of it; the turn that needs room then
    /// compacts without it.
    async fn summarise(self, shared: &Shared, stage: &watch::Sender<Stage>) -> Option<Prepared> {
        let Self { agent, context, leaving, counter, max_chars, stop, .. } = self;
        let time = shared.options.turn_timeout;
        let mut control = Control::new(stop, time);
        let _permit = control.guard(shared.caches.ahead.permits.acquire()).await.ok()?.ok()?;
        stage.send_replace(Stage::Begun);
        let progress = || drop(stage.send_replace(Stage::Begun));
        let mut summariser =
            Summariser::new(shared, &agent, &context, counter, max_chars, time).in_background(&progress);
        let session = &context.session;
        let summarised = summarise(&mut summariser, (shared, session), leaving, &mut control).await.ok()?;
        let warning = summariser.warning.take();
        summarised.is_whole.then_some(Prepared { summarised, warning })
    }
}

/// Returns whether a window is far from full, judged by its tokens with old tool output shortened and by its number
/// of messages.
fn has_room(window: &ContextWindow, allowance: &Allowance) -> bool {
    let fits = |tokens| allowance.holds_tokens(window, tokens, FULL_ENOUGH);
    let is_crowded =
        window.len() as u64 * 100 >= (allowance.limits.messages as u64).saturating_mul(FULL_ENOUGH);
    !is_crowded && (fits(window.tokens()) || fits(window.tokens_when_shortened(allowance.limits.keep)))
}
