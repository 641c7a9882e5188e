//! Approval prompts in a chat: shown with the exact arguments and two buttons, answered once, by the person who
//! asked.
//!
//! A button sends a code that means nothing elsewhere. This module checks who pressed it, whether they are an owner,
//! and whether the prompt is still open. The call runs with the arguments that were shown.
//! `approve CODE` and `deny CODE` do the same, where there are no buttons and for people who prefer words.
//!
//! A prompt that is open when the program is killed is void: its call gets a result that says it has not run. So it is stored which
//! messages have buttons, and at the next start their prompts are marked void and the buttons removed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aethon_core::approval::{Answer, ApprovalRequest, Decision, Resolution, ResolutionReason};
use aethon_core::visible;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::access;
use super::outlet::RateLimitedSender;
use super::place;
use super::platform::{Button, Content, Fault, Press, Sender};
use crate::pairing::fresh_code;
use crate::text::{Fit, Style, Styled, split};

/// How many prompts are kept. The oldest are dropped, and are denied when they time out.
const MAX_OPEN: usize = 256;

/// The space reserved for the outcome.
const OUTCOME: usize = 60;

/// How long it is remembered that a message has buttons.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Where that is stored.
const RECORDS: &str = "question:";
const VOID: &str = "Expired: Aethon restarted, so this request is no longer open";

const APPROVE: &str = "a:";
const DENY: &str = "d:";

/// The open prompts of a channel, by code.
pub(super) struct ApprovalPrompts {
    outlet: Arc<RateLimitedSender>,
    open: Mutex<BTreeMap<String, OpenPrompt>>,
}

/// The stored record of an open prompt.
#[derive(Debug, Serialize, Deserialize)]
struct StoredPrompt {
    approval: String,
    chat: String,
    message: String,
    text: Styled,
}

#[derive(Debug, Clone)]
struct OpenPrompt {
    /// Its id in `PendingApprovals`.
    approval: String,
    tool: String,
    chat: String,
    asker: String,
    /// The message with the buttons, once sent, and its text.
    message: Option<(String, Styled)>,
    is_answered: bool,
}

impl ApprovalPrompts {
    pub(super) fn new(outlet: Arc<RateLimitedSender>) -> Self {
        Self { outlet, open: Mutex::default() }
    }

    /// Shows a prompt to the person who started the turn.
    pub(super) async fn ask(&self, (chat, asker): (&str, &str), request: &ApprovalRequest) {
        let Ok(code) = fresh_code() else { return };
        let dialect = self.outlet.platform.dialect();
        // Leaves space for the outcome below it.
        let length = dialect.fit.length;
        let fit = Fit { length: length - OUTCOME.min(length / 4), ..dialect.fit };
        let parts = split(&wording(request, (!dialect.buttons).then_some(&code)), fit);
        let prompt = OpenPrompt {
            approval: request.id.clone(),
            tool: request.tool.clone(),
            chat: chat.to_owned(),
            asker: asker.to_owned(),
            message: None,
            is_answered: false,
        };
        {
            let mut open = self.lock();
            while open.len() >= MAX_OPEN {
                open.pop_first();
            }
            open.insert(code.clone(), prompt);
        }
        let button = |label: &str, sign| Button { label: label.to_owned(), data: format!("{sign}{code}") };
        let buttons = [button("Approve", APPROVE), button("Deny", DENY)];
        let last = parts.len().saturating_sub(1);
        for (number, part) in parts.into_iter().enumerate() {
            let buttons = if number == last && dialect.buttons { buttons.as_slice() } else { &[] };
            let content = Content::Text { text: &part, buttons };
            let shown = self.outlet.show(chat, content, &format!("q{code}{number}")).await;
            let Some(message) = shown else { return };
            if number == last {
                self.remember(&code, message, part).await;
            }
        }
    }

