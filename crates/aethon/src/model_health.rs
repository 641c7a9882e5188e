//! Whether the model answers: a hook records how the last request ended, for the feature board. Without it, a model whose key
//! was revoked would always be shown as "on".

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aethon_core::hook::Hook;
use aethon_core::message::{EndReason, Failure, Message};
use aethon_core::model::{ModelErrorKind, Usage};
use aethon_core::turn::TurnContext;
use async_trait::async_trait;

/// How the last request to the main agent's models ended. Cheap to clone; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelHealth(Arc<Mutex<Option<String>>>);

impl ModelHealth {
    /// Why the last request failed; `None` if it was answered, or if there was none yet.
    pub(crate) fn fault(&self) -> Option<String> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Hook for ModelHealth {
    fn name(&self) -> &'static str {
        "model-health"
    }

    async fn after_model(&self, turn: &TurnContext, outcome: Result<&Message, &Failure>, _usage: &Usage) {
        if !turn.agent.is_main() {
            return;
        }
        match outcome {
            Ok(_) => *self.lock() = None,
            Err(failure) if is_service_fault(&failure.code) => *self.lock() = Some(failure.message.clone()),
            Err(_) => {}
        }
    }
}

/// Returns whether a failure is the service's fault rather than the request's.
fn is_service_fault(reason: &EndReason) -> bool {
    use ModelErrorKind::{Auth, Malformed, Network, NotFound, Overloaded, Quota, RateLimit, Timeout};
    let EndReason::Model(kind) = reason else { return false };
    matches!(kind, Auth | Quota | RateLimit | Overloaded | Network | Timeout | NotFound | Malformed)
}
