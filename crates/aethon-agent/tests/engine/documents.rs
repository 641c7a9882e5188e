//! Documents that come with a message: what becomes of it while they are read.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::assistant::Assistant;
use aethon_core::document::{DocumentKind, DocumentReader, DocumentText, Unreadable};
use aethon_core::message::{Attachment, Inbound};
use aethon_core::turn::Trust;
use async_trait::async_trait;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::harness::{House, Plan, quiet, says, session, with_id};

/// A reader that reads at once what ends with "short", and never comes to an end with anything else.
struct Stuck {
    begun: Semaphore,
}

#[async_trait]
impl DocumentReader for Stuck {
    async fn read(&self, _: DocumentKind, bytes: Vec<u8>, _: Trust) -> Result<DocumentText, Unreadable> {
        if bytes.ends_with(b"short") {
            return Ok(DocumentText { text: "words of a PDF".into(), notes: Vec::new() });
        }
        self.begun.add_permits(1);
        std::future::pending().await
    }
}

fn house() -> (House, Arc<Stuck>) {
    let reader = Arc::new(Stuck { begun: Semaphore::new(0) });
    let plan = Plan { documents: Some(reader.clone()), ..Plan::default() };
    (House::with([says("seen")], plan), reader)
}

/// A message with a document that is read and two that are not.
fn message() -> Inbound {
    // "%PDF-1.7 short" and "%PDF-1.7".
    let data = ["JVBERi0xLjcgc2hvcnQ=", "JVBERi0xLjc=", "JVBERi0xLjc="];
    let files = data.iter().zip(["a.pdf", "b.pdf", "c.pdf"]);
    let files = files.map(|(data, name)| Attachment::new(name, "application/pdf", *data)).collect();
    with_id(&session("a"), "look", "m1").with_attachments(files)
}

#[tokio::test(start_paused = true)]
async fn message_whose_documents_are_read_at_shutdown_is_refused() {
    let (harness, reader) = house();
    let reading = harness.engine.submit(message(), quiet());
    let shutdown = async {
        let _ = reader.begun.acquire().await;
        harness.engine.shutdown(Duration::from_secs(1)).await;
    };
    let (submitted, ()) = tokio::join!(reading, shutdown);
    let refusal = submitted.unwrap_err();
    assert!(refusal.is_busy() && refusal.to_string().contains("shutting down"), "{refusal}");
    assert_eq!(harness.transcript(&session("a")), Vec::<String>::new(), "its sender brings it again");
}

#[tokio::test(start_paused = true)]
async fn documents_of_a_message_are_read_for_a_minute_at_most() {
    let (harness, _reader) = house();
    let begun = Instant::now();
    let submitted = harness.submit(message(), quiet()).await;
    assert_eq!(begun.elapsed().as_secs(), 60);
    submitted.reply.wait().await.unwrap();
    let stored = harness.transcript(&session("a"))[0].clone();
    for words in [
        "words of a PDF",
        r#"\"b.pdf\" could not be read: the documents of this message took more than 60 s"#,
        r#"\"c.pdf\" could not be read"#,
    ] {
        assert!(stored.contains(words), "{words} is missing in {stored}");
    }
}
