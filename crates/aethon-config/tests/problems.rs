//! Refusals with their messages, and warnings.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

mod common;

use aethon_config::Sources;
use aethon_core::messenger::Streaming;
use common::Home;

/// The problems of a home, its path left out.
fn problems(home: &Home) -> Vec<String> {
    let prefix = format!("{}/", home.path().display());
    match home.load() {
        Ok(_) => Vec::new(),
        Err(error) => {
            error.problems().iter().map(|problem| problem.to_string().replace(&prefix, "")).collect()
        }
    }
}

#[test]
fn a_wrong_value_in_the_file_names_line_key_found_and_allowed() {
    let check = |file: &str, expected: &[&str]| assert_eq!(problems(&Home::with(file)), expected, "{file}");
    check(
        "[channels.webchat]\nport = \"abc\"\n",
        &[
            "config.toml:2: channels.webchat.port: found the string \"abc\"; allowed: a whole number from -1 to 65535",
        ],
    );
    check(
        "# one\n[channels]\nwebchat.port = 70000\n",
        &["config.toml:3: channels.webchat.port: found 70000; allowed: a number from -1 to 65535"],
    );
    check(
        "[dashboard]\nenabled = \"yes\"\n",
        &["config.toml:2: dashboard.enabled: found the string \"yes\"; allowed: true or false"],
    );
    check(
        "[model]\nprovider = \"opnai\"\n",
        &[
            "config.toml:2: model.provider: found the string \"opnai\"; allowed: one of openai, anthropic, ollama, \
           bedrock, gemini, litellm, mistral, fake, echo; the nearest is openai",
        ],
    );
    check(
        "[[scheduler.jobs]]\ncron = \"0 8 * * *\"\n",
        &["config.toml:1: scheduler.jobs: found a list; allowed: a table for each, with a name of its own: \
         [scheduler.jobs.NAME]"],
    );
    check(
        "[model]\nhost = \"https://x.example/v1/chat/completions\"\n",
        &[
            "config.toml:2: model.host: found an address that ends in /chat/completions, which is added to it; \
         allowed: the part before that, which ends in /v1",
        ],
    );
    check("[model]\nhost = \"https://x.example/messages/v1\"\n", &[]);
    check(
        "[model]\nmax_retries = 1.5\n",
        &["config.toml:2: model.max_retries: found 1.5; allowed: a whole number from 0 to 100"],
    );
    check(
        "[model]\nprovider = 5\n",
        &[
            "config.toml:2: model.provider: found a whole number; allowed: one of openai, anthropic, ollama, bedrock, \
         gemini, litellm, mistral, fake, echo",
        ],
    );
    check(
        "[model]\nmodel_id = 5\n",
        &["config.toml:2: model.model_id: found a whole number; allowed: a string in quotes"],
    );
    check(
        "[model]\nprovider = \"mistral\"\nservice_tier = \"flex\"\n",
        &[
            "config.toml:3: model.service_tier: found flex; allowed: no word, because Mistral has no service tiers",
        ],
    );
    check(
        "[model]\nprovider = \"anthropic\"\nservice_tier = \"flex\"\n",
        &["config.toml:3: model.service_tier: found flex; allowed: one of auto, standard_only"],
    );
    check("[model]\nhost = \"https://api.groq.com/openai/v1\"\nservice_tier = \"on_demand\"\n", &[]);
    check("model = 5\n", &["config.toml:1: model: found 5; allowed: a table"]);
    check(
        "[security]\nblocked_commands = \"sudo\"\n",
        &[
            "config.toml:2: security.blocked_commands: found the string \"sudo\"; allowed: a list such as [\"a\", \"b\"]",
        ],
    );
}

#[test]
fn unsupported_streaming_modes_are_refused_with_the_supported_ones() {
    let check = |file: &str, expected: &[&str]| assert_eq!(problems(&Home::with(file)), expected, "{file}");
    let refused = [
        ("discord", "draft", "edit, off"),
        ("matrix", "draft", "edit, off"),
        ("slack", "draft", "edit, off, native"),
        ("telegram", "native", "edit, off, draft"),
    ];
    for (messenger, word, allowed) in refused {
        let problem = format!(
            "config.toml:2: channels.{messenger}.streaming: found the string \"{word}\"; allowed: one of {allowed}"
        );
        check(&format!("[channels.{messenger}]\nstreaming = \"{word}\"\n"), &[&problem]);
    }
    let home = Home::with("[channels.telegram]\nstreaming = \"draft\"\nrich = true\n");
    let telegram = home.load().unwrap().config.channels.telegram;
    assert!(telegram.streaming == Streaming::Draft && telegram.rich);
}

