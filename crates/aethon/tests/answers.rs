//! An answer as a stream of events, and the daemon's parts that an embedding program holds.

#![allow(clippy::unwrap_used, clippy::panic, reason = "in tests a failed expectation is the result")]

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use aethon::core::approval::Decision;
use aethon::core::ids::SessionId;
use aethon::core::message::{Inbound, TurnEnd};
use aethon::core::schemars::{self, JsonSchema};
use aethon::core::surface::TurnEvent;
use aethon::{Aethon, Answer, Attendance, Builder, Service};
use serde_json::json;

fn builder(home: &Path) -> Builder {
    Builder::new().home(home).set("model.provider=fake").set("channels.webchat.port=0")
}

async fn open(home: &Path) -> Aethon {
    builder(home).load().unwrap().open().await.unwrap()
}

/// The texts of an answer, and its whole reply.
async fn read(mut answer: Answer) -> (Vec<String>, String) {
    let mut texts = Vec::new();
    loop {
        match answer.next().await.unwrap().unwrap() {
            TurnEvent::Text(text) => texts.push(text),
            TurnEvent::Done(reply) => {
                assert!(answer.next().await.is_none(), "nothing follows the end");
                assert!(answer.next().await.is_none(), "nor later");
                return (texts, reply.text.clone());
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn an_answer_comes_in_pieces_that_are_the_reply() {
    let home = tempfile::tempdir().unwrap();
    let assistant = open(home.path()).await;
    let answer = assistant.ask_stream("embed:pieces", "!stream 5 30").await.unwrap();
    assert_eq!(answer.session().as_str(), "embed:pieces");
    let (texts, reply) = read(answer).await;
    assert!(texts.len() > 1, "{texts:?}");
    assert_eq!(texts.concat().trim(), reply.trim());
    let reply = assistant.ask_stream("embed:pieces", "!say short").await.unwrap().reply().await.unwrap();
    assert_eq!(reply.text, "short");
    let error = assistant.ask_stream("nowhere", "x").await.unwrap_err();
    assert!(error.as_core().is_some_and(aethon::core::error::Error::is_invalid), "{error:?}");
    assistant.shutdown(Duration::from_secs(5)).await;
    let error = assistant.ask_stream("embed:pieces", "late").await.unwrap_err();
    assert!(error.as_core().is_some_and(aethon::core::error::Error::is_busy), "{error:?}");
}

#[tokio::test]
async fn an_answer_can_be_stopped_and_a_dropped_one_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let assistant = open(home.path()).await;
    let mut answer = assistant.ask_stream("embed:stopped", "!stream 100000 50").await.unwrap();
    while !matches!(answer.next().await.unwrap().unwrap(), TurnEvent::Started) {}
    answer.stop().await;
    assert_eq!(answer.reply().await.unwrap().end, TurnEnd::Stopped);

    let answer = assistant.ask_stream("embed:dropped", "!sleep 50\n!say finished").await.unwrap();
    drop(answer);
    // The next turn of the session waits for it.
    assistant.ask("embed:dropped", "!say after").await.unwrap();
    let session = SessionId::parse("embed:dropped").unwrap();
    let document = assistant.session_document(&session, 10).await.unwrap().unwrap();
    assert!(document.to_string().contains("finished"), "{document}");
    assistant.shutdown(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn the_reader_of_an_attended_answer_approves() {
    let home = tempfile::tempdir().unwrap();
    let settings = json!({"approval": {"enabled": true, "requires_approval": ["shell"]}});
    let assistant = builder(home.path()).settings(settings).load().unwrap().open().await.unwrap();
    let text = r#"!tool shell {"command": "echo approved-and-run"}"#;
    let session = SessionId::parse("embed:attended").unwrap();
    let mut answer = assistant.stream(Inbound::say(session, text), Attendance::Attended).await.unwrap();
    let mut has_asked = false;
    let reply = loop {
        match answer.next().await.unwrap().unwrap() {
            TurnEvent::Approval(request) => {
                has_asked = true;
                assert!(assistant.approvals().decide(&request.id, Decision::Approve));
            }
            TurnEvent::Done(reply) => break reply,
            _ => {}
        }
    };
    assert!(has_asked);
    assert!(reply.text.contains("approved-and-run"), "{}", reply.text);
    // Without a reader, the same is denied at once.
    let reply = assistant.ask_stream("embed:unattended", text).await.unwrap().reply().await.unwrap();
    assert!(!reply.text.contains("approved-and-run"), "{}", reply.text);
    assistant.shutdown(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn a_service_hands_out_its_assistant_and_address() {
    let home = tempfile::tempdir().unwrap();
    let service = Service::start(builder(home.path()).load().unwrap()).await.unwrap();
    let address = service.local_addr().unwrap();
    assert_ne!(address.port(), 0);
    assert!(service.greeting().contains(&address.to_string()), "{}", service.greeting());
    assert!(service.socket_path().is_none() && service.approvals().pending().is_empty());
    let (aethon, assistant) = (service.aethon(), service.assistant());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(service.run(async { drop(stopped.await) }));
    assert_eq!(aethon.ask("embed:one", "!say hello").await.unwrap().text, "hello");
    // The end of a turn is announced before its agent is handed back.
    tokio::time::timeout(Duration::from_secs(30), async {
        while !assistant.activity().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .unwrap();
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
    let late = aethon.ask("embed:one", "!say late").await.unwrap_err();
    assert!(late.as_core().is_some_and(aethon::core::error::Error::is_busy), "{late:?}");
}

#[derive(Debug, PartialEq, serde::Deserialize, JsonSchema)]
struct Invoice {
    /// The total with taxes.
    cents: u64,
    payer: Option<String>,
    lines: Vec<Line>,
}

#[derive(Debug, PartialEq, serde::Deserialize, JsonSchema)]
struct Line {
    text: String,
    kind: Kind,
}

#[derive(Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Work,
    Parts,
}

#[tokio::test]
async fn an_answer_becomes_a_type_or_an_error_that_says_why() {
    let home = tempfile::tempdir().unwrap();
    let assistant = open(home.path()).await;
    let ask = async |answer: &str| assistant.ask_as::<Invoice>("embed:typed", format!("!say {answer}")).await;
    let answer = r#"{"cents": 14400, "payer": "Ada", "lines": [{"text": "a new lock", "kind": "parts"}]}"#;
    let lines = vec![Line { text: "a new lock".into(), kind: Kind::Parts }];
    let invoice = Invoice { cents: 14400, payer: Some("Ada".into()), lines };
    assert_eq!(ask(answer).await.unwrap(), invoice);
    let without_payer = ask(r#"{"cents": 5, "payer": null, "lines": []}"#).await.unwrap();
    assert_eq!(without_payer, Invoice { cents: 5, payer: None, lines: Vec::new() });

    let refused = ask(r#"{"cents": -1, "lines": []}"#).await.unwrap_err().to_string();
    assert!(refused.contains("/cents"), "{refused}");
    let refused =
        ask(r#"{"cents": 1, "lines": [{"text": "a", "kind": "gift"}]}"#).await.unwrap_err().to_string();
    assert!(refused.contains("/lines/0/kind"), "{refused}");
    let refused = ask("no invoice here").await.unwrap_err().to_string();
    assert!(refused.contains("not JSON"), "{refused}");

    // A table of any keys has no schema of its own fields, and is one all the same.
    let table = assistant.ask_as::<BTreeMap<String, u8>>("embed:typed", r#"!say {"a": 1}"#).await.unwrap();
    assert_eq!(table, BTreeMap::from([("a".to_owned(), 1)]));
    // A schema cannot say all that a type checks.
    let refused =
        assistant.ask_as::<IpAddr>("embed:typed", r#"!say "no address""#).await.unwrap_err().to_string();
    assert!(refused.contains("but not the type: invalid IP address"), "{refused}");
    assistant.shutdown(Duration::from_secs(5)).await;
}

#[test]
fn a_runtime_without_io_serves_no_listener_and_does_everything_else() {
    let home = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let refused = Service::start(builder(home.path()).load().unwrap()).await.err().unwrap();
        assert!(refused.is_refusal() && refused.to_string().contains("enable_io"), "{refused:?}");
        let quiet = builder(home.path()).set("channels.webchat.enabled=false");
        let service = Service::start(quiet.load().unwrap()).await.unwrap();
        assert_eq!(service.local_addr(), None);
        let reply = service.aethon().ask("embed:quiet", "!say hello").await.unwrap();
        assert_eq!(reply.text, "hello");
        service.run(std::future::ready(())).await.unwrap();
    });
}

#[test]
fn a_key_that_does_not_exist_refuses_the_program_and_warns_a_person() {
    let home = tempfile::tempdir().unwrap();
    let refused = builder(home.path()).set("logging.levle=debug").load().err().unwrap();
    assert!(
        refused.to_string().contains("logging.levle") && refused.to_string().contains("logging.level"),
        "{refused}"
    );
    let refused = builder(home.path()).set_value("logging", json!({"levle": "debug"})).load().err().unwrap();
    assert!(refused.is_refusal() && refused.to_string().contains("logging.levle"), "{refused}");
    let refused = builder(home.path()).set_value("logging.level", ()).load().err().unwrap();
    assert!(refused.is_refusal() && refused.to_string().contains("logging.level"), "{refused}");
    let warned = builder(home.path()).flag("logging.levle=debug").load().unwrap();
    assert!(warned.warnings().any(|warning| warning.contains("logging.levle")));
    // What a person says wins over the program.
    let prepared =
        builder(home.path()).flag("budget.daily_usd=3").set_value("budget.daily_usd", 2.5).load().unwrap();
    assert!((prepared.config().budget.daily_usd - 3.0).abs() < f64::EPSILON);
    let prepared = builder(home.path()).set_value("budget.daily_usd", 2.5).load().unwrap();
    assert!((prepared.config().budget.daily_usd - 2.5).abs() < f64::EPSILON);
}
