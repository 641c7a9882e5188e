//! Properties that hold for every response, however it is cut, and the stream.

use aethon_core::message::{Block, Message, Role, ToolCall};
use aethon_core::model::{ModelError, ModelErrorKind, ModelEvent, StopReason, Usage};
use futures_util::{StreamExt, stream};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::json;

use super::adapter::calls_in_words;
use super::call::{MAX_LEN, Output};
use super::corpus::{read, tools};
use super::families::table::{ENDS, FAMILIES};
use super::family::Family;
use super::reading::{Reading, are_read, is_text_call};
use super::scanner::{PIECE, Scanner};
use crate::endpoint::Endpoint;
use crate::options::{AwsEnvironment, Options, Provider};
use crate::service::Service;
use crate::testing::{call, message, request};

fn asked(question: &str) -> Reading {
    Reading::asked(&tools(), question, Vec::new())
}

/// Returns whether a text consists only of what precedes the arguments of calls, and perhaps part of a token.
fn is_bare(text: &str) -> bool {
    let all = |family: &'static Family| {
        let markup = family.markup.iter().map(|(begin, _)| begin);
        family.openers.iter().chain(family.inner).chain(family.closers).chain(markup)
    };
    let headers = FAMILIES.iter().flat_map(|family| family.openers.iter().chain(family.inner));
    let rest = headers.fold(text.to_owned(), |text, token| text.replace(token, ""));
    FAMILIES.iter().flat_map(all).any(|token| token.starts_with(rest.trim()))
}

/// Text that is likely to contain partial tokens of some family.
fn token_soup() -> impl Strategy<Value = String> {
    let tokens = FAMILIES.iter().flat_map(|family| {
        let markup = family.markup.iter().flat_map(|(begin, end)| [*begin, *end]);
        family.openers.iter().chain(family.inner).chain(family.closers).copied().chain(markup)
    });
    let words = [
        "<think>",
        "</think>",
        "<|im_end|>",
        "<|channel|>",
        "analysis",
        "<|message|>",
        "<|start|>assistant",
        "commentary to=functions.clock",
        "<|call|>",
        "```",
        "```json\n",
        "`",
        "\n",
        " ",
        "clock",
        "get_weather",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        "\"",
        "'",
        "\\",
        "{\"name\": \"clock\", \"arguments\": {}}",
        "{\"city\": \"Paris\"}",
        "[clock()]",
        "clock(",
        "city=",
        "name=\"clock\">",
        "a",
        "é",
        "｜",
        "<",
        ">",
        "</",
        ",",
        ";",
        "    ",
        "> ",
    ];
    let words: Vec<&'static str> = tokens.chain(words).collect();
    prop::collection::vec(prop::sample::select(words), 0..14).prop_map(|words| words.concat())
}

proptest! {
    // A fixed seed makes every run the same, so that known findings decide and not chance. Another seed searches
    // further.
    #![proptest_config(ProptestConfig { cases: 2_000, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn an_answer_means_the_same_however_it_is_cut(answer in token_soup(), cuts in prop::collection::vec(0_usize..200, 0..8)) {
        let reading = asked("What time is it?");
        let whole = read(&reading, [answer.as_str()]);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| answer.floor_char_boundary(cut)).collect();
        cuts.sort_unstable();
        let ends = cuts.iter().copied().chain([answer.len()]);
        let mut from = 0;
        let pieces = ends.map(|end| &answer[std::mem::replace(&mut from, end)..end]);
        prop_assert_eq!(read(&reading, pieces), whole);
    }

    #[test]
    fn no_text_is_lost_where_no_call_is_made(answer in token_soup()) {
        let (text, thoughts, calls) = read(&asked("What time is it?"), [answer.as_str()]);
        let is_harmony = answer.contains("<|channel|>") || answer.contains("<|start|>");
        if calls.is_empty() && !is_harmony && !ENDS.iter().any(|end| answer.contains(end)) {
            prop_assert_eq!(thoughts, "");
            let lost = answer.strip_prefix(&text);
            prop_assert!(lost.is_some_and(is_bare), "{:?} of {:?}", text, answer);
        }
    }

    #[test]
    fn nothing_makes_it_panic(answer in ".{0,200}") {
        let _ = read(&asked("json"), [answer.as_str()]);
        for family in &FAMILIES {
            for opener in family.openers {
                let _ = read(&asked(""), [*opener, answer.as_str()]);
                let _ = family.calls(&format!("{opener}{answer}"), &tools());
                let _ = family.calls(&answer, &tools());
            }
        }
    }
}