#[test]
fn wrong_value_in_a_list_or_named_table_is_named_exactly() {
    let check = |file: &str, expected: &[&str]| assert_eq!(problems(&Home::with(file)), expected, "{file}");
    check(
        "[security]\nblocked_commands = [\n \"a\",\n 5,\n]\n",
        &["config.toml:4: security.blocked_commands[1]: found a whole number; allowed: a string in quotes"],
    );
    check(
        "[security]\nallowed_senders = { telegram = [true] }\n",
        &[
            "config.toml:2: security.allowed_senders.telegram[0]: found true; allowed: a sender as a string or a whole number",
        ],
    );
    check(
        "[model]\nfallbacks = [\"a\", 5]\n",
        &[
            "config.toml:2: model.fallbacks[1]: found 5; allowed: a model id or a table with the keys of [model]",
        ],
    );
    check(
        "[model]\nfallbacks = [{ timeout_seconds = 0 }, { provider = \"x\" }]\n",
        &[
            "config.toml:2: model.fallbacks[1].provider: found the string \"x\"; allowed: one of openai, anthropic, ollama, \
         bedrock, gemini, litellm, mistral, fake, echo",
            "config.toml:2: model.fallbacks[0].timeout_seconds: found 0; allowed: a number from 1 to 86400",
        ],
    );
    check(
        "[budget]\npricing.\"gpt-5.1\" = { input = \"x\" }\n",
        &["config.toml:2: budget.pricing.\"gpt-5.1\".input: found the string \"x\"; allowed: a number"],
    );
    check(
        "[budget]\ndaily_usd = nan\n",
        &["config.toml:2: budget.daily_usd: found NaN; allowed: a number of at least 0"],
    );
    check(
        "[mcp.servers.a]\ncommand = \"x\"\nmissed = 1\n[scheduler.jobs.b]\ncron=\"@daily\"\nprompt=\"x\"\nmissed=\"later\"\n",
        &[
            "config.toml:7: scheduler.jobs.b.missed: found the string \"later\"; allowed: one of skip, run_once",
        ],
    );
}

#[test]
fn a_wrong_value_elsewhere_names_its_source() {
    let home = Home::with("")
        .environment(&[("AETHON_CHANNELS__WEBCHAT__PORT", "abc"), ("AETHON_MODEL__TEMPERATURE", "warm")])
        .sets(&["model.provider=nope", "server.max_connections=0", "nonsense", "=5", "a..b=1"]);
    assert_eq!(
        problems(&home),
        [
            "--set nonsense: found no KEY=VALUE; allowed: a dotted key and a value, as in --set model.provider=ollama",
            "--set : found no KEY=VALUE; allowed: a dotted key and a value, as in --set model.provider=ollama",
            "--set a..b: found no KEY=VALUE; allowed: a dotted key and a value, as in --set model.provider=ollama",
        ]
    );
    let home = Home::with("")
        .environment(&[("AETHON_CHANNELS__WEBCHAT__PORT", "abc"), ("AETHON_MODEL__TEMPERATURE", "warm")])
        .sets(&["model.provider=nope", "server.max_connections=0"]);
    assert_eq!(
        problems(&home),
        [
            "environment variable AETHON_CHANNELS__WEBCHAT__PORT: channels.webchat.port: found the string \"abc\"; \
         allowed: a whole number from -1 to 65535",
            "--set model.provider: model.provider: found the string \"nope\"; allowed: one of openai, anthropic, ollama, \
         bedrock, gemini, litellm, mistral, fake, echo",
            "environment variable AETHON_MODEL__TEMPERATURE: model.temperature: found the string \"warm\"; \
         allowed: a number from 0 to 2",
            "--set server.max_connections: server.max_connections: found 0; allowed: a number from 1 to 1000000",
        ]
    );
}

