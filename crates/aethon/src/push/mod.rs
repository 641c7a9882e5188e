//! Web push (RFC 8030): notifies devices that asked for it, while no page of the owner is in sight.
//!
//! `vapid` holds the key by which push services recognise this home, `encryption` writes a message that only the device reads,
//! `devices` is the list of devices, and `sender` chooses the messages and sends them.

mod devices;
mod encryption;
mod parts;
mod sender;
mod vapid;

pub(crate) use parts::Push;
pub(crate) use sender::Watched;
