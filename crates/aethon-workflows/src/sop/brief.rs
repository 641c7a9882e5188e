//! The instructions for a model that works through a SOP: the rules of a run, the parameters, and the SOP itself. They
//! acaudience the person's message as a file, so the transcript keeps the two apart.

use std::fmt::Write as _;

use aethon_core::message::Attachment;
use aethon_core::sop::{Sop, SopParameter};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::input::SopInput;

/// The person who is present while a SOP runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// A person, who can answer questions.
    Person,
    /// No person: a job or a webhook started it.
    None,
}

const RULES: &str = "The message that this file came with starts a run of the SOP below: a workflow of the owner's. Work \
through its steps in their order.

- When you begin a step, call `sop_step` with its number and the state `begun`; when all of it is done, with the state \
`done`. The program keeps the run by these calls and goes on with the right step after a restart. Leave no step out; \
one that does not apply is begun and done with a note that says why.
- MUST, MUST NOT, SHOULD, SHOULD NOT and MAY in the constraints mean what they mean in RFC 2119.
- Files that the SOP asks for are written with your tools, in the workspace. Say at the end what you made and where it is.
";

const ASK: &str =
    "- When you need something from the person, ask, and end your answer with the question. The run waits, \
and goes on with the next message.
";

const DECIDE: &str =
    "- Nobody is here to answer: do not ask. Where the SOP wants a question answered, decide by yourself, \
and write the decision down as an assumption in your result.
";

/// Returns the file that accompanies the message which starts a run.
pub(super) fn file(sop: &Sop, input: &SopInput, audience: Audience, is_untrusted: bool) -> Attachment {
    let mut text = format!("# The SOP `{}`\n\n{RULES}", sop.name);
    text.push_str(if audience == Audience::Person { ASK } else { DECIDE });
    text.push_str(&parameters(sop, input, is_untrusted));
    text.push_str(&schemas(sop));
    // Writing to a string cannot fail.
    let _ = write!(text, "\n---\n\n{}", source(sop));
    text.push('\n');
    attachment(sop, &text)
}

/// Returns the schemas of the steps. Only the last one is asked for as the format of the answer.
fn schemas(sop: &Sop) -> String {
    let mut text = String::new();
    for (number, step) in (1..).zip(&sop.steps) {
        if let Some(Ok(schema)) = step.schema.as_ref().map(|schema| schema.content.as_ref()) {
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "\nThe outcome of step {number} is one JSON value that fits this JSON Schema:\n\n```json\n{}\n```\n",
                schema.as_json()
            );
        }
    }
    text
}

/// Returns the file that accompanies a message which resumes a run that has lost its turn.
pub(super) fn reminder(sop: &Sop, input: &SopInput, step: u32, done: u32) -> Attachment {
    let next = step.max(done + 1).max(1);
    let mut text = format!("# The SOP `{}`, from step {next}\n\n{RULES}{ASK}", sop.name);
    let _ = write!(
        text,
        "\nThis run was interrupted. The steps up to {done} are done; do not do them again. Look at what step {next} has \
         made already, and go on there.\n"
    );
    text.push_str(&parameters(sop, input, false));
    text.push_str(&schemas(sop));
    let _ = write!(text, "\n---\n\n{}\n", source(sop));
    attachment(sop, &text)
}

/// The text of the SOP, without the mark that some editors put at the start of a file.
fn source(sop: &Sop) -> &str {
    sop.content.trim_start_matches('\u{feff}').trim()
}

fn attachment(sop: &Sop, text: &str) -> Attachment {
    Attachment::new(format!("{}.sop.md", sop.name), "text/markdown", STANDARD.encode(text)).own()
}

/// The parameters and their meaning. A stranger's words are not repeated: they stay in the message, between its markers.
fn parameters(sop: &Sop, input: &SopInput, is_untrusted: bool) -> String {
    if sop.parameters.is_empty() {
        return String::new();
    }
    let mut text = "\nThe parameters of this run:\n\n".to_owned();
    for parameter in &sop.parameters {
        let value = match (input.parameters.get(&parameter.name), &parameter.default) {
            (Some(_), _) if is_untrusted => "what the message says".to_owned(),
            (Some(value), _) => quoted(value),
            (None, Some(default)) => format!("{} (the default)", quoted(default)),
            (None, None) => "not given".to_owned(),
        };
        let _ = writeln!(text, "- {}: {value}", parameter.name);
    }
    if !input.free_text.is_empty() && !is_untrusted {
        text.push_str("\nThe rest of the message counts too.\n");
    }
    text
}

fn quoted(value: &str) -> String {
    if value.contains('\n') {
        format!("\n{}", value.lines().map(|line| format!("  > {line}\n")).collect::<String>().trim_end())
    } else {
        format!("{value:?}")
    }
}

/// The question for missing parameters.
pub(super) fn question(sop: &Sop, missing: &[&SopParameter]) -> String {
    let mut text = match missing {
        [only] => format!("`/{}` needs `{}`", sop.name, only.name),
        _ => format!("`/{}` needs {} things", sop.name, missing.len()),
    };
    text.push_str(" before it can start:\n\n");
    for parameter in missing {
        let about = if parameter.description.is_empty() { "" } else { ": " };
        let _ = writeln!(text, "- **{}**{about}{}", parameter.name, parameter.description);
    }
    let optional: Vec<String> =
        sop.parameters.iter().filter(|one| !one.required).map(|one| format!("`{}`", one.name)).collect();
    if let Some(first) = missing.first() {
        let name = &first.name;
        let _ = write!(
            text,
            "\nAnswer with the value of **{name}**, or with `{name}=...`; `/cancel` forgets it."
        );
    }
    if !optional.is_empty() {
        let _ = write!(text, " You may also set {}.", optional.join(", "));
    }
    text
}