    /// Records the message with a prompt's buttons.
    async fn remember(&self, code: &str, message: String, text: Styled) {
        let shown = {
            let mut open = self.lock();
            let Some(prompt) = open.get_mut(code) else { return };
            prompt.message = Some((message.clone(), text.clone()));
            StoredPrompt { approval: prompt.approval.clone(), chat: prompt.chat.clone(), message, text }
        };
        if !self.outlet.platform.dialect().edits {
            return;
        }
        let until = Some(self.outlet.services.clock.now() + REMEMBERED);
        let records = &self.outlet.services.records;
        let stored = serde_json::to_string(&shown).unwrap_or_default();
        if let Err(error) = records.put(self.outlet.channel(), &record_of(code), &stored, until).await {
            tracing::warn!(channel = self.outlet.channel(), %error, "after a crash a question would keep its buttons");
        }
    }

    /// Returns whether a prompt with this code is open in this chat.
    pub(super) fn is_open(&self, code: &str, chat: &str) -> bool {
        self.lock().get(&code.to_ascii_uppercase()).is_some_and(|prompt| self.is_there(prompt, chat))
    }

    /// Returns whether a prompt belongs to the conversation of a chat, in whichever of its threads it was shown.
    fn is_there(&self, prompt: &OpenPrompt, chat: &str) -> bool {
        let channel = self.outlet.channel();
        place::conversation(channel, &prompt.chat) == place::conversation(channel, chat)
    }

    /// Marks prompts left by a crash as void and removes their buttons.
    pub(super) async fn void(&self) {
        let channel = self.outlet.channel();
        let left = match self.outlet.services.records.list(channel, RECORDS, MAX_OPEN).await {
            Ok(left) => left,
            Err(error) => {
                tracing::warn!(channel, %error, "questions of the time before cannot be read");
                return;
            }
        };
        for (name, stored) in left {
            let shown: Option<StoredPrompt> = serde_json::from_str(&stored).ok();
            if let Some(StoredPrompt { approval, chat, message, text }) = shown {
                // The channel may have been restarted while the program kept running.
                let is_open = self.lock().values().any(|prompt| prompt.approval == approval);
                if is_open || !self.close(&chat, &message, text, VOID).await {
                    continue;
                }
            }
            self.forget(&name).await;
        }
    }

    /// Writes the outcome below a prompt and removes the buttons. Returns `false` if that must be tried again.
    async fn close(&self, chat: &str, message: &str, mut text: Styled, outcome: &str) -> bool {
        text.text.push_str("\n\n");
        text.push(outcome, Style::Bold);
        for _ in 0..3 {
            while let Err(wait) = self.outlet.take(chat) {
                tokio::time::sleep(wait).await;
            }
            match self.outlet.edit(chat, message, Content::text(&text)).await {
                Err(Fault::Later { .. } | Fault::Doubtful(_) | Fault::Identity(_) | Fault::Unclear(_)) => {}
                Ok(()) | Err(_) => return true,
            }
        }
        false
    }

    async fn forget(&self, name: &str) {
        if let Err(error) = self.outlet.services.records.take(self.outlet.channel(), name).await {
            tracing::debug!(channel = self.outlet.channel(), %error, "a question that is settled is still stored");
        }
    }

    /// Writes below a prompt how it was settled, and removes its buttons. If someone changed the arguments in another
    /// client, those that run are shown, because those above were not approved.
    pub(super) async fn settled(&self, approval: &str, resolution: Resolution, edited: Option<&Value>) {
        let (code, prompt) = {
            let mut open = self.lock();
            let code = open.iter().find(|(_, prompt)| prompt.approval == approval);
            let Some(code) = code.map(|(code, _)| code.clone()) else { return };
            let Some(prompt) = open.remove(&code) else { return };
            (code, prompt)
        };
        let OpenPrompt { chat, tool, message: Some((message, text)), .. } = prompt else { return };
        let edited = edited.filter(|_| resolution.decision == Decision::Approve);
        if self.outlet.platform.dialect().edits
            && self.close(&chat, &message, text, outcome(resolution, edited.is_some())).await
        {
            self.forget(&record_of(&code)).await;
        }
        let Some(edited) = edited else { return };
        let parts = split(&changes(&tool, edited), self.outlet.platform.dialect().fit);
        for (number, part) in parts.iter().enumerate() {
            self.outlet.show(&chat, Content::text(part), &format!("c{code}{number}")).await;
        }
    }

