//! A transcriber that takes notes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use crate::model::ModelError;
use crate::transcribe::{Speech, Transcriber, Transcript};

/// A transcriber that hears in every recording the bytes of its file as words, and notes what it was given.
#[derive(Debug, Default)]
pub struct CollectingTranscriber {
    heard: Mutex<Vec<Speech>>,
    is_stuck: AtomicBool,
}

impl CollectingTranscriber {
    /// What it was given.
    pub fn heard(&self) -> Vec<Speech> {
        self.lock().clone()
    }

    /// From now on nothing comes of a recording, or something does again.
    pub fn set_stuck(&self, is_stuck: bool) {
        self.is_stuck.store(is_stuck, Ordering::SeqCst);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Speech>> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Transcriber for CollectingTranscriber {
    fn model(&self) -> &'static str {
        "testkit/transcriber"
    }

    async fn transcribe(&self, speech: Speech) -> Result<Transcript, ModelError> {
        let text = String::from_utf8_lossy(&speech.bytes).into_owned();
        self.lock().push(speech);
        if self.is_stuck.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        Ok(Transcript { text, ..Transcript::default() })
    }
}
