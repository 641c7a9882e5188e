//! Shows a specialist's turn to the watchers of the calling turn: the tools it uses, and its requests for approval,
//! in the conversation that they are in.

use std::sync::{Mutex, PoisonError};

use aethon_core::agents::Caller;
use aethon_core::approval::ApprovalRequest;
use aethon_core::ids::{AgentName, TurnId};
use aethon_core::surface::{Surface, ToolPhase, ToolState, TurnEvent};
use aethon_core::tool::ToolContext;

/// How many lines about its activity are shown.
const MAX_LINES: usize = 12;

/// The surface of a specialist's turn.
pub(super) struct DelegatedSurface {
    name: AgentName,
    /// The call that waits for it.
    caller: ToolContext,
    lines: Mutex<Vec<String>>,
}

impl DelegatedSurface {
    pub(super) fn new(name: AgentName, caller: ToolContext) -> Self {
        Self { name, caller, lines: Mutex::default() }
    }

    /// Rewrites a question for the watchers of the caller's turn.
    fn relabel_for_caller(&self, request: ApprovalRequest) -> ApprovalRequest {
        ApprovalRequest {
            summary: format!("{}: {}", self.name, request.summary),
            session_id: self.caller.session.clone(),
            turn: self.caller.turn.clone(),
            ..request
        }
    }

    fn forward(&self, event: TurnEvent) {
        self.caller.surface.emit(&self.caller.turn, event);
    }

    fn show(&self, state: &ToolState) {
        let line = match state.phase {
            // A later update of the same call has no arguments and is about its output.
            ToolPhase::Running if state.input.is_some() => format!("{}: {} ...", self.name, state.name),
            ToolPhase::Running | ToolPhase::Ok => return,
            ToolPhase::Error | ToolPhase::Denied => {
                format!("{}: {} {}", self.name, state.name, state.phase.as_str())
            }
        };
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() >= MAX_LINES {
            lines.remove(0);
        }
        lines.push(line);
        let shown = lines.join("\n");
        drop(lines);
        self.caller.show_output(shown);
    }
}

impl Surface for DelegatedSurface {
    fn emit(&self, _turn: &TurnId, event: TurnEvent) {
        match event {
            TurnEvent::Approval(request) => {
                self.forward(TurnEvent::Approval(self.relabel_for_caller(request)))
            }
            TurnEvent::ApprovalDone { .. } | TurnEvent::Notice { .. } => self.forward(event),
            TurnEvent::Tool(state) => self.show(&state),
            // Its text is for its caller and arrives with its report.
            _ => {}
        }
    }

    fn caller(&self) -> Option<Caller> {
        let own = || Caller { session: self.caller.session.clone(), turn: self.caller.turn.clone() };
        Some(self.caller.surface.caller().unwrap_or_else(own))
    }

    fn is_attended(&self) -> bool {
        self.caller.surface.is_attended()
    }
}
