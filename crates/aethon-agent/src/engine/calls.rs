//! Running the tools that the model asked for, one after the other.
//!
//! The message with the calls is stored before the first of them runs, and the results when the last one has ended; a
//! turn that is ended in between gets results for the others, so that every call has one.

use std::sync::atomic::Ordering;

use aethon_core::message::{Block, Failure, Message, Role, ToolCall, ToolResult};
use aethon_core::model::ModelErrorKind;
use aethon_core::surface::{ToolPhase, ToolState, TurnEvent};
use jiff::Timestamp;
use tokio::time::Instant;

use super::ending::Ending;
use super::shared::log_storage;
use super::turn::Turn;
use crate::caught::caught;
use crate::window::failed;

const CUT_SHORT: &str =
    "interrupted: the turn ended before this call did; it may or may not have had an effect";
const NOT_RUN: &str = "not run: the turn ended first";

/// How often in a row a model is asked to repair arguments that are no JSON.
const MOST_REPAIRS: u32 = 1;

/// Calls that are stored, and the results that they have so far.
pub(super) struct OpenCalls {
    calls: Vec<ToolCall>,
    results: Vec<ToolResult>,
    started: usize,
}

impl OpenCalls {
    fn new(calls: Vec<ToolCall>) -> Self {
        Self { results: Vec::with_capacity(calls.len()), calls, started: 0 }
    }

    fn start_next(&mut self) -> Option<ToolCall> {
        let call = self.calls.get(self.started).cloned();
        self.started += usize::from(call.is_some());
        call
    }

    /// The tool message: the results there are, and for the other calls why there is none.
    pub(super) fn message(&self, now: Timestamp) -> Message {
        let mut results: Vec<Block> = self.results.iter().cloned().map(Block::ToolResult).collect();
        for (place, call) in self.calls.iter().enumerate().skip(self.results.len()) {
            let why = if place < self.started { CUT_SHORT } else { NOT_RUN };
            results.push(Block::ToolResult(failed(call, why)));
        }
        Message::new(Role::Tool, results, now)
    }
}

impl Turn<'_> {
    /// Stores a message with calls, runs them, and stores their results.
    pub(super) async fn run_calls(&mut self, message: Message) -> Result<(), Ending> {
        let calls: Vec<ToolCall> = message.tool_calls().cloned().collect();
        let unreadable = calls.iter().find(|call| call.input.is_string()).map(|call| call.name.clone());
        self.append(message).await?;
        self.open = Some(OpenCalls::new(calls));
        let mut looping = None;
        while let Some(call) = self.open.as_mut().and_then(OpenCalls::start_next) {
            let result = self.run_call(&call).await?;
            looping = self.repetition.note(&call, &result, self.shared.options.loop_limit).or(looping);
            self.note(result);
        }
        // They stay open until they are stored: should that fail, the end of the turn tries once more.
        let results = self.open.as_ref().map(|open| open.message(self.shared.parts.clock.now()));
        if let Some(results) = results {
            self.append(results).await?;
        }
        self.open = None;
        if let Some(name) = unreadable {
            self.answer.unreadable += 1;
            if self.answer.unreadable > MOST_REPAIRS {
                return Err(Ending::failed(garbled(&name)));
            }
        } else {
            self.answer.unreadable = 0;
        }
        match looping {
            Some(reason) => Err(Ending::limit("loop", format!("Stopped: {reason} (`agent.loop_limit`)."))),
            None => Ok(()),
        }
    }

    fn note(&mut self, result: ToolResult) {
        if let Some(open) = &mut self.open {
            open.results.push(result);
        }
    }

    async fn run_call(&mut self, call: &ToolCall) -> Result<ToolResult, Ending> {
        let started = Instant::now();
        self.show(call, ToolPhase::Running, None, started);
        self.tools.has_begun.store(false, Ordering::Relaxed);
        let running = caught(self.shared.parts.toolbox.run(&self.tools, call));
        match self.control.guard(running).await {
            Ok(Ok(mut result)) => {
                result.ms = Some(milliseconds(started));
                let phase = match (result.denied, result.is_error) {
                    (true, _) => ToolPhase::Denied,
                    (false, true) => ToolPhase::Error,
                    (false, false) => ToolPhase::Ok,
                };
                self.show(call, phase, Some(result.output.clone()), started);
                Ok(result)
            }
            Ok(Err(panic)) => {
                tracing::error!(tool = call.name, panic, "a tool call panicked");
                let result = failed(call, "the tool failed because of a fault in the program");
                self.show(call, ToolPhase::Error, Some(result.output.clone()), started);
                Ok(result)
            }
            Err(interrupt) => {
                if self.tools.has_begun.load(Ordering::Relaxed) {
                    self.show(call, ToolPhase::Error, Some(CUT_SHORT.into()), started);
                } else {
                    self.show(call, ToolPhase::Denied, Some(NOT_RUN.into()), started);
                    self.note(ToolResult { denied: true, ..failed(call, NOT_RUN) });
                }
                Err(Ending::interrupted(interrupt, self.shared.options.turn_timeout))
            }
        }
    }

    /// Stores a message of the running turn, and shows it to the next request. Never cut short by a stop.
    pub(super) async fn append(&mut self, mut message: Message) -> Result<(), Ending> {
        message.turn = Some(self.context.turn.clone());
        match self.shared.parts.log.append(&self.context.turn, vec![message.clone()]).await {
            Ok(ids) => {
                if let Some(id) = ids.first() {
                    message.id = *id;
                }
                self.keep(message);
                Ok(())
            }
            Err(error) => {
                log_storage("a message of a turn could not be stored", &error);
                self.is_window_whole = false;
                Err(Ending::fault(
                    "storage",
                    "The answer could not be stored, so the turn was ended; the log has more.",
                ))
            }
        }
    }

    fn show(&self, call: &ToolCall, phase: ToolPhase, output: Option<String>, started: Instant) {
        let running = phase == ToolPhase::Running;
        let state = ToolState {
            call: call.id.clone(),
            name: call.name.clone(),
            phase,
            input: running.then(|| call.input.clone()),
            output,
            milliseconds: (!running).then(|| milliseconds(started)),
        };
        self.job.surface.emit(&self.context.turn, TurnEvent::Tool(state));
    }
}

fn milliseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// The model was told what is wrong with its arguments, and made the same mistake.
fn garbled(tool: &str) -> Failure {
    Failure {
        code: ModelErrorKind::Malformed.code().into(),
        message: format!(
            "The model called `{tool}` with arguments that are not valid JSON, also when it was asked to repair them. Ask \
             again, or choose another model (`model.model_id`)."
        ),
        retry_after: None,
    }
}
