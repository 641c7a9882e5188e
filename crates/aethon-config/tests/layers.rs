//! The layers and the types: which value wins, and what text means for the key it is given to.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

mod common;

use aethon_config::schema::{
    AnthropicVersion, Fallback, Level, Missed, OpenAiApi, Provider, Sandbox, Synchronous,
};
use aethon_config::{Config, get};
use common::Home;
use serde_json::{Value, json};

#[test]
fn later_layers_win() {
    let check = |file: &str, variable: Option<&str>, set: Option<&str>, expected: u64| {
        let mut home = Home::with(file);
        if let Some(value) = variable {
            home = home.environment(&[("AETHON_AGENT__MAX_ITERATIONS", value)]);
        }
        if let Some(set) = set {
            home = home.sets(&[set]);
        }
        assert_eq!(u64::from(home.load().unwrap().config.agent.max_iterations), expected);
    };
    let file = "[agent]\nmax_iterations = 2\n";
    check("", None, None, 40);
    check(file, None, None, 2);
    check(file, Some("3"), None, 3);
    check(file, Some("3"), Some("agent.max_iterations=4"), 4);
    check("", None, Some("agent.max_iterations=4"), 4);
}

#[test]
fn a_later_set_wins_over_an_earlier_one() {
    let home = Home::with("").sets(&["model.model_id=a", "model.model_id=b"]);
    assert_eq!(home.load().unwrap().config.model.model_id, "b");
}

#[test]
fn tables_merge_and_lists_are_replaced() {
    let home = Home::with(
        "[budget.pricing.\"gpt-5.1\"]\ninput = 1\noutput = 2\n[security]\nblocked_commands = [\"a\", \"b\"]\n",
    )
    .sets(&["budget.pricing.\"gpt-5.1\".output=3", "budget.pricing.\"openai/gpt-5\".input=4", "security.blocked_commands=[\"c\"]"]);
    let config = home.load().unwrap().config;
    assert_eq!((config.budget.pricing["gpt-5.1"].input, config.budget.pricing["gpt-5.1"].output), (1.0, 3.0));
    assert_eq!(config.budget.pricing["openai/gpt-5"].input, 4.0);
    assert_eq!(config.security.blocked_commands, ["c"]);
}

#[test]
fn text_takes_the_type_of_its_key() {
    // (key, text by variable or --set, value by variable, value by --set)
    let check = |key: &str, text: &str, expected: Value| {
        let variable = format!("AETHON_{}", key.replace('.', "__").to_uppercase());
        let by_variable = Home::with("").environment(&[(&variable, text)]).load().unwrap();
        assert_eq!(get(&by_variable.config, key), Some(expected.clone()), "{variable}={text}");
        let by_set = Home::with("").sets(&[&format!("{key}={text}")]).load().unwrap();
        assert_eq!(get(&by_set.config, key), Some(expected), "--set {key}={text}");
    };
    check("channels.webchat.port", "80", json!(80));
    check("channels.webchat.enabled", "false", json!(false));
    check("channels.webchat.enabled", "0", json!(false));
    check("webhook.enabled", "Off", json!(false));
    check("session_recorder.enabled", "yes", json!(true));
    check("model.model_id", "12345", json!("12345"));
    check("model.model_id", "true", json!("true"));
    check("model.model_id", "1.50", json!("1.50"));
    check("model.model_id", "gpt-5", json!("gpt-5"));
    check("model.model_id", "a = b", json!("a = b"));
    check("model.provider", "ollama", json!("ollama"));
    check("model.api_version", "2023-06-01", json!("2023-06-01"));
    check("model.temperature", "1", json!(1.0));
    check("model.temperature", "0.25", json!(0.25));
    check("model.max_tokens", "", json!(null));
    check("model.fallbacks", "[\"a\", { provider = \"echo\" }]", json!(["a", fallback_table()]));
    check("model.extra", "{ top_k = 5, stop = [\"x\"] }", json!({"top_k": 5, "stop": ["x"]}));
    check("security.blocked_commands", "[\"a,b\", \"c\"]", json!(["a,b", "c"]));
    check("security.blocked_commands", "a, b c ,d", json!(["a", "b c", "d"]));
    check("security.allowed_senders.telegram", "1,2", json!(["1", "2"]));
    check("security.allowed_senders.telegram", "[1, \"2\"]", json!(["1", "2"]));
    check("budget.daily_usd", "2", json!(2.0));
    check("model.host", "http://127.0.0.1:8080/v1", json!("http://127.0.0.1:8080/v1"));
    check("channels.webchat.host", "::1", json!("::1"));
    check("memory.embedding.provider", "", json!("none"));
}

