//! Runs the tools that a model asked for.
//!
//! Calls that only read, or whose tool handles concurrency itself, run in parallel; the others run one at a time, in
//! order. The caller stores the message with the calls before they run ([`ToolRun::open`], [`ToolRun::run`]) and the
//! results when the last one has ended ([`ToolRun::results`], [`ToolRun::close`]). If the turn ends in between, calls
//! without a result get one, so that every call has its result.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use aethon_core::ids::unique;
use aethon_core::message::{Block, EndReason, Failure, Message, Role, ToolCall, ToolResult};
use aethon_core::model::{ModelErrorKind, ModelRequest, StopReason};
use aethon_core::patience::retry_until_stored;
use aethon_core::session::TurnLog;
use aethon_core::storage_log::log_storage;
use aethon_core::surface::{ToolPhase, ToolState, TurnEvent};
use aethon_core::tool::{ToolContext, ToolSpec, Toolbox};
use futures_util::{FutureExt, StreamExt, stream};
use jiff::Timestamp;
use tokio::time::Instant;

use super::outcome::{OrEnd, TurnOutcome};
use super::repetition::Repetition;
use crate::catch_panic::catch_panic;
use crate::control::{Control, Interrupt};
use crate::options::LoopLimits;

pub(super) const RESTARTED: &str = "interrupted by a restart of the assistant; it may or may not have run";

const CUT_SHORT: &str =
    "interrupted: the turn ended before this call did; it may or may not have had an effect";
const NOT_RUN: &str = "not run: the turn ended first";
const TAKEN_OVER: &str = "not run: another program has taken the turn over";
const FAULT: &str = "the tool failed because of a fault in the program";
const CUT_ARGUMENTS: &str = "not run: your answer reached the output limit in the middle of this call, so its arguments \
were cut off. Split the work into several calls with shorter arguments, such as a long file written in parts.";
const REPEATS: &str = "You made the same call before in this turn and got the same result. Once more, and the turn is \
ended: do something else, or answer with what you have. If you wait for something, let time pass first, as with `sleep`.";

/// How many calls run in parallel.
const MAX_AT_ONCE: usize = 8;

/// How many times in a row a model may repair arguments that are not valid JSON.
const MAX_REPAIRS: u32 = 1;

/// How many times in a row a model may shorten its arguments.
const MAX_CUTS: u32 = 3;

/// The tool calls of one turn.
pub(super) struct ToolRun {
    context: ToolContext,
    repetition: Repetition,
    /// Calls whose results are not stored yet.
    open: Option<OpenCalls>,
    /// How many responses in a row had unreadable arguments.
    unreadable: u32,
    /// The ids of the turn's calls.
    ids: HashSet<String>,
}

/// The calls of one response.
struct OpenCalls {
    calls: Vec<OpenCall>,
    /// Whether the output limit cut the response off.
    was_cut: bool,
    /// Why the turn ends with these calls, if it is in a loop.
    loops: Option<String>,
}

/// A call that a restart has cut off.
pub(super) struct CutOffCall {
    pub(super) call: ToolCall,
    /// Why it has failed, unless it runs again.
    pub(super) failure: Option<&'static str>,
}

/// A call and its progress.
struct OpenCall {
    call: ToolCall,
    context: ToolContext,
    started: OnceLock<Instant>,
    result: OnceLock<ToolResult>,
}

impl ToolRun {
    /// Creates the calls of a turn with these limits on repetitions.
    pub(super) fn new(context: ToolContext, limits: LoopLimits) -> Self {
        Self { context, repetition: Repetition::new(limits), open: None, unreadable: 0, ids: HashSet::new() }
    }

