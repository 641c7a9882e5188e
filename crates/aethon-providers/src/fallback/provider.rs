//! The list of models as one provider.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::model::{
    Capabilities, ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, ModelStream,
    Readiness, SelfReport,
};
use async_trait::async_trait;
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};

use super::candidate::{Answer, Candidate, is_models_fault};
use crate::estimate;

/// The models as one, in the order in which they are tried. `None` of an empty list; a list of one is that model.
pub fn fallback(models: Vec<Arc<dyn ModelProvider>>) -> Option<Arc<dyn ModelProvider>> {
    match models.len() {
        0 | 1 => models.into_iter().next(),
        _ => Fallback::new(models).map(|fallback| Arc::new(fallback) as Arc<dyn ModelProvider>),
    }
}

/// Several models in order.
pub(super) struct Fallback {
    /// The configured model: it gives the name.
    first: Arc<dyn ModelProvider>,
    /// The first that can be asked: what a request may hold is decided by it.
    able: Arc<dyn ModelProvider>,
    candidates: Vec<Candidate>,
}

/// Why a model did not answer.
struct Miss {
    place: usize,
    error: ModelError,
    /// Whether it was left alone.
    rested: bool,
}

impl Fallback {
    /// `None` of an empty list.
    pub(super) fn new(models: Vec<Arc<dyn ModelProvider>>) -> Option<Self> {
        let first = models.first()?.clone();
        let able =
            models.iter().find(|model| model.readiness() == Readiness::Ready).unwrap_or(&first).clone();
        Some(Self { first, able, candidates: models.into_iter().map(Candidate::new).collect() })
    }

    /// Asks one model after the other, each at most once.
    async fn first_answer(&self, request: ModelRequest) -> Result<(usize, Answer, Vec<Miss>), ModelError> {
        let tokens = estimate::request(&request);
        let mut misses: Vec<Miss> = Vec::new();
        // What failed at the models before is a failed attempt for the next one.
        let mut attempt = request.attempt;
        for (place, candidate) in self.candidates.iter().enumerate() {
            if let Err(error) = fits(candidate, tokens, place) {
                misses.push(Miss { place, error, rested: false });
                continue;
            }
            let permit = match candidate.permit() {
                Ok(permit) => permit,
                Err(error) => {
                    misses.push(Miss { place, error, rested: true });
                    continue;
                }
            };
            match candidate.ask(ModelRequest { attempt, ..request.clone() }, permit).await {
                Ok(answer) => return Ok((place, answer, misses)),
                Err(error) if !is_models_fault(error.kind()) => return Err(error),
                Err(error) => {
                    attempt = attempt.saturating_add(1);
                    misses.push(Miss { place, error, rested: false });
                }
            }
        }
        self.last_resort(request, misses).await
    }

    /// Every model failed or is left alone. When only a person can mend what is wrong with those that are, a person's
    /// new try is let through to one of them, because they may have mended it just now; a repetition is not.
    async fn last_resort(
        &self,
        request: ModelRequest,
        misses: Vec<Miss>,
    ) -> Result<(usize, Answer, Vec<Miss>), ModelError> {
        let lasting = |miss: &&Miss| miss.rested && !miss.error.is_retryable();
        let may_try = request.attempt == 0 && misses.iter().all(|miss| !miss.error.is_retryable());
        let soonest = misses.iter().filter(lasting).min_by_key(|miss| miss.error.retry_after());
        let candidate =
            soonest.filter(|_| may_try).and_then(|miss| Some((miss.place, self.candidates.get(miss.place)?)));
        if let Some((place, candidate)) = candidate
            && let Some(permit) = candidate.force()
        {
            let answer = candidate.ask(request, permit).await;
            return answer.map(|answer| (place, answer, misses));
        }
        Err(together(&misses))
    }
}

/// Whether a model is set up, and its window large enough. The first model's is the engine's business.
fn fits(candidate: &Candidate, tokens: u64, place: usize) -> Result<(), ModelError> {
    if let Readiness::NotConfigured(reason) = candidate.provider.readiness() {
        return Err(ModelError::new(ModelErrorKind::Auth, reason));
    }
    let capabilities = candidate.provider.capabilities();
    if place > 0 && tokens > capabilities.context_window {
        let sentence = format!("This conversation does not fit {}.", capabilities.model);
        return Err(ModelError::new(ModelErrorKind::ContextLength, sentence));
    }
    Ok(())
}

