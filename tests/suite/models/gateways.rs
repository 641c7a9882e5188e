//! The recipes of docs/models.md, each tried against a strict stand-in of its service; and the owner's own headers.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use aethon_tests::strict::Strict;
use aethon_tests::strict::chat::{Chat, Host};
use aethon_tests::strict::gateway::{Gateway, Rules, USUAL};
use aethon_tests::strict::ollama::Ollama;
use aethon_tests::stub::{Stub, failure, ok};
use aethon_tests::{Server, home, program, run_cli};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The heading of each recipe, and its lines.
fn recipes() -> Vec<(String, String)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/models.md");
    let page = fs::read_to_string(page).expect("the page");
    let sections = page.split("\n### ").skip(1);
    let recipe = |section: &str| {
        let (heading, rest) = section.split_once('\n')?;
        let (_, rest) = rest.split_once("```toml\n")?;
        Some((heading.to_owned(), rest.split_once("\n```")?.0.to_owned()))
    };
    sections.filter_map(recipe).collect()
}

/// The scheme and authority of the host in a recipe.
fn origin(recipe: &str) -> &str {
    let (_, host) = recipe.split_once("host = \"").expect("a host");
    let host = host.split('"').next().unwrap_or_default();
    let scheme = host.find("://").expect("a scheme") + 3;
    let end = host[scheme..].find('/').map_or(host.len(), |at| scheme + at);
    &host[..end]
}

/// The stand-in of a service by its documented form.
fn stand_in(heading: &str) -> Strict {
    let gateway = |rules: Rules| Strict::start(Gateway::of(rules));
    let local = Rules { wants_key: false, ..USUAL };
    match heading {
        "OpenRouter" => gateway(Rules {
            path: "/api/v1",
            host: Host::OpenRouter,
            models: "anthropic/",
            headers: &["http-referer", "x-title"],
            ..USUAL
        }),
        "Groq" => gateway(Rules {
            path: "/openai/v1",
            refused: &["logprobs", "logit_bias", "top_logprobs", "prompt_cache_key"],
            ..USUAL
        }),
        "Together" => gateway(Rules { models: "zai-org/", ..USUAL }),
        "DeepSeek" => gateway(Rules { host: Host::DeepSeek, models: "deepseek-", ..USUAL }),
        "xAI" => gateway(Rules {
            models: "grok-",
            refused: &["presence_penalty", "frequency_penalty", "stop", "reasoning_effort"],
            ..USUAL
        }),
        "Azure OpenAI" => gateway(Rules { path: "/openai/v1", host: Host::OpenAi, ..USUAL }),
        "Fireworks" => {
            gateway(Rules { path: "/inference/v1", models: "accounts/fireworks/models/", ..USUAL })
        }
        "Perplexity" => gateway(Rules { path: "", models: "sonar", takes_tools: false, ..USUAL }),
        "Mistral" => Strict::start(Chat::of(Host::Mistral)),
        "Gemini in OpenAI's form" => gateway(Rules {
            path: "/v1beta/openai",
            models: "gemini-",
            refused: &["prompt_cache_key"],
            ..USUAL
        }),
        "Cerebras" => gateway(Rules {
            refused: &["frequency_penalty", "presence_penalty", "logit_bias", "service_tier", "store"],
            ..USUAL
        }),
        "Moonshot" => gateway(Rules { models: "kimi-", ..USUAL }),
        "Ollama" => Strict::start(Ollama::default()),
        "llama.cpp" | "LM Studio" | "vLLM" => gateway(local),
        other => panic!("{other} has a recipe and no stand-in"),
    }
}

/// A home with this configuration, and a credential of every name in it.
fn configured(text: &str) -> Arc<TempDir> {
    let home = home();
    fs::create_dir_all(home.path().join("credentials")).unwrap();
    for part in text.split("${credential:").skip(1) {
        let name = part.split('}').next().unwrap_or_default();
        fs::write(home.path().join("credentials").join(name), "strict-key\n").unwrap();
    }
    fs::write(home.path().join("config.toml"), text).unwrap();
    home
}

fn served(home: &Arc<TempDir>) -> Server {
    let mut command = program("aethon-server", home.path());
    command.args(["--set", "channels.webchat.port=0", "--set", "model.max_retries=0"]);
    Server::start_command(home.clone(), command)
}

#[test]
fn every_recipe_works_as_it_stands() {
    let recipes = recipes();
    assert_eq!(recipes.len(), 16, "twelve services and four local servers");
    for (heading, recipe) in recipes {
        let strict = stand_in(&heading);
        let home = configured(&recipe.replacen(origin(&recipe), &strict.address(), 1));
        let server = served(&home);
        let mut chat = server.chat("default");
        let steps = usize::from(heading != "Perplexity");
        for (id, words, steps) in [("m1", "once", steps), ("m2", "hello", 0)] {
            let frames = chat.say(id, words);
            let done = frames.last().expect("a turn ends");
            let expected = format!("Done after {steps} steps.");
            assert_eq!(done["text"], expected, "{heading}: {frames:?} {:?}", strict.refusals());
        }
        // Only what a service is asked about itself may be refused.
        let refusals = strict.refusals();
        assert!(refusals.iter().all(|refusal| refusal.contains("ot found")), "{heading}: {refusals:?}");
    }
}

