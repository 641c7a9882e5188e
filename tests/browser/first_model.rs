//! A person who has just installed it sets up a model in the page.

use aethon_tests::Server;
use aethon_tests::browser::keys::ENTER;
use aethon_tests::server::{home, program};
use aethon_tests::stub::{Stub, failure, ok};
use serde_json::{Value, json};

use crate::page::Page;

/// A server that speaks like OpenAI, with one key and one model.
fn service() -> Stub {
    Stub::answering(|seen| {
        if seen.header("authorization") != Some("Bearer sk-good-0123456789") {
            return failure(
                "401 Unauthorized",
                "",
                &json!({"error": {"message": "no", "code": "invalid_api_key"}}).to_string(),
            );
        }
        if seen.line == "GET /v1/models" {
            return ok(
                "application/json",
                &json!({"object": "list", "data": [{"id": "good-1", "object": "model"}]}).to_string(),
            );
        }
        if seen.line.starts_with("GET") {
            return failure("404 Not Found", "", "{}");
        }
        let chunk = |delta: Value, finish: Value| {
            let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "good-1",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
            format!("data: {chunk}\n\n")
        };
        let text = chunk(json!({"role": "assistant", "content": "one, two"}), Value::Null);
        ok("text/event-stream", &format!("{text}{}data: [DONE]\n\n", chunk(json!({}), json!("stop"))))
    })
}

#[test]
fn first_model_is_set_up_in_the_page() {
    let service = service();
    let home = home();
    let mut command = program("aethon-server", home.path());
    command.args(["--set", "channels.webchat.port=0"]);
    let Some(page) = Page::beside(Server::start_command(home, command)) else { return };
    let browser = &page.browser;
    page.go("/");
    page.until("the form is there", "shown(one('.setup'))");
    assert!(!browser.is("shown(one('.composer-model'))"), "there is no model to choose");
    let field = |label: &str| {
        format!(
            "[...document.querySelectorAll('.setup label')].find((l) => l.innerText === '{label}').control"
        )
    };
    assert!(
        browser.is(&format!("shown({})", field("Key")))
            && !browser.is(&format!("shown({})", field("Region")))
    );
    let type_into = |label: &str, text: &str| {
        browser.run(&format!("{}.focus(); {}.select()", field(label), field(label)), &[]);
        browser.type_keys(text);
    };
    type_into("Address", &format!("http://{}/v1", service.address));
    type_into("Key", "sk-wrong-0123456789");
    browser.chord(&[ENTER]);
    page.until(
        "the key is marked",
        &format!(
            "{}.getAttribute('aria-invalid') === 'true' && document.activeElement === {}",
            field("Key"),
            field("Key")
        ),
    );
    assert!(browser.text(&format!("{}.value", field("Address"))).contains("/v1"), "what was typed stays");
    type_into("Key", "sk-good-0123456789");
    browser.click_words("Show its models");
    page.until(
        "they are offered",
        "one('.setup datalist option')?.value === 'good-1' && document.activeElement.list",
    );
    browser.type_keys("good-1");
    browser.chord(&[ENTER]);
    page.until("it is in force", "!one('.setup') && one('.composer-model').innerText.trim() === 'good-1'");
    assert!(
        browser.is(
            "/good-1 answered/.test(one('.toasts').innerText) && document.activeElement.id === 'message'"
        )
    );
    assert_eq!(page.ask("hello").reply, "one, two");
    let written: Vec<Value> = service
        .requests()
        .iter()
        .filter(|seen| seen.line.starts_with("POST"))
        .map(|seen| seen.json()["model"].clone())
        .collect();
    assert!(written.iter().any(|model| model == "good-1"), "{written:?}");
    // The browser reports refused requests as errors of the console, which is what a wrong key is.
}

#[test]
fn service_decides_which_fields_there_are() {
    let home = home();
    let mut command = program("aethon-server", home.path());
    command.args(["--set", "channels.webchat.port=0", "--demo"]);
    let Some(page) = Page::beside(Server::start_command(home, command)) else { return };
    let browser = &page.browser;
    page.go("/");
    page.until("the demonstration says so", "shown(one('.welcome .note'))");
    assert!(!browser.is("shown(one('.setup'))"), "it is folded");
    browser.click("details:has(.setup) summary");
    page.until("the form is there", "shown(one('.setup'))");
    let shown = |service: &str| {
        browser.run(
            "const box = one('.setup select'); box.value = arguments[0]; box.dispatchEvent(new Event('change', {bubbles: true}));",
            &[json!(service)],
        );
        browser.text("all('.setup label').filter((l) => shown(l)).map((l) => l.innerText).join(' ')")
    };
    assert_eq!(shown("anthropic"), "Service Key Model");
    assert_eq!(shown("ollama"), "Service Address Model");
    assert_eq!(shown("bedrock"), "Service Region Model");
    assert_eq!(shown("openai"), "Service Key Address Model");
    page.assert_clean();
}

#[test]
fn faults_stand_at_their_fields_in_the_words_of_the_form() {
    let home = home();
    let mut command = program("aethon-server", home.path());
    command.args(["--set", "channels.webchat.port=0"]);
    let Some(page) = Page::beside(Server::start_command(home, command)) else { return };
    let browser = &page.browser;
    page.go("/");
    page.until("the form is there", "shown(one('.setup'))");
    let told = |label: &str| {
        browser.text(&format!(
            "[...document.querySelectorAll('.setup .field')].find((f) => f.querySelector('label').innerText === '{label}')\
             .querySelector('.field-error').innerText"
        ))
    };
    browser.click_words("Test and use it");
    page.until("the key is marked", "document.activeElement.getAttribute('aria-invalid') === 'true'");
    assert_eq!(told("Key"), "This service wants a key. Type it here.");
    browser.run("document.activeElement.blur()", &[]);
    page.fill(".setup input[type=url]", "http://127.0.0.1:9/v1");
    page.fill(".setup input[type=password]", "sk-good-0123456789");
    browser.click_words("Show its models");
    page.until(
        "the address is marked",
        "document.activeElement.type === 'url' && document.activeElement.getAttribute('aria-invalid') === 'true'",
    );
    let fault = told("Address");
    assert!(fault.contains("127.0.0.1:9") && fault.contains("the address"), "{fault}");
    for key in ["model.", "aethon-cli", "`"] {
        assert!(!fault.contains(key), "{fault}");
    }
    assert_eq!((told("Service"), told("Key")), (String::new(), String::new()));
}

#[test]
fn demonstration_points_to_the_form() {
    let home = home();
    let mut command = program("aethon-server", home.path());
    command.args(["--set", "channels.webchat.port=0", "--demo"]);
    let Some(page) = Page::beside(Server::start_command(home, command)) else { return };
    page.go("/");
    page.until("it says where", "/Open “Use a real model” here/.test(one('.welcome .note')?.innerText)");
    page.go("/dashboard#/config/approval.enabled");
    page.until("the key is there", "/The built-in default/.test(one('dialog')?.innerText)");
    page.browser.click("//dialog//button[normalize-space()='Change']");
    page.browser.run(
        "const box = one('dialog select'); box.value = 'true'; box.dispatchEvent(new Event('change'))",
        &[],
    );
    page.browser.click("//dialog//button[normalize-space()='Show what changes']");
    page.until(
        "it says when it counts",
        "/It counts when Aethon starts again/.test(one('dialog')?.innerText)",
    );
    assert!(!page.browser.is("/as soon as it is saved/.test(one('dialog').innerText)"), "and only that");
    page.assert_clean();
}
