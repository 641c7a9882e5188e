//! Reads the corpus: whole, split in two at every position, and character by character.

use aethon_core::message::Role;
use aethon_core::tool::ToolSpec;
use serde_json::{Value, json};

use super::cases::Case;
use super::{calls, talk};
use crate::testing::{message, result};
use crate::text_calls::call::Output;
use crate::text_calls::reading::Reading;
use crate::text_calls::scanner::Scanner;

pub(in crate::text_calls) fn tools() -> Vec<ToolSpec> {
    vec![
        ToolSpec::new(
            "get_weather",
            "",
            json!({
                "type": "object",
                "properties": {
                    "city": {"type": "string"}, "days": {"type": "integer"}, "detailed": {"type": "boolean"},
                    "tags": {"type": "array"},
                },
                "required": ["city"],
            }),
        ),
        ToolSpec::new(
            "shell",
            "",
            json!({
                "type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"],
            }),
        ),
        ToolSpec::new("clock", "", json!({"type": "object", "properties": {}})),
    ]
}

/// Returns the result of a response in these pieces: text, thoughts and calls.
pub(in crate::text_calls) fn read<'p>(
    reading: &Reading,
    pieces: impl IntoIterator<Item = &'p str>,
) -> (String, String, Vec<(String, Value)>) {
    let (mut scanner, mut output) = (Scanner::new(reading.clone()), Vec::new());
    for piece in pieces {
        scanner.push(piece, &mut output);
    }
    scanner.finish(&mut output);
    let (mut text, mut thoughts, mut calls) = (String::new(), String::new(), Vec::new());
    for output in output {
        match output {
            Output::Text(more) => text += &more,
            Output::Thought(more) => thoughts += &more,
            Output::Call(call) => calls.push((call.name, call.input)),
        }
    }
    (text, thoughts, calls)
}

fn reading(case: &Case) -> Reading {
    let before = match case.result {
        "" => Vec::new(),
        output => vec![message(Role::Tool, vec![result("said_1", "web_fetch", output)])],
    };
    Reading::asked(&tools(), case.question, before)
}

fn check(cases: &[Case]) {
    let mut failures = Vec::new();
    for case in cases {
        let reading = reading(case);
        let calls: Vec<(String, Value)> = case
            .calls
            .iter()
            .map(|(name, input)| ((*name).to_owned(), serde_json::from_str(input).unwrap()))
            .collect();
        let whole = read(&reading, [case.answer]);
        if (&whole.0, &whole.2) != (&case.text.to_owned(), &calls) {
            failures.push(format!("{}: {:?}, {:?}", case.name, whole.0, whole.2));
            continue;
        }
        for (cut, _) in case.answer.char_indices() {
            let cut_in_two = read(&reading, [&case.answer[..cut], &case.answer[cut..]]);
            if cut_in_two != whole {
                failures.push(format!("{} cut at {cut}: {cut_in_two:?}", case.name));
                break;
            }
        }
        let pieces: Vec<String> = case.answer.chars().map(String::from).collect();
        let in_characters = read(&reading, pieces.iter().map(String::as_str));
        if in_characters != whole {
            failures.push(format!("{} in characters: {in_characters:?}", case.name));
        }
    }
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn calls_of_the_corpus_are_made() {
    assert!(calls::CASES.iter().all(|case| !case.calls.is_empty()));
    check(calls::CASES);
}

#[test]
fn lookalikes_of_the_corpus_stay_text() {
    assert!(talk::CASES.iter().all(|case| case.calls.is_empty()));
    check(talk::CASES);
}
