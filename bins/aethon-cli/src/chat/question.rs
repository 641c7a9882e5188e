//! Answers an approval request that a turn is waiting for: yes, no, yes for the rest of the conversation, or yes with edited
//! arguments. The assistant checks edited arguments against its rules; if they are rejected, the user sees why and can
//! answer again.

use aethon::core::approval::{Answer, Decision, Scope};
use aethon::core::visible::{exact, readable};
use anyhow::Result;
use serde_json::{Map, Value};

use super::approval::ApprovalRequest;
use super::backend::{Backend, Request};
use super::event::{BackendEvent, ChatEvent};
use super::following::Following;
use super::input;
use super::interrupts::{Interrupt, Interrupts};
use super::keys::forget_typed;
use super::output::put;

/// What happens next while a request is open.
enum Next {
    /// The user's line; `None` at the end of input.
    Line(Option<String>),
    /// The request is settled, or no longer needs an answer.
    Settled(BackendEvent),
    /// The edited arguments were rejected.
    Refused(String),
    /// The user stopped the turn.
    Stopped,
}

/// Waits for an answer, or until the request is settled without one; returns what settled it.
pub(super) async fn decide(
    backend: &mut dyn Backend,
    interrupts: &mut Interrupts,
    following: &mut Following,
    question: &ApprovalRequest,
) -> Result<Option<BackendEvent>> {
    loop {
        forget_typed();
        put("  run it? type yes to approve, e to edit it first, s to allow this for the conversation;\n");
        if !question.session_scope.is_empty() {
            put(&format!("  s allows: {};\n", exact(&question.session_scope)));
        }
        put("  anything else denies: ");
        let line = match wait_for_next(backend, interrupts, following, (question, true)).await? {
            Next::Line(line) => line.unwrap_or_default(),
            Next::Settled(received) => return Ok(Some(received)),
            Next::Stopped | Next::Refused(_) => return Ok(None),
        };
        let (answer, is_edit) = match line.trim().to_lowercase().as_str() {
            "yes" | "y" => (Answer::new(Decision::Approve), false),
            "s" => (Answer::new(Decision::Approve).scoped(Scope::Session), false),
            "e" => match edit(backend, interrupts, following, question).await? {
                Edited::Input(input) => (Answer::new(Decision::Approve).with_input(Some(input)), true),
                Edited::Nothing => continue,
                Edited::Settled(received) => return Ok(Some(received)),
                Edited::Stopped => return Ok(None),
            },
            _ => (Answer::new(Decision::Deny), false),
        };
        backend.tell(Request::Decide { id: question.id.clone(), answer }).await?;
        if !is_edit {
            return Ok(None);
        }
        match wait_for_next(backend, interrupts, following, (question, false)).await? {
            Next::Refused(why) => put(&format!("  {}\n", readable(&why))),
            Next::Settled(received) => return Ok(Some(received)),
            Next::Line(_) | Next::Stopped => return Ok(None),
        }
    }
}

/// The result of an edit.
enum Edited {
    Input(Value),
    Nothing,
    Settled(BackendEvent),
    Stopped,
}

/// Asks for other arguments: a new value for the main one, else all of them as JSON.
async fn edit(
    backend: &mut dyn Backend,
    interrupts: &mut Interrupts,
    following: &mut Following,
    question: &ApprovalRequest,
) -> Result<Edited> {
    let one = one_argument(&question.input);
    match &one {
        Some(name) => put(&format!("  new {} (empty to go back): ", exact(name))),
        None => put("  all arguments as one line of JSON (empty to go back): "),
    }
    let line = match wait_for_next(backend, interrupts, following, (question, true)).await? {
        Next::Line(line) => line.unwrap_or_default(),
        Next::Settled(received) => return Ok(Edited::Settled(received)),
        Next::Stopped | Next::Refused(_) => return Ok(Edited::Stopped),
    };
    Ok(match changed(&question.input, one.as_deref(), &line) {
        Some(Ok(input)) => Edited::Input(input),
        Some(Err(why)) => {
            put(&format!("  that is not a JSON object: {why}\n"));
            Edited::Nothing
        }
        None => Edited::Nothing,
    })
}

/// Returns the argument that a user would edit: a command, or the only one.
fn one_argument(input: &Value) -> Option<String> {
    let fields = input.as_object()?;
    let is_line = |value: &Value| value.as_str().is_some_and(|text| !text.contains('\n'));
    let mut names = fields.keys();
    let only = if fields.len() == 1 { names.next() } else { names.find(|name| *name == "command") };
    only.filter(|name| fields.get(*name).is_some_and(is_line)).cloned()
}

/// Returns the edited arguments; `None` if nothing was typed.
fn changed(input: &Value, one: Option<&str>, line: &str) -> Option<Result<Value, String>> {
    if line.trim().is_empty() {
        return None;
    }
    let Some(name) = one else {
        let read: Result<Map<String, Value>, _> = serde_json::from_str(line);
        return Some(read.map(Value::Object).map_err(|error| error.to_string()));
    };
    let mut input = input.clone();
    input[name] = line.into();
    Some(Ok(input))
}

/// Waits for whichever comes first: a line if wanted, the end of the request, or the rejection of an edit.
async fn wait_for_next(
    backend: &mut dyn Backend,
    interrupts: &mut Interrupts,
    following: &mut Following,
    (question, asks): (&ApprovalRequest, bool),
) -> Result<Next> {
    let line = async { if asks { input::line().await } else { std::future::pending().await } };
    let mut line = std::pin::pin!(line);
    loop {
        tokio::select! {
            line = &mut line => return Ok(Next::Line(line)),
            interrupt = interrupts.next() => {
                if interrupt != Interrupt::Resize {
                    put("\n");
                    following.stop(backend, interrupt).await?;
                    return Ok(Next::Stopped);
                }
            }
            next = settled(backend, following, &question.id) => {
                if asks {
                    put("\n");
                }
                return Ok(next);
            }
        }
    }
}

/// Waits until the request is settled elsewhere, can no longer be answered, or an edit is rejected.
async fn settled(backend: &mut dyn Backend, following: &Following, id: &str) -> Next {
    loop {
        let received = backend.next().await;
        let is_settled = match &received.event {
            ChatEvent::ApprovalDone { id: done, .. } => done == id,
            ChatEvent::EditRefused { id: refused, why } if refused == id => {
                return Next::Refused(why.clone());
            }
            ChatEvent::Again | ChatEvent::Done(_) => following.is_own(&received),
            ChatEvent::Lost(_) => true,
            _ => false,
        };
        if is_settled {
            return Next::Settled(received);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_argument_that_matters_is_changed_and_the_others_stay() {
        let shell = json!({"command": "ls", "timeout_seconds": 3});
        assert_eq!(one_argument(&shell).as_deref(), Some("command"));
        let expected = json!({"command": "ls -l", "timeout_seconds": 3});
        assert_eq!(changed(&shell, Some("command"), "ls -l"), Some(Ok(expected)));
        assert_eq!(changed(&shell, Some("command"), "  "), None);
        let write = json!({"path": "a", "content": "b"});
        assert_eq!(one_argument(&write), None);
        assert_eq!(changed(&write, None, r#"{"path": "c"}"#), Some(Ok(json!({"path": "c"}))));
        assert!(changed(&write, None, "[]").unwrap().is_err());
        assert_eq!(one_argument(&json!({"path": "a"})).as_deref(), Some("path"));
        assert_eq!(one_argument(&json!({"command": "a\nb", "x": 1})), None, "several lines are no line");
    }
}
