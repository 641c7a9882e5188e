//! Where work happens: the sessions of tasks, and how to get from a session to its task.

use aethon_core::ids::SessionId;

/// The channel of work sessions.
pub(super) const CHANNEL: &str = "work";

/// Returns the session in which a task is worked on.
pub(super) fn session_of(work_id: &str, task: u32) -> Option<SessionId> {
    SessionId::of(CHANNEL, &format!("{work_id}:{task}")).ok()
}

/// Returns the work and the task that a session is for.
pub(super) fn task_of(session: &SessionId) -> Option<(&str, u32)> {
    if session.channel() != CHANNEL {
        return None;
    }
    let (work, task) = session.name().split_once(':')?;
    Some((work, task.parse().ok()?))
}