/// One error for all: the first that may pass, else the first. It carries the shortest wait after which one of them may
/// answer, and none where one may be asked right away.
fn together(misses: &[Miss]) -> ModelError {
    let passing = misses.iter().filter(|miss| miss.error.is_retryable());
    let Some(told) = passing.clone().next().or(misses.first()) else {
        return ModelError::new(ModelErrorKind::NotFound, "No model is configured; set model.model_id.");
    };
    let wait: Option<Duration> =
        passing.map(|miss| miss.error.retry_after()).min_by_key(|wait| wait.unwrap_or_default()).flatten();
    let others = match misses.len() {
        0 | 1 => String::new(),
        2 => " The other model did not answer either.".to_owned(),
        more => format!(" The {} other models did not answer either.", more - 1),
    };
    let error = &told.error;
    let mut all = ModelError::new(error.kind(), format!("{error}{others}"))
        .with_retry_after(wait)
        .with_detail(misses.iter().map(detail).collect::<Vec<_>>().join("; "));
    if let Some(status) = error.status() {
        all = all.with_status(status);
    }
    all
}

fn detail(miss: &Miss) -> String {
    let how = if miss.rested { "left alone after" } else { "failed with" };
    let (kind, detail) = (miss.error.kind().code(), miss.error.detail().unwrap_or_default());
    format!("model {} {how} {kind} {detail}", miss.place + 1).trim_end().to_owned()
}

#[async_trait]
impl ModelProvider for Fallback {
    fn capabilities(&self) -> Arc<Capabilities> {
        let able = self.able.capabilities();
        if Arc::ptr_eq(&self.first, &self.able) {
            return able;
        }
        let first = self.first.capabilities();
        let (provider, model) = (first.provider.clone(), first.model.clone());
        Arc::new(Capabilities { provider, model, ..Capabilities::clone(&able) })
    }

    fn readiness(&self) -> Readiness {
        let mut first = None;
        for candidate in &self.candidates {
            match candidate.provider.readiness() {
                Readiness::Ready => return Readiness::Ready,
                missing => first = first.or(Some(missing)),
            }
        }
        first.unwrap_or(Readiness::Ready)
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let (place, answer, misses) = self.first_answer(request).await?;
        let told = (place > 0).then(|| {
            let model = self.candidates.get(place).map(|it| it.provider.capabilities().model.clone());
            let reason = misses.first().map(|miss| miss.error.to_string());
            ModelEvent::Model { model: model.unwrap_or_default(), reason: reason.unwrap_or_default() }
        });
        let events =
            stream::unfold(answer, |mut answer| async { answer.next().await.map(|event| (event, answer)) });
        Ok(Box::pin(stream::iter(told.map(Ok)).chain(events)))
    }

    /// Asks about every model, because each may come to answer.
    async fn learn(&self) -> Result<SelfReport, ModelError> {
        let reports = join_all(self.candidates.iter().map(|candidate| candidate.provider.learn())).await;
        reports.into_iter().next().unwrap_or_else(|| Ok(SelfReport::default()))
    }

    /// Asks every model, because a fallback that does not work is noticed too late otherwise.
    async fn probe(&self) -> Result<String, ModelError> {
        let mut sentences = Vec::new();
        let mut broken = None;
        let probes = join_all(self.candidates.iter().map(|candidate| candidate.provider.probe())).await;
        for (place, (candidate, probe)) in self.candidates.iter().zip(probes).enumerate() {
            let model = &candidate.provider.capabilities().model;
            match probe {
                Ok(sentence) => sentences.push(sentence),
                Err(error) if place == 0 => broken = Some(error),
                Err(error) => sentences.push(format!("fallback {model}: {error}")),
            }
        }
        match broken {
            Some(error) => Err(error),
            None => Ok(sentences.join("; ")),
        }
    }
}
