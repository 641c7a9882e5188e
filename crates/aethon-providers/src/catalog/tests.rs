//! Lookups in the built-in catalogue, and with the owner's file.

use aethon_core::provider::Provider;

use super::*;

fn facts(provider: Provider, model: &str, host: &str) -> ModelFacts {
    Catalog::built_in().facts(provider, model, host)
}

#[test]
fn a_model_is_found_under_each_of_its_names() {
    let check = |provider, model: &str, host: &str, window, input: Option<f64>| {
        let found = facts(provider, model, host);
        assert!(found.is_known, "{model}");
        assert_eq!((found.context_window, found.price.map(|price| price.input)), (window, input), "{model}");
    };
    const PROXY: &str = "http://127.0.0.1:4000/v1";
    check(Provider::OpenAi, "gpt-6-sol", "", 1_050_000, Some(2.0));
    check(Provider::OpenAi, "GPT-6-Sol", "", 1_050_000, Some(2.0));
    check(Provider::OpenAi, "gpt-5-2025-08-07", "", 400_000, Some(1.25));
    check(Provider::OpenAi, "gpt-4.1", "", 1_047_576, Some(2.0));
    check(Provider::OpenAi, "ft:gpt-4.1-2025-04-14:acme::1", "", 1_047_576, Some(3.0));
    check(Provider::OpenAi, "ft:gpt-6-sol:acme::1", "", 1_050_000, None);
    check(Provider::OpenAi, "gpt-6-sol", PROXY, 1_050_000, Some(2.0));
    check(Provider::OpenAi, "deepseek-v4-pro", "https://api.deepseek.com/v1", 1_000_000, Some(1.32));
    check(Provider::OpenAi, "deepseek-v4-pro", PROXY, 1_000_000, None);
    const ROUTER: &str = "https://openrouter.ai/api/v1";
    check(Provider::OpenAi, "anthropic/claude-opus-4.7", ROUTER, 1_000_000, Some(5.0));
    check(Provider::OpenAi, "google/gemini-3.8-flash", ROUTER, 1_048_576, Some(0.75));
    check(Provider::OpenAi, "deepseek/deepseek-v4-pro:free", ROUTER, 1_000_000, Some(0.0));
    const FIREWORKS: &str = "https://api.fireworks.ai/inference/v1";
    check(Provider::OpenAi, "accounts/fireworks/models/gpt-oss-120b", FIREWORKS, 131_072, Some(0.15));
    check(Provider::OpenAi, "sonar-pro", "https://api.perplexity.ai", 200_000, Some(3.0));
    const GOOGLE: &str = "https://generativelanguage.googleapis.com/v1beta/openai";
    check(Provider::OpenAi, "gemini-3.8-flash", GOOGLE, 1_048_576, Some(0.75));
    check(Provider::OpenAi, "gpt-4.1", "https://me.openai.azure.com/openai/v1", 1_047_576, Some(2.0));
    check(Provider::LiteLlm, "gpt-6-sol", PROXY, 1_050_000, Some(2.0));
    check(Provider::LiteLlm, "claude-sonnet-5-5", PROXY, 1_000_000, Some(2.0));
    check(Provider::LiteLlm, "anthropic/claude-sonnet-5-5", PROXY, 1_000_000, Some(2.0));
    check(Provider::LiteLlm, "gemini/gemini-3.8-flash", PROXY, 1_048_576, Some(0.75));
    check(Provider::LiteLlm, "openrouter/anthropic/claude-sonnet-4.5", PROXY, 200_000, None);
    check(Provider::Anthropic, "claude-sonnet-5-5", "", 1_000_000, Some(2.0));
    check(Provider::Anthropic, "claude-haiku-4-5-20251001", "", 200_000, Some(1.0));
    check(Provider::Bedrock, "global.anthropic.claude-sonnet-5-5", "", 1_000_000, Some(2.0));
    check(Provider::Bedrock, "us.anthropic.claude-sonnet-5-5", "", 1_000_000, Some(2.2));
    check(Provider::Bedrock, "global.anthropic.claude-sonnet-4-5-20250929-v1:0", "", 200_000, Some(3.0));
    check(
        Provider::Bedrock,
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0",
        "",
        300_000,
        Some(0.06),
    );
    check(Provider::Gemini, "models/gemini-3.8-flash", "", 1_048_576, Some(0.75));
    check(Provider::Mistral, "mistral-large-latest", "", 262_144, Some(0.5));
    check(Provider::Ollama, "gpt-oss:120b-cloud", "", 131_072, Some(0.0));
    check(Provider::Ollama, "llama3.1:8b-instruct-q4", "", 8_192, Some(0.0));
    check(Provider::Fake, "anything", "", 200_000, Some(0.0));
    check(Provider::Echo, "gpt-6-sol", "", 200_000, Some(0.0));
}