#[test]
fn every_hosted_recipe_has_a_price_and_a_known_model() {
    for (heading, recipe) in recipes().into_iter().take(12) {
        let home = configured(&format!("{recipe}\n\n[budget]\ndaily_usd = 1.0\n"));
        let output = aethon_tests::run(program("aethon-server", home.path()).arg("--check"), None);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{heading}: {output:?}");
        assert!(text.contains("1 USD a day") && !text.contains("refused"), "{heading}: {text}");
        assert!(!text.contains("unknown model"), "{heading}: {text}");
    }
}

fn answers() -> Stub {
    Stub::answering(|seen| match seen.line.as_str() {
        "POST /v1/chat/completions" => {
            if seen.json()["model"] == "first" {
                return failure("503 Service Unavailable", "", "{}");
            }
            let hi = r#"{"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}"#;
            ok("text/event-stream", &format!("data: {hi}\n\ndata: [DONE]\n\n"))
        }
        "POST /v1/embeddings" => ok("application/json", r#"{"data": [{"index": 0, "embedding": [1.0]}]}"#),
        "GET /v1/models" => ok("application/json", r#"{"data": []}"#),
        _ => failure("404 Not Found", "", "{}"),
    })
}

#[test]
fn own_headers_go_with_every_request_and_secret_ones_are_masked() {
    let stub = answers();
    let host = format!("http://{}/v1", stub.address);
    let home = configured(&format!(
        "[model]\nprovider = \"openai\"\nhost = \"{host}\"\nmodel_id = \"first\"\nfallbacks = [\"second\"]\n\
         organization = \"org-1\"\nproject = \"proj-1\"\n\n[model.headers]\nX-Title = \"My shelf\"\n\
         X-Gateway = \"${{credential:gateway}}\"\nX-Api-Key = \"literal-key-0123\"\n\n[memory.embedding]\n\
         provider = \"openai\"\nhost = \"{host}\"\nmodel_id = \"e\"\n"
    ));
    fs::write(home.path().join("credentials/gateway"), "canary-gateway-0123\n").unwrap();
    let server = served(&home);
    assert_eq!(server.chat("default").say("m1", "hello").last().unwrap()["text"], "hi");
    server.post("/api/memory", &json!({"content": "The cellar is dry.", "category": "house"}));
    aethon_tests::eventually("an embedding is asked for", || {
        stub.requests().iter().any(|seen| seen.line == "POST /v1/embeddings").then_some(())
    });
    run_cli(home.path(), &["doctor"], None);
    let requests = stub.requests();
    for line in ["POST /v1/chat/completions", "POST /v1/embeddings", "GET /v1/models"] {
        assert!(requests.iter().any(|seen| seen.line == line), "{line}");
    }
    for seen in &requests {
        let header = |name| seen.header(name).unwrap_or_else(|| panic!("{name}: {seen:?}"));
        assert_eq!(header("x-title"), "My shelf");
        assert_eq!(header("x-gateway"), "canary-gateway-0123");
        assert_eq!(header("x-api-key"), "literal-key-0123");
        assert_eq!((header("openai-organization"), header("openai-project")), ("org-1", "proj-1"));
    }
    let dump: Value = server.get("/api/config").json();
    let shown = dump.to_string();
    assert!(shown.contains("My shelf"), "{shown}");
    for secret in ["canary-gateway", "literal-key"] {
        assert!(!shown.contains(secret) && !server.stderr().contains(secret), "{secret}: {shown}");
    }
}

#[test]
fn headers_of_the_connection_are_refused() {
    for name in
        ["Host", "content-length", "Transfer-Encoding", "Connection", "Proxy-Authorization", "bad name"]
    {
        let home = configured(&format!("[model.headers]\n\"{name}\" = \"x\"\n"));
        let output = run_cli(home.path(), &["config", "check"], None);
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert_eq!(output.status.code(), Some(2), "{name}: {text}");
        assert!(text.contains("model.headers"), "{name}: {text}");
    }
}

#[test]
fn fallback_table_has_headers_of_its_own() {
    let stub = answers();
    let host = format!("http://{}/v1", stub.address);
    let home = configured(&format!(
        "[model]\nprovider = \"openai\"\nhost = \"{host}\"\nmodel_id = \"first\"\nheaders = {{ X-Team = \"one\" }}\n\n\
         [[model.fallbacks]]\nprovider = \"openai\"\nhost = \"{host}\"\nmodel_id = \"second\"\nheaders = {{ X-Other = \"two\" }}\n"
    ));
    let server = served(&home);
    assert_eq!(server.chat("default").say("m1", "hello").last().unwrap()["text"], "hi");
    let requests = stub.requests();
    let of = |model: &str| {
        requests.iter().find(|seen| seen.line.starts_with("POST") && seen.json()["model"] == model)
    };
    let second = of("second").expect("the fallback is asked");
    assert_eq!((second.header("x-team"), second.header("x-other")), (None, Some("two")));
    assert_eq!(of("first").expect("the model is asked").header("x-team"), Some("one"));
}
