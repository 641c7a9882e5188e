//! A channel of one's own: a way to a person and back, here two queues of this program.
//!
//! Run it with `cargo run -p aethon --example own_channel`.

use std::sync::Arc;

use aethon::async_trait::async_trait;
use aethon::core::assistant::{Assistant, ask};
use aethon::core::channel::{Channel, Delivery, DeliveryError};
use aethon::core::error::Result;
use aethon::core::ids::SessionId;
use aethon::core::message::{Destination, Inbound};
use aethon::core::shutdown::Shutdown;
use aethon::core::surface::Unattended;
use tokio::sync::{Mutex, mpsc, oneshot};

const NAME: &str = "pager";

/// Hands what Kim writes to the assistant, and what the assistant has for her to her pager.
struct Pager {
    written: Mutex<mpsc::Receiver<String>>,
    shown: mpsc::Sender<String>,
}

#[async_trait]
impl Channel for Pager {
    fn name(&self) -> &str {
        NAME
    }

    /// Runs until the shutdown. After an error it is started again.
    async fn run(&self, assistant: Arc<dyn Assistant>, mut shutdown: Shutdown) -> Result<()> {
        let session = SessionId::of(NAME, "kim")?;
        let mut written = self.written.lock().await;
        loop {
            let text = tokio::select! {
                () = shutdown.requested() => return Ok(()),
                text = written.recv() => text,
            };
            let Some(text) = text else { return Ok(()) };
            let reply = ask(&*assistant, Inbound::say(session.clone(), text), Arc::new(Unattended)).await?;
            // The pager may be gone; the reply is stored.
            let _ = self.shown.send(reply.text.clone()).await;
        }
    }

    /// Delivers what comes from elsewhere: the result of a job, a message that the model sends, the reply to a webhook. The
    /// service repeats it until it arrives, also after a restart.
    async fn send(&self, delivery: &Delivery) -> std::result::Result<(), DeliveryError> {
        let sent = self.shown.try_send(format!("[delivered] {}", delivery.content.text));
        sent.map_err(|error| DeliveryError::passing(error.to_string()))
    }
}

/// Writes one message on the pager and has another one delivered there. Returns what the pager shows.
pub(crate) async fn converse(home: &std::path::Path) -> std::result::Result<Vec<String>, aethon::Error> {
    let (write, written) = mpsc::channel(8);
    let (shown, mut shows) = mpsc::channel(8);
    let pager = Pager { written: Mutex::new(written), shown };
    let builder = aethon::Builder::new().home(home).set("model.provider=echo").channel(pager);
    // No page and no API: this program needs no port.
    let prepared = builder.set("channels.webchat.enabled=false").load()?;
    let service = aethon::Service::start(prepared).await?;
    let assistant = service.assistant();
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(service.run(async { drop(stopped.await) }));

    let failed = |_| aethon::Error::failed("the service ended early");
    write
        .send("How are you?".to_owned())
        .await
        .map_err(|_| aethon::Error::failed("the pager ended early"))?;
    let answer = shows.recv().await;
    let mut message = Inbound::say(SessionId::parse("embed:alarm")?, "The door is open.");
    message.deliver_to = Some(Destination { channel: NAME.to_owned(), recipient: None });
    ask(&*assistant, message, Arc::new(Unattended)).await?;
    let delivered = shows.recv().await;

    drop(stop);
    running.await.map_err(failed)??;
    Ok(answer.into_iter().chain(delivered).collect())
}

#[expect(clippy::print_stdout, reason = "it is what the example shows")]
#[tokio::main]
async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let home = tempfile::tempdir()?;
    for line in converse(home.path()).await? {
        println!("{line}");
    }
    Ok(())
}
