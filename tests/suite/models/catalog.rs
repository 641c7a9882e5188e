//! The catalogue of models: `model list`, `model update`, `models.json` and `model.context_window`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use aethon_tests::stub::{Stub, failure, ok};
use aethon_tests::{Server, home, run_cli};
use serde_json::{Value, json};

fn cli(home: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = run_cli(home, arguments, None);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn listed(home: &Path, id: &str) -> Value {
    let (code, out, _) = cli(home, &["model", "list", "--json"]);
    assert_eq!(code, Some(0));
    let document: Value = serde_json::from_str(&out).unwrap();
    document["models"].as_array().unwrap().iter().find(|model| model["id"] == id).cloned().unwrap_or_default()
}

#[test]
fn the_table_can_be_listed_by_vendor_and_for_programs() {
    let home = home();
    let (code, out, _) = cli(home.path(), &["model", "list", "--provider", "anthropic"]);
    assert_eq!(code, Some(0));
    assert!(out.lines().skip(1).all(|line| line.starts_with("anthropic/")), "{out}");
    let row = out.lines().find(|line| line.starts_with("anthropic/claude-sonnet-4-5 ")).unwrap();
    for word in ["200000", "64000", "3/15", "tools", "images", "2026-11-30"] {
        assert!(row.contains(word), "{word}: {row}");
    }
    let sonnet = listed(home.path(), "anthropic/claude-sonnet-5-5");
    assert_eq!((&sonnet["context_window"], &sonnet["price"]["input"]), (&json!(1_000_000), &json!(2.0)));
    assert_eq!(sonnet["retires_on"], Value::Null);
    let (code, _, complaint) = cli(home.path(), &["model", "list", "--provider", "nobody"]);
    assert_eq!(code, Some(2));
    assert!(complaint.contains("nobody") && complaint.contains("anthropic"), "{complaint}");
}

#[test]
fn a_newer_table_is_installed_and_a_refused_one_changes_nothing() {
    let home = home();
    let table = home.path().join("table.json");
    let install = |text: &str| {
        fs::write(&table, text).unwrap();
        cli(home.path(), &["model", "update", table.to_str().unwrap()])
    };
    let (code, out, complaint) = install(
        r#"{"gpt-7": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 2000000, "max_output_tokens": 5,
            "source": "x"}, "gpt-6-sol": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 7000},
            "painter": {"litellm_provider": "openai", "mode": "image_generation"}}"#,
    );
    assert_eq!(code, Some(0), "{complaint}");
    assert!(out.contains(": 2, of them 1 new and 1 changed"), "{out}");
    let file = home.path().join("models.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!fs::read_to_string(&file).unwrap().contains("source"));
    assert_eq!(listed(home.path(), "openai/gpt-7")["context_window"], 2_000_000);
    assert_eq!(listed(home.path(), "openai/gpt-6-sol")["context_window"], 7_000);

    let before = fs::read(&file).unwrap();
    let nested = format!(r#"{{"m": {{"x": {}1{}}}}}"#, "[".repeat(3_000), "]".repeat(3_000));
    for (text, word) in [
        ("{", "JSON"),
        ("{}", "no model"),
        (r#"{"m": {"input_cost_per_token": -1}}"#, "input_cost_per_token"),
        (r#"{"m": {"output_cost_per_token": 1e308}}"#, "refused"),
        (r#"{"m": {"max_input_tokens": NaN}}"#, "JSON"),
        (nested.as_str(), "JSON"),
    ] {
        let (code, _, complaint) = install(text);
        assert_eq!(code, Some(2), "{text}");
        assert!(
            complaint.contains(word) || word == "refused" && complaint.contains("refused"),
            "{complaint}"
        );
        assert_eq!(fs::read(&file).unwrap(), before, "{text}");
    }
}

#[test]
fn table_ages_are_shown_and_update_explains_how_to_get_one() {
    let home = home();
    let (code, _, complaint) = cli(home.path(), &["model", "update"]);
    assert_eq!(code, Some(2));
    for command in ["curl ", "model_prices_and_context_window", "aethon-cli model update "] {
        assert!(complaint.contains(command), "{command}: {complaint}");
    }
    let table = home.path().join("table.json");
    let row = r#"{"gpt-6-sol": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 7000}}"#;
    fs::write(&table, row).unwrap();
    assert_eq!(cli(home.path(), &["model", "update", table.to_str().unwrap()]).0, Some(0));
    let tables = || {
        let (_, out, _) = cli(home.path(), &["doctor", "--set", "model.provider=echo"]);
        out.lines().find(|line| line.contains("built-in table")).expect("a finding").to_owned()
    };
    let line = tables();
    for words in ["litellm 1.", "made on 20", "1 models of models.json, installed on 20", "of today"] {
        assert!(line.contains(words), "{words}: {line}");
    }
    assert_eq!(listed(home.path(), "openai/gpt-6-sol")["context_window"], 7_000);

    // The same file, installed before the built-in table was made.
    let file = home.path().join("models.json");
    let text = fs::read_to_string(&file).unwrap();
    let (before, rest) = text.split_once("\"installed_on\":\"").expect("a date");
    fs::write(&file, format!("{before}\"installed_on\":\"2024-01-01{}", &rest[10..])).unwrap();
    assert!(tables().contains("which is older"), "{}", tables());
    assert_eq!(listed(home.path(), "openai/gpt-6-sol")["context_window"], 1_050_000);

    // Without a date, it is the owner's own.
    fs::write(&file, row).unwrap();
    assert!(tables().contains("no date"), "{}", tables());
    assert_eq!(listed(home.path(), "openai/gpt-6-sol")["context_window"], 7_000);
}

#[test]
fn broken_catalog_file_is_reported_and_the_service_starts() {
    let home = home();
    fs::write(home.path().join("models.json"), r#"{"m": {"max_input_tokens": -5}}"#).unwrap();
    let (_, out, complaint) = cli(home.path(), &["doctor", "--set", "model.provider=echo"]);
    assert!(out.contains("models.json") && out.contains("max_input_tokens"), "{out}{complaint}");
    let (code, _, complaint) = cli(home.path(), &["ask", "hello", "--set", "model.provider=echo"]);
    assert_eq!(code, Some(0), "{complaint}");
    assert!(complaint.contains("models.json"), "{complaint}");
}

#[test]
fn retiring_and_unknown_models_are_reported() {
    let home = home();
    fs::write(
        home.path().join("models.json"),
        r#"{"ended": {"deprecation_date": "2020-01-01"}, "lasting": {"deprecation_date": "2990-01-01"}}"#,
    )
    .unwrap();
    let check = |model: &str, words: &str| {
        let set = [
            format!("model.model_id={model}"),
            "model.api_key=k".into(),
            "model.host=http://127.0.0.1:9/v1".into(),
        ];
        let sets: Vec<&str> = set.iter().flat_map(|set| ["--set", set]).collect();
        let (_, out, _) = cli(home.path(), &[&["doctor"][..], &sets].concat());
        let warnings: Vec<&str> = out.lines().filter(|line| line.starts_with("warning  models")).collect();
        assert!(
            warnings.concat().contains(words) && warnings.is_empty() == words.is_empty(),
            "{model}: {out}"
        );
    };
    check("ended", "2020-01-01");
    check("lasting", "");
    check("unheard-of", "unknown model");
    check("gpt-6-sol", "");
}

#[test]
fn the_chat_says_once_that_a_model_is_unknown() {
    let stub = Stub::answering(|request| match request.line.as_str() {
        "POST /v1/chat/completions" => {
            let chunk =
                json!({"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]});
            ok("text/event-stream", &format!("data: {chunk}\n\ndata: [DONE]\n\n"))
        }
        _ => failure("404 Not Found", "", "{}"),
    });
    let host = format!("model.host=http://{}/v1", stub.address);
    let server = Server::start(&["model.provider=openai", "model.model_id=homegrown", &host]);
    let mut chat = server.chat("default");
    let warnings = |frames: &[Value]| {
        frames.iter().filter(|frame| frame["code"] == "unknown_model").cloned().collect::<Vec<_>>()
    };
    let first = warnings(&chat.say("m1", "hello"));
    assert_eq!(first.len(), 1, "{first:?}");
    let sentence = first[0].to_string();
    for word in ["homegrown", "32768", "model.context_window", "budget.pricing"] {
        assert!(sentence.contains(word), "{word}: {sentence}");
    }
    assert!(warnings(&chat.say("m2", "again")).is_empty());
}
