//! The ends of conversations, for tasks that then end what runs for them.

use aethon_core::event::{Event, SessionChange};
use aethon_core::ids::SessionId;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

/// What has ended.
pub(crate) enum Ended {
    /// This session was emptied or deleted.
    Session(SessionId),
    /// Events were missed, and any may have been.
    Unknown,
}

/// Waits for the next end; `None` once there are no more events. May be dropped while it waits.
pub(crate) async fn next_end(events: &mut Receiver<Event>) -> Option<Ended> {
    loop {
        match events.recv().await {
            Ok(event) => {
                if let Some(session) = over(&event) {
                    return Some(Ended::Session(session.clone()));
                }
            }
            Err(RecvError::Lagged(_)) => return Some(Ended::Unknown),
            Err(RecvError::Closed) => return None,
        }
    }
}

/// The session that is over with this event, so that nothing of it may run on.
fn over(event: &Event) -> Option<&SessionId> {
    match event {
        Event::Session { session, change: SessionChange::Reset | SessionChange::Deleted } => Some(session),
        // Its turns may have run here.
        Event::Elsewhere(event) => over(event),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_end_when_they_are_emptied_or_deleted() {
        let session = SessionId::of("webchat", "a").unwrap();
        let check = |change: SessionChange, expected: bool| {
            assert_eq!(
                over(&Event::Session { session: session.clone(), change }).is_some(),
                expected,
                "{change:?}"
            );
        };
        check(SessionChange::Reset, true);
        check(SessionChange::Deleted, true);
        check(SessionChange::Created, false);
        check(SessionChange::Updated, false);
    }
}
