//! A plan as submitted by a model or a person, and its validation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::task::{TaskState, WorkTask};

/// The most tasks of a plan.
const MAX_TASKS: usize = 50;

/// The longest goal and the longest detail, in characters.
const MAX_LEN: usize = 8_000;

/// A plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The intended result.
    pub goal: String,
    /// The tasks.
    pub tasks: Vec<NewTask>,
}

/// A task of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NewTask {
    /// The task, in a few words.
    pub title: String,
    /// The task, in detail.
    pub detail: String,
    /// The acceptance criteria.
    pub acceptance: Vec<String>,
    /// The numbers of the tasks that must be done before it, counted from 1.
    pub depends_on: Vec<u32>,
}

/// The fault of a plan, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PlanFault(pub String);

impl Plan {
    /// Validates the plan and returns its tasks.
    ///
    /// # Errors
    ///
    /// The plan is invalid, for a reason that its author can fix.
    pub fn tasks(&self) -> Result<Vec<WorkTask>, PlanFault> {
        let fault = |sentence: String| Err(PlanFault(sentence));
        if self.goal.trim().is_empty() {
            return fault("the plan has no goal; say in a sentence what the work is to come to".into());
        }
        if self.tasks.is_empty() || self.tasks.len() > MAX_TASKS {
            let count = self.tasks.len();
            return fault(format!("the plan has {count} tasks; give it 1 to {MAX_TASKS}"));
        }
        let mut tasks = Vec::with_capacity(self.tasks.len());
        for (number, task) in (1_u32..).zip(&self.tasks) {
            tasks.push(self.task(number, task)?);
        }
        Ok(tasks)
    }

    fn task(&self, number: u32, task: &NewTask) -> Result<WorkTask, PlanFault> {
        let kept = |text: &String| text.trim().to_owned();
        let acceptance: Vec<String> =
            task.acceptance.iter().map(kept).filter(|text| !text.is_empty()).collect();
        if task.title.trim().is_empty() {
            return Err(PlanFault(format!("task {number} has no title")));
        }
        if acceptance.is_empty() {
            return Err(PlanFault(format!(
                "task {number} has no acceptance criterion; say what must hold when it is done"
            )));
        }
        let is_long = |text: &String| text.chars().count() > MAX_LEN;
        if is_long(&self.goal) || is_long(&task.detail) || is_long(&task.title) {
            return Err(PlanFault(format!("task {number} or the goal has more than {MAX_LEN} characters")));
        }
        // Dependencies have smaller numbers, so there is no cycle.
        if let Some(other) = task.depends_on.iter().find(|other| **other == 0 || **other >= number) {
            return Err(PlanFault(format!(
                "task {number} depends on task {other}, which does not come before it; put tasks in their order"
            )));
        }
        Ok(WorkTask {
            number,
            title: kept(&task.title),
            detail: kept(&task.detail),
            acceptance,
            depends_on: task.depends_on.clone(),
            state: TaskState::Todo,
            attempts: 0,
            evidence: None,
            error: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(title: &str, acceptance: &str, depends_on: &[u32]) -> NewTask {
        NewTask {
            title: title.into(),
            acceptance: vec![acceptance.into()],
            depends_on: depends_on.into(),
            ..NewTask::default()
        }
    }

    #[test]
    fn a_plan_has_a_goal_criteria_and_no_circle() {
        let check = |goal: &str, tasks: Vec<NewTask>, fault: Option<&str>| {
            let found = Plan { goal: goal.into(), tasks }.tasks();
            match (found, fault) {
                (Ok(_), None) => {}
                (Err(PlanFault(sentence)), Some(word)) => assert!(sentence.contains(word), "{sentence}"),
                (found, fault) => panic!("{found:?} {fault:?}"),
            }
        };
        check("g", vec![task("a", "it builds", &[]), task("b", "it runs", &[1])], None);
        check(" ", vec![task("a", "x", &[])], Some("no goal"));
        check("g", vec![], Some("0 tasks"));
        check("g", vec![task("a", " ", &[])], Some("no acceptance"));
        check("g", vec![task("", "x", &[])], Some("no title"));
        check("g", vec![task("a", "x", &[1])], Some("does not come before"));
        check("g", vec![task("a", "x", &[2]), task("b", "x", &[])], Some("does not come before"));
    }
}