    /// Notes the calls that the turn made before a restart.
    pub(super) fn remember<'m>(&mut self, messages: impl Iterator<Item = &'m Arc<Message>>) {
        self.ids.extend(messages.flat_map(|message| message.tool_calls()).map(|call| call.id.clone()));
    }

    /// Gives each call of a response an id that no other call of the turn has: tools know a call by it, and some
    /// models restart their numbering in every response.
    pub(super) fn distinguish(&mut self, message: &mut Message) {
        for block in &mut message.content {
            let Block::ToolCall(call) = block else { continue };
            if !self.ids.insert(call.id.clone()) {
                call.id = format!("call_{}", unique());
                self.ids.insert(call.id.clone());
            }
        }
    }

    /// Accepts the calls of a response whose message is stored.
    pub(super) fn open(&mut self, calls: Vec<ToolCall>, stop: StopReason) {
        let calls = calls.into_iter().map(|call| OpenCall {
            context: self.context.for_call(&call),
            call,
            started: OnceLock::new(),
            result: OnceLock::new(),
        });
        let was_cut = matches!(stop, StopReason::Length | StopReason::Window);
        self.open = Some(OpenCalls { calls: calls.collect(), was_cut, loops: None });
    }

    /// Resumes calls that a restart has cut off. Those of tools that recognise repeated calls run again; the others
    /// have a result that reports the interruption.
    pub(super) fn take_up(&mut self, calls: Vec<CutOffCall>) {
        if calls.is_empty() {
            return;
        }
        let calls = calls.into_iter().map(|CutOffCall { call, failure }| {
            let result = failure.map(|why| OnceLock::from(ToolResult::failed(&call, why)));
            OpenCall {
                context: self.context.for_repeated_call(&call),
                call,
                started: OnceLock::new(),
                result: result.unwrap_or_default(),
            }
        });
        self.open = Some(OpenCalls { calls: calls.collect(), was_cut: false, loops: None });
    }

    /// Records in the resumed calls the content that the model had seen when it made them.
    pub(super) fn taken_up_from(&mut self, request: ModelRequest) {
        let request = Arc::new(request);
        for call in self.open.iter_mut().flat_map(|open| &mut open.calls) {
            call.context = call.context.clone().having_seen(request.clone());
        }
    }

    /// Returns whether there are calls whose results are not stored.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Runs the open calls; `specs` describe every tool that can be called, and `log` tells whether the turn is still ours.
    pub(super) async fn run(
        &mut self,
        toolbox: &dyn Toolbox,
        specs: &[ToolSpec],
        log: &dyn TurnLog,
        control: &mut Control,
    ) -> Result<(), Interrupt> {
        let Some(open) = &mut self.open else { return Ok(()) };
        for group in groups(&open.calls, specs) {
            let calls = &open.calls[group];
            let running: Vec<_> =
                calls.iter().map(|call| call.run(toolbox, open.was_cut, log).boxed()).collect();
            let running = stream::iter(running).buffer_unordered(MAX_AT_ONCE);
            if let Err(interrupt) = control.guard(running.collect::<()>()).await {
                open.calls.iter().for_each(OpenCall::show_interrupted);
                return Err(interrupt);
            }
        }
        let pairs = open.calls.iter().filter_map(|call| Some((&call.call, call.result.get()?)));
        let noted = self.repetition.note(pairs, Instant::now());
        for place in noted.warnings {
            if let Some(result) = open.calls.get_mut(place).and_then(|call| call.result.get_mut()) {
                let note = result.note.take().map(|note| note + "; ").unwrap_or_default();
                result.note = Some(note + REPEATS);
            }
        }
        open.loops = noted.reason;
        Ok(())
    }

    /// Returns whether the open calls can be left as they are for a turn that resumes after a restart: unfinished
    /// calls then run again, and finished ones are repeatable because they only read.
    pub(super) fn can_run_again(&self, specs: &[ToolSpec]) -> bool {
        let calls = self.open.iter().flat_map(|open| &open.calls);
        let has_unfinished = calls.clone().any(|call| call.result.get().is_none());
        has_unfinished
            && calls.clone().all(|call| {
                let spec = specs.iter().find(|spec| spec.name == call.call.name);
                spec.is_some_and(|spec| spec.runs_again() && (spec.read_only || call.result.get().is_none()))
            })
    }

    /// Returns the tool message for the open calls: the results so far, and for the other calls why there is none.
    pub(super) fn results(&self, now: Timestamp) -> Option<Message> {
        let open = self.open.as_ref()?;
        let results = open.calls.iter().map(|call| Block::ToolResult(call.result()));
        Some(Message::new(Role::Tool, results.collect(), now))
    }

    /// Closes the calls once their results are stored. An error ends the turn.
    pub(super) fn close(&mut self) -> OrEnd {
        let Some(open) = self.open.take() else { return Ok(()) };
        let Some(name) = open.unreadable() else {
            self.unreadable = 0;
            return match open.loops {
                Some(reason) => Err(TurnOutcome::limit(EndReason::Loop, format!("Stopped: {reason}."))),
                None => Ok(()),
            };
        };
        self.unreadable += 1;
        match open.was_cut {
            true if self.unreadable > MAX_CUTS => Err(TurnOutcome::failed(cut_off(name))),
            false if self.unreadable > MAX_REPAIRS => Err(TurnOutcome::failed(garbled(name))),
            _ => Ok(()),
        }
    }
}

impl OpenCalls {
    /// Returns the tool of a call whose arguments could not be read.
    fn unreadable(&self) -> Option<&str> {
        self.calls.iter().find(|call| call.call.input.is_string()).map(|call| call.call.name.as_str())
    }
}

/// Groups the calls by how they run: neighbours that are safe to run in parallel together, every other call alone.
fn groups(calls: &[OpenCall], specs: &[ToolSpec]) -> Vec<Range<usize>> {
    let may_overlap = |spec: &ToolSpec| spec.read_only || spec.side_by_side;
    let is_free = |call: &OpenCall| specs.iter().any(|spec| spec.name == call.call.name && may_overlap(spec));
    let runs = calls.chunk_by(|one, next| is_free(one) && is_free(next));
    let mut start = 0;
    let group = |run: &[OpenCall]| {
        let group = start..start + run.len();
        start = group.end;
        group
    };
    runs.map(group).collect()
}

