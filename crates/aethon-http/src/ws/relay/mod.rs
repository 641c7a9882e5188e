//! Conversations that several instances serve: a reader here sees the turns that run elsewhere, as if they ran here.
//!
//! An instance follows a session for as long as somebody reads it there: it asks the others, and those that run a turn of the
//! session tell it their frames, beginning with those of the running turn (`telling`). The frames go into the log of the room as if
//! they came from here, under their own numbers where that is possible, so that a client can resume at any instance (`hearing`).
//! Nobody tells frames that nobody reads. What is told may be lost; then the follower asks again from where it stands, shows nothing
//! that comes behind it meanwhile, and where the frames are gone its readers have a gap, as with any log that is too short. The end of a turn is read from the storage
//! too, so it is shown whatever was lost.

mod hearing;
mod notes;
mod task;
mod telling;
#[cfg(test)]
mod tests;

pub use task::relay;
