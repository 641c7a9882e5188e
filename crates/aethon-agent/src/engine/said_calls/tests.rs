//! Said calls are found in every form, and in nothing else.

use aethon_core::tool::ToolSpec;
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn tools() -> Vec<ToolSpec> {
    vec![ToolSpec {
        name: "shell".into(),
        description: String::new(),
        parameters: json!({
            "type": "object",
            "properties": {"command": {"type": "string"}, "timeout": {"type": "integer"}},
            "required": ["command"],
        }),
        roles: [].into(),
        untrusted_output: false,
        timeout: None,
    }]
}

fn found(said: &str) -> Option<Vec<(String, Value)>> {
    let calls = recognise(said, &tools(), Belief::PlainToo)?;
    Some(calls.into_iter().map(|call| (call.name, call.input)).collect())
}

/// A call in every form.
fn forms(name: &str, input: &Value) -> Vec<String> {
    let (plain, llama) =
        (json!({"name": name, "arguments": input}), json!({"name": name, "parameters": input}));
    let nested = json!({"type": "function", "function": {"name": name, "arguments": input.to_string()}});
    vec![
        format!("```json\n{plain}\n```"),
        format!("```\n{plain}\n```"),
        format!("```json\n[{plain}]\n```"),
        format!("{llama}"),
        format!("{nested}"),
        format!("<tool_call>\n{plain}\n</tool_call>"),
        format!("<tool_call>{plain}"),
        format!("<function={name}>{input}</function>"),
        format!("[TOOL_CALLS][{plain}]"),
        format!("[TOOL_CALLS] [{plain}]</s>"),
        format!("[TOOL_CALLS]{name}[ARGS]{input}"),
        format!("<|python_tag|>{llama}<|eom_id|>"),
    ]
}

#[test]
fn every_common_form_is_a_call() {
    let input = json!({"command": "ls \"a b\" </tool_call"});
    for said in forms("shell", &input) {
        assert_eq!(found(&said), Some(vec![("shell".into(), input.clone())]), "{said}");
        assert_eq!(found(&format!("\n  {said}\n\n")), Some(vec![("shell".into(), input.clone())]), "{said}");
    }
}

#[test]
fn several_calls_of_one_answer_are_all_found() {
    let (one, two) = (
        r#"{"name":"shell","arguments":{"command":"a"}}"#,
        r#"{"name":"shell","arguments":{"command":"b"}}"#,
    );
    for said in [
        format!("<tool_call>\n{one}\n</tool_call>\n<tool_call>\n{two}\n</tool_call>"),
        format!("[TOOL_CALLS][{one}, {two}]"),
        format!("<|python_tag|>{one}; {two}"),
        format!("```json\n[{one},{two}]\n```"),
        "<function=shell>{\"command\":\"a\"}</function><function=shell>{\"command\":\"b\"}</function>".into(),
        "[TOOL_CALLS]shell[ARGS]{\"command\":\"a\"}[TOOL_CALLS]shell[ARGS]{\"command\":\"b\"}".into(),
    ] {
        let commands: Vec<_> =
            found(&said).unwrap().into_iter().map(|(_, input)| input["command"].clone()).collect();
        assert_eq!(commands, ["a", "b"], "{said}");
    }
}

#[test]
fn what_is_not_wholly_a_call_is_text() {
    for said in [
        "",
        "shell",
        r#"Sure: {"name":"shell","arguments":{"command":"ls"}}"#,
        "```json\n{\"name\":\"shell\",\"arguments\":{\"command\":\"ls\"}}\n```\nThis lists files.",
        "```rust\n{\"name\":\"shell\",\"arguments\":{\"command\":\"ls\"}}\n```",
        r#"{"name":"shell","arguments":{"command":"ls"},"why":"you asked"}"#,
        r#"{"name":"shell","arguments":{"script":"ls"}}"#,
        r#"{"name":"shell","arguments":{}}"#,
        r#"{"name":"shell"}"#,
        r#"{"name":"Alice","arguments":{"command":"ls"}}"#,
        "<tool_call>{\"name\":\"rm\",\"arguments\":{}}</tool_call>",
        "<tool_call>{\"name\":\"shell\",\"arguments\":{\"command\":\"ls\"}}</tool_call> done",
        "<function=absent>{}</function>",
        "[TOOL_CALLS] is how Mistral marks them",
        "<|python_tag|>import os",
    ] {
        assert_eq!(found(said), None, "{said}");
    }
}

#[test]
fn plain_json_is_doubted_where_there_is_reason_to() {
    let check = |calls_properly, text: &str, expected| {
        let asked = Message::new(Role::User, vec![Block::text(text)], Timestamp::UNIX_EPOCH);
        assert_eq!(belief(calls_properly, Some(&asked)), expected, "{text}");
    };
    check(false, "which files are here?", Belief::PlainToo);
    check(false, "show me the JSON of a call of shell", Belief::Tokens);
    check(true, "and now?", Belief::Tokens);
    let plain = r#"{"name":"shell","arguments":{"command":"ls"}}"#;
    assert!(recognise(plain, &tools(), Belief::Tokens).is_none());
    assert!(recognise(&format!("<tool_call>{plain}</tool_call>"), &tools(), Belief::Tokens).is_some());
}

#[test]
fn ordinary_answers_are_not_held_back() {
    for said in [
        "Hello",
        "# Title",
        "[a link](x)",
        "{\"title\": 1}",
        "```rust\nfn",
        "```json\n{\"a\"",
        "<b>",
        "<|end|>",
    ] {
        assert!(!may_become(said, Belief::PlainToo), "{said}");
    }
    assert!(!may_become("```json\n{\"name\"", Belief::Tokens));
}

proptest! {
    #[test]
    fn a_call_is_held_back_from_its_first_byte_to_its_last(command in ".{0,40}", form in 0_usize..12) {
        let input = json!({"command": command});
        let said = forms("shell", &input).swap_remove(form);
        for (cut, _) in said.char_indices() {
            prop_assert!(may_become(&said[..cut], Belief::PlainToo), "{}", &said[..cut]);
        }
    }

    #[test]
    fn nothing_makes_it_panic(said in ".{0,200}", form in 0_usize..12, cut in 0_usize..80) {
        let _ = found(&said);
        for token in TOKENS {
            let _ = found(&format!("{token}{said}"));
        }
        let whole = forms("shell", &json!({"command": said})).swap_remove(form);
        let cut = whole.floor_char_boundary(cut);
        let _ = found(&whole[..cut]);
    }

    #[test]
    fn words_round_a_call_make_it_text(before in "[a-z ]{0,9}", after in "[a-z.]{1,9}", form in 0_usize..12) {
        let said = forms("shell", &json!({"command": "ls"})).swap_remove(form);
        let is_open = said.starts_with("<tool_call>") && !said.ends_with("</tool_call>");
        let (with_more, behind_words) = (format!("{said}\n{after}"), format!("{before}\n{said}"));
        prop_assert!(is_open || found(&with_more).is_none(), "{}", with_more);
        prop_assert!(before.trim().is_empty() || found(&behind_words).is_none(), "{}", behind_words);
    }

    #[test]
    fn tools_that_were_not_offered_are_never_called(name in "[a-z_]{1,12}", form in 0_usize..12) {
        prop_assume!(name != "shell");
        let said = forms(&name, &json!({"command": "ls"})).swap_remove(form);
        prop_assert!(found(&said).is_none(), "{}", said);
    }
}