impl OpenCall {
    async fn run(&self, toolbox: &dyn Toolbox, was_cut: bool, log: &dyn TurnLog) {
        if self.result.get().is_some() {
            return;
        }
        if let Err(why) = self.is_ours(log).await {
            let _ = self.result.set(ToolResult::refused(&self.call, why));
            return;
        }
        self.started.get_or_init(Instant::now);
        self.show(ToolPhase::Running, None);
        let mut result = if was_cut && self.call.input.is_string() {
            ToolResult::failed(&self.call, CUT_ARGUMENTS)
        } else {
            catch_panic(toolbox.run(&self.context, &self.call)).await.unwrap_or_else(|panic| {
                tracing::error!(tool = self.call.name, panic, "a tool call panicked");
                ToolResult::failed(&self.call, FAULT)
            })
        };
        // A tool that ran knows its own duration, which excludes the time spent waiting for a person.
        result.ms = result.ms.or_else(|| self.milliseconds());
        let phase = match (result.denied, result.is_error) {
            (true, _) => ToolPhase::Denied,
            (false, true) => ToolPhase::Error,
            (false, false) => ToolPhase::Ok,
        };
        self.show(phase, Some(&result));
        // Each call runs once, so the cell is empty.
        let _ = self.result.set(result);
    }

    /// Refuses a call of a turn that another program has taken over: that one has told the model what became of the call.
    async fn is_ours(&self, log: &dyn TurnLog) -> Result<(), &'static str> {
        let ask = || log.is_ours(&self.context.turn);
        let asked = retry_until_stored("whether a turn is still ours could not be read; trying again", ask);
        match asked.await {
            Ok(true) => Ok(()),
            Ok(false) => Err(TAKEN_OVER),
            Err(error) => {
                log_storage("whether a turn is still ours is not known, so its call does not run", &error);
                Err(NOT_RUN)
            }
        }
    }

    /// Returns the result, or the reason why there is none.
    fn result(&self) -> ToolResult {
        match (self.result.get(), self.started.get().is_some(), self.has_begun()) {
            (Some(result), ..) => result.clone(),
            (None, ..) if self.context.is_again() => ToolResult::failed(&self.call, RESTARTED),
            (None, false, _) => ToolResult::failed(&self.call, NOT_RUN),
            (None, true, false) => ToolResult::refused(&self.call, NOT_RUN),
            (None, true, true) => ToolResult::failed(&self.call, CUT_SHORT),
        }
    }

    /// Returns whether the call may have had an effect.
    fn has_begun(&self) -> bool {
        self.context.has_begun.load(Ordering::Relaxed)
    }

    /// Reports a call that was running when the turn ended.
    fn show_interrupted(&self) {
        if self.result.get().is_none() && self.started.get().is_some() {
            let phase = if self.has_begun() { ToolPhase::Error } else { ToolPhase::Denied };
            self.show(phase, Some(&self.result()));
        }
    }

    /// Milliseconds since it began.
    fn milliseconds(&self) -> Option<u64> {
        let took = self.started.get()?.elapsed().as_millis();
        Some(u64::try_from(took).unwrap_or(u64::MAX))
    }

    fn show(&self, phase: ToolPhase, result: Option<&ToolResult>) {
        let running = phase == ToolPhase::Running;
        let state = ToolState {
            call: self.call.id.clone(),
            name: self.call.name.clone(),
            phase,
            // At the end only if a person changed them: then the call did not run with the model's arguments.
            input: match result {
                None => running.then(|| self.call.input.clone()),
                Some(result) => result.edited.clone(),
            },
            output: result.map(|result| result.output.clone()),
            blocks: result.map(|result| result.blocks.clone()).unwrap_or_default(),
            milliseconds: result.and_then(|result| result.ms.or_else(|| self.milliseconds())),
        };
        self.context.surface.emit(&self.context.turn, TurnEvent::Tool(state));
    }
}

/// Returns the failure of a model that repeats invalid arguments after it has received the error.
fn garbled(tool: &str) -> Failure {
    let message = format!(
        "The model called `{tool}` with arguments that are not valid JSON, also when it was asked to repair them. Ask \
         again, or choose another model (`model.model_id`)."
    );
    Failure::new(ModelErrorKind::Malformed, message)
}

/// Returns the failure of a model that does not shorten its arguments after it has received the error.
fn cut_off(tool: &str) -> Failure {
    let message = format!(
        "The arguments of `{tool}` were cut off by the model's output limit again and again, although the model was \
         asked to split the work. Raise the limit (`model.max_tokens`), or ask for less at once."
    );
    Failure::new(ModelErrorKind::Malformed, message)
}
