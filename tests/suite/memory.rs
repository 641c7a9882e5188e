//! What one answer takes is bounded, and so is what many take: SECURITY "limits", issue 7 item 18.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use aethon_tests::Server;
use aethon_tests::stub::{Seen, ok};
use serde_json::{Value, json};

/// How many answers come at the same time.
const ANSWERS: usize = 12;
/// The most that an answer may have, in bytes.
const BOUND: usize = 8 << 20;
/// What the whole program may take meanwhile, in KiB.
const MEMORY: u64 = 256 << 10;

fn event(text: &str) -> String {
    let choice = json!({"index": 0, "delta": {"content": text}, "finish_reason": null});
    format!(
        "data: {}\n\n",
        json!({"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice]})
    )
}

/// Says more than an answer may have. Just before the bound it waits for the others, so that all are there at once.
fn talk(connection: &mut TcpStream, all: &Barrier) -> std::io::Result<()> {
    connection
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")?;
    let paragraph = format!("{}\n\n", "a word and *another* one ".repeat(80));
    let piece = event(&paragraph.repeat((64 << 10) / paragraph.len()));
    let mut said = 0;
    while said < BOUND - (512 << 10) {
        connection.write_all(piece.as_bytes())?;
        said += 64 << 10;
    }
    all.wait();
    loop {
        connection.write_all(piece.as_bytes())?;
    }
}

/// A model that does not stop, for the first questions; further ones get a short answer.
fn endless_model() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (asked, all) = (Arc::new(AtomicUsize::new(0)), Arc::new(Barrier::new(ANSWERS)));
    // Ends with the process of the tests; nothing waits for it.
    thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let (asked, all) = (asked.clone(), all.clone());
            thread::spawn(move || {
                let Ok(_) = Seen::read(&connection) else { return };
                if asked.fetch_add(1, Ordering::SeqCst) < ANSWERS {
                    // The service hangs up when it has enough.
                    let _ = talk(&mut connection, &all);
                } else {
                    let _ = connection
                        .write_all(&ok("text/event-stream", &(event("short") + "data: [DONE]\n\n")));
                }
            });
        }
    });
    address
}

#[test]
fn twelve_answers_at_the_bound_stay_within_their_memory() {
    let host = format!("model.host=\"http://{}/v1\"", endless_model());
    let server = Server::start(&["model.provider=openai", "model.model_id=m", &host, "model.api_key=k"]);
    let before = server.resident();
    let mut sockets: Vec<_> = (0..ANSWERS).map(|number| server.chat(&format!("s{number}"))).collect();
    let readers: Vec<_> = sockets
        .drain(..)
        .map(|mut socket| {
            thread::spawn(move || -> Vec<Value> {
                let frames = socket.say("1", "talk");
                frames
                    .into_iter()
                    .filter(|frame| frame["type"] != "delta" && frame["type"] != "blocks")
                    .collect()
            })
        })
        .collect();
    for reader in readers {
        let frames = reader.join().expect("it is read to its end, and nobody is cut as too slow");
        let done = frames.last().expect("an end");
        assert_eq!((&done["type"], &done["stop_reason"]), (&json!("done"), &json!("end")));
        assert!(done["text"].as_str().unwrap().contains("goes on"), "the frame says that there is more");
    }
    let most = server.most_resident();
    assert!(most < MEMORY, "{most} KiB at most, {before} KiB before");
    let messages = server.messages("webchat:s3");
    let blocks = messages.last().unwrap()["content"].as_array().unwrap();
    assert_eq!(blocks[0]["text"].as_str().unwrap().len(), BOUND, "the transcript has all of it");
    assert_eq!((&blocks[1]["type"], &blocks[1]["code"]), (&json!("notice"), &json!("length")));
    for number in 0..ANSWERS {
        let export = server.get(&format!("/api/sessions/webchat:s{number}/export?format=markdown"));
        assert!(export.text().len() > BOUND);
    }
    let most = server.most_resident();
    assert!(most < MEMORY, "{most} KiB at most after the exports");
}
