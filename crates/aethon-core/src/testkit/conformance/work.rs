//! What agents have done, and work that takes more than one turn.

use super::stage::*;
use crate::agents::{AgentRun, ToolCount};
use crate::ids::{AgentName, SessionId};
use crate::ledger::WorkKind;
use crate::message::TurnEnd;
use crate::model::Usage;
use crate::person::Person;
use crate::work::{NewTask, Plan, TaskState, Work, WorkCommand, WorkOrigin, WorkSpent, WorkState};

fn agent_run(id: &str) -> AgentRun {
    AgentRun {
        agent_id: id.into(),
        name: AgentName::parse("coder").unwrap(),
        role: "writes code".into(),
        session_id: SessionId::parse("agent:coder:1").unwrap(),
        kind: WorkKind::Delegation,
        parent: Some("t0".into()),
        task: "mend the build".into(),
        outcome: TurnEnd::End,
        error: None,
        started_at: start(),
        ended_at: start(),
        duration: 1.5,
        tools: vec![ToolCount { name: "shell".into(), calls: 2 }],
        model: "m".into(),
        usage: Usage { input_tokens: 7, cost_usd: 0.25, ..Usage::default() },
    }
}

pub async fn what_agents_have_done_is_kept_newest_first(stage: Stage) {
    let runs = &stage.storage.workflows.agent_runs;
    assert!(runs.newest(9).await.unwrap().is_empty());
    for id in ["t1", "t2", "t3"] {
        runs.add(agent_run(id)).await.unwrap();
    }
    let newest = runs.newest(2).await.unwrap();
    assert_eq!(newest, [agent_run("t3"), agent_run("t2")]);
}

fn work(id: &str) -> Work {
    let task = |title: &str, depends_on: Vec<u32>| NewTask {
        title: title.into(),
        acceptance: vec!["it holds".into()],
        depends_on,
        ..NewTask::default()
    };
    let plan = Plan { goal: "a \"shop\"".into(), tasks: vec![task("one", vec![]), task("two", vec![1])] };
    Work {
        work_id: id.into(),
        tasks: plan.tasks().unwrap(),
        goal: plan.goal,
        session_id: SessionId::parse("webchat:a").unwrap(),
        person: Person::default(),
        untrusted: false,
        tell_to: None,
        origin: WorkOrigin::Person,
        state: WorkState::Queued,
        reason: None,
        spent: WorkSpent::default(),
        created_at: start(),
        updated_at: start(),
        receipt: None,
        command: None,
    }
}

pub async fn work_is_kept_whole_and_a_wish_beside_it(stage: Stage) {
    let (works, beside) = (&stage.storage.workflows.work, &stage.beside.workflows.work);
    works.add(&work("one")).await.unwrap();
    works.add(&work("two")).await.unwrap();
    assert_eq!(beside.work("one").await.unwrap(), Some(work("one")));
    assert!(beside.set_command("one", Some(WorkCommand::Pause)).await.unwrap());
    let mut changed = work("one");
    changed.state = WorkState::Running;
    changed.spent = WorkSpent { iterations: 2, cost_usd: 0.5, seconds: 3.0 };
    let task = changed.task_mut(1).unwrap();
    (task.state, task.evidence) = (TaskState::Done, Some("the tests pass".into()));
    assert!(works.save(&changed).await.unwrap());
    let found = beside.work("one").await.unwrap().unwrap();
    assert_eq!(
        (found.command, found.next_task().map(|task| task.number)),
        (Some(WorkCommand::Pause), Some(2))
    );
    assert_eq!(Work { command: None, ..found }, changed, "who saves does not know the command, and keeps it");
    assert!(works.set_command("one", None).await.unwrap());
    let over = Work { state: WorkState::Done, receipt: Some("all done".into()), ..changed };
    assert!(works.save(&over).await.unwrap());
    assert!(!works.set_command("one", Some(WorkCommand::Stop)).await.unwrap(), "it is over");
    assert!(!works.save(&work("none")).await.unwrap());
    let ids = |works: Vec<Work>| works.into_iter().map(|work| work.work_id).collect::<Vec<_>>();
    assert_eq!(ids(works.works(false, 9).await.unwrap()), ["two", "one"]);
    assert_eq!(ids(works.works(true, 9).await.unwrap()), ["two"]);
    assert!(!works.switch("paused").await.unwrap());
    works.set_switch("paused", true).await.unwrap();
    works.set_switch("paused", true).await.unwrap();
    assert!(beside.switch("paused").await.unwrap());
    works.set_switch("paused", false).await.unwrap();
    assert!(!beside.switch("paused").await.unwrap());
}
