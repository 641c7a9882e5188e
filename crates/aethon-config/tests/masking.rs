//! Secrets: planted everywhere, seen nowhere.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

mod common;

use aethon_config::{dump, get, known_keys, load, schema};
use aethon_core::provider::Provider;
use common::Home;
use serde_json::{Value, json};

/// Every key that is described as a secret.
fn secret_keys() -> Vec<String> {
    fn walk(whole: &Value, part: &Value, key: String, found: &mut Vec<String>) {
        let part = match part.get("$ref").and_then(Value::as_str) {
            Some(target) => whole.pointer(target.trim_start_matches('#')).unwrap(),
            None => part,
        };
        if part.get("format") == Some(&json!("password")) {
            found.push(key.clone());
        }
        for (name, inner) in part.get("properties").and_then(Value::as_object).into_iter().flatten() {
            walk(whole, inner, format!("{key}.{name}"), found);
        }
        if let Some(inner) = part.get("additionalProperties").filter(|inner| inner.is_object()) {
            walk(whole, inner, format!("{key}.entry"), found);
        }
    }
    let whole = schema();
    let mut found = Vec::new();
    walk(&whole, &whole, String::new(), &mut found);
    found.iter().map(|key| key.trim_start_matches('.').to_owned()).collect()
}

#[test]
fn secrets_are_masked_everywhere_and_listed_for_redaction() {
    let keys = secret_keys();
    assert!(keys.len() > 13 && keys.contains(&"mcp.servers.entry.env.entry".to_owned()), "{keys:?}");
    let mut home = Home::with("").sets(&[
        "mcp.servers.entry.command=x",
        "lsp.servers.entry.command=x",
        "lsp.servers.entry.extensions=[\"x\"]",
    ]);
    // An address is refused unless it is one.
    let value = |index: usize| match keys[index].as_str() {
        "storage.url" => format!("postgres://ada:canary-{index}-end@host/aethon"),
        _ => format!("canary-{index}-end"),
    };
    for (index, key) in keys.iter().enumerate() {
        home = home.sets(&[&format!("{key}={}", value(index))]);
    }
    let home = home
        .sets(&["model.fallbacks=[{ api_key = \"canary-fallback\" }]"])
        .environment(&[("OPENAI_API_KEY", "canary-usual")]);
    let config = home.load().unwrap().config;
    let shown = dump(&config).to_string();
    assert!(!shown.contains("canary"), "{shown}");
    assert!(!format!("{config:?}").contains("canary"));
    for key in &keys {
        assert_eq!(get(&config, key), Some(json!("***")), "{key}");
    }
    let listed: Vec<&str> = config.secrets().into_iter().map(|secret| secret.expose()).collect();
    for (index, key) in keys.iter().enumerate() {
        assert!(listed.contains(&value(index).as_str()), "{key} is not listed");
    }
    assert!(listed.contains(&"canary-fallback") && listed.contains(&"canary-usual"), "{listed:?}");
}

#[test]
fn a_credential_inside_another_string_is_masked_too() {
    let home = Home::with(
        r#"
[model]
host = "https://api.example/${credential:one}/v1"
extra = { header = "Bearer ${credential:one}", password = "canary-plain" }
[mcp.servers.a]
command = "x"
args = ["--key=${credential:two}", "plain"]
[mcp.servers.b]
url = "https://mcp.example/x?token=canary-query"
"#,
    )
    .credential("one", "canary-one\n")
    .credential("two", "canary-two");
    let config = home.load().unwrap().config;
    let shown = dump(&config);
    assert!(!shown.to_string().contains("canary"), "{shown}");
    assert_eq!(shown["mcp"]["servers"]["a"]["args"], json!(["--key=***", "plain"]));
    assert_eq!(shown["model"]["host"], json!("https://api.example/***/v1"));
    assert_eq!(config.mcp.servers["a"].args[0], "--key=canary-two");
    let listed: Vec<&str> = config.secrets().into_iter().map(|secret| secret.expose()).collect();
    assert!(listed.contains(&"canary-one") && listed.contains(&"canary-two"));
}

