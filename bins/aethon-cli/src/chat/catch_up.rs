//! Opens a connection after an absence, and collects what was missed: answers to what was sent again, the stored turns, and
//! the frames after them.

use serde_json::{Value, json};

use super::socket::{Broken, Socket};
use super::transcript::{Transcript, Wanted};
use super::unsent::Unsent;
use crate::daemon::Daemon;

/// How many messages are read to learn what happened.
pub(super) const MISSED: usize = 100;

/// The state of a chat whose connection was lost.
pub(super) struct Away<'a> {
    pub(super) daemon: &'a Daemon,
    pub(super) session: &'a str,
    pub(super) unsent: &'a Unsent,
    /// The turns that this terminal asked for and that are not over.
    pub(super) own: &'a [String],
    /// The message behind which turns of others are read.
    pub(super) behind: Option<u64>,
}

/// Everything that a new connection has to report.
pub(super) struct Missed {
    pub(super) socket: Socket,
    /// The answers to the messages that were sent again.
    pub(super) acknowledged: Vec<Value>,
    pub(super) transcript: Option<Transcript>,
    /// The frames after the transcript, in order.
    pub(super) frames: Vec<Value>,
}

/// Opens a connection and returns everything that was missed. A failure leaves the state of the chat unchanged.
pub(super) async fn catch_up(away: Away<'_>) -> Result<Missed, Broken> {
    let Away { daemon, session, unsent, own, behind } = away;
    let mut socket = Socket::open(daemon, session).await?;
    let (mut acknowledged, mut frames) = (Vec::new(), Vec::new());
    let mut unanswered = 0;
    for frame in unsent.frames() {
        socket.send(frame).await?;
        unanswered += 1;
    }
    while acknowledged.len() < unanswered {
        let frame = socket.next().await?;
        if unsent.concerns(&frame) { acknowledged.push(frame) } else { frames.push(frame) }
    }
    let own: Vec<String> =
        own.iter().cloned().chain(acknowledged.iter().filter_map(acknowledged_turn)).collect();
    let wanted = Wanted { turns: &own, behind };
    let transcript = Transcript::fetch_with(daemon, session, MISSED, wanted);
    let transcript = transcript.await.map_err(Broken::lost)?;
    let after = transcript.as_ref().map_or(0, |transcript| transcript.seq);
    socket.send(&json!({"type": "resume", "session": session, "after": after})).await?;
    // Live frames may have overtaken the replay, so they are sorted once it is complete.
    loop {
        let frame = socket.next().await?;
        if frame["type"] == "resumed" {
            break;
        }
        if frame["code"] == "resume_gap" {
            return Err(Broken::lost("the conversation moved on too fast"));
        }
        frames.push(frame);
    }
    let seq = |frame: &Value| frame["seq"].as_u64().unwrap_or(0);
    frames.retain(|frame| seq(frame) > after);
    frames.sort_by_key(seq);
    frames.dedup_by_key(|frame| seq(frame));
    Ok(Missed { socket, acknowledged, transcript, frames })
}

/// Returns the turn of a message that was acknowledged.
fn acknowledged_turn(frame: &Value) -> Option<String> {
    frame["turn"].as_str().filter(|_| frame["type"] == "ack").map(str::to_owned)
}