#[test]
fn a_model_that_is_in_no_table_is_assumed_and_has_no_price() {
    let check = |provider, model: &str, host: &str, window, is_priced| {
        let found = facts(provider, model, host);
        assert_eq!((found.is_known, found.context_window), (false, window), "{model}");
        assert_eq!(found.price.is_some(), is_priced, "{model}");
        assert!(found.tools && found.images, "{model}");
    };
    check(Provider::OpenAi, "gpt-99", "", 128_000, false);
    check(Provider::OpenAi, "gpt-5.99", "", 128_000, false);
    check(Provider::OpenAi, "test-model", "http://127.0.0.1:8080/v1", 32_768, false);
    check(Provider::OpenAi, "maker/some-model", "https://openrouter.ai/api/v1", 32_768, false);
    check(Provider::OpenAi, "maker/some-model:free", "https://openrouter.ai/api/v1", 32_768, true);
    check(Provider::Ollama, "somebody/unheard-of:7b", "", 32_768, true);
    check(Provider::Anthropic, "", "", 128_000, false);
}

#[test]
fn abilities_are_read_per_model() {
    let of = |provider, model: &str| facts(provider, model, "");
    let efforts =
        |facts: ModelFacts| facts.efforts.words().map(EffortWord::as_str).collect::<Vec<_>>().join(" ");

    let sol = of(Provider::OpenAi, "gpt-6-sol");
    assert!(
        sol.tools && sol.images && sol.pdf && sol.reasons && sol.tools_need_responses && sol.refuses_sampling
    );
    assert_eq!(efforts(sol), "none low medium high xhigh max");
    let gpt4 = of(Provider::OpenAi, "gpt-4.1");
    assert!(!gpt4.reasons && !gpt4.tools_need_responses && !gpt4.refuses_sampling && gpt4.efforts.is_empty());

    let sonnet = of(Provider::Anthropic, "claude-sonnet-5-5");
    assert!(sonnet.adaptive_thinking && sonnet.thinking_always_on && sonnet.refuses_sampling);
    assert_eq!(sonnet.service.prompt_caching.map(|caching| caching.least_tokens), Some(512));
    let older = of(Provider::Anthropic, "claude-sonnet-4-5");
    assert!(!older.adaptive_thinking && older.reasons && !older.refuses_sampling);
    assert_eq!(older.retires_on, Some(jiff::civil::date(2026, 11, 30)));
    let haiku = of(Provider::Anthropic, "claude-haiku-5-5").price.unwrap();
    assert_eq!((haiku.cache_write, haiku.long.map(|long| long.above)), (Some(0.125), Some(100_000)));

    let points =
        |model: &str| of(Provider::Bedrock, model).service.prompt_caching.map(|it| it.points_behind_tools);
    assert_eq!(points("us.anthropic.claude-sonnet-5-5"), Some(true));
    assert_eq!(points("amazon.nova-pro-v1:0"), Some(false));
    assert_eq!(points("meta.llama3-3-70b-instruct-v1:0"), None);

    assert!(of(Provider::Gemini, "gemini-3.8-flash").refuses_sampling);
    assert_eq!(efforts(of(Provider::Gemini, "gemini-2.5-flash")), "");
    assert_eq!(efforts(of(Provider::Gemini, "gemini-flash-latest")), "minimal low medium high");
    assert_eq!(efforts(of(Provider::Mistral, "mistral-small-latest")), "none high");
    assert_eq!(of(Provider::OpenAi, "gpt-5").retires_on, Some(jiff::civil::date(2026, 12, 11)));
}

#[test]
fn no_default_model_has_an_end() {
    for &provider in Provider::ALL {
        let model = provider.default_model();
        let found = facts(provider, model, "");
        assert_eq!(found.retires_on, None, "{model} of {provider} ends");
        // Ollama itself describes its models.
        assert!(found.is_known || provider == Provider::Ollama, "{model} of {provider} is in no table");
        assert!(found.tools || provider == Provider::Echo, "{model} of {provider} calls no tools");
        assert!(found.price.is_some(), "{model} of {provider} has no price");
    }
}

#[test]
fn speech_has_its_price_where_it_is_sold() {
    let check = |provider, model: &str, host: &str, expected: Option<f64>| {
        let price = Catalog::built_in().speech_price(provider, model, host);
        assert_eq!(price.map(|price| price.input), expected, "{provider} {model} {host}");
    };
    const OWN: &str = "http://127.0.0.1:8000/v1";
    const GROQ: &str = "https://api.groq.com/openai/v1";
    for provider in [Provider::OpenAi, Provider::LiteLlm] {
        let usual = provider.transcription_model().unwrap();
        check(provider, usual, "", Some(5.0));
    }
    check(Provider::OpenAi, "gpt-4o-mini-transcribe-2025-12-15", "", Some(5.0));
    check(Provider::OpenAi, "whisper-1", "", Some(10.0));
    check(Provider::OpenAi, "whisper-1", "https://api.openai.com/v1", Some(10.0));
    check(Provider::OpenAi, "whisper-1", OWN, None);
    check(Provider::OpenAi, "whisper-large-v3", OWN, None);
    check(Provider::OpenAi, "whisper-large-v3", "", None);
    check(Provider::OpenAi, "whisper-large-v3", GROQ, Some(3.083));
    check(Provider::LiteLlm, "whisper-1", OWN, Some(10.0));
    check(Provider::LiteLlm, "groq/whisper-large-v3", OWN, Some(3.083));
    check(Provider::OpenAi, "gpt-6-sol", "", None);

    let text = r#"{
        "whisper-large-v3": {"input_cost_per_second": 0.00001},
        "openai/whisper-1": {"mode": "audio_transcription", "input_cost_per_second": 0.0002}
    }"#;
    let catalog = Catalog::with_own(text).unwrap();
    let of = |model: &str, host: &str| {
        catalog.speech_price(Provider::OpenAi, model, host).map(|price| price.input)
    };
    assert_eq!((of("whisper-large-v3", OWN), of("whisper-1", "")), (Some(1.0), Some(20.0)));
    assert_eq!((of("gpt-4o-transcribe", ""), of("unheard-of", "")), (Some(10.0), None));
}

