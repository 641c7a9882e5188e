//! Tells the others whether a page is in sight here, and hears whether one is there: what is in sight anywhere needs no
//! notification on a phone.

use std::sync::Arc;

use aethon_core::peers::{Heard, Peers};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch::Receiver;

use super::news::{HELLO, IN_SIGHT};
use super::state::Others;

/// Runs for as long as it is polled. `pages` counts the pages that are in sight here.
pub(super) async fn run(mut pages: Receiver<usize>, peers: Arc<dyn Peers>, others: Arc<Others>) {
    let mut heard = peers.listen();
    let mut was_in_sight = false;
    loop {
        tokio::select! {
            changed = pages.changed() => {
                let is_in_sight = *pages.borrow_and_update() > 0;
                if std::mem::replace(&mut was_in_sight, is_in_sight) != is_in_sight {
                    peers.tell(None, IN_SIGHT, is_in_sight.to_string());
                }
                if changed.is_err() {
                    return;
                }
            }
            next = heard.recv() => match next {
                Ok(Heard::Note(note)) => match note.topic.as_str() {
                    IN_SIGHT => others.sees(note.from, note.body == "true"),
                    HELLO => peers.tell(Some(note.from), IN_SIGHT, was_in_sight.to_string()),
                    _ => {}
                },
                // Whoever lost something says hello, and is told again.
                Ok(Heard::Lost(_)) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use aethon_core::error::Result;
    use aethon_core::peers::{Note, PeerId};
    use tokio::sync::broadcast;
    use tokio::sync::watch;

    use super::*;

    /// Remembers what is told.
    struct Other {
        heard: broadcast::Sender<Heard>,
        told: Mutex<Vec<(Option<PeerId>, String)>>,
    }

    #[async_trait::async_trait]
    impl Peers for Other {
        fn id(&self) -> PeerId {
            PeerId(1)
        }

        fn tell(&self, to: Option<PeerId>, topic: &str, body: String) {
            assert_eq!(topic, IN_SIGHT);
            self.told.lock().unwrap().push((to, body));
        }

        fn listen(&self) -> broadcast::Receiver<Heard> {
            self.heard.subscribe()
        }

        async fn others(&self) -> Result<Vec<PeerId>> {
            Ok(vec![PeerId(2)])
        }
    }

    #[tokio::test(start_paused = true)]
    async fn first_page_and_the_end_of_the_last_are_told_and_asked_for() {
        let other = Arc::new(Other { heard: broadcast::channel(8).0, told: Mutex::default() });
        let others = Arc::new(Others::default());
        let (count, pages) = watch::channel(0);
        let task = tokio::spawn(run(pages, other.clone(), others.clone()));
        let settle = || tokio::time::sleep(Duration::from_millis(10));
        let note = |topic: &str, body: &str| {
            let note = Note { from: PeerId(2), topic: topic.to_owned(), body: body.to_owned() };
            assert!(other.heard.send(Heard::Note(Arc::new(note))).is_ok());
        };
        settle().await;
        for pages in [1, 2, 1] {
            count.send_replace(pages);
            settle().await;
        }
        note(HELLO, "null");
        settle().await;
        count.send_replace(0);
        settle().await;
        let told = std::mem::take(&mut *other.told.lock().unwrap());
        assert_eq!(told, [(None, "true".into()), (Some(PeerId(2)), "true".into()), (None, "false".into())]);
        note(IN_SIGHT, "true");
        settle().await;
        assert!(others.is_in_sight());
        note(IN_SIGHT, "false");
        settle().await;
        assert!(!others.is_in_sight());
        drop(count);
        task.await.unwrap();
    }
}