#[test]
fn all_problems_are_reported_at_once() {
    let home =
        Home::with("[model]\nprovider = 1\nhost = \"ftp://x\"\nmax_retries = -1\n[agent]\nloop_limit = 0\n")
            .environment(&[("AETHON_WEBHOOK__ENABLED", "maybe")])
            .sets(&["channels.webchat.port=x"]);
    let error = home.load().unwrap_err();
    let keys: Vec<&str> = error.problems().iter().map(|problem| problem.key.as_str()).collect();
    for key in [
        "model.provider",
        "model.host",
        "model.max_retries",
        "agent.loop_limit",
        "webhook.enabled",
        "channels.webchat.port",
    ] {
        assert!(keys.contains(&key), "{key} in {keys:?}");
        assert!(error.is_about(key));
    }
    assert_eq!(keys.len(), 6);
    assert!(error.is_about("model") && !error.is_about("mod"));
    assert_eq!(error.to_string().lines().count(), 6);
}

#[test]
fn a_syntax_error_names_file_and_line_and_shows_no_secret() {
    let check = |file: &str, line: usize| {
        let found = problems(&Home::with(file));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with(&format!("config.toml:{line}: found a syntax error")), "{found:?}");
        assert!(!found[0].contains("canary"), "{found:?}");
    };
    check("[dashboard\n", 1);
    check("[dashboard]\nauth_token = canary\n", 2);
    check("[dashboard]\nauth_token = \"canary\n\n", 2);
    check("[dashboard]\nauth_token = \"a\"\nauth_token = \"canary\"\n", 3);
    check("\n\n= canary\n", 3);
}

#[test]
fn a_syntax_error_says_what_the_text_looks_like() {
    let check = |file: &str, expected: &str| {
        let found = problems(&Home::with(file));
        assert!(found[0].contains(expected), "{file:?}: {found:?}");
    };
    check("[model]\nprovider = \u{201c}ollama\u{201d}\n", "straight quotation marks");
    check("[model]\nprovider = \u{ab}ollama\u{bb}\n", "straight quotation marks");
    check("# mine\nmodel:\n  provider: ollama\n", "looks like YAML");
    check("{\"model\": {\"provider\": \"ollama\"}}\n", "looks like JSON");
    let plain = problems(&Home::with("[model\nprovider = \"echo\"\n"));
    assert!(!plain[0].contains("looks like") && !plain[0].contains("quotation"), "{plain:?}");
}

#[test]
fn doubled_keys_are_named_with_the_line_that_sets_them_first() {
    let check = |file: &str, line: usize, expected: &str| {
        let found = problems(&Home::with(file));
        assert!(found[0].starts_with(&format!("config.toml:{line}: ")), "{found:?}");
        assert!(found[0].contains(expected), "{expected}: {found:?}");
    };
    let model = "[model]\nprovider = \"echo\"\n";
    check(
        &format!("{model}\n[work]\n\n[agent]\nloop_limit = 3\nloop_limit = 4\n"),
        8,
        "`loop_limit`, which line 7 sets already",
    );
    check(&format!("{model}[agent]\n[model]\n"), 4, "`model`, which line 1 sets already");
}

#[test]
fn files_of_another_encoding_and_homes_that_are_files_are_said_to_be_that() {
    let home = Home::with("");
    let check = |bytes: &[u8], expected: &str| {
        std::fs::write(home.path().join("config.toml"), bytes).unwrap();
        assert!(problems(&home)[0].contains(expected), "{:?}", problems(&home));
    };
    check(b"[model]\n# f\xfcr\nmodel_id = \"x\"\n", "config.toml:2: found bytes that are not UTF-8");
    check(b"\xff\xfe[\0m\0]\0", "config.toml: found text in UTF-16");
    let home = Home::with("[model]\n");
    let mut sources = home.sources();
    sources.home = home.path().join("config.toml");
    let error = aethon_config::load(&sources).unwrap_err().to_string();
    assert!(error.contains("a file where a folder has to be"), "{error}");
}

#[test]
fn an_absent_file_is_fine_unless_it_was_asked_for() {
    assert!(Home::with("").load().is_ok());
    let home = Home::with("");
    let sources = Sources { file: Some(home.path().join("other.toml")), ..home.sources() };
    let error = aethon_config::load(&sources).unwrap_err().to_string();
    assert!(error.contains("other.toml") && error.contains("--config"), "{error}");
    let sources = Sources { file: Some(home.path().to_owned()), ..home.sources() };
    assert!(aethon_config::load(&sources).is_err());
}

