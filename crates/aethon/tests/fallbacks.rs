//! `model.fallbacks` from the configuration to the reply: a service that fails, and a model that stands in for it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "in tests a failed expectation is the result")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aethon::{Aethon, Builder};
use aethon_core::assistant::ask;
use aethon_core::ids::SessionId;
use aethon_core::message::{Inbound, Reply, TurnEnd};
use aethon_core::surface::TurnEvent;
use aethon_core::testkit::CollectingSurface;

/// A service that answers every request with `answer` and then hangs up; counts them.
fn serve(answer: &'static str) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            if read_request(&mut stream).is_some() {
                counted.fetch_add(1, Ordering::SeqCst);
                let _ = stream.write_all(answer.as_bytes());
            }
        }
    });
    (address, asked)
}

fn read_request(stream: &mut TcpStream) -> Option<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())?;
    stream.read_exact(&mut vec![0; length]).ok()
}

async fn open(home: &std::path::Path, host: &str) -> Aethon {
    let builder = Builder::new()
        .home(home)
        .set("model.provider=openai")
        .set("model.model_id=gpt-5")
        .set("model.api_key=sk-test")
        .set(format!("model.host=\"{host}\""))
        .set("model.fallbacks=[{provider=\"echo\"}]");
    builder.load().unwrap().open().await.unwrap()
}

/// Asks, and returns the reply, the text that was shown, and the reported models.
async fn converse(assistant: &Aethon, text: &str) -> (Arc<Reply>, String, Vec<(String, String)>) {
    let surface = Arc::new(CollectingSurface::default());
    let inbound = Inbound::say(SessionId::parse("webchat:default").unwrap(), text);
    let reply = ask(&*assistant.assistant(), inbound, surface.clone()).await.unwrap();
    let (mut shown, mut told) = (String::new(), Vec::new());
    for (_, event) in surface.events() {
        match event {
            TurnEvent::Text(piece) => shown.push_str(&piece),
            TurnEvent::Model { model, reason } => {
                assert!(shown.is_empty(), "it is told before the first word");
                told.push((model, reason));
            }
            _ => {}
        }
    }
    (reply, shown, told)
}

#[tokio::test]
async fn another_model_answers_and_the_failing_one_is_left_alone() {
    let failing = "HTTP/1.1 503 Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let (host, asked) = serve(failing);
    let home = tempfile::tempdir().unwrap();
    let assistant = open(home.path(), &host).await;
    for turn in 0..8 {
        let (reply, shown, told) = converse(&assistant, "Good morning").await;
        assert_eq!(
            (reply.end, reply.text.as_str(), shown.as_str()),
            (TurnEnd::End, "Good morning", "Good morning")
        );
        assert_eq!(reply.model, "echo");
        let [(model, reason)] = &told[..] else { panic!("{turn}: {told:?}") };
        assert!(model == "echo" && reason.contains("503"), "{reason}");
    }
    assert_eq!(asked.load(Ordering::SeqCst), 3, "three failures in a row are enough for a while");
    assistant.shutdown(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_not_begun_again() {
    let broken = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
                  data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Good mor\"}}]}\n\n";
    let (host, asked) = serve(broken);
    let home = tempfile::tempdir().unwrap();
    let assistant = open(home.path(), &host).await;
    let (reply, shown, told) = converse(&assistant, "hi").await;
    assert_eq!((reply.end, shown.as_str()), (TurnEnd::Error, "Good mor"));
    assert!(
        reply.text.starts_with("Good mor") && reply.text.matches("Good mor").count() == 1,
        "{}",
        reply.text
    );
    assert!(told.is_empty());
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    assistant.shutdown(Duration::from_secs(5)).await;
}
