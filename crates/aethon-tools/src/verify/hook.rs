//! The hook that runs a check after each edit, and adds its output to the result of the edit.
//!
//! A check is a project command, so it executes code from the project's files; it runs where every command runs, in the
//! sandbox if there is one. Its output is data, like that of every command.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aethon_core::hook::{AddedContext, Hook, OWN_CONTEXT, Review, ToolDecision};
use aethon_core::ids::TurnId;
use aethon_core::live::Live;
use aethon_core::message::{Failure, Inbound, Message, Reply, ToolCall, ToolResult};
use aethon_core::tool::{ArgumentRole, ToolContext, ToolSpec};
use aethon_core::turn::{Trust, TurnContext};
use aethon_core::untrusted::{self, shortened_between_words};
use aethon_guard::redact::Redactor;
use async_trait::async_trait;
use serde_json::Value;
use tokio::time::timeout;

use super::claims::Claims;
use super::project::{Check, detect};
use crate::files::Workspace;
use crate::lsp::{LanguageServers, has_errors};
use crate::options::Options;
use crate::shell::{Runner, Script, report_of};

/// Maximum characters shown of a check's output: the end, where compilers summarize.
const MAX_LEN: usize = 4_000;

/// Maximum number of pending edits remembered.
const MAX_EDITS: usize = 1024;

/// How the report of a successful command begins.
const SUCCEEDED: &str = "[exit status 0";

/// How the report begins if the shell did not find the program.
const NO_PROGRAM: &str = "[exit status 127";

const REMINDER: &str = "A note of the program: your last answer reported success, but after your last edit nothing was run \
that shows it. Run the check now, or say plainly that it is unchecked.";

/// Settings of the checks.
#[derive(Debug, Clone)]
pub struct VerifyOptions {
    /// The owner's command; if absent, one is derived from the project's files.
    pub command: Option<String>,
    /// Whether to derive a command from the project's files.
    pub detects: bool,
    /// Timeout of a check.
    pub timeout: Duration,
    /// Whether a failing check turns the edit into a failed call, and an unproven claim is sent back.
    pub strict: bool,
    /// Whether to check by commands at all; without them only language servers report problems.
    pub runs: bool,
    /// The language servers, which know more about code than a command.
    pub lsp: Option<Arc<LanguageServers>>,
}

/// Checks edits.
pub struct VerifyEdits {
    runner: Runner,
    workspace: Arc<Workspace>,
    root: PathBuf,
    options: VerifyOptions,
    /// Edits in progress: turn, call, and the argument that names the file. The file name is read from the call when it
    /// is over, because a person asked for approval may change it.
    edits: Mutex<Vec<(TurnId, String, String)>>,
    claims: Claims,
}

impl VerifyEdits {
    /// Creates the hook with the access that commands have.
    pub fn new(tools: &Options, redactor: Live<Redactor>, options: VerifyOptions) -> Self {
        Self {
            runner: Runner::new(tools, redactor),
            workspace: Arc::new(Workspace::new(tools)),
            root: tools.workspace.clone(),
            options,
            edits: Mutex::default(),
            claims: Claims::default(),
        }
    }

    /// Notes the start of an edit. Hooks see a call again after a person has changed it; it counts once.
    fn begin(&self, turn: &TurnId, call: &ToolCall, argument: &str) {
        let mut edits = self.edits.lock().unwrap_or_else(PoisonError::into_inner);
        edits.retain(|(of, id, _)| of != turn || *id != call.id);
        if edits.len() >= MAX_EDITS {
            edits.remove(0);
        }
        edits.push((turn.clone(), call.id.clone(), argument.to_owned()));
    }

    /// Returns the file that a call has edited, if its start was noted.
    fn take(&self, turn: &TurnId, call: &ToolCall) -> Option<String> {
        let mut edits = self.edits.lock().unwrap_or_else(PoisonError::into_inner);
        let at = edits.iter().position(|(of, id, _)| of == turn && *id == call.id)?;
        let (_, _, argument) = edits.remove(at);
        call.input.get(&argument).and_then(Value::as_str).map(str::to_owned)
    }

    /// Finds the check for a file.
    async fn check(&self, file: String) -> Option<Check> {
        if !self.options.runs {
            return None;
        }
        let (workspace, root, own) =
            (self.workspace.clone(), self.root.clone(), self.options.command.clone());
        let detects = self.options.detects;
        let found = tokio::task::spawn_blocking(move || {
            let (path, whole) = (Path::new(&file), root.canonicalize().ok()?);
            if let Some(command) = own {
                return Some(Check { command, directory: whole });
            }
            let parent =
                path.parent().map(|parent| parent.to_string_lossy().into_owned()).unwrap_or_default();
            let directory = workspace.directory(&parent).ok()?;
            let name = path.file_name()?.to_str()?;
            // Outside the workspace, do not look above the file's own folder.
            let end = if directory.starts_with(&whole) { whole } else { directory.clone() };
            detect(&directory, name, &end).filter(|_| detects)
        });
        found.await.ok().flatten()
    }

