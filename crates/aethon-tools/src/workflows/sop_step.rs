//! `sop_step`: reports that a step of a SOP begins or is done. The answer to the start of a step is its text, so that a
//! model has it at hand when it needs it, and a weak model has a reason to call.

use std::sync::Arc;

use aethon_core::event::{Event, EventBus};
use aethon_core::sop::{Sop, SopCatalog, SopRun, SopRunChange, SopRuns, SopStep as DefinedStep};
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
    /// The outcome of a step that names a JSON Schema, when it is done: a JSON value that fits it.
    #[serde(default)]
    result: Option<Value>,
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

/// Checks the outcome of a step that names a schema. That of the last step is the answer, which the engine checks.
fn fits(step: &DefinedStep, result: Option<&Value>) -> Result<(), ToolError> {
    let Some(Ok(schema)) = step.schema.as_ref().map(|schema| schema.content.as_ref()) else { return Ok(()) };
    let checked = match result {
        None => Err("the argument `result` is missing".to_owned()),
        // Some models write JSON within a text.
        Some(Value::String(text)) => schema.check(&Value::String(text.clone())).or_else(|fault| {
            serde_json::from_str(text).map_err(|_| fault).and_then(|value| schema.check(&value))
        }),
        Some(value) => schema.check(value),
    };
    checked.map_err(|fault| {
        let schema = schema.as_json();
        ToolError::failed(format!(
            "the outcome of {} does not fit its JSON Schema: {fault}. Call `sop_step` again with a `result` that fits \
             {schema}",
            step.title
        ))
    })
}

#[async_trait]
impl Tool for SopStep {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let Arguments { step, state, result, .. } = self.spec.parse(input)?;
        let (run, sop) = self.running(context).await?;
        let place = usize::try_from(step).ok().and_then(|step| step.checked_sub(1));
        let Some(current) = place.and_then(|place| sop.steps.get(place)) else {
            return Err(ToolError::failed(format!(
                "the SOP {} has the steps 1 to {}; there is no step {step}",
                sop.name,
                sop.steps.len()
            )));
        };
        if state == StepState::Done && usize::try_from(step).ok() != Some(sop.steps.len()) {
            fits(current, result.as_ref())?;
        }
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

#[cfg(test)]
mod tests {
    use aethon_core::answer_schema::AnswerSchema;
    use aethon_core::sop::StepSchema;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_result_of_a_step_fits_its_schema() {
        let schema = AnswerSchema::parse(json!({"type": "array", "items": {"type": "string"}})).unwrap();
        let content = Ok(Arc::new(schema));
        let schema = StepSchema { file: "a.json".into(), line: 1, content };
        let step = DefinedStep { title: "Collect".into(), text: String::new(), schema: Some(schema) };
        let check = |result: Option<Value>, expected: Option<&str>| {
            let fault = fits(&step, result.as_ref()).err().map(|error| error.to_string());
            assert_eq!(fault.is_some(), expected.is_some(), "{result:?}: {fault:?}");
            assert!(fault.unwrap_or_default().contains(expected.unwrap_or_default()), "{result:?}");
        };
        check(Some(json!(["a"])), None);
        check(Some(json!("[\"a\"]")), None);
        check(Some(json!([1])), Some("`/0` must be of type string, not a number"));
        check(None, Some("`result` is missing"));
        assert!(fits(&DefinedStep { schema: None, ..step.clone() }, None).is_ok());
    }
}
