//! The texts of work: the instructions of a task, the progress report and the receipt.

use std::fmt::Write as _;

use aethon_core::untrusted::shortened_between_words;
use aethon_core::work::{TaskState, Work, WorkState, WorkTask};

/// How much of a piece of evidence is quoted, in characters.
const MAX_EVIDENCE: usize = 1_500;

/// The instructions of a task.
pub(super) fn task(work: &Work, task: &WorkTask) -> String {
    // The title comes first, because a conversation is listed by the beginning of its first message.
    let mut text = format!(
        "Task: {}\n\nThis is task {} of {} of a larger piece of work. You work on it on your own: no person reads \
         along or can answer.\n\nGoal of the whole: {}\n",
        task.title,
        task.number,
        work.tasks.len(),
        work.goal
    );
    if !task.detail.is_empty() {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{}\n", task.detail);
    }
    text.push_str("\nIt is done when all of this holds:\n");
    for criterion in &task.acceptance {
        let _ = writeln!(text, "- {criterion}");
    }
    let done = work.tasks.iter().filter(|other| other.state == TaskState::Done);
    for (place, other) in done.enumerate() {
        if place == 0 {
            text.push_str("\nDone before, with the evidence (do not do it again):\n");
        }
        let evidence = shortened(other.evidence.as_deref().unwrap_or_default());
        let _ = writeln!(text, "- {}. {}: {evidence}", other.number, other.title);
    }
    if task.attempts > 1 {
        let why = task.error.as_deref().unwrap_or("it ended without a result");
        let _ = write!(text, "\nThis is attempt {}. The one before came to nothing: {why}\n", task.attempts);
    }
    text.push_str(
        "\nDo this task and no other. Check each criterion yourself, by running or reading something. When all of them hold, \
         call `tasks` with action `done` and the evidence: what you ran or looked at, and what it showed. When it cannot be \
         done, call it with action `failed` and say why.",
    );
    text
}

/// The progress report for the owner.
pub(super) fn pulse(work: &Work) -> String {
    let now = work.next_task().map(|task| format!("; now: {}", task.title)).unwrap_or_default();
    let (done, all) = (work.done(), work.tasks.len());
    format!("Work on \"{}\": {done} of {all} tasks done{now}. {}", work.goal, spent(work))
}

/// The result, with the evidence.
pub(super) fn receipt(work: &Work) -> String {
    let how = match work.state {
        WorkState::Done => "is done".to_owned(),
        WorkState::Stopped => "was ended by you".to_owned(),
        _ => format!("ended early: {}", work.reason.as_deref().unwrap_or("it could not go on")),
    };
    let mut text = format!("**Work on \"{}\" {how}.**\n\n", work.goal);
    for task in &work.tasks {
        let mark = match task.state {
            TaskState::Done => "done",
            TaskState::Failed => "failed",
            TaskState::Running => "begun",
            TaskState::Todo => "not begun",
        };
        let said = task.evidence.as_deref().or(task.error.as_deref()).map(shortened);
        let said = said.map(|said| format!(". {said}")).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}. {} ({mark}){said}", task.number, task.title);
    }
    let _ = write!(text, "\n{} Work `{}`.", spent(work), work.work_id);
    text
}

fn spent(work: &Work) -> String {
    let spent = &work.spent;
    let cost = if spent.cost_usd > 0.0 { format!(", {:.4} USD", spent.cost_usd) } else { String::new() };
    format!("It took {} turns and {:.0} s{cost}.", spent.iterations, spent.seconds)
}

fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    shortened_between_words(line, MAX_EVIDENCE)
}