#[test]
fn secret_in_program_arguments_is_masked_and_listed() {
    let text = "[mcp.servers.a]\ncommand = \"x\"\nargs = [\"--token\", \"canary-plain\", \"--verbose\"]\n";
    let config = Home::with(text).load().unwrap().config;
    assert_eq!(dump(&config)["mcp"]["servers"]["a"]["args"], json!(["--token", "***", "--verbose"]));
    assert_eq!(config.mcp.servers["a"].args[1], "canary-plain");
    assert!(config.secrets().iter().any(|secret| secret.expose() == "canary-plain"));
}

#[test]
fn an_empty_or_blank_secret_shows_as_empty() {
    let config = Home::with("[dashboard]\nauth_token = \"  \"\n").load().unwrap().config;
    assert!(config.dashboard.auth_token.is_empty());
    assert_eq!(get(&config, "dashboard.auth_token"), Some(json!("")));
    assert!(config.secrets().is_empty());
}

#[test]
fn no_error_or_warning_shows_a_secret() {
    let check = |home: Home| {
        let outcome = load(&home.sources());
        let shown = match outcome {
            Ok(loaded) => format!("{:?}", loaded.warnings),
            Err(error) => format!("{error} {error:?}"),
        };
        assert!(shown.len() > 2 && !shown.contains("canary") && !shown.contains("98765"), "{shown}");
    };
    check(Home::with("[dashboard]\nauth_token = 98765\n"));
    check(Home::with("[dashboard]\nauth_token = [\"canary\"]\n"));
    check(Home::with("[dashboard]\nauth_tokn = \"canary\"\n"));
    check(Home::with("[mcp.servers.a]\ncommand = \"x\"\nenv = { A = 98765 }\n"));
    check(Home::with("").sets(&["dashboard.auth_tokn=canary"]));
    check(Home::with("").environment(&[("AETHON_DASHBOARD__AUTH_TOKN", "canary")]));
    check(Home::with("[dashboard]\nauth_token = \"canary\n"));
}

#[test]
fn the_schema_describes_every_key() {
    let whole = schema();
    assert!(whole["$schema"].is_string());
    let keys = known_keys();
    assert!(keys.len() > 100);
    for key in &keys {
        let is_entry = key.name.ends_with("NAME");
        assert!(is_entry || !key.description.is_empty(), "{} has no description", key.name);
        assert!(!key.description.contains('\n'), "{} breaks its lines", key.name);
    }
    let key = |name: &str| keys.iter().find(|key| key.name == name).unwrap();
    assert_eq!(key("channels.webchat.port").default, json!(18790));
    assert_eq!(key("security.sandbox").words, ["none", "docker", "kernel"]);
    assert_eq!(key("model.provider").words, Provider::names());
    let embedding = key("memory.embedding.provider");
    assert_eq!(embedding.words.first().map(String::as_str), Some("none"));
    assert!(embedding.words.iter().all(|word| word != "anthropic"));
    assert_eq!(embedding.default, json!("none"));
    assert_eq!(key("transcription.provider").words, ["none", "openai", "litellm"]);
    assert_eq!(key("model.effort").words, ["none", "low", "medium", "high"]);
    assert_eq!(key("scheduler.jobs.NAME.missed").words, ["skip", "run_once"]);
    assert!(keys.iter().any(|key| key.name == "budget.pricing.NAME.cached_input"));
    assert!(!keys.iter().any(|key| key.name.contains("environment_key") || key.name.contains("embedded")));
    let share = &whole["$defs"]["Session"]["properties"]["max_context_share"];
    assert_eq!((&share["exclusiveMinimum"], &share["maximum"]), (&json!(0), &json!(1)));
    assert_eq!(whole["$defs"]["Agent"]["properties"]["loop_limit"]["minimum"], json!(2));
    let words = &whole["$defs"]["Model"]["properties"]["provider"]["enum"];
    assert_eq!(words[0], json!("openai"));
}
