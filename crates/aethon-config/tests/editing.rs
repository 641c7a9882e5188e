//! Reading and changing one key.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

mod common;

use std::os::unix::fs::PermissionsExt;

use aethon_config::schema::Provider;
use aethon_config::{Caution, Error, NewKeys, Starter, get, starter};
use common::Home;
use serde_json::json;

fn set(home: &Home, key: &str, value: &str) -> Result<(), Error> {
    aethon_config::set_in_file(&home.sources(), key, value, NewKeys::Refused)
}

#[test]
fn a_key_is_read_by_its_dotted_name() {
    let config = Home::with("[budget.pricing.\"gpt-5.1\"]\ninput = 2\n").load().unwrap().config;
    let check =
        |key: &str, expected: Option<serde_json::Value>| assert_eq!(get(&config, key), expected, "{key}");
    check("model.provider", Some(json!("openai")));
    check("storage", Some(json!({"url": "", "files": "folder", "synchronous": "normal", "max_mb": 16384})));
    check("budget.pricing.\"gpt-5.1\".input", Some(json!(2.0)));
    check("budget.pricing.gpt-5.1.input", Some(json!(2.0)));
    check("model.nope", None);
    check("model.provider.nope", None);
    check("", None);
}

#[test]
fn a_change_keeps_everything_else_as_it_was() {
    let check = |before: &str, key: &str, value: &str, after: &str| {
        let home = Home::with(before);
        set(&home, key, value).unwrap();
        assert_eq!(home.file(), after);
    };
    let before = "# top\n[model] # section\n# about\nprovider = \"openai\"  # why\nhost = \"\"\n\n[dashboard]\n# end\n";
    check(before, "model.provider", "echo", &before.replace("openai", "echo"));
    check(
        before,
        "model.max_retries",
        "2",
        &before.replace("host = \"\"\n", "host = \"\"\nmax_retries = 2\n"),
    );
    check(
        before,
        "dashboard.auth_token",
        "12345",
        &before.replace("[dashboard]\n# end\n", "[dashboard]\nauth_token = \"12345\"\n# end\n"),
    );
    check("", "channels.webchat.port", "80", "[channels.webchat]\nport = 80\n");
    check(
        "channels.webchat.port = 1\n",
        "channels.webchat.host",
        "::1",
        "channels.webchat.port = 1\nchannels.webchat.host = \"::1\"\n",
    );
    check(
        "channels = { webchat = { port = 1 } }\n",
        "channels.webchat.port",
        "2",
        "channels = { webchat = { port = 2 } }\n",
    );
    check("", "budget.pricing.\"gpt-5.1\".input", "2", "[budget.pricing.\"gpt-5.1\"]\ninput = 2\n");
    check(
        "",
        "security.blocked_commands",
        "[\"a\", \"b\"]",
        "[security]\nblocked_commands = [\"a\", \"b\"]\n",
    );
    check("", "model.host", "\"https://a.example\"", "[model]\nhost = \"https://a.example\"\n");
}

#[test]
fn a_change_that_would_not_load_is_refused_and_changes_nothing() {
    let check = |before: &str, key: &str, value: &str, part: &str| {
        let home = Home::with(before);
        let error = set(&home, key, value).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
        if before.is_empty() {
            assert!(!home.path().join("config.toml").exists());
        } else {
            assert_eq!(home.file(), before);
        }
    };
    check("", "channels.webchat.port", "abc", "a whole number from -1 to 65535");
    check("# x\n", "model.provider", "nope", "one of openai");
    check("", "model.host", "http://10.0.0.1", "allow_http");
    check("", "dashboard.auth_token", "${NOPE}", "${NOPE}");
    check("", "model", "5", "a dotted key");
    check("", "", "5", "a dotted key");
    check("[model\n", "model.provider", "echo", "config.toml:1: found a syntax error");
    check("[model]\nprovider = \"echo\"\n", "model.provider.x", "1", "not a table");
}

#[test]
fn existing_problems_do_not_prevent_other_corrections() {
    let home = Home::with("[model]\nprovider = \"nope\"\n[agent]\nloop_limit = 0\n");
    set(&home, "model.provider", "echo").unwrap();
    assert_eq!(home.load().unwrap_err().problems().len(), 1);
    set(&home, "agent.loop_limit", "5").unwrap();
    assert_eq!(home.load().unwrap().config.model.provider, Provider::Echo);
}

#[test]
fn the_environment_and_sets_do_not_hide_a_mistake_in_the_file() {
    let home =
        Home::with("").environment(&[("AETHON_MODEL__PROVIDER", "echo")]).sets(&["model.provider=fake"]);
    assert!(set(&home, "model.provider", "nope").is_err());
}

