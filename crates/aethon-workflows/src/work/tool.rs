//! `tasks`: how the assistant itself plans work that takes more than one turn.

use aethon_core::tool::{Effect, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use aethon_core::turn::Trust;
use aethon_core::work::{
    NewTask, Plan, PlannedFor, TaskState, Work, WorkBook as _, WorkCommand, WorkOrigin, WorkRefusal,
};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::book::Works;
use super::brief;
use super::places::task_of;

const WRITTEN_DOWN: &str = "It is written down. End your answer here.";

/// How many pieces of work are listed.
const LISTED: usize = 20;

/// The longest evidence, in characters.
const MAX_EVIDENCE: usize = 8_000;

/// Plans work, shows it, and records how a task ended.
pub struct Tasks {
    spec: ToolSpec,
    works: Works,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// What to do: `plan` new work, `list` all, `show` or `cancel` one; and in a turn that works on a task, `done` or
    /// `failed`.
    action: Action,
    /// What the work is to come to, in a sentence or two. For `plan`.
    goal: Option<String>,
    /// The tasks, in an order in which each can be done. For `plan`.
    #[serde(default)]
    tasks: Vec<Task>,
    /// Whether it is worked on `now`, or in `idle` time when nobody needs you. For `plan`; now when absent.
    when: Option<When>,
    /// The name of the work. For `show` and `cancel`.
    work: Option<String>,
    /// What shows that every criterion holds: what you ran or looked at, and what it showed. For `done`.
    evidence: Option<String>,
    /// Why it cannot be done. For `failed`.
    why: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Task {
    /// What is to be done, in a few words.
    title: String,
    /// All that whoever does it must know: it sees neither this conversation nor the other tasks.
    #[serde(default)]
    detail: String,
    /// What must hold when it is done; each something that can be checked.
    acceptance: Vec<String>,
    /// The numbers of the tasks, from 1, that must be done before it.
    #[serde(default)]
    depends_on: Vec<u32>,
}

#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Action {
    Plan,
    List,
    Show,
    Cancel,
    Done,
    Failed,
}

#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum When {
    Now,
    Idle,
}

impl Tasks {
    /// The tool for this work.
    pub fn new(works: Works) -> Self {
        let spec = ToolSpec::of::<Arguments>(
            "tasks",
            "Plans and follows work that takes more than one turn. When the person asks for a piece of work with several \
             steps that you cannot finish in this answer, plan it as tasks: it is then worked on in the background, task by \
             task, and the person gets progress reports and the result. Do not plan what you can do at once.",
        )
        // A plan is acted on outside the turn.
        .with_effect(Effect::ActsLater)
        // A plan is named after its call, and the other actions are idempotent.
        .repeatable()
        // Everybody has their own, and its turns may do what theirs may.
        .open_to(Trust::Guest);
        Self { spec, works }
    }

    async fn plan(&self, context: &ToolContext, arguments: Arguments) -> Result<ToolOutput, ToolError> {
        if task_of(&context.session).is_some() {
            return Err(ToolError::failed(
                "a task plans no further work; do what the task says, or say why not",
            ));
        }
        let origin = if arguments.when == Some(When::Idle) { WorkOrigin::Idle } else { WorkOrigin::Person };
        let tasks = arguments.tasks.into_iter().map(|task| NewTask {
            title: task.title,
            detail: task.detail,
            acceptance: task.acceptance,
            depends_on: task.depends_on,
        });
        let plan = Plan { goal: arguments.goal.unwrap_or_default(), tasks: tasks.collect() };
        let planned = PlannedFor {
            session: context.session.clone(),
            person: context.person.clone(),
            untrusted: context.untrusted,
            tell_to: context.reply_to.clone(),
            key: context.call_key(),
            is_again: context.is_again(),
        };
        let work = self.works.plan(planned, plan, origin).await.map_err(refused)?;
        let begins = match origin {
            WorkOrigin::Person => {
                "It begins now, in the background; the person gets progress reports in this conversation."
            }
            WorkOrigin::Idle if self.works.options.is_ambient => "It is worked on when you are idle.",
            WorkOrigin::Idle => {
                "Idle time is not used here (`work.ambient.enabled`), so it waits until that is changed."
            }
        };
        Ok(ToolOutput::text(format!(
            "The work `{}` is planned: {} tasks. {begins}",
            work.work_id,
            work.tasks.len()
        )))
    }