    /// Handles a button press. Returns the response to the person.
    pub(super) fn press(&self, press: &Press) -> &'static str {
        let answer = |code: &str, decision| self.answer(code, decision, (&press.sender, &press.chat));
        match (press.data.strip_prefix(APPROVE), press.data.strip_prefix(DENY)) {
            (Some(code), _) => answer(code, Decision::Approve),
            (_, Some(code)) => answer(code, Decision::Deny),
            (None, None) => "This button is not known here.",
        }
    }

    /// Handles an answer. Returns the response to the person.
    pub(super) fn answer(
        &self,
        code: &str,
        decision: Decision,
        (sender, chat): (&Sender, &str),
    ) -> &'static str {
        const SETTLED: &str = "This question is settled already; nothing was changed.";
        let approval = {
            let mut open = self.lock();
            let prompt = open.get_mut(&code.to_ascii_uppercase());
            match prompt.filter(|prompt| self.is_there(prompt, chat) && !prompt.is_answered) {
                None => return SETTLED,
                Some(prompt) if prompt.asker != sender.id => {
                    return "Only the person who asked can answer this.";
                }
                // They were an owner when the prompt was shown; the list has changed since.
                Some(_) if !access::is_owner(&self.outlet.rules, sender) => {
                    return "Only an owner can answer this.";
                }
                Some(prompt) => {
                    prompt.is_answered = true;
                    prompt.approval.clone()
                }
            }
        };
        let by = format!("{} on {}", sender.id, self.outlet.channel());
        match (self.outlet.services.approvals.decide(&approval, Answer::new(decision).by(by)), decision) {
            (false, _) => SETTLED,
            (true, Decision::Approve) => "Approved.",
            (true, Decision::Deny) => "Denied.",
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, OpenPrompt>> {
        // Every statement leaves the map consistent, so a poisoned lock is usable.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the text of a prompt, with everything that would be done.
fn wording(request: &ApprovalRequest, code: Option<&String>) -> Styled {
    let mut text = Styled::default();
    text.push("May I do this?", Style::Bold);
    text.text.push_str(&format!(
        "\n{}: {}\n",
        visible::exact(&request.tool),
        visible::exact(&request.summary)
    ));
    if !request.reason.is_empty() {
        text.text.push_str(&format!("Why I ask: {}\n", visible::exact(&request.reason)));
    }
    text.text.push('\n');
    let input = serde_json::to_string_pretty(&request.input).unwrap_or_else(|_| request.input.to_string());
    text.push(&visible::exact(&input), Style::Block("json".into()));
    if let Some(code) = code {
        text.text.push_str("\n\nAnswer with ");
        text.push(&format!("approve {code}"), Style::Code);
        text.text.push_str(" or ");
        text.push(&format!("deny {code}"), Style::Code);
    }
    text
}

/// Returns the changed arguments that run instead.
fn changes(tool: &str, input: &Value) -> Styled {
    let mut text = Styled::default();
    text.push("Approved with changes", Style::Bold);
    text.text.push_str(&format!("\n{tool} runs with this:\n\n"));
    let input = serde_json::to_string_pretty(input).unwrap_or_else(|_| input.to_string());
    text.push(&visible::exact(&input), Style::Block("json".into()));
    text
}

fn record_of(code: &str) -> String {
    format!("{RECORDS}{code}")
}

fn outcome(resolution: Resolution, is_edited: bool) -> &'static str {
    match (resolution.reason, resolution.decision) {
        (ResolutionReason::User, Decision::Approve) if is_edited => "Approved with changes: they stand below",
        (ResolutionReason::User, Decision::Approve) => "Approved",
        (ResolutionReason::User, Decision::Deny) => "Denied",
        (ResolutionReason::Timeout, _) => "No answer in time: denied",
        (ResolutionReason::Stopped, _) => "Stopped: not done",
    }
}
