//! Changes of a session that are not turns: clearing it, and posting a message into it.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::assistant::Posting;
use aethon_core::channel::made_of;
use aethon_core::error::{Error, Result};
use aethon_core::event::SessionChange;
use aethon_core::ids::SessionId;
use aethon_core::message::{Block, Message, Role};
use aethon_core::session::Clear;
use aethon_core::untrusted;
use tokio::time::timeout;

use super::shared::Shared;
use crate::admission::block;
use crate::control::Cause;
use crate::dispatcher::SessionQueues;

/// How long the turns of a session may take to end.
const MAX_END: Duration = Duration::from_secs(5);

/// Stops the turns of a session, then empties or removes the session. The session accepts nothing meanwhile.
pub(super) async fn clear(shared: &Shared, session: &SessionId, how: Clear) -> Result<bool> {
    let closed = Closed::new(&shared.queues, session);
    if let Clear::DeleteIf(expected) | Clear::Bin(expected) = &how {
        // Turns are not stopped without need. The storage compares again.
        let present = shared.services.transcripts.session(session).await?;
        expected.check(|| present.map(|present| present.version()))?;
    }
    shared.queues.stop(session, None, Cause::Person);
    let ended = async {
        for reply in &closed.replies {
            // An error means that the turn ended without a stored outcome; it has ended all the same.
            let _ = reply.clone().wait().await;
        }
    };
    if timeout(MAX_END, ended).await.is_err() {
        return Err(Error::full("the session is still busy; try again in a moment"));
    }
    shared.caches.ahead.cancel(session);
    let change = if how.is_delete() { SessionChange::Deleted } else { SessionChange::Reset };
    let existed = shared.services.transcripts.clear(session, how).await?;
    shared.windows.forget(session);
    shared.services.open_approvals.pending.grants().forget(session);
    if existed {
        shared.services.publish_session(session, change);
    }
    Ok(existed)
}

/// Puts a message of the assistant into a session.
pub(super) async fn post(shared: &Shared, session: &SessionId, key: &str, posting: &Posting) -> Result<bool> {
    let now = shared.services.clock.now();
    let mut message = Message::new(Role::Assistant, posted(posting)?, now);
    let Some(id) = shared.services.transcripts.post(session, key, message.clone()).await? else {
        return Ok(false);
    };
    message.id = id;
    // A turn that is running has not seen the message; the next one rereads the transcript.
    shared.queues.mark_changed_externally(session);
    shared.windows.forget(session);
    shared.services.publish_message(session, &Arc::new(message));
    shared.services.publish_session(session, SessionChange::Updated);
    Ok(true)
}

/// Returns the blocks to store. Content made from outside content is labelled for the person, and remains data for
/// models.
fn posted(posting: &Posting) -> Result<Vec<Block>> {
    let Posting { text, attachments, outside } = posting;
    let mut content = Vec::with_capacity(2 + attachments.len());
    if let Some(outside) = outside {
        content.push(Block::notice("from_outside", made_of(outside)));
    }
    if !text.is_empty() || attachments.is_empty() {
        let untrusted = outside.is_some().then(untrusted::boundary);
        content.push(Block::Text { text: text.clone(), untrusted });
    }
    for attachment in attachments {
        content.push(block(attachment)?);
    }
    Ok(content)
}

/// A session that accepts nothing until this is dropped.
struct Closed<'a> {
    queues: &'a SessionQueues,
    session: &'a SessionId,
    replies: Vec<aethon_core::assistant::PendingReply>,
}

impl<'a> Closed<'a> {
    fn new(queues: &'a SessionQueues, session: &'a SessionId) -> Self {
        Self { queues, session, replies: queues.close(session) }
    }
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.queues.reopen(self.session);
    }
}