#[test]
fn a_model_that_writes_down_speech_is_none_that_answers() {
    assert!(!facts(Provider::OpenAi, "whisper-1", "").is_known);
    assert!(Catalog::built_in().models().iter().all(|model| model.name != "whisper-1"));
    let own = r#"{"openai/hearer": {"mode": "audio_transcription", "input_cost_per_second": 0.0002}}"#;
    let catalog = Catalog::with_own(own).unwrap();
    assert!(!catalog.facts(Provider::OpenAi, "hearer", "").is_known && catalog.own_models().is_empty());
    assert_eq!(catalog.own_count(), 1);
}

#[test]
fn owner_file_overrides_the_table_field_by_field() {
    let text = r#"{
        "gpt-6-sol": {"max_input_tokens": 500000},
        "openai/gpt-4.1": {"input_cost_per_token": 7e-6, "output_cost_per_token": 8e-6},
        "mine": {"max_input_tokens": 5000, "supports_vision": false},
        "anthropic/next": {"max_input_tokens": 9000, "supports_reasoning": true, "supports_output_config": true}
    }"#;
    let catalog = Catalog::with_own(text).unwrap();
    assert_eq!(catalog.own_count(), 4);
    let of = |provider, model: &str| catalog.facts(provider, model, "");
    let sol = of(Provider::OpenAi, "gpt-6-sol");
    assert_eq!((sol.context_window, sol.price.map(|price| price.input)), (500_000, Some(2.0)));
    assert_eq!(of(Provider::OpenAi, "gpt-4.1-2025-04-14").price.map(|price| price.output), Some(8.0));
    for provider in [Provider::OpenAi, Provider::Ollama, Provider::LiteLlm] {
        let mine = of(provider, "mine");
        assert_eq!((mine.is_known, mine.context_window, mine.images), (true, 5_000, false), "{provider}");
    }
    let next = of(Provider::Anthropic, "next");
    assert!(next.is_known && !next.efforts.is_empty());
    assert!(!of(Provider::OpenAi, "next").is_known);

    let listed = catalog.models();
    let row = |vendor: &str, name: &str| {
        listed
            .iter()
            .find(|model| model.vendor == vendor && model.name == name)
            .map(|model| model.facts.context_window)
    };
    assert_eq!(row("openai", "gpt-6-sol"), Some(500_000));
    assert_eq!(row("anthropic", "next"), Some(9_000));
    assert_eq!(row("", "mine"), Some(5_000));
}

#[test]
fn older_file_yields_to_the_built_in_table_except_for_own_rows() {
    let window = |catalog: &Catalog, model: &str| catalog.facts(Provider::OpenAi, model, "").context_window;
    let file = |date: &str| {
        let about = if date.is_empty() {
            String::new()
        } else {
            format!(r#""sample_spec": {{"installed_on": "{date}"}},"#)
        };
        let of_table = r#"{"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 7000}"#;
        let text = format!(
            r#"{{{about} "gpt-6-sol": {of_table}, "gpt-99": {of_table}, "gpt-4.1": {{"max_input_tokens": 9000}}}}"#
        );
        Catalog::with_own(&text).unwrap()
    };
    for (date, is_outdated) in [("2020-01-01", true), ("2990-01-01", false), ("", false)] {
        let catalog = file(date);
        assert_eq!(catalog.is_own_outdated(), is_outdated, "{date}");
        assert_eq!(window(&catalog, "gpt-6-sol"), if is_outdated { 1_050_000 } else { 7_000 }, "{date}");
        assert_eq!(window(&catalog, "gpt-99"), 7_000, "what only the file knows holds");
        assert_eq!(window(&catalog, "gpt-4.1"), 9_000, "what the owner wrote holds");
        let listed = catalog.models();
        let row = listed.iter().find(|row| row.vendor == "openai" && row.name == "gpt-6-sol").unwrap();
        assert_eq!(row.facts.context_window, window(&catalog, "gpt-6-sol"), "{date}");
    }
}