fn fallback_table() -> Value {
    let home = Home::with("[model]\nprovider = \"echo\"\n");
    get(&home.load().unwrap().config, "model").unwrap()
}

#[test]
fn a_secret_is_text_whatever_it_looks_like() {
    for text in ["12345", "0012", "true", "[a", "{b", "{ a = 1 }", "[1, 2]", "1e5", "2026-10-21", " x "] {
        let home = Home::with("").environment(&[("AETHON_DASHBOARD__AUTH_TOKEN", text)]);
        assert_eq!(home.load().unwrap().config.dashboard.auth_token.expose(), text);
        let home = Home::with("").sets(&[&format!("dashboard.auth_token={text}")]);
        assert_eq!(home.load().unwrap().config.dashboard.auth_token.expose(), text.trim());
    }
    let home = Home::with("").sets(&["dashboard.auth_token=\"quoted\""]);
    assert_eq!(home.load().unwrap().config.dashboard.auth_token.expose(), "quoted");
}

#[test]
fn a_date_without_quotes_is_the_text_it_is() {
    let home = Home::with("[model]\napi_version = 2023-06-01\n[budget.pricing.x]\ninput=1\n");
    assert_eq!(home.load().unwrap().config.model.api_version, AnthropicVersion::V2023);
}

#[test]
fn unrelated_variables_are_left_alone() {
    let home = Home::with("").environment(&[
        ("AETHON_HOME", "/elsewhere"),
        ("AETHON_LOG", "debug"),
        ("AETHON_DASHBOARD", "x"),
        ("AETHON", "x"),
        ("OTHER__THING", "x"),
        ("aethon_model__provider", "nonsense"),
    ]);
    let loaded = home.load().unwrap();
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    assert!(loaded.file.is_none());
}

#[test]
fn every_default_is_the_one_of_the_contract() {
    let config = Home::with("").load().unwrap().config;
    let check = |key: &str, expected: Value| assert_eq!(get(&config, key), Some(expected), "{key}");
    check("model.provider", json!("openai"));
    check("model.model_id", json!(Provider::OpenAi.default_model()));
    check("model.api_key", json!(""));
    check("model.host", json!(""));
    check("model.api", json!("auto"));
    check("model.api_version", json!("2026-10-21"));
    check("model.temperature", json!(null));
    check("model.effort", json!(null));
    check("model.timeout_seconds", json!(null));
    check("model.max_retries", json!(4));
    check("model.fallbacks", json!([]));
    check("model.extra", json!({}));
    check(
        "channels.webchat",
        json!({"enabled": true, "host": "127.0.0.1", "port": 18790, "socket": "", "allowed_origins": [], "allowed_hosts": []}),
    );
    for messenger in ["telegram", "discord", "slack", "whatsapp", "matrix", "email"] {
        check(&format!("channels.{messenger}.enabled"), json!(false));
        assert!(get(&config, &format!("channels.{messenger}.api_base")).unwrap().is_string());
    }
    check("memory.enabled", json!(true));
    check("memory.auto_recall", json!(true));
    check("memory.recall_top_k", json!(4));
    check("memory.recall_max_chars", json!(1500));
    check("memory.embedding.provider", json!("none"));
    check(
        "session",
        json!({"max_context_share": 0.8, "keep_recent": 10, "generate_titles": true, "bin_days": 7, "oneshot_keep_days": 30, "oneshot_keep": 10000, "oneshot_max_mb": 4096}),
    );
    check("agent.max_iterations", json!(40));
    check("agent.max_tool_output_chars", json!(12000));
    check("agent.turn_timeout_seconds", json!(600));
    check("agent.loop_limit", json!(3));
    check("agent.dynamic_specialists", json!(false));
    check("agent.specialists.coder", json!({"enabled": true, "model": "", "tools": []}));
    check("work.enabled", json!(false));
    check("work.ambient.enabled", json!(false));
    check("verification", json!({"enabled": false, "command": "", "timeout_seconds": 120, "strict": false}));
    check("budget", json!({"daily_usd": 0.0, "warn_ratio": 0.8, "unpriced": "refuse", "pricing": {}}));
    check(
        "approval",
        json!({"enabled": false, "timeout_seconds": 120,
            "requires_approval": ["shell", "file_write", "manage_tools", "manage_specialists"]}),
    );
    check("dashboard", json!({"enabled": true, "auth_token": "", "session_days": 30}));
    check("webhook", json!({"enabled": true, "secret": ""}));
    check("session_recorder", json!({"enabled": false, "idle_minutes": 30, "keep": 20, "max_age_days": 0}));
    check("security.mark_untrusted_content", json!(true));
    check("security.workspace_only", json!(false));
    check("security.blocked_commands", json!(["rm -rf /", "sudo", "mkfs"]));
    check("security.allowed_senders", json!({}));
    check("security.guest_tools", json!([]));
    check("security.sandbox", json!("none"));
    check("security.sandbox_network", json!("none"));
    check("runtime_tools", json!({"enabled": false}));
    check(
        "scheduler",
        json!({"enabled": true, "default_channel": "webchat", "max_stranger_jobs": 20, "jobs": {}}),
    );
    check("mcp", json!({"servers": {}}));
    check("telemetry", json!({"enabled": true, "keep_days": 30, "otlp_endpoint": "", "otlp_headers": {}}));
    check("tools.max_shells", json!(8));
    check("lsp.enabled", json!(false));
    check("logging", json!({"level": "info", "keep_files": 7}));
    check(
        "server",
        json!({"max_body_bytes": 1_048_576, "max_connections": 4096, "header_timeout_seconds": 10,
            "body_timeout_seconds": 30, "shutdown_grace": 8, "webhook_timeout_seconds": 600, "base_path": "",
            "trusted_proxies": [],
            "health_from": []}),
    );
    check("push", json!({"enabled": true}));
    check("storage", json!({"url": "", "files": "folder", "synchronous": "normal", "max_mb": 16384}));
    assert_eq!(aethon_config::dump(&config), aethon_config::dump(&Config::default()));
}

