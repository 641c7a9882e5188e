//! Web push: the devices that asked to be notified while no page is in sight.
//!
//! A device hands over the address of its push service and two keys; what is sent is encrypted for it, so the service learns
//! only that something happened. Sending is another part's work.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::secret::Secret;

/// The most devices. A further one takes the place of the oldest.
pub const MAX_DEVICES: usize = 20;

/// A device.
#[derive(Debug, Clone)]
pub struct PushDevice {
    /// The address at its push service. Whoever knows it can send nothing readable, but can flood the device.
    pub endpoint: Secret,
    /// Its public key: a point of P-256, uncompressed.
    pub key: Vec<u8>,
    /// Its secret for authentication, of sixteen bytes.
    pub auth: Vec<u8>,
    /// The sign-in under which it asked. It is notified only while that lasts.
    pub sign_in: String,
}

/// Why a device is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PushRefusal {
    /// Its address is not that of a push service.
    Endpoint(&'static str),
    /// Its keys are not valid.
    Key(&'static str),
    /// The list cannot be stored.
    Unstored,
}

/// The devices.
#[async_trait]
pub trait PushDevices: Send + Sync {
    /// Returns the public key that a device needs to subscribe, in base64url.
    fn key(&self) -> String;

    /// Adds a device, or replaces what is known of it.
    async fn add(&self, device: PushDevice) -> Result<(), PushRefusal>;

    /// Removes the device with this address. Returns whether there was one.
    async fn remove(&self, endpoint: &str) -> Result<bool, PushRefusal>;
}

/// Whether a sign-in still lasts. A sign-in is named as it was when the device was added.
pub trait SignInCheck: Send + Sync {
    /// Returns whether it does.
    fn lasts(&self, sign_in: &str) -> bool;
}

/// What a device is told. It names no content: the page shows that, to those who are signed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushNote {
    /// What happened.
    pub kind: PushKind,
    /// The session in which it happened.
    pub session: String,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PushKind {
    /// A call waits for approval.
    Approval,
    /// A reply is finished.
    Reply,
    /// A turn failed.
    Failure,
}
