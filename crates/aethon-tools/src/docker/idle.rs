//! The containers that wait for the next command of their conversation: how many may wait, and for how long.
//!
//! Each holds processes and the files in its `/tmp`. Conversations of strangers are many and short, so theirs wait for
//! less time, are fewer, and go first.

use std::time::Duration;

use aethon_core::ids::SessionId;
use aethon_core::turn::Trust;
use tokio::time::Instant;

/// A container idle for this long is removed.
const MAX_DURATION: Duration = Duration::from_secs(15 * 60);
/// The same for conversations that the owner's words did not begin.
const MAX_OF_OTHERS: Duration = Duration::from_secs(60);
/// Maximum number of idle containers.
const MAX_IDLE: usize = 8;
/// How many of them may belong to conversations that the owner's words did not begin.
const MAX_IDLE_OF_OTHERS: usize = 2;

/// An idle container.
#[derive(Debug)]
pub(super) struct Idle {
    pub(super) id: String,
    since: Instant,
    /// How many of its processes the kernel has ended for want of memory so far.
    pub(super) killed: u64,
}

impl Idle {
    pub(super) fn now(id: String, killed: u64) -> Self {
        Self { id, since: Instant::now(), killed }
    }
}

/// The idle containers, the oldest first.
#[derive(Debug, Default)]
pub(super) struct IdleContainers(Vec<(SessionId, Trust, Idle)>);

impl IdleContainers {
    /// Takes the container of a conversation for a command of this trust.
    pub(super) fn take(&mut self, session: &SessionId, trust: Trust) -> Option<Idle> {
        let at = self.0.iter().position(|(own, of, _)| own == session && *of == trust)?;
        Some(self.0.remove(at).2)
    }

    /// Takes all containers of a conversation.
    pub(super) fn take_session(&mut self, session: &SessionId) -> Vec<Idle> {
        self.take_all(|own, _, _| own == session)
    }

    /// Takes the containers that have been idle for long.
    pub(super) fn take_old(&mut self) -> Vec<Idle> {
        self.take_all(|_, trust, idle| {
            idle.since.elapsed() > if trust.is_owner() { MAX_DURATION } else { MAX_OF_OTHERS }
        })
    }

    /// Adds a container, and returns those for which there is no more room. One is enough for a conversation: another
    /// command of it may have returned one first.
    pub(super) fn put(&mut self, session: &SessionId, trust: Trust, idle: Idle) -> Vec<Idle> {
        let mut surplus: Vec<Idle> = self.take(session, trust).into_iter().collect();
        self.0.push((session.clone(), trust, idle));
        if self.0.iter().filter(|(_, trust, _)| !trust.is_owner()).count() > MAX_IDLE_OF_OTHERS {
            surplus.extend(self.take_oldest(|trust| !trust.is_owner()));
        }
        if self.0.len() > MAX_IDLE {
            surplus
                .extend(self.take_oldest(|trust| !trust.is_owner()).or_else(|| self.take_oldest(|_| true)));
        }
        surplus
    }

    fn take_oldest(&mut self, is_wanted: impl Fn(Trust) -> bool) -> Option<Idle> {
        let at = self.0.iter().position(|(_, trust, _)| is_wanted(*trust))?;
        Some(self.0.remove(at).2)
    }

    fn take_all(&mut self, is_wanted: impl Fn(&SessionId, Trust, &Idle) -> bool) -> Vec<Idle> {
        let taken = self.0.extract_if(.., |(session, trust, idle)| is_wanted(session, *trust, idle));
        taken.map(|(_, _, idle)| idle).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(number: usize) -> SessionId {
        SessionId::of("webchat", &number.to_string()).unwrap()
    }

    fn idle(number: usize) -> Idle {
        Idle::now(number.to_string(), 0)
    }

    #[test]
    fn idle_containers_are_capped_and_those_of_strangers_go_first() {
        let mut all = IdleContainers::default();
        let mut put = |number: usize, trust: Trust| -> Vec<String> {
            all.put(&session(number), trust, idle(number)).into_iter().map(|one| one.id).collect()
        };
        assert!(put(0, Trust::Owner).is_empty() && put(1, Trust::Outside).is_empty());
        assert!(put(2, Trust::Guest).is_empty());
        assert_eq!(put(3, Trust::Outside), ["1"], "the oldest of a stranger");
        for number in 4..9 {
            assert!(put(number, Trust::Owner).is_empty(), "{number}");
        }
        assert_eq!(put(9, Trust::Owner), ["2"], "a stranger's before the owner's");
        assert_eq!(put(10, Trust::Owner), ["3"]);
        assert_eq!(put(11, Trust::Owner), ["0"], "the oldest");
        assert_eq!(put(11, Trust::Owner), ["11"], "one for each conversation");
    }

    #[test]
    fn a_conversation_has_a_container_for_each_trust() {
        let mut all = IdleContainers::default();
        all.put(&session(1), Trust::Owner, idle(1));
        all.put(&session(1), Trust::Outside, idle(2));
        assert_eq!(all.take(&session(1), Trust::Guest).map(|one| one.id), None);
        assert_eq!(all.take(&session(1), Trust::Outside).map(|one| one.id).as_deref(), Some("2"));
        all.put(&session(1), Trust::Outside, idle(2));
        assert_eq!(all.take_session(&session(1)).len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn those_of_strangers_wait_for_less_time() {
        let mut all = IdleContainers::default();
        all.put(&session(1), Trust::Owner, idle(1));
        all.put(&session(2), Trust::Outside, idle(2));
        assert!(all.take_old().is_empty());
        tokio::time::advance(MAX_OF_OTHERS + Duration::from_secs(1)).await;
        assert_eq!(all.take_old().len(), 1);
        tokio::time::advance(MAX_DURATION).await;
        assert_eq!(all.take_old().len(), 1);
    }
}