#[test]
fn an_unknown_key_starts_and_warns_with_the_nearest() {
    let check = |home: Home, expected: &[&str]| {
        let prefix = format!("{}/", home.path().display());
        let warnings = home.load().unwrap().warnings;
        let unknown = warnings.iter().filter(|warning| !warning.message.contains("this version"));
        let shown: Vec<String> = unknown.map(|warning| warning.to_string().replace(&prefix, "")).collect();
        assert_eq!(shown, expected);
    };
    let message = "unknown key, ignored; the nearest known key is";
    check(
        Home::with("[model]\nprovder = \"echo\"\n[webchat]\nport = \"${NOPE}\"\n"),
        &[
            &format!("config.toml:2: model.provder: {message} model.provider"),
            &format!("config.toml:3: webchat: {message} channels.webchat"),
        ],
    );
    check(
        Home::with("").environment(&[
            ("AETHON_MODEL__HOTS", "x"),
            ("AETHON_CHANNELS_TELEGRAM_TOKEN", "x"),
            ("AETHON_HOME", "/x"),
            ("AETHON_LOG", "debug"),
            ("AETHON_ANYTHING_ELSE", "x"),
        ]),
        &[
            &format!("environment variable AETHON_MODEL__HOTS: model.hots: {message} model.host"),
            "environment variable AETHON_CHANNELS_TELEGRAM_TOKEN: channels.telegram_token: ignored, because a section ends in \
             two underscores, as in AETHON_CHANNELS__TELEGRAM__TOKEN",
        ],
    );
    check(
        Home::with("").sets(&["model.hots=x"]),
        &[&format!("--set model.hots: model.hots: {message} model.host")],
    );
    check(
        Home::with("model.fallbacks = [{ hots = 1 }]"),
        &[&format!("config.toml:1: model.fallbacks[0].hots: {message} model.fallbacks")],
    );
    check(
        Home::with("[mcp.servers.a]\ncommand = \"x\"\nenvv = 1\n"),
        &[&format!("config.toml:3: mcp.servers.a.envv: {message} mcp.servers.a.env")],
    );
}

#[test]
fn unknown_protecting_key_is_refused_with_the_nearest_known_one() {
    let check = |home: Home, place: &str, nearest: &str| {
        let error = home.load().unwrap_err();
        let [problem] = error.problems() else { panic!("{nearest}: {error}") };
        let shown = problem.to_string();
        assert!(problem.place.ends_with(place), "{shown}");
        assert!(shown.contains("unknown key") || shown.contains("sets no key"), "{shown}");
        assert!(problem.allowed.contains(nearest) && !shown.contains("s3cret"), "{shown}");
    };
    for (text, line, nearest) in [
        ("[dashbord]\nauth_token = \"s3cret\"\n", 1, "is dashboard:"),
        ("[dashboard]\ntoken = \"s3cret\"\n", 2, "dashboard.auth_token"),
        ("auth_token = \"s3cret\"\n", 1, "dashboard.auth_token"),
        ("webhok.secret = \"s3cret\"\n", 1, "webhook"),
        ("webhook = { secert = \"s3cret\" }\n", 1, "webhook.secret"),
        ("[aproval]\nenabled = true\n", 1, "is approval:"),
        ("approval.requires_aproval = [\"outbound\"]\n", 1, "approval.requires_approval"),
        ("[budget]\ndaily_us = 5\n", 2, "budget.daily_usd"),
        ("[budget.pricing.\"gpt-5.1\"]\ninptu = 1\n", 2, "budget.pricing.\"gpt-5.1\".input"),
        ("[household.people.ben]\nsender = [\"telegram:1\"]\n", 2, "household.people.ben.senders"),
        ("[houshold.people.ben]\n", 1, "is household:"),
        ("[security]\nsandbx = \"kernel\"\n", 2, "security.sandbox"),
        ("[security]\nquite_another_thing = 1\n", 2, "security."),
        ("[securty]\nsandbox = \"kernel\"\n", 1, "is security:"),
    ] {
        check(Home::with(text), &format!(":{line}"), nearest);
    }
    for (name, nearest) in [
        ("AETHON_DASHBOARD__AUTH_TOKN", "dashboard.auth_token"),
        ("AETHON_SECURTY__SANDBOX", "security"),
        ("AETHON_DASHBOARD_AUTH_TOKEN", "AETHON_DASHBOARD__AUTH_TOKEN"),
        ("AETHON_WEBHOOK_SECRET", "AETHON_WEBHOOK__SECRET"),
        ("AETHON_SECURITY_SANDBOX", "AETHON_SECURITY__SANDBOX"),
    ] {
        let place = format!("environment variable {name}");
        check(Home::with("").environment(&[(name, "s3cret")]), &place, nearest);
    }
    check(Home::with("").sets(&["aproval.enabled=true"]), "--set aproval.enabled", "approval");
    check(Home::with("").sets(&["dashboard_auth_token=s3cret"]), "--set dashboard_auth_token", "auth_token");
    // It is one problem beside the others.
    let both = Home::with("").sets(&["agent.loop_limit=x", "webhook.secrt=y"]).load().unwrap_err();
    assert_eq!(both.problems().len(), 2, "{both}");
}