    /// Adds the language server's diagnostics of the file to the result of the edit.
    async fn add_diagnostics(&self, context: &ToolContext, file: &str, result: &mut ToolResult) {
        // A language server runs code from the project's files, outside the walls of other turns.
        let Some(lsp) = self.options.lsp.as_ref().filter(|_| context.trust().is_owner()) else { return };
        match timeout(self.options.timeout, lsp.after_edit(file, context.trust())).await {
            Ok(None) => {}
            Ok(Some(Ok(diagnostics))) if has_errors(&diagnostics) => {
                let diagnostics = shortened_between_words(diagnostics, MAX_LEN);
                result.output.push_str(&format!("\n\nDiagnostics of the language server:\n{diagnostics}"));
                result.untrusted.get_or_insert_with(untrusted::boundary);
                result.is_error |= self.options.strict;
                note(
                    result,
                    "the file was changed, and its language server finds errors in it: mend them before you go on",
                );
            }
            Ok(Some(Ok(_))) => note(result, "its language server finds no errors in it"),
            Ok(Some(Err(why))) => note(result, &format!("not looked at by a language server: {why}")),
            Err(_) => note(result, "not looked at by a language server: it took too long"),
        }
    }

    /// Runs a check and adds its output to the result of the edit.
    async fn run_check(&self, context: &ToolContext, check: Check, result: &mut ToolResult) {
        let Check { command, directory } = check;
        let script =
            Script { session: &context.session, command: &command, directory, limit: self.options.timeout };
        let (text, passed) = match report_of(&self.runner, script, context).await {
            Ok(output) => {
                let text = output.to_text();
                let last = text.lines().last().unwrap_or_default();
                if last.starts_with(NO_PROGRAM) {
                    return note(result, &format!("not checked: there is no program for `{command}`"));
                }
                let passed = last.starts_with(SUCCEEDED);
                (text, passed)
            }
            Err(error) => (error.to_string(), false),
        };
        if passed {
            self.claims.proven(&context.turn);
            return note(result, &format!("checked with `{command}`: it passed"));
        }
        let from = text.char_indices().rev().nth(MAX_LEN).map_or(0, |(at, _)| at);
        result.output.push_str(&format!("\n\nOutput of the check `{command}`:\n{}", &text[from..]));
        result.untrusted.get_or_insert_with(untrusted::boundary);
        result.is_error |= self.options.strict;
        note(
            result,
            &format!(
                "the file was changed, and the check `{command}` fails after it: mend that before you go on, and do not \
                 report success before it passes"
            ),
        );
    }
}

#[async_trait]
impl Hook for VerifyEdits {
    fn name(&self) -> &'static str {
        "verification"
    }

    async fn before_turn(
        &self,
        turn: &TurnContext,
        _inbound: &Inbound,
    ) -> Result<Vec<AddedContext>, Failure> {
        let is_due = self.claims.take(&turn.session);
        Ok(is_due.then(|| AddedContext::new(OWN_CONTEXT, REMINDER)).into_iter().collect())
    }

    async fn before_tool(&self, context: &ToolContext, spec: &ToolSpec, call: &ToolCall) -> ToolDecision {
        // A check runs code from the project's files, which a person whose commands are not run may have written.
        if context.trust() == Trust::Guest {
            return ToolDecision::Allow;
        }
        let written = spec.roles.iter().find(|(_, role)| **role == ArgumentRole::WritePath);
        if let Some((argument, _)) = written.filter(|(argument, _)| call.input.get(argument).is_some()) {
            self.begin(&context.turn, call, argument);
        }
        ToolDecision::Allow
    }

    async fn after_tool(&self, context: &ToolContext, call: &ToolCall, result: &mut ToolResult) {
        let Some(file) = self.take(&context.turn, call) else {
            // Any successful command is evidence: the model has seen its output.
            if result.output.lines().last().is_some_and(|last| last.starts_with(SUCCEEDED)) {
                self.claims.proven(&context.turn);
            }
            return;
        };
        if result.is_error {
            return;
        }
        if let Some(check) = self.check(file.clone()).await {
            self.claims.edited(&context.turn);
            self.run_check(context, check, result).await;
        }
        self.add_diagnostics(context, &file, result).await;
    }

    async fn after_turn(&self, turn: &TurnContext, reply: &Reply) {
        self.claims.over(&turn.session, &turn.turn, &reply.text);
    }
}

#[async_trait]
impl Review for VerifyEdits {
    async fn objection(&self, turn: &TurnContext, answer: &Message) -> Option<String> {
        let is_empty = self.options.runs
            && self.options.strict
            && self.claims.is_empty_claim(&turn.turn, &answer.text());
        is_empty.then(|| REMINDER.to_owned())
    }
}

fn note(result: &mut ToolResult, said: &str) {
    let before = result.note.take().map(|note| note + "; ").unwrap_or_default();
    result.note = Some(before + said);
}