    /// Returns a piece of work that belongs to the person of this turn.
    async fn theirs(&self, context: &ToolContext, name: String) -> Result<Work, ToolError> {
        self.works.visible(&name, |work| context.may_see(&work.person, work.untrusted)).await.map_err(refused)
    }

    /// Records how the task that this turn works on has ended.
    async fn end(&self, context: &ToolContext, arguments: Arguments) -> Result<ToolOutput, ToolError> {
        let none =
            || ToolError::failed("this turn works on no task; `done` and `failed` are for those that do");
        let (id, number) = task_of(&context.session).ok_or_else(none)?;
        let _alone = self.works.alone().await;
        let mut work = self.works.store.work(id).await.map_err(failed)?.ok_or_else(none)?;
        let task = work.task_mut(number).ok_or_else(none)?;
        let wanted = if arguments.action == Action::Done { TaskState::Done } else { TaskState::Failed };
        if context.is_again() && task.state == wanted {
            return Ok(ToolOutput::text(WRITTEN_DOWN));
        }
        if matches!(task.state, TaskState::Done | TaskState::Failed) {
            return Err(ToolError::failed("this task has ended already; stop here"));
        }
        let text = |said: Option<String>, name: &str| {
            let said = said.map(|said| said.trim().chars().take(MAX_EVIDENCE).collect::<String>());
            said.filter(|said| !said.is_empty())
                .ok_or_else(|| ToolError::failed(format!("this action needs `{name}`")))
        };
        if arguments.action == Action::Done {
            task.evidence = Some(text(arguments.evidence, "evidence")?);
            (task.state, task.error) = (TaskState::Done, None);
        } else {
            task.error = Some(text(arguments.why, "why")?);
            task.state = TaskState::Failed;
        }
        self.works.save(&mut work).await.map_err(failed)?;
        Ok(ToolOutput::text(WRITTEN_DOWN))
    }
}

#[async_trait]
impl Tool for Tasks {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn asks_first(&self, input: &Value) -> Option<String> {
        let plans = input.get("action").and_then(Value::as_str) == Some("plan");
        (plans && self.works.options.approve_plan)
            .then(|| "a plan needs a person's word (`work.approve_plan`)".to_owned())
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = self.spec.parse(input)?;
        let named = |name: &Option<String>| {
            name.clone().ok_or_else(|| ToolError::failed("this action needs `work`, the name of the work"))
        };
        match arguments.action {
            Action::Plan => self.plan(context, arguments).await,
            Action::Done | Action::Failed => self.end(context, arguments).await,
            Action::List => {
                let works = self.works.works(false, LISTED).await.map_err(failed)?;
                let theirs = works.iter().filter(|work| context.may_see(&work.person, work.untrusted));
                let lines: Vec<String> = theirs.map(line).collect();
                Ok(ToolOutput::text(if lines.is_empty() {
                    "no work yet".to_owned()
                } else {
                    lines.join("\n")
                }))
            }
            Action::Show => {
                let work = self.theirs(context, named(&arguments.work)?).await?;
                Ok(ToolOutput::text(work.receipt.clone().unwrap_or_else(|| brief::pulse(&work))))
            }
            Action::Cancel => {
                let work = self.theirs(context, named(&arguments.work)?).await?;
                let is_over = context.is_again() && work.state.is_over();
                if !is_over {
                    self.works.command(&work.work_id, WorkCommand::Stop).await.map_err(refused)?;
                }
                Ok(ToolOutput::text(format!("The work `{}` is being ended.", work.work_id)))
            }
        }
    }

    async fn preview(&self, _context: &ToolContext, input: &Value) -> Option<String> {
        let tasks = input.get("tasks")?.as_array()?;
        let titles = tasks.iter().filter_map(|task| task.get("title").and_then(Value::as_str));
        Some(titles.map(|title| format!("+ {title}")).collect::<Vec<_>>().join("\n"))
    }
}

/// A piece of work, as one line.
pub(super) fn line(work: &Work) -> String {
    let (done, all) = (work.done(), work.tasks.len());
    let command = work.command.map(|command| format!(", to {}", command.as_str())).unwrap_or_default();
    format!("{}  {}{command}  {done}/{all}  {}", work.work_id, work.state.as_str(), work.goal)
}

fn refused(refusal: WorkRefusal) -> ToolError {
    ToolError::failed(refusal.to_string())
}

fn failed(error: aethon_core::error::Error) -> ToolError {
    ToolError::failed(error.to_string())
}
