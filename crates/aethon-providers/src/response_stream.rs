//! Reads the body of a response piece by piece, and delivers its events.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::model::{ModelError, ModelEvent};
use tokio::time::timeout;

use crate::classify;
use crate::request_id;
use crate::service::Service;
use crate::stream::{Decoding, Events, Progress};
use crate::transport::Body;

/// How long to wait for figures after the model is done.
const FIGURES_WAIT: Duration = Duration::from_secs(3);
/// How long to wait for the end of the body after the service announced the end. It usually comes in the same packet,
/// and then the connection can be reused.
const END_WAIT: Duration = Duration::from_millis(50);

/// A response being read. Dropping it closes the connection, unless its end was seen.
pub(crate) struct ResponseStream {
    service: Arc<Service>,
    decoding: Decoding,
    body: Body,
    events: Events,
    phase: Phase,
    request_id: Option<String>,
}

enum Phase {
    Reading,
    Failed(ModelError),
    Over,
}

impl ResponseStream {
    /// Reads the body of a response.
    pub(crate) fn new(
        service: Arc<Service>,
        decoding: Decoding,
        body: Body,
        request_id: Option<String>,
    ) -> Self {
        Self { service, decoding, body, events: Events::new(), phase: Phase::Reading, request_id }
    }

    /// Returns the next event.
    pub(crate) async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            // Events from before a failure are delivered first.
            if let Some(event) = self.events.pop_front() {
                return Some(Ok(event));
            }
            match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Over => return None,
                Phase::Failed(error) => return Some(Err(self.failed(error))),
                Phase::Reading => self.phase = self.read().await,
            }
        }
    }

    fn failed(&self, error: ModelError) -> ModelError {
        let error = request_id::show(error, self.request_id.clone());
        request_id::log_failure(&self.service, &error);
        error
    }

    /// Reads the next piece of the body.
    async fn read(&mut self) -> Phase {
        let wait = match self.decoding.progress() {
            Progress::Running => None,
            Progress::Complete => Some(FIGURES_WAIT),
            Progress::Over => Some(END_WAIT),
        };
        let piece = match wait {
            None => self.body.next().await,
            Some(wait) => match timeout(wait, self.body.next()).await {
                // If the connection breaks after the model was done, nothing is lost.
                Ok(Some(Err(_))) | Err(_) => {
                    let concluded = self.decoding.conclude(&mut self.events);
                    return concluded.map_or_else(Phase::Failed, |()| Phase::Over);
                }
                Ok(piece) => piece,
            },
        };
        let outcome = match piece {
            Some(Ok(bytes)) => self.decoding.push(&bytes, &mut self.events).map(|()| Phase::Reading),
            Some(Err(failure)) => Err(classify::failure(&self.service, &failure)),
            None => self.decoding.finish(&mut self.events).map(|()| Phase::Over),
        };
        outcome.unwrap_or_else(Phase::Failed)
    }
}