#[test]
fn variables_that_describe_a_service_are_no_slips_of_keys() {
    let of_service = |service: &str| {
        [
            ("SERVICE_HOST", "10.96.0.7"),
            ("SERVICE_PORT", "80"),
            ("SERVICE_PORT_HTTP", "80"),
            ("PORT", "tcp://10.96.0.7:80"),
            ("PORT_80_TCP", "tcp://10.96.0.7:80"),
            ("PORT_80_TCP_PROTO", "tcp"),
            ("PORT_80_TCP_PORT", "80"),
            ("PORT_80_TCP_ADDR", "10.96.0.7"),
            ("PORT_53_UDP", "udp://10.96.0.7:53"),
        ]
        .map(|(ending, value)| (format!("AETHON_{service}_{ending}"), value))
    };
    for service in ["DASHBOARD", "WEBHOOK", "DASHBOARD_INTERNAL", "MODEL", "PORT"] {
        for (name, value) in of_service(service) {
            let loaded = Home::with("").environment(&[(&name, value)]).load();
            assert!(loaded.is_ok_and(|loaded| loaded.warnings.is_empty()), "{name}");
        }
    }
    for (name, value) in [
        ("AETHON_DASHBOARD_PORT", "8080"),
        ("AETHON_DASHBOARD_HOST", "0.0.0.0"),
        ("AETHON_DASHBOARD_AUTH_TOKEN", "tcp://10.96.0.7:80"),
        ("AETHON_DASHBOARD_PORT_HTTP_TCP", "80"),
    ] {
        assert!(Home::with("").environment(&[(name, value)]).load().is_err(), "{name}");
    }
}

#[test]
fn values_in_place_of_a_table_of_secrets_are_not_shown() {
    for set in [
        "mcp.servers.x.env=hunter",
        "mcp.servers.x.headers=hunter",
        "mcp.servers.x=hunter",
        "mcp.servers=hunter",
        "channels.telegram=hunter",
        "dashboard=hunter",
        "dashboard.auth_token hunter",
        "dashboard.auth_token:hunter",
    ] {
        let found = problems(&Home::with("").sets(&[set]));
        assert!(!found.is_empty() && !found.concat().contains("hunter"), "{set}: {found:?}");
    }
    let port = problems(&Home::with("").sets(&["channels.webchat.port=hunter"]));
    assert!(port[0].contains("\"hunter\""), "{port:?}");
}

