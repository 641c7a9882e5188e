//! Streams as services really send them: what can be read is read, and nothing is asked and paid for twice.

use aethon_tests::server::Server;
use aethon_tests::socket::of_type;
use aethon_tests::stub::{Seen, Stub, failure, ok};
use serde_json::Value;

/// A provider, the settings under which the stub's address is its host, and a chat stream of it.
struct Case {
    name: &'static str,
    settings: &'static [&'static str],
    content_type: &'static str,
    stream: &'static str,
}

/// Answers chats with this stream, and everything else with 404.
fn service(case: &Case) -> Stub {
    let (content_type, stream) = (case.content_type, case.stream);
    Stub::answering(move |seen| match seen.line.starts_with("POST") && !seen.line.ends_with("/api/show") {
        true => ok(content_type, stream),
        false => failure("404 Not Found", "", "{}"),
    })
}

fn start(case: &Case, stub: &Stub) -> Server {
    let address = stub.address.to_string();
    let mut settings: Vec<String> =
        case.settings.iter().map(|set| set.replace("ADDRESS", &address)).collect();
    settings.push("model.api_key=\"sk-test\"".to_owned());
    Server::start(&settings.iter().map(String::as_str).collect::<Vec<_>>())
}

fn chats(stub: &Stub) -> usize {
    let is_chat = |seen: &Seen| seen.line.starts_with("POST") && !seen.line.ends_with("/api/show");
    stub.requests().iter().filter(|seen| is_chat(seen)).count()
}

fn say(server: &Server) -> Vec<Value> {
    let mut chat = server.chat("default");
    chat.say("1", "hello")
}

const SPLIT_EMOJI: [Case; 5] = [
    Case {
        name: "openai chat",
        settings: &[
            "model.provider=\"openai\"",
            "model.host=\"http://ADDRESS/v1\"",
            "model.model_id=\"m\"",
            "model.context_window=32000",
        ],
        content_type: "text/event-stream",
        stream: concat!(
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"so \\ud83d\"}}]}\n\n",
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\ude00 good\"}}]}\n\n",
            "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        ),
    },
    Case {
        name: "openai responses",
        settings: &[
            "model.provider=\"openai\"",
            "model.api=\"responses\"",
            "model.host=\"http://ADDRESS/v1\"",
            "model.model_id=\"m\"",
            "model.context_window=32000",
        ],
        content_type: "text/event-stream",
        stream: concat!(
            "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"so \\ud83d\"}\n\n",
            "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"\\ude00 good\"}\n\n",
            "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n",
        ),
    },
    Case {
        name: "anthropic",
        settings: &["model.provider=\"anthropic\"", "model.host=\"http://ADDRESS\""],
        content_type: "text/event-stream",
        stream: concat!(
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"c\",\"usage\":{\"input_tokens\":9}}}\n\n",
            "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"so \\ud83d\"}}\n\n",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\\ude00 good\"}}\n\n",
            "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
            "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5}}\n\n",
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        ),
    },
    Case {
        name: "gemini",
        settings: &["model.provider=\"gemini\"", "model.host=\"http://ADDRESS\""],
        content_type: "text/event-stream",
        stream: concat!(
            "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"so \\ud83d\"}]}}]}\n\n",
            "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"\\ude00 good\"}]},\"finishReason\":\"STOP\"}]}\n\n",
        ),
    },
    Case {
        name: "ollama",
        settings: &[
            "model.provider=\"ollama\"",
            "model.host=\"http://ADDRESS\"",
            "model.model_id=\"m\"",
            "model.context_window=32000",
        ],
        content_type: "application/x-ndjson",
        stream: concat!(
            "{\"message\":{\"role\":\"assistant\",\"content\":\"so \\ud83d\"},\"done\":false}\n",
            "{\"message\":{\"role\":\"assistant\",\"content\":\"\\ude00 good\"},\"done\":false}\n",
            "{\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":9,\"eval_count\":5}\n",
        ),
    },
];

#[test]
fn emoji_in_two_chunks_is_one_request_and_the_right_text() {
    for case in &SPLIT_EMOJI {
        let stub = service(case);
        let server = start(case, &stub);
        let frames = say(&server);
        assert_eq!(of_type(&frames, "done")[0]["text"], "so 😀 good", "{}: {frames:?}", case.name);
        assert_eq!(chats(&stub), 1, "{}", case.name);
    }
}

const CHAT: &[&str] = &[
    "model.provider=\"openai\"",
    "model.host=\"http://ADDRESS/v1\"",
    "model.model_id=\"m\"",
    "model.context_window=32000",
];

#[test]
fn odd_fields_cost_neither_a_request_nor_a_word() {
    let case = Case {
        name: "odd fields",
        settings: CHAT,
        content_type: "text/event-stream",
        stream: concat!(
            "data: null\n\n",
            "data: {\"choices\":[{\"index\":\"0\",\"delta\":{\"content\":\"all \",\"reasoning\":{}},\"logprobs\":NaN}]}\n\n",
            "data: {\"choices\":[{\"index\":-1,\"delta\":{\"content\":\"there\"}}],\"usage\":NaN}\n\n",
            "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\",\"message\":{\"content\":\"all there\"}}]}\n\n",
            "data: [DONE]\n\n",
        ),
    };
    let stub = service(&case);
    let frames = say(&start(&case, &stub));
    assert_eq!(of_type(&frames, "done")[0]["text"], "all there", "{frames:?}");
    assert_eq!(chats(&stub), 1);
}

#[test]
fn answer_that_the_service_gave_up_is_not_taken_for_a_whole_one() {
    for reason in ["error", "abort", "insufficient_system_resource", "network_error"] {
        let stream: &'static str = Box::leak(
            format!(
                "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"The three steps are: first\"}}}}]}}\n\n\
                 data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\ndata: [DONE]\n\n"
            )
            .into_boxed_str(),
        );
        let case = Case { name: reason, settings: CHAT, content_type: "text/event-stream", stream };
        let stub = service(&case);
        let frames = say(&start(&case, &stub));
        let done = of_type(&frames, "done")[0];
        let is_noted = done["stop_reason"] != "end" || !of_type(&frames, "notice").is_empty();
        assert!(is_noted, "{reason}: {frames:?}");
        assert!(done["text"].as_str().unwrap().contains("first"), "{reason}: {done}");
    }
}

#[test]
fn thought_in_the_text_is_no_part_of_the_answer() {
    for text in
        ["<think>hm</think>Hello!", "The user greets me.</think>\\n\\nHello!", "[THINK]hm[/THINK]Hello!"]
    {
        let stream: &'static str = Box::leak(
            format!(
                "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n\
                 data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\ndata: [DONE]\n\n"
            )
            .into_boxed_str(),
        );
        let case = Case { name: text, settings: CHAT, content_type: "text/event-stream", stream };
        let stub = service(&case);
        let server = start(&case, &stub);
        let mut chat = server.chat("default");
        let frames = chat.say("1", "hi");
        assert_eq!(of_type(&frames, "done")[0]["text"], "Hello!", "{text}: {frames:?}");
        chat.say("2", "again");
        let sent = stub.requests().into_iter().rfind(|seen| seen.line.starts_with("POST")).unwrap();
        let messages = sent.json()["messages"].to_string();
        assert!(!messages.contains("hm") && !messages.contains("greets me"), "{text}: {messages}");
    }
}