#[test]
fn unknown_key_needs_force_and_is_never_written_in_a_protecting_section() {
    let check = |key: &str, value: &str, nearest: &str, is_forced: bool| {
        let home = Home::with("# mine\n");
        let error = set(&home, key, value).unwrap_err().to_string();
        assert!(error.contains("an unknown key") && error.contains(nearest), "{key}: {error}");
        assert_eq!(home.file(), "# mine\n", "{key}");
        let forced = aethon_config::set_in_file(&home.sources(), key, value, NewKeys::Written);
        assert_eq!(forced.is_ok(), is_forced, "{key}: {forced:?}");
        assert_eq!(home.file() != "# mine\n", is_forced, "{key}");
    };
    check("model.provder", "echo", "model.provider", true);
    check("mcp.servers.a", "{ command = \"x\", envv = 1 }", "mcp.servers.a.env", true);
    check("budgt.daily_usd", "5", "budget", false);
    check("dashboard.auth_tokn", "x", "dashboard.auth_token", false);
    check("security.sandbx", "kernel", "security.sandbox", false);
    check("budget.pricing.gpt-5.1.input", "5", "budget.pricing", false);
    // One that is there already does not stand in the way, and can be taken out.
    let home = Home::with("[dashboard]\nauth_tokn = \"x\"\n");
    set(&home, "agent.loop_limit", "5").unwrap();
    assert!(home.load().is_err());
    assert!(aethon_config::unset_in_file(&home.sources(), "dashboard.auth_tokn").unwrap());
    home.load().unwrap();
}

#[test]
fn lines_end_as_they_did() {
    let home = Home::with("# mine\r\n[model]\r\nprovider = \"echo\"\r\n");
    set(&home, "model.max_retries", "2").unwrap();
    assert_eq!(home.file(), "# mine\r\n[model]\r\nprovider = \"echo\"\r\nmax_retries = 2\r\n");
    assert!(aethon_config::unset_in_file(&home.sources(), "model.max_retries").unwrap());
    assert_eq!(home.file(), "# mine\r\n[model]\r\nprovider = \"echo\"\r\n");
    assert!(!aethon_config::unset_in_file(&home.sources(), "model.max_retries").unwrap());
}

#[test]
fn the_changed_file_is_private() {
    let home = Home::with("");
    set(&home, "model.provider", "echo").unwrap();
    let mode = std::fs::metadata(home.path().join("config.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn the_first_file_loads_without_warnings_and_has_the_choices() {
    let check = |choice: Starter| {
        let home = Home::with(&starter(&choice)).credential("key", "k").credential("door", "d");
        let loaded = home.load().unwrap();
        assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
        let model = &loaded.config.model;
        assert_eq!(model.provider, choice.provider);
        let expected =
            if choice.model_id.is_empty() { choice.provider.default_model() } else { &choice.model_id };
        assert_eq!(model.model_id, expected);
        assert_eq!(model.host, choice.host);
        assert_eq!(model.api_key.is_empty(), choice.api_key.is_empty());
        assert_eq!(loaded.config.dashboard.auth_token.is_empty(), choice.auth_token.is_empty());
    };
    check(Starter::default());
    check(Starter { provider: Provider::Echo, ..Starter::default() });
    check(Starter {
        provider: Provider::Anthropic,
        model_id: "a \"quoted\" model".to_owned(),
        api_key: "${credential:key}".to_owned(),
        host: "https://a.example".to_owned(),
        auth_token: "${credential:door}".to_owned(),
        caution: Caution::Guarded,
    });
}

#[test]
fn the_first_file_suggests_an_address_of_its_own_provider() {
    for (provider, has, lacks) in [
        (Provider::Ollama, "# host = \"http://127.0.0.1:11434\"", "api_key"),
        (Provider::LiteLlm, "# host = \"http://127.0.0.1:4000\"", "8080"),
        (Provider::OpenAi, "# host = \"http://127.0.0.1:8080/v1\"", "11434"),
        (Provider::Anthropic, "# api_key = \"${credential:anthropic}\"", "127.0.0.1:8080"),
    ] {
        let text = starter(&Starter { provider, ..Starter::default() });
        assert!(text.contains(has) && !text.contains(lacks), "{provider}: {text}");
    }
}

#[test]
fn each_caution_level_requires_its_approvals() {
    for (caution, is_enabled, asks_outbound) in
        [(Caution::Open, false, false), (Caution::Ask, true, false), (Caution::Guarded, true, true)]
    {
        let approval = Home::with(&starter(&Starter { caution, ..Starter::default() })).load().unwrap();
        let approval = approval.config.approval;
        let asks = |name: &str| approval.requires_approval.iter().any(|entry| entry == name);
        assert_eq!((approval.enabled, asks("outbound")), (is_enabled, asks_outbound), "{caution:?}");
        assert!(["shell", "file_write", "manage_tools", "manage_specialists"].into_iter().all(asks));
        assert_eq!(Caution::from_name(caution.name()), Some(caution));
    }
}

#[test]
fn commented_settings_of_the_first_file_are_valid() {
    let text = starter(&Starter::default());
    let shown: String = text
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(key) if key.split_once(" = ").is_some_and(|(key, _)| !key.contains(' ')) => {
                format!("{key}\n")
            }
            _ => format!("{line}\n"),
        })
        .collect();
    let home =
        Home::with(&shown).credential("openai", "k").credential("dashboard", "d").credential("webhook", "w");
    let loaded = home.load().unwrap();
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    assert!(loaded.config.approval.enabled && !loaded.config.webhook.secret.is_empty());
}