#[test]
fn invalid_values_are_refused_with_the_allowed_ones() {
    let check = |set: &str, expected: Option<&str>| {
        let found = problems(&Home::with("").sets(&[set]));
        match expected {
            None => assert!(found.is_empty(), "{set}: {found:?}"),
            Some(part) => assert!(found.len() == 1 && found[0].contains(part), "{set}: {found:?}"),
        }
    };
    check("model.host=https://api.example/v1", None);
    check("model.host=http://localhost:8080/v1/", None);
    check("model.host=http://[::1]:8080", None);
    check("model.host=http://10.0.0.5:8080", Some("model.allow_http = true permits it"));
    check("model.host=http://127.0.0.1.evil.example", Some("plain http to 127.0.0.1.evil.example"));
    check("model={ host = \"http://10.0.0.5:8080\", allow_http = true }", None);
    check("model.host=localhost:8080", Some("scheme"));
    check("model.host=api.example/v1", Some("model.host"));
    check("model.host=https://user:canary@api.example", Some("a user name or password"));
    check("model.fallbacks=[{ host = \"http://10.0.0.5\" }]", Some("model.fallbacks[0].allow_http = true"));
    check("model.fallbacks=[{ fallbacks = [\"a\"] }]", Some("one list, in [model]"));
    check("model.fallbacks=[\" \"]", Some("a model id"));
    check("memory.embedding.host=http://10.0.0.5", Some("memory.embedding.allow_http"));
    check("memory.embedding.provider=", None);
    check("memory.embedding.provider=none", None);
    check(
        "memory.embedding.provider=anthropic",
        Some("one of none, openai, ollama, bedrock, gemini, litellm, mistral, fake"),
    );
    check("memory.embedding.provider=openia", Some("found the string \"openia\""));
    check("transcription.provider=ollama", Some("one of none, openai, litellm"));
    check("session.max_context_share=0", Some("above 0 and at most 1"));
    check("session.max_context_share=1", None);
    check("session.max_context_share=1.01", Some("above 0 and at most 1"));
    check("channels.webchat.port=0", None);
    check("channels.webchat.host=0.0.0.0", None);
    check("channels.webchat.host=127.0.0.1:80", Some("without port"));
    check("channels.webchat.host=http://x", Some("without port"));
    check("channels.webchat.host=", Some("without port"));
    check("channels.webchat.allowed_origins=[\"https://a.example\"]", None);
    check("channels.webchat.allowed_origins=[\"https://a.example/x\"]", Some("allowed_origins[0]"));
    check("channels.webchat.allowed_origins=[\"*\"]", Some("allowed_origins[0]"));
    check("channels.webchat.allowed_origins=[\"null\"]", Some("allowed_origins[0]"));
    check("channels.webchat.allowed_hosts=[\"a.example\", \"a.example:80\"]", Some("allowed_hosts[1]"));
    check("channels.slack.streaming=native", None);
    check("channels.slack.streaming=draft", Some("channels.slack.streaming"));
    check("channels.telegram.streaming=native", Some("channels.telegram.streaming"));
    check("channels.discord.streaming=native", Some("one of edit, off"));
    check("channels.matrix.streaming=native", Some("one of edit, off"));
    check("server.trusted_proxies=[\"10.0.0.0/8\", \"::1\"]", None);
    check("server.trusted_proxies=[\"proxy\"]", Some("server.trusted_proxies[0]"));
    check("security.sandbox=podman", Some("one of none, docker"));
    check("security.sandbox_memory=lots", Some("a size such as 512m"));
    check("security.sandbox_cpus=0", Some("above 0"));
    check("security.sandbox_network=--privileged", Some("a Docker name without spaces"));
    check("security.blocked_commands=[\" \"]", Some("which every command contains"));
    check("storage.synchronous=off", Some("one of normal, full"));
    check("storage.url=mysql://ada:pw@host/x", Some("no address of a PostgreSQL database"));
    check("storage.url=postgres://ada:pw@host/x", None);
    check("logging.level=loud", Some("one of trace, debug, info, warn, error"));
    check("scheduler.jobs.a={ cron = \"@daily\", prompt = \"x\" }", None);
    check("scheduler.jobs.a={ prompt = \"x\" }", Some("scheduler.jobs.a.cron"));
    check("scheduler.jobs.a={ cron = \"@daily\" }", Some("neither sop_name nor prompt"));
    check("scheduler.jobs.a={ cron = \"@daily\", sop_name = \"A b\" }", Some("up to 64 of a-z"));
    check("mcp.servers.a={ command = \"x\" }", None);
    check("mcp.servers.a={}", Some("neither command nor url"));
    check("mcp.servers.a={ command = \"x\", url = \"https://x.example\" }", Some("both command and url"));
    check("mcp.servers.a={ url = \"file:///etc\" }", Some("mcp.servers.a.url"));
    let oauth = |keys: &str| format!("mcp.servers.a={{ url = \"https://x.example\", oauth = {{ {keys} }} }}");
    check(&oauth("client_id = \"i\""), None);
    check(&oauth("client_secret = \"hunter2\", issuer = \"https://l.example\""), Some("oauth.client_id"));
    check(&oauth("client_id = \"i\", client_secret = \"hunter2\""), Some("oauth.issuer"));
    check(&oauth("client_id = \"i\", client_secret = \"hunter2\", issuer = \"https://l.example\""), None);
    check("mcp.servers.a__b={ command = \"x\" }", Some("no __"));
    check("budget.pricing.x={ input = -1 }", Some("not below 0"));
    check("budget.pricing.x={ input = nan }", Some("found NaN"));
    check("budget.pricing.x={ output = inf }", Some("found inf"));
    check("budget.pricing.x={ cached_input = 1e7 }", Some("at most 1000000"));
    check("budget.pricing.x={ cache_write = -0.5 }", Some("budget.pricing.x.cache_write"));
    check("budget.pricing.x={ input = 1e6, cache_write = 0 }", None);
    check("budget.unpriced=\"maybe\"", Some("refuse"));
    check("budget.unpriced=allow", None);
    check("security.require_approval=true", None);
}

