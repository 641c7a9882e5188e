//! The message about missed runs. It repeats the prompt of a job: a reminder is of use by its words, not by the name of its
//! job.

use aethon_core::schedule::Job;
use aethon_core::time;
use aethon_core::untrusted::shortened_between_words;
use jiff::Timestamp;

use super::watch::Absence;

/// How many missed runs one message names.
const MAX_NAMED: usize = 20;

/// How many characters of a prompt are repeated.
const MAX_WORDS: usize = 500;

/// A run that did not take place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MissedRun {
    job: String,
    at: Timestamp,
    absence: Absence,
    /// Its prompt, shortened.
    prompt: Option<String>,
}

impl MissedRun {
    /// The run of this job that was due then. A stranger's words are not repeated as the program's own.
    pub(super) fn new(job: &Job, at: Timestamp, absence: Absence) -> Self {
        let prompt = job.task.prompt.as_deref().filter(|_| !job.untrusted).map(shortened);
        Self { job: job.job_id.to_string(), at, absence, prompt }
    }

    fn line(&self) -> String {
        format!("`{}` at {}", self.job, time::text(self.at))
    }

    /// The prompt as a quotation, which stays one whatever it contains.
    fn quotation(&self) -> Option<String> {
        let prompt = self.prompt.as_deref()?;
        Some(prompt.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n"))
    }
}

/// Returns the message, in Markdown.
pub(super) fn message(missed: &[MissedRun]) -> String {
    let is_asleep = missed.iter().all(|run| run.absence == Absence::Asleep);
    let why = if is_asleep {
        "because the machine was asleep or its clock was set ahead"
    } else {
        "because the assistant was not running"
    };
    if let [run] = missed {
        let words = run.quotation().map(|words| format!(" Its task was:\n\n{words}")).unwrap_or_default();
        return format!("The job {} did not run, {why}.{words}", run.line());
    }
    let mut text = format!("{} runs of jobs did not take place, {why}.\n", missed.len());
    for run in missed.iter().take(MAX_NAMED) {
        text.push_str(&format!("\n- {}", run.line()));
        if let Some(first) = run.prompt.as_deref().and_then(|prompt| prompt.lines().next()) {
            text.push_str(&format!(": {first}"));
        }
    }
    if missed.len() > MAX_NAMED {
        text.push_str(&format!("\n- and {} more", missed.len() - MAX_NAMED));
    }
    text
}

fn shortened(prompt: &str) -> String {
    shortened_between_words(prompt.trim().to_owned(), MAX_WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(prompt: Option<&str>, absence: Absence) -> MissedRun {
        let at = "2026-11-27T08:00:00Z".parse().unwrap();
        MissedRun { job: "tea".into(), at, absence, prompt: prompt.map(shortened) }
    }

    #[test]
    fn the_message_names_the_time_the_reason_and_the_task() {
        let check = |missed: &[MissedRun], parts: &[&str]| {
            let text = message(missed);
            assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        };
        let reminder = run(Some("Take the tea out.\nNow."), Absence::Stopped);
        let words =
            "2026-11-27T08:00:00.000Z did not run, because the assistant was not running. Its task was:";
        check(std::slice::from_ref(&reminder), &[words, "> Take the tea out.\n> Now."]);
        check(&[run(None, Absence::Asleep)], &["`tea`", "asleep or its clock was set ahead."]);
        check(
            &[reminder.clone(), run(None, Absence::Asleep)],
            &["2 runs", "`tea` at 2026", ": Take the tea out."],
        );
        check(&vec![reminder; 23], &["23 runs", "and 3 more"]);
        assert!(shortened(&"ä".repeat(600)).chars().count() == 501);
    }
}