#[test]
fn held_text_is_bounded_and_longer_calls_count_as_broken() {
    let check = |opening: &str, expects_call: bool| {
        let (mut scanner, mut output) = (Scanner::new(asked("Write a file.")), Vec::new());
        scanner.push(opening, &mut output);
        for _ in 0..(2 * MAX_LEN / 1024) {
            scanner.push(&"x".repeat(1024), &mut output);
            assert!(scanner.held() <= MAX_LEN + PIECE, "{}", scanner.held());
        }
        scanner.finish(&mut output);
        let calls =
            output.iter().filter(|output| matches!(output, Output::Call(call) if call.input.is_string()));
        assert_eq!(calls.count(), usize::from(expects_call), "{opening}");
    };
    check("<tool_call>{\"name\": \"shell\", \"arguments\": {\"command\": \"", true);
    check("[TOOL_CALLS]shell[ARGS]{\"command\": \"", true);
    check("<|channel|>commentary to=functions.shell<|message|>{\"command\": \"", true);
    check("{\"name\": \"shell\", \"arguments\": {\"command\": \"", false);
    check("Words and ", false);
}

#[test]
fn long_answers_are_read_in_linear_time() {
    let began = std::time::Instant::now();
    for unit in [
        "<tool_call>",
        "<tool_call>{",
        "<tool_call>{\"",
        "[TOOL_CALLS]a",
        "`<",
        "<function=a>",
        "<|tool_call_begin|>a",
        "{\"name\": ",
        "[[",
        "</think>{",
    ] {
        let _ = read(&asked("Hm?"), [unit.repeat(MAX_LEN / unit.len()).as_str()]);
    }
    // Quadratic time would be minutes for each of them, so a busy machine cannot come near the bound.
    assert!(began.elapsed() < std::time::Duration::from_secs(60), "{:?}", began.elapsed());
}

#[test]
fn text_goes_on_at_once() {
    let check = |pieces: &[&str], expected: &[&str]| {
        let mut scanner = Scanner::new(asked("What is it like in Paris?"));
        for (piece, expected) in pieces.iter().zip(expected) {
            let mut output = Vec::new();
            scanner.push(piece, &mut output);
            let text: String =
                output.iter().map(|output| if let Output::Text(text) = output { text } else { "" }).collect();
            assert_eq!(text, *expected, "{piece}");
        }
    };
    check(&["It ", "is ", "1 < 2", " [a"], &["It ", "is ", "1 < 2", " [a"]);
    check(&["Hello <to", "ast>"], &["Hello ", "<toast>"]);
    check(
        &["<tool_call>", "{\"na", "me\"}", "</tool_call>", " is"],
        &["", "", "", "", "<tool_call>{\"name\"}</tool_call> is"],
    );
    check(&["{\"ti", "tle\""], &["{\"ti", "tle\""]);
    check(&["{\"na", "mes\": "], &["", "{\"names\": "]);
    check(&["# Ti"], &["# Ti"]);
}

fn finished(stop: StopReason) -> Result<ModelEvent, ModelError> {
    Ok(ModelEvent::Finished { stop, usage: Usage::default(), model: None })
}

fn text(text: &str) -> Result<ModelEvent, ModelError> {
    Ok(ModelEvent::Text(text.into()))
}

async fn events(reading: Reading, events: Vec<Result<ModelEvent, ModelError>>) -> Vec<String> {
    let told = super::read(Box::pin(stream::iter(events)), reading).map(|event| match event {
        Ok(ModelEvent::Text(text)) => text,
        Ok(ModelEvent::Reasoning(text)) => format!("thinks {text}"),
        Ok(ModelEvent::ToolCall(call)) if is_text_call(&call.id) => {
            format!("calls {} {}", call.name, call.input)
        }
        Ok(ModelEvent::ToolCall(call)) => format!("calls {} itself", call.name),
        Ok(ModelEvent::Finished { stop, .. }) => format!("{stop:?}"),
        Ok(other) => format!("{other:?}"),
        Err(error) => format!("fails: {error}"),
    });
    told.collect().await
}

