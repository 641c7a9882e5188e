//! References in whole configurations.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

mod common;

use aethon_config::get;
use common::Home;
use serde_json::json;

#[test]
fn references_resolve_in_every_string_of_every_layer() {
    let home = Home::with(
        r#"
[model]
host = "${BASE:-https://api.example}/v1"
api_key = "${credential:openai}"
temperature = "${WARM}"
fallbacks = ["${NAME}", { model_id = "${NAME}-mini", provider = "${PROVIDER}" }]
extra = { user = "${NAME}", list = ["$$", "${NAME}"] }
[channels.webchat]
port = "${PORT:-1234}"
enabled = "${ON}"
[mcp.servers.a]
command = "run-${NAME}"
args = ["--as", "${NAME}"]
env = { KEY = "${credential:openai}" }
"#,
    )
    .credential("openai", "sk-1\n")
    .environment(&[
        ("NAME", "name"),
        ("WARM", "0.5"),
        ("ON", "false"),
        ("PROVIDER", "echo"),
        ("AETHON_DASHBOARD__AUTH_TOKEN", "${NAME}-token"),
    ])
    .sets(&["webhook.secret=${credential:openai}", "agent.max_iterations=${TIMES:-7}"]);
    let config = home.load().unwrap().config;
    assert_eq!(config.model.host, "https://api.example/v1");
    assert_eq!(config.model.key().expose(), "sk-1");
    assert_eq!(config.model.temperature, Some(0.5));
    let candidates = config.model.candidates();
    assert_eq!((candidates[1].model_id.as_str(), candidates[2].model_id.as_str()), ("name", "name-mini"));
    assert_eq!(get(&config, "model.extra"), Some(json!({"user": "name", "list": ["$", "name"]})));
    assert_eq!((config.channels.webchat.port, config.channels.webchat.enabled), (1234, false));
    assert_eq!(config.mcp.servers["a"].args, ["--as", "name"]);
    assert_eq!(config.mcp.servers["a"].env["KEY"].expose(), "sk-1");
    assert_eq!(config.dashboard.auth_token.expose(), "name-token");
    assert_eq!(config.webhook.secret.expose(), "sk-1");
    assert_eq!(config.agent.max_iterations, 7);
}

#[test]
fn a_reference_that_resolves_to_nothing_names_key_and_reference() {
    let check = |file: &str, key: &str, reference: &str| {
        let error = Home::with(file).load().unwrap_err();
        assert_eq!(error.problems().len(), 1, "{error}");
        assert_eq!(error.problems()[0].key, key);
        assert!(error.problems()[0].found.contains(reference), "{error}");
    };
    check("model.host = \"${NOPE}\"", "model.host", "${NOPE}");
    check("model.api_key = \"${credential:nope}\"", "model.api_key", "${credential:nope}");
    check("model.api_key = \"${credential:../../etc/passwd}\"", "model.api_key", "not a name");
    let missing = Home::with("model.api_key = \"${credential:nope}\"").load().unwrap_err().to_string();
    assert!(
        missing.contains("allowed: a stored secret; `aethon-cli secrets set nope` stores one"),
        "{missing}"
    );
    check("model.provider = \"${NOPE}\"", "model.provider", "${NOPE}");
    check("channels.webchat.port = \"${NOPE}\"", "channels.webchat.port", "${NOPE}");
    check("model.extra = { a = [\"${NOPE}\"] }", "model.extra.a[0]", "${NOPE}");
    check("mcp.servers.a = { command = \"x\", env = { K = \"${NOPE}\" } }", "mcp.servers.a.env.K", "${NOPE}");
    check("budget.pricing.\"a.b\" = { input = \"${NOPE}\" }", "budget.pricing.\"a.b\".input", "${NOPE}");
}

#[test]
fn a_reference_that_a_later_layer_overrides_is_never_resolved() {
    let home = Home::with("[model]\nhost = \"${NOPE}\"\napi_key = \"${credential:nope}\"\n")
        .environment(&[("AETHON_MODEL__HOST", "https://a.example")])
        .sets(&["model.api_key=k"]);
    assert_eq!(home.load().unwrap().config.model.host, "https://a.example");
}

#[test]
fn a_secret_that_a_reference_empties_is_refused() {
    let check = |value: &str, is_refused: bool| {
        for key in ["dashboard.auth_token", "webhook.secret", "model.api_key", "channels.slack.bot_token"] {
            let home = Home::with(&format!("{key} = \"{value}\"\n"))
                .credential("blank", " \n")
                .environment(&[("EMPTY", ""), ("BLANK", "  "), ("FULL", "x")]);
            match home.load() {
                Ok(_) => assert!(!is_refused, "{key} = {value}"),
                Err(error) => {
                    assert!(is_refused, "{error}");
                    assert_eq!(error.problems()[0].key, key);
                    assert!(error.problems()[0].found.contains(value), "{error}");
                }
            }
        }
    };
    check("${EMPTY}", true);
    check("${BLANK}", true);
    check(" ${EMPTY} ", true);
    check("${NOPE:-}", true);
    check("${NOPE:- }", true);
    check("${credential:blank}", true);
    check("${FULL}", false);
    check("${EMPTY:-x}", false);
    check("", false);
    check("  ", false);
}

#[test]
fn resolved_references_are_not_shown_in_problems() {
    let home = Home::with(
        "[model]\nprovider = \"${KEY}\"\ntimeout_seconds = \"${credential:key}\"\nhost = \"${NAME}\"\n",
    )
    .credential("key", "canary-one")
    .environment(&[("KEY", "canary-two"), ("NAME", "https://u:canary-three@x.example")]);
    let error = home.load().unwrap_err();
    assert_eq!(error.problems().len(), 3);
    assert!(!error.to_string().contains("canary"), "{error}");
    assert!(error.to_string().contains("the string \"${KEY}\""), "{error}");
}