#[test]
fn a_whole_file_is_read_into_its_types() {
    let home = Home::with(
        r#"
[model]
provider = "anthropic"
api = "responses"
fallbacks = ["claude-haiku", { provider = "ollama", host = "http://localhost:11434", max_tokens = 5 }]
[memory.embedding]
provider = "ollama"
[security]
sandbox = "docker"
require_approval = ["anything", 1]
[security.allowed_senders]
telegram = [12345678901, "@owner"]
[scheduler.jobs."morning.news"]
cron = "0 8 * * 1-5"
prompt = "news"
timezone = "Europe/Berlin"
missed = "run_once"
[mcp.servers.files]
command = "mcp-files"
args = ["--root", "/srv"]
env = { KEY = "v" }
[mcp.servers.remote]
url = "https://mcp.example/x"
headers = { Authorization = "Bearer t" }
[logging]
level = "debug"
[storage]
synchronous = "full"
"#,
    );
    let loaded = home.load().unwrap();
    let config = &loaded.config;
    let others = loaded.warnings.iter().filter(|warning| !warning.message.contains("this version"));
    assert_eq!(others.count(), 0, "{:?}", loaded.warnings);
    assert_eq!((config.model.provider, config.model.api), (Provider::Anthropic, OpenAiApi::Responses));
    assert_eq!(config.model.model_id, Provider::Anthropic.default_model());
    assert!(matches!(&config.model.fallbacks[0], Fallback::ModelId(id) if id == "claude-haiku"));
    let candidates = config.model.candidates();
    assert_eq!(candidates.len(), 3);
    assert_eq!(
        (candidates[1].provider, candidates[1].model_id.as_str()),
        (Provider::Anthropic, "claude-haiku")
    );
    assert_eq!(
        (candidates[2].provider, candidates[2].model_id.as_str()),
        (Provider::Ollama, Provider::Ollama.default_model())
    );
    assert!(candidates.iter().all(|candidate| candidate.fallbacks.is_empty()));
    assert_eq!(config.memory.embedding.provider, Some(Provider::Ollama));
    assert_eq!(config.security.sandbox, Sandbox::Docker);
    assert_eq!(config.security.allowed_senders["telegram"], ["12345678901", "@owner"]);
    let job = &config.scheduler.jobs["morning.news"];
    assert_eq!(
        (job.missed, job.enabled, job.timezone.as_deref()),
        (Missed::RunOnce, true, Some("Europe/Berlin"))
    );
    assert_eq!(config.mcp.servers["files"].env["KEY"].expose(), "v");
    assert_eq!(config.mcp.servers["remote"].headers["Authorization"].expose(), "Bearer t");
    assert_eq!((config.logging.level, config.storage.synchronous), (Level::Debug, Synchronous::Full));
    assert_eq!(loaded.file, Some(home.path().join("config.toml")));
}