#[test]
fn incomplete_channels_and_open_settings_cause_warnings() {
    let check = |home: Home, key: &str| {
        let loaded = home.load().unwrap();
        assert!(loaded.warnings.iter().any(|warning| warning.key == key), "{key}: {:?}", loaded.warnings);
    };
    check(
        Home::with("").sets(&["channels.slack={ enabled = true, bot_token = \"x\" }"]),
        "channels.slack.app_token",
    );
    check(Home::with("").sets(&["channels.matrix.api_base=http://matrix:8008"]), "channels.matrix.api_base");
    check(Home::with("").sets(&["channels.email.enabled=true"]), "channels.email.password");
    check(Home::with("").sets(&["channels.email.enabled=true"]), "channels.email.authserv_id");
    check(
        Home::with("").sets(&["channels.email={ enabled = true, trust_from = true }"]),
        "channels.email.trust_from",
    );
    check(Home::with("").sets(&["channels.whatsapp.enabled=true"]), "channels.whatsapp.enabled");
    check(Home::with("").sets(&["channels.whatsapp.enabled=true"]), "channels.whatsapp.phone_number_id");
    let file = "[dashboard]\nauth_token = \"t\"\n[webhook]\nsecret = \"s\"\n";
    check(Home::with(file).environment(&[("AETHON_DASHBOARD__AUTH_TOKEN", "")]), "dashboard.auth_token");
    check(Home::with(file).sets(&["webhook.secret= "]), "webhook.secret");
}

#[test]
fn unimplemented_keys_cause_warnings() {
    let told = |file: &str| -> Vec<String> {
        let warnings = Home::with(file).load().unwrap().warnings;
        warnings
            .into_iter()
            .filter(|warning| warning.message.contains("this version"))
            .map(|w| w.key)
            .collect()
    };
    let check = |file: &str, expected: &[&str]| assert_eq!(told(file), expected, "{file}");
    check("", &[]);
    check("[channels.telegram]\nenabled = true\ntoken = \"t\"\n", &[]);
    check("[security]\nrequire_approval = true\n", &["security.require_approval"]);
    check("[channels.email]\nenabled = true\npassword = \"t\"\napi_base = \"x\"\n", &[]);
    check("[channels.webchat]\nenabled = true\n", &[]);
    check("[mcp.servers.files]\ncommand = \"x\"\n", &[]);
    check("[scheduler]\nenabled = true\n", &[]);
    check("[scheduler.jobs.morning]\ncron = \"@daily\"\nprompt = \"x\"\n", &[]);
    check("[session_recorder]\nenabled = true\n", &[]);
    check("[session_recorder]\nkeep = 3\n", &[]);
    check("[memory]\nrecall_top_k = 3\n", &[]);
    check("[runtime_tools]\nenabled = true\n[agent]\ndynamic_specialists = true\n", &[]);
    check("[security]\nsandbox = \"docker\"\n", &[]);
    check("[security]\nsandbox = \"none\"\n", &[]);
    check("[security.allowed_senders]\ntelegram = [1]\n", &[]);
}

#[test]
fn owners_that_match_no_sender_are_refused() {
    let check = |owner: &str, is_right: bool| {
        let found = problems(&Home::with(&format!("[security]\nowners = [\"telegram:1\", \"{owner}\"]\n")));
        assert_eq!(found.is_empty(), is_right, "{owner:?}: {found:?}");
        let told = found.concat();
        let says_all = told.contains("security.owners[1]") && told.contains("CHANNEL:SENDER");
        assert!(is_right || (says_all && told.contains("telegram:123456789")), "{told}");
    };
    for owner in ["12345", "", ":1", "telegram:", "telegram: 1", "telgram:1", "Telegram:1", "@ada:hs", "* "] {
        check(owner, false);
    }
    for owner in ["telegram:1", "matrix:@ada:hs", "email:ada@x.example", "whatsapp:US.1", "telegram:@ada"] {
        check(owner, true);
    }
}
