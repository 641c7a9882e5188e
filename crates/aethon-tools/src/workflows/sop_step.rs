//! `sop_step`: reports that a step of a SOP begins or is done. The answer to the start of a step is its text, so that a
//! model has it at hand when it needs it, and a weak model has a reason to call.

use std::sync::Arc;

use aethon_core::event::{Event, EventBus};
use aethon_core::sop::{Sop, SopCatalog, SopRun, SopRunChange, SopRuns};
use aethon_core::tool::{ArgumentRole, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use aethon_core::turn::Trust;
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// Records the step of a run.
pub(super) struct SopStep {
    spec: ToolSpec,
    sops: Arc<dyn SopCatalog>,
    runs: Arc<dyn SopRuns>,
    bus: EventBus,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The number of the step.
    step: u32,
    /// Whether you begin it now, or all of it is done.
    state: StepState,
    /// The outcome, in a sentence.
    #[serde(default)]
    #[expect(dead_code, reason = "it stands in the transcript, which is where people look for it")]
    note: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum StepState {
    #[serde(alias = "started", alias = "begin", alias = "start")]
    Begun,
    #[serde(alias = "finished", alias = "end", alias = "complete", alias = "completed")]
    Done,
}

impl SopStep {
    pub(super) fn new(sops: Arc<dyn SopCatalog>, runs: Arc<dyn SopRuns>, bus: EventBus) -> Self {
        let spec = ToolSpec::of::<Arguments>(
            "sop_step",
            "Notes which step of the running SOP you begin or have done, and returns the text of a step that you begin. \
             Only for messages that a SOP came with.",
        )
        .with_role("note", ArgumentRole::Text)
        // A step is done once, however often it is reported.
        .repeatable()
        // It reaches the run of its own turn only.
        .open_to(Trust::Guest);
        Self { spec, sops, runs, bus }
    }

    /// Returns the run and its SOP.
    async fn running(&self, context: &ToolContext) -> Result<(SopRun, Arc<Sop>), ToolError> {
        let failed = |error: aethon_core::error::Error| {
            tracing::warn!(%error, "a step of a SOP could not be looked up");
            ToolError::failed("the step could not be noted, because the storage failed; go on without it")
        };
        let run = self.runs.of_turn(&context.turn).await.map_err(failed)?;
        let run =
            run.ok_or_else(|| ToolError::failed("no SOP runs in this turn; answer without `sop_step`"))?;
        let sop = self.sops.sop(&run.sop_name).await.map_err(failed)?;
        let sop = sop.ok_or_else(|| {
            ToolError::failed(format!(
                "the SOP {} is not there any more; go on by its text above",
                run.sop_name
            ))
        })?;
        Ok((run, sop))
    }
}

#[async_trait]
impl Tool for SopStep {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let Arguments { step, state, .. } = self.spec.parse(input)?;
        let (run, sop) = self.running(context).await?;
        let place = usize::try_from(step).ok().and_then(|step| step.checked_sub(1));
        let Some(current) = place.and_then(|place| sop.steps.get(place)) else {
            return Err(ToolError::failed(format!(
                "the SOP {} has the steps 1 to {}; there is no step {step}",
                sop.name,
                sop.steps.len()
            )));
        };
        let steps_done = (state == StepState::Done).then(|| run.steps_done.max(step));
        let change = SopRunChange { step: Some(step), steps_done, ..SopRunChange::default() };
        self.runs.change(&run.run_id, change).await.map_err(|error| {
            tracing::warn!(%error, "a step of a SOP was not written down");
            ToolError::failed("the step could not be noted, because the storage failed; go on without it")
        })?;
        if self.bus.has_listeners()
            && let Ok(Some(run)) = self.runs.run(&run.run_id).await
        {
            self.bus.publish(|| Event::SopRun(Arc::new(run)));
        }
        let total = sop.steps.len();
        Ok(ToolOutput::text(match state {
            StepState::Begun => {
                format!("Step {step} of {total}, {}, has begun.\n\n{}", current.title, current.text)
            }
            StepState::Done => match place.and_then(|place| sop.steps.get(place + 1)) {
                Some(next) => {
                    format!("Step {step} of {total} is done. Next: step {}, {}.", step + 1, next.title)
                }
                None => {
                    format!("Step {step} of {total} is done, which was the last. Close with your result.")
                }
            },
        }))
    }
}