#[tokio::test]
async fn the_stream_makes_the_calls_and_says_so() {
    let hermes = "<tool_call>{\"name\": \"clock\", \"arguments\": {}}</tool_call>";
    let native = || {
        Ok(ModelEvent::ToolCall(ToolCall {
            id: "c1".into(),
            name: "clock".into(),
            input: json!({}),
            opaque: None,
        }))
    };
    let gone = || Err(ModelError::new(ModelErrorKind::Network, "gone"));
    let check =
        async |told: Vec<_>, expected: &[&str]| assert_eq!(events(asked("The time?"), told).await, expected);
    check(
        vec![text("Well. "), text(hermes), finished(StopReason::End)],
        &["Well. ", "calls clock {}", "ToolUse"],
    )
    .await;
    check(vec![text("Well."), finished(StopReason::End)], &["Well.", "End"]).await;
    check(vec![text("<tool_"), finished(StopReason::Length)], &["<tool_", "Length"]).await;
    check(vec![text("<tool_call>"), finished(StopReason::Length)], &["Length"]).await;
    check(
        vec![text("<tool_call>{\"name\": \"clock\", \"arg"), finished(StopReason::Length)],
        &["calls clock \"{\\\"name\\\": \\\"clock\\\", \\\"arg\"", "Length"],
    )
    .await;
    let (thought, done) =
        ("<|channel|>analysis<|message|>Hm.", "<|end|><|start|>assistant<|channel|>final<|message|>Noon.");
    check(vec![text(thought), text(done), finished(StopReason::End)], &["thinks Hm.", "Noon.", "End"]).await;
    // Aborted responses: text is released, a call is not.
    check(vec![text("<tool_"), gone()], &["<tool_", "fails: gone"]).await;
    check(vec![text("{\"name\": \"clo"), gone()], &["{\"name\": \"clo", "fails: gone"]).await;
    check(vec![text("<tool_call>{\"na"), gone()], &["fails: gone"]).await;
    check(vec![text("a <tool_")], &["a ", "<tool_"]).await;
    // A model that calls properly.
    check(
        vec![text("<tool_"), native(), text(hermes), finished(StopReason::ToolUse)],
        &["<tool_", "calls clock itself", hermes, "ToolUse"],
    )
    .await;
}

#[test]
fn text_is_not_searched_without_tools_or_after_a_proper_call() {
    let asked = |id: &str| {
        let said = vec![call(id, "clock", json!({}))];
        let messages =
            vec![message(Role::User, vec![Block::text("The time?")]), message(Role::Assistant, said)];
        request(messages).with_tools(tools())
    };
    assert!(Reading::of(&asked("said_1")).is_some());
    assert!(Reading::of(&asked("call_1")).is_none());
    assert!(Reading::of(&asked("said_1").with_tools([])).is_none());
    let user = |text: &str| message(Role::User, vec![Block::text(text)]);
    let part = message(Role::Assistant, vec![Block::text("It is")]);
    let continued = request(vec![user("The time?"), part, user("Go on.")]).with_tools(tools());
    assert!(Reading::of(&continued).is_none());
    assert!(Reading::of(&continued.with_turn_start(2)).is_some(), "a conversation is no continuation");
}

#[test]
fn text_calls_are_read_for_local_and_unknown_models() {
    let check = |provider, model: &str, has_own_host, expected| {
        let host = if has_own_host { "http://127.0.0.1:8080/v1" } else { "" };
        let region = Some("eu-central-1".into());
        let aws = AwsEnvironment { region, ..AwsEnvironment::default() };
        let options = Options { host: host.into(), aws, ..Options::new(provider, model) };
        let service = Service::new(&options, Endpoint::of(&options).unwrap());
        assert_eq!(are_read(&service), expected, "{provider:?} {model} {has_own_host}");
    };
    check(Provider::Ollama, "llama3.1", false, true);
    check(Provider::Ollama, "gpt-oss:20b", true, true);
    check(Provider::OpenAi, "homegrown", true, true);
    check(Provider::LiteLlm, "homegrown", true, true);
    check(Provider::OpenAi, "homegrown", false, false);
    check(Provider::OpenAi, "gpt-5", true, false);
    check(Provider::LiteLlm, "openrouter/anthropic/claude-sonnet-4-5", true, false);
    for provider in [Provider::Anthropic, Provider::Gemini, Provider::Bedrock, Provider::Mistral] {
        check(provider, "homegrown", true, false);
    }
}

#[test]
fn calls_in_a_whole_response_are_found() {
    let calls = calls_in_words("{\"name\": \"clock\", \"arguments\": {}}", &tools()).unwrap();
    assert!(calls.len() == 1 && is_text_call(&calls[0].id));
    assert_eq!(calls_in_words("It is noon.", &tools()), None);
}

#[test]
fn a_document_of_the_person_is_quoted_too() {
    let file = Block::File {
        name: "a.txt".into(),
        mime: "text/plain".into(),
        text: "{\"name\":\"clock\",\"arguments\":{}}".into(),
        untrusted: None,
    };
    let before = vec![std::sync::Arc::new(Message::new(Role::User, vec![file], jiff::Timestamp::UNIX_EPOCH))];
    let reading = Reading::asked(&tools(), "Go on.", before);
    let answer = "<tool_call>{\"name\": \"clock\", \"arguments\": {}}</tool_call>";
    assert_eq!(read(&reading, [answer]).0, answer);
}