#[test]
fn an_empty_key_is_the_providers_usual_variable() {
    let variables = [
        ("openai", "OPENAI_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("gemini", "GEMINI_API_KEY"),
        ("mistral", "MISTRAL_API_KEY"),
        ("litellm", "LITELLM_API_KEY"),
    ];
    for (provider, variable) in variables {
        let home = Home::with("").environment(&[("OTHER_API_KEY", "wrong"), (variable, "usual")]);
        let set = format!("model.provider={provider}");
        let config = home.sets(&[&set]).load().unwrap().config;
        assert_eq!(config.model.key().expose(), "usual");
        assert_eq!(get(&config, "model.api_key"), Some(json!("")));
        let home = Home::with("").environment(&[(variable, "usual")]);
        let config = home.sets(&[&set, "model.api_key=own"]).load().unwrap().config;
        assert_eq!(config.model.key().expose(), "own");
    }
    let home = Home::with(
        "[model]\nfallbacks = [{ provider = \"gemini\" }]\n[memory.embedding]\nprovider = \"mistral\"\n",
    );
    let home =
        home.environment(&[("GEMINI_API_KEY", "g"), ("MISTRAL_API_KEY", "m"), ("OPENAI_API_KEY", " ")]);
    let config = home.load().unwrap().config;
    assert_eq!(config.model.candidates()[1].key().expose(), "g");
    assert_eq!(config.memory.embedding.key().expose(), "m");
    assert!(config.model.key().is_empty());
}

#[test]
fn a_named_model_takes_the_rest_from_the_main_one() {
    let home = Home::with(
        r#"
        [model]
        provider = "openai"
        model_id = "gpt-5.2"
        api_key = "sk-main"
        temperature = 0.5
        small = "gpt-5-mini"
        context_window = 100000
        fallbacks = ["gpt-5"]
        headers = { X-Team = "a" }
        [model.named.fast]
        model_id = "gpt-5-mini"
        effort = "low"
        [model.named.twin]
        "#,
    );
    let model = home.load().unwrap().config.model;
    let fast = &model.named["fast"].model;
    assert_eq!(
        (fast.model_id.as_str(), fast.temperature, fast.context_window),
        ("gpt-5-mini", Some(0.5), None)
    );
    assert_eq!(
        (fast.api_key.expose(), fast.small.as_str(), fast.headers.len()),
        ("sk-main", "gpt-5-mini", 1)
    );
    assert_eq!(fast.candidates().len(), 2, "the fallbacks stand by for it");
    let twin = serde_json::to_value(&model.named["twin"].model).unwrap();
    let mut whole = serde_json::to_value(&model).unwrap();
    whole.as_object_mut().unwrap().remove("named");
    for (key, value) in whole.as_object().unwrap().iter().filter(|(key, _)| *key != "fallbacks") {
        assert_eq!(&twin[key], value, "{key} is not inherited; add it to `inherit!`");
    }
}

#[test]
fn every_model_names_the_table_whose_keys_change_it() {
    let home = Home::with(
        r#"
        [model]
        provider = "openai"
        fallbacks = ["gpt-5", { provider = "gemini" }]
        [model.named.fast]
        model_id = "gpt-5-mini"
        [model.named."v1.5"]
        provider = "mistral"
        fallbacks = [{ provider = "gemini" }]
        "#,
    );
    let all = home.load().unwrap().config.model.all();
    let sections: Vec<_> = all.iter().map(|model| (model.provider.name(), model.section())).collect();
    let expected = [
        ("openai", "model"),
        ("openai", "model"),
        ("gemini", "model.fallbacks[1]"),
        ("openai", "model.named.fast"),
        ("openai", "model"),
        ("gemini", "model.fallbacks[1]"),
        ("mistral", "model.named.\"v1.5\""),
        ("gemini", "model.named.\"v1.5\".fallbacks[0]"),
    ];
    assert_eq!(sections, expected);
}

#[test]
fn credentials_of_a_service_go_to_no_other() {
    let home = Home::with(
        r#"
        [model]
        provider = "openai"
        model_id = "gpt-5.2"
        headers = { X-Team = "a" }
        fallbacks = ["gpt-5"]
        [model.named.box]
        host = "http://127.0.0.1:8080/v1"
        [model.named.local]
        provider = "ollama"
        [model.named.box2]
        host = "http://127.0.0.1:8080/v1"
        api_key = "own"
        "#,
    )
    .environment(&[("OPENAI_API_KEY", "sk-usual")]);
    let model = home.load().unwrap().config.model;
    assert_eq!(model.key().expose(), "sk-usual");
    for name in ["box", "local"] {
        let named = &model.named[name].model;
        assert!(named.key().is_empty() && named.headers.is_empty(), "{name}");
        assert_eq!(named.candidates().len(), 1, "{name} has no fallbacks elsewhere");
    }
    assert_eq!(model.named["box2"].model.key().expose(), "own");
}
