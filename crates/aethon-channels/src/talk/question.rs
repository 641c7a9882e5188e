//! Questions for approval in a chat: shown with the exact arguments and two buttons, answered once, by the one who asked.
//!
//! What a button sends is a code that means nothing elsewhere. Who pressed it, whether they are an owner, and whether the
//! question is still open, is looked at here; whether the arguments are those that were shown, the desk knows. Where there are no buttons, and for whoever
//! prefers words, `approve CODE` and `deny CODE` do the same.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aethon_core::approval::{Answer, ApprovalRequest, Decision, Resolution, ResolutionReason};
use aethon_core::visible;

use super::access;
use super::outlet::Outlet;
use super::platform::{Button, Content, Press, Sender};
use crate::pairing::fresh_code;
use crate::text::{Fit, Style, Styled, split};

/// How many questions are kept; the oldest go, and are denied when their time is over.
const MOST_OPEN: usize = 256;

/// The room that the outcome takes.
const OUTCOME: usize = 60;

const APPROVE: &str = "a:";
const DENY: &str = "d:";

/// The open questions of a channel, by their codes.
pub(super) struct Questions {
    outlet: Arc<Outlet>,
    open: Mutex<BTreeMap<String, Question>>,
}

#[derive(Debug, Clone)]
struct Question {
    /// Its id at the desk.
    approval: String,
    chat: String,
    asker: String,
    /// The message with the buttons, once it is sent, and what it says.
    message: Option<(String, Styled)>,
    is_answered: bool,
}

impl Questions {
    pub(super) fn new(outlet: Arc<Outlet>) -> Self {
        Self { outlet, open: Mutex::default() }
    }

    /// Shows a question to whoever has brought the turn about.
    pub(super) async fn ask(&self, (chat, asker): (&str, &str), request: &ApprovalRequest) {
        let Ok(code) = fresh_code() else { return };
        let dialect = self.outlet.platform.dialect();
        // The outcome is written below it.
        let length = dialect.fit.length;
        let fit = Fit { length: length - OUTCOME.min(length / 4), ..dialect.fit };
        let parts = split(&wording(request, (!dialect.buttons).then_some(&code)), fit);
        let question = Question {
            approval: request.id.clone(),
            chat: chat.to_owned(),
            asker: asker.to_owned(),
            message: None,
            is_answered: false,
        };
        {
            let mut open = self.lock();
            while open.len() >= MOST_OPEN {
                open.pop_first();
            }
            open.insert(code.clone(), question);
        }
        let button = |label: &str, sign| Button { label: label.to_owned(), data: format!("{sign}{code}") };
        let buttons = [button("Approve", APPROVE), button("Deny", DENY)];
        let last = parts.len().saturating_sub(1);
        for (number, part) in parts.into_iter().enumerate() {
            let buttons = if number == last && dialect.buttons { buttons.as_slice() } else { &[] };
            let content = Content::Text { text: &part, buttons };
            let shown = self.outlet.show(chat, content, &format!("q{code}{number}")).await;
            let Some(message) = shown else { return };
            if number == last
                && let Some(question) = self.lock().get_mut(&code)
            {
                question.message = Some((message, part));
            }
        }
    }

    /// Says below a question how it was settled, and takes its buttons away.
    pub(super) async fn settled(&self, approval: &str, resolution: Resolution) {
        let question = {
            let mut open = self.lock();
            let code = open.iter().find(|(_, question)| question.approval == approval);
            let Some(code) = code.map(|(code, _)| code.clone()) else { return };
            open.remove(&code)
        };
        let Some(Question { chat, message: Some((message, mut text)), .. }) = question else { return };
        if !self.outlet.platform.dialect().edits {
            return;
        }
        text.text.push_str("\n\n");
        text.push(outcome(resolution), Style::Bold);
        for _ in 0..3 {
            while let Err(wait) = self.outlet.take(&chat) {
                tokio::time::sleep(wait).await;
            }
            match self.outlet.edit(&chat, &message, Content::text(&text)).await {
                Err(super::platform::Fault::Later { .. } | super::platform::Fault::Doubtful(_)) => {}
                Ok(()) | Err(_) => return,
            }
        }
    }

    /// A button was pressed. Returns what the person is told.
    pub(super) fn press(&self, press: &Press) -> &'static str {
        let answer = |code: &str, decision| self.answer(code, decision, (&press.sender, &press.chat));
        match (press.data.strip_prefix(APPROVE), press.data.strip_prefix(DENY)) {
            (Some(code), _) => answer(code, Decision::Approve),
            (_, Some(code)) => answer(code, Decision::Deny),
            (None, None) => "This button is not known here.",
        }
    }

    /// Somebody answers. Returns what they are told.
    pub(super) fn answer(
        &self,
        code: &str,
        decision: Decision,
        (sender, chat): (&Sender, &str),
    ) -> &'static str {
        const SETTLED: &str = "This question is settled already; nothing was changed.";
        let approval = {
            let mut open = self.lock();
            let question = open.get_mut(&code.to_ascii_uppercase());
            match question.filter(|question| question.chat == chat && !question.is_answered) {
                None => return SETTLED,
                Some(question) if question.asker != sender.id => {
                    return "Only the person who asked can answer this.";
                }
                // They were one when the question was put, unless the list has changed since.
                Some(_) if !access::is_owner(&self.outlet.rules, sender) => {
                    return "Only an owner can answer this.";
                }
                Some(question) => {
                    question.is_answered = true;
                    question.approval.clone()
                }
            }
        };
        let by = format!("{} on {}", sender.id, self.outlet.channel());
        match (self.outlet.around.desk.decide(&approval, Answer::new(decision).by(by)), decision) {
            (false, _) => SETTLED,
            (true, Decision::Approve) => "Approved.",
            (true, Decision::Deny) => "Denied.",
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Question>> {
        // The map is whole after every statement, so a panic elsewhere does not make it unusable.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is asked, with everything that would be done.
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

fn outcome(resolution: Resolution) -> &'static str {
    match (resolution.reason, resolution.decision) {
        (ResolutionReason::User, Decision::Approve) => "Approved",
        (ResolutionReason::User, Decision::Deny) => "Denied",
        (ResolutionReason::Timeout, _) => "Nobody answered in time: denied",
        (ResolutionReason::Stopped, _) => "Stopped: not done",
    }
}
