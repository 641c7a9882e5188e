//! The receiving side of a platform.

use aethon_core::error::Result;
use aethon_core::shutdown::Shutdown;
use async_trait::async_trait;

use super::intake::Intake;
use super::platform::Platform;

/// A platform that receives messages.
#[async_trait]
pub(crate) trait Receiver: Platform {
    /// Receives until shutdown and passes everything to the intake. Only a message that the intake has accepted is stored
    /// and may be acknowledged to the platform.
    async fn receive(&self, intake: &Intake, shutdown: Shutdown) -> Result<()>;
}
