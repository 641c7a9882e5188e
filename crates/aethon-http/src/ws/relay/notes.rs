//! What instances say about the frames of a session.

use aethon_core::ids::SessionId;
use serde::{Deserialize, Serialize};

use super::super::log::RelayedFrame;

/// The topic of a request for frames.
pub(super) const FOLLOW: &str = "follow";
/// The topic of frames.
pub(super) const FRAMES: &str = "frames";

/// A request for the frames of a session, from now on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Follow {
    pub(super) session: SessionId,
    pub(super) why: Why,
    /// The last frame that is known, with the number of the instance that is asked; 0 for none.
    #[serde(default)]
    pub(super) after: u64,
}

/// Why frames are asked for, or told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Why {
    /// Somebody reads the session.
    Read,
    /// Notes were lost: from this frame on.
    Missed,
    /// A client has come that saw the session at another instance, up to this frame.
    Resumed,
    /// New frames have come.
    News,
}

/// Frames of a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Frames {
    pub(super) session: SessionId,
    pub(super) why: Why,
    /// The frame behind which they begin.
    pub(super) after: u64,
    /// Whether none is missing behind that one.
    pub(super) is_exact: bool,
    pub(super) frames: Vec<RelayedFrame>,
}
