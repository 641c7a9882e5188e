//! Questions to other instances, and their answers.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::approval::{Answer, AnswerElsewhere, AnswerError};
use aethon_core::ids::SessionId;
use aethon_core::peers::{PeerId, Peers};
use aethon_tools::CommandsElsewhere;
use async_trait::async_trait;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::news::{ASK, Asked, Done, Question, Told};
use super::state::Others;

/// How long an answer to a request for approval may take: changed arguments are checked before they count.
const DECISION: Duration = Duration::from_secs(10);

/// How long it may take to take a grant back: an instance that lives answers at once.
const TAKE_BACK: Duration = Duration::from_secs(3);

/// How long it may take to say which commands an instance has.
const COMMANDS: Duration = Duration::from_secs(2);

/// Asks other instances.
pub(super) struct Asking {
    peers: Arc<dyn Peers>,
    others: Arc<Others>,
    next: AtomicU64,
    open: Mutex<HashMap<u64, mpsc::UnboundedSender<(PeerId, Done)>>>,
}

impl Asking {
    pub(super) fn new(peers: Arc<dyn Peers>, others: Arc<Others>) -> Self {
        Self { peers, others, next: AtomicU64::new(0), open: Mutex::default() }
    }

    /// Asks these instances and returns the answers that come in time.
    pub(super) async fn ask(&self, of: BTreeSet<PeerId>, what: Asked, limit: Duration) -> Vec<Done> {
        self.ask_until(of, what, limit, |_| false).await
    }

    /// The same, but waits for no other answer once the last one of these is enough.
    async fn ask_until(
        &self,
        mut of: BTreeSet<PeerId>,
        what: Asked,
        limit: Duration,
        is_enough: impl Fn(&Done) -> bool,
    ) -> Vec<Done> {
        let mut answers = Vec::new();
        if of.is_empty() {
            return answers;
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        // Each instance answers once, and what comes of others is not counted.
        let (sender, mut told) = mpsc::unbounded_channel();
        self.lock().insert(id, sender);
        let open = Open { asking: self, id };
        if let Ok(body) = serde_json::to_string(&Question { id, what }) {
            for peer in &of {
                self.peers.tell(Some(*peer), ASK, body.clone());
            }
        }
        let until = Instant::now() + limit;
        while !of.is_empty() && !answers.last().is_some_and(&is_enough) {
            match timeout_at(until, told.recv()).await {
                Ok(Some((peer, done))) if of.remove(&peer) => answers.push(done),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        drop(open);
        answers
    }

    /// Takes an answer in.
    pub(super) fn told(&self, from: PeerId, told: Told) {
        let waiting = self.lock().get(&told.id).cloned();
        if let Some(waiting) = waiting {
            // An error means that it came too late.
            let _ = waiting.send((from, told.what));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, mpsc::UnboundedSender<(PeerId, Done)>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that waits for answers.
struct Open<'a> {
    asking: &'a Asking,
    id: u64,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.asking.lock().remove(&self.id);
    }
}

#[async_trait]
impl AnswerElsewhere for Asking {
    async fn answer(&self, at: Option<PeerId>, id: &str, answer: Answer) -> Result<(), AnswerError> {
        let of = at.map_or_else(|| self.others.alive(), |at| [at].into());
        let what = Asked::Answer { id: id.to_owned(), answer };
        // Where it is not open, it is unknown.
        let is_its = |done: &Done| !matches!(done, Done::Answered(Err(AnswerError::Unknown)));
        match self.ask_until(of, what, DECISION, is_its).await.pop() {
            Some(Done::Answered(answered)) => answered,
            // The instance is gone, and the question with it: where its turn goes on, it is put again.
            _ => Err(AnswerError::Unknown),
        }
    }

    async fn take_back(&self, id: &str) -> bool {
        let others = self.others.alive();
        let asked = others.len();
        let answers = self.ask(others, Asked::TakeBack { id: id.to_owned() }, TAKE_BACK).await;
        answers.iter().filter(|done| **done == Done::TakenBack).count() == asked
    }
}

#[async_trait]
impl CommandsElsewhere for Asking {
    async fn holder(&self, session: &SessionId, number: u32) -> Option<String> {
        let asked = Asked::Commands { session: session.clone() };
        let answers = self.ask(self.others.alive(), asked, COMMANDS).await;
        answers.into_iter().find_map(|done| match done {
            Done::Commands { instance, numbers } if numbers.contains(&number) => Some(instance),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use aethon_core::approval::Decision;
    use aethon_core::error::Result as CoreResult;
    use aethon_core::peers::Heard;
    use tokio::sync::broadcast;

    use super::*;

    /// Remembers who is asked.
    #[derive(Default)]
    struct Telephone(Mutex<Vec<Option<PeerId>>>);

    #[async_trait]
    impl Peers for Telephone {
        fn id(&self) -> PeerId {
            PeerId(1)
        }

        fn tell(&self, to: Option<PeerId>, topic: &str, _body: String) {
            assert_eq!(topic, ASK);
            self.0.lock().unwrap().push(to);
        }

        fn listen(&self) -> broadcast::Receiver<Heard> {
            broadcast::channel(1).1
        }

        async fn others(&self) -> CoreResult<Vec<PeerId>> {
            Ok(Vec::new())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn request_that_is_not_known_yet_is_answered_by_the_instance_that_has_it() {
        let (peers, others) = (Arc::<Telephone>::default(), Arc::<Others>::default());
        let all = [PeerId(2), PeerId(3), PeerId(4)];
        all.iter().for_each(|peer| others.lives(*peer));
        let asking = Asking::new(peers.clone(), others);
        let unknown = || Done::Answered(Err(AnswerError::Unknown));
        let told = |id, from, what| asking.told(PeerId(from), Told { id, what });
        let begun = Instant::now();
        // Nothing comes of the fourth.
        let (answered, ()) = tokio::join!(asking.answer(None, "x", Answer::new(Decision::Approve)), async {
            told(0, 2, unknown());
            told(0, 3, Done::Answered(Ok(())));
        });
        assert_eq!((answered, begun.elapsed()), (Ok(()), Duration::ZERO));
        assert_eq!(*peers.0.lock().unwrap(), all.map(Some));
        let (answered, ()) = tokio::join!(asking.answer(None, "y", Answer::new(Decision::Approve)), async {
            all.iter().for_each(|peer| told(1, peer.0, unknown()));
        });
        assert_eq!((answered, begun.elapsed()), (Err(AnswerError::Unknown), Duration::ZERO));
    }
}
