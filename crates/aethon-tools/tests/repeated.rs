//! Which calls run again after a restart has cut them off, and that the second time changes nothing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests and what they share"
)]

mod common;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use aethon_core::channel::{Courier, NewDelivery, Outbox as _};
use aethon_core::error::Result;
use aethon_core::event::EventBus;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Inbound, ToolCall};
use aethon_core::person::Person;
use aethon_core::schedule::{
    Job, JobEdits, JobId, JobRecord, JobRefusal, JobRequest, Missed, Origin, RunRecord, Schedule, Task,
    Timing,
};
use aethon_core::sop::{
    BrokenSop, Sop, SopCatalog, SopCheck, SopName, SopOrigin, SopRefusal, SopRun, SopRunState, SopRuns,
    SopStep, SopVersion,
};
use aethon_core::surface::Unattended;
use aethon_core::testkit::{ManualClock, MemoryStore};
use aethon_core::tool::{Tool, ToolContext, ToolError, ToolOutput};
use aethon_core::turn::TurnContext;
use aethon_core::version::Expected;
use aethon_tools::{Needs, Options, sets, tools, workflow_tools};
use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::{Value, json};

/// A storage, and what stands in front of it in the program.
struct House {
    store: Arc<MemoryStore>,
    schedule: Arc<Jobs>,
    tools: Vec<Arc<dyn Tool>>,
}

/// Sends through the storage.
struct ThroughStore(Arc<MemoryStore>);

#[async_trait]
impl Courier for ThroughStore {
    fn channels(&self) -> Vec<String> {
        vec!["webchat".into()]
    }

    async fn send(&self, session: &SessionId, turn: &TurnId, content: NewDelivery) -> Result<()> {
        self.0.enqueue(session, turn, content).await.map(drop)
    }
}

/// Jobs by their names, each of which there is once.
#[derive(Default)]
struct Jobs(Mutex<Vec<JobRecord>>);

#[async_trait]
impl JobEdits for Jobs {
    async fn change(&self, request: JobRequest, _expected: Expected) -> Result<JobRecord, JobRefusal> {
        Err(JobRefusal::unknown(request.job_id.unwrap_or_default()))
    }
}

#[async_trait]
impl Schedule for Jobs {
    fn is_enabled(&self) -> bool {
        true
    }

    async fn jobs(&self) -> Result<Vec<JobRecord>, JobRefusal> {
        Ok(self.0.lock().unwrap().clone())
    }

    async fn add(&self, request: JobRequest, origin: Origin) -> Result<JobRecord, JobRefusal> {
        let job_id = request.job_id.map_or_else(JobId::fresh, |id| JobId::parse(&id).unwrap());
        let mut jobs = self.0.lock().unwrap();
        if jobs.iter().any(|record| record.job.job_id == job_id) {
            return Err(JobRefusal::Conflict(format!("there is a job {:?}", job_id.as_str())));
        }
        let job = Job {
            job_id,
            timing: Timing::Once { run_at: Timestamp::UNIX_EPOCH },
            task: Task { sop_name: None, prompt: request.prompt },
            channel: "webchat".into(),
            recipient: None,
            missed: Missed::RunOnce,
            retries: 0,
            model: None,
            enabled: true,
            paused: false,
            origin,
            person: request.person,
            untrusted: request.untrusted,
        };
        jobs.push(JobRecord::new(job, None));
        Ok(jobs.last().unwrap().clone())
    }

    async fn remove(&self, id: &str, _expected: Expected) -> Result<(), JobRefusal> {
        let mut jobs = self.0.lock().unwrap();
        let before = jobs.len();
        jobs.retain(|record| record.job.job_id.as_str() != id);
        if jobs.len() < before { Ok(()) } else { Err(JobRefusal::unknown(id)) }
    }

    async fn set_paused(
        &self,
        id: &str,
        _is_paused: bool,
        _expected: Expected,
    ) -> Result<JobRecord, JobRefusal> {
        Err(JobRefusal::unknown(id))
    }

    async fn run(&self, id: &str) -> Result<RunRecord, JobRefusal> {
        Err(JobRefusal::unknown(id))
    }

    async fn runs(&self, id: &str, _limit: usize) -> Result<Vec<RunRecord>, JobRefusal> {
        Err(JobRefusal::unknown(id))
    }
}

/// One SOP of two steps.
struct OneSop;

#[async_trait]
impl SopCatalog for OneSop {
    async fn sops(&self) -> Result<Vec<Arc<Sop>>> {
        Ok(Vec::new())
    }

    async fn sop(&self, name: &SopName) -> Result<Option<Arc<Sop>>> {
        let step = |title: &str| SopStep { title: title.into(), text: "do it".into(), schema: None };
        Ok(Some(Arc::new(Sop {
            name: name.clone(),
            title: "Tidy".into(),
            description: String::new(),
            parameters: Vec::new(),
            steps: vec![step("first"), step("second")],
            origin: SopOrigin::BuiltIn,
            content: "".into(),
        })))
    }

    async fn broken(&self) -> Result<Vec<BrokenSop>> {
        Ok(Vec::new())
    }

    fn check(&self, _content: &str) -> SopCheck {
        SopCheck::default()
    }

    async fn save(
        &self,
        name: &SopName,
        _content: &str,
        _expected: Expected,
    ) -> Result<Arc<Sop>, SopRefusal> {
        Err(SopRefusal::Unknown(name.clone()))
    }

    async fn remove(&self, name: &SopName, _expected: Expected) -> Result<(), SopRefusal> {
        Err(SopRefusal::Unknown(name.clone()))
    }

    async fn versions(&self, _name: &SopName) -> Result<Vec<SopVersion>> {
        Ok(Vec::new())
    }
}

impl House {
    fn new() -> Self {
        let (store, schedule) = (Arc::new(MemoryStore::default()), Arc::new(Jobs::default()));
        let clock = Arc::new(ManualClock::at(Timestamp::UNIX_EPOCH));
        let mut needs = Needs::new(clock, store.clone(), store.clone());
        needs.courier = Some(Arc::new(ThroughStore(store.clone())));
        needs.memory = Some(store.clone());
        let mut all = tools(&sets(&Options::default(), &needs));
        let (sops, bus) = (Arc::new(OneSop), EventBus::default());
        all.extend(workflow_tools(sops, store.clone(), schedule.clone(), bus));
        Self { store, schedule, tools: all }
    }

    /// Makes a call, and makes it again as after a restart. Both answers are the same.
    async fn twice(&self, id: &str, name: &str, input: Value) -> String {
        let [first, again] = self.both(&Person::default(), id, name, input).await;
        assert_eq!(first, again, "{name}");
        first
    }

    /// The answers to a call of this person, and to the same call after a restart.
    async fn both(&self, person: &Person, id: &str, name: &str, input: Value) -> [String; 2] {
        let inbound = Inbound::say(SessionId::of("webchat", "a").unwrap(), "use it");
        let inbound = inbound.for_person(person.clone());
        let turn = TurnContext::of(TurnId::existing("the turn"), &inbound);
        let context = ToolContext::of(&turn, Arc::new(Unattended), 12_000);
        let call = ToolCall { id: id.into(), name: name.into(), input: input.clone(), opaque: None };
        let tool = common::named(&self.tools, name);
        assert!(tool.spec().runs_again(), "{name}");
        let text = |answer: Result<_, ToolError>| match answer {
            Ok(output) => ToolOutput::to_text(&output),
            Err(error) => error.to_string(),
        };
        let first = tool.call(&context.for_call(&call), input.clone()).await;
        let again = tool.call(&context.for_repeated_call(&call), input).await;
        [text(first), text(again)]
    }
}

#[tokio::test]
async fn a_fact_is_remembered_corrected_and_forgotten_once() {
    let house = House::new();
    let tool = "manage_memory";
    let store = json!({"action": "store", "content": "Ada lives in Lisbon."});
    assert!(house.twice("1", tool, store).await.contains("memory 1"));
    house.twice("2", tool, json!({"action": "store", "id": "1", "content": "Ada lives in Porto."})).await;
    assert!(house.twice("3", tool, json!({"action": "list"})).await.starts_with("1 of 1"));
    let forget = |id: &str| json!({"action": "forget", "id": id});
    let [first, again] = house.both(&Person::default(), "4", tool, forget("1")).await;
    assert_eq!((&*first, &*again), (FORGOTTEN, "There is no memory 1 any more."));
    // An unknown memory is not reported as forgotten, nor does a guest learn of the owner's.
    let store = json!({"action": "store", "content": "Ada likes tea."});
    assert!(house.twice("5", tool, store).await.contains("memory 2"));
    for (person, id) in [(Person::default(), "9"), (Person::guest("telegram", "1"), "2")] {
        let [_, again] = house.both(&person, "6", tool, forget(id)).await;
        assert_eq!(again, format!("There is no memory {id} any more."));
    }
    assert_eq!(house.both(&Person::default(), "7", tool, forget("2")).await[0], FORGOTTEN.replace('1', "2"));
}

const FORGOTTEN: &str = "Memory 1 is forgotten, with its history.";

#[tokio::test]
async fn a_message_is_sent_once() {
    let house = House::new();
    let message = json!({"channel": "webchat", "text": "hello", "recipient": "ada"});
    house.twice("1", "send_message", message.clone()).await;
    house.twice("2", "send_message", json!({"channel": "webchat", "text": "hello"})).await;
    let sent = house.store.deliveries();
    assert_eq!(sent.len(), 2, "to two recipients");
    // A repeated wish of the model is served twice.
    let tool = common::named(&house.tools, "send_message");
    tool.call(&common::context(8_000), message).await.unwrap();
    assert_eq!(house.store.deliveries().len(), 3);
}

#[tokio::test]
async fn a_job_is_made_and_removed_once() {
    let house = House::new();
    let names = || -> Vec<String> {
        house.schedule.0.lock().unwrap().iter().map(|record| record.job.job_id.to_string()).collect()
    };
    let job = json!({"run_at": "2099-01-01T00:00:00Z", "prompt": "water the plants"});
    house.twice("1", "schedule_task", job.clone()).await;
    assert_eq!(names().len(), 1);
    house.twice("2", "schedule_task", job).await;
    assert_eq!(names().len(), 2, "another call is another job");
    let named = |prompt: &str| json!({"run_at": "2099-01-01T00:00:00Z", "prompt": prompt, "job_id": "tea"});
    house.twice("3", "schedule_task", named("make tea")).await;
    assert_eq!(names().len(), 3);
    let remove = "remove_scheduled_job";
    let guest = Person::guest("telegram", "1");
    let gone = |id: &str| format!("There is no job {id} any more.");
    // A guest gets the same answer for a job of the owner and for one that does not exist.
    for id in ["tea", "coffee"] {
        let [_, again] = house.both(&guest, "4", remove, json!({"job_id": id})).await;
        assert_eq!(again, gone(id));
    }
    let answers = house.both(&Person::default(), "4", remove, json!({"job_id": "tea"})).await;
    assert_eq!(answers, ["The job tea is removed.".to_owned(), gone("tea")]);
    let answers = house.both(&Person::default(), "4", remove, json!({"job_id": "coffee"})).await;
    assert!(!answers[0].contains("removed") && answers[1] == gone("coffee"), "{answers:?}");
    assert_eq!(names().len(), 2);
    // The name may belong to another job, which must not be mistaken for the requested one.
    house.twice("5", "schedule_task", named("make tea")).await;
    let context = common::context(8_000);
    let call = ToolCall { id: "6".into(), name: "schedule_task".into(), input: Value::Null, opaque: None };
    let tool = common::named(&house.tools, "schedule_task");
    let refused = tool.call(&context.for_repeated_call(&call), named("make coffee")).await;
    assert!(refused.unwrap_err().to_string().contains("there is a job"));
}

#[tokio::test]
async fn a_step_is_done_once() {
    let house = House::new();
    let run = SopRun {
        run_id: "r".into(),
        sop_name: SopName::parse("tidy").unwrap(),
        session_id: SessionId::of("webchat", "a").unwrap(),
        turn: Some(TurnId::existing("the turn")),
        state: SopRunState::Running,
        step: 0,
        steps_done: 0,
        steps: 2,
        parameters: BTreeMap::new(),
        started_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
        cost_usd: 0.0,
        error: None,
    };
    SopRuns::open(&*house.store, &run).await.unwrap();
    house.twice("1", "sop_step", json!({"step": 1, "state": "begun"})).await;
    house.twice("2", "sop_step", json!({"step": 1, "state": "done"})).await;
    let run = SopRuns::run(&*house.store, "r").await.unwrap().unwrap();
    assert_eq!((run.step, run.steps_done), (1, 1));
}

#[test]
fn acting_tools_run_again_only_if_they_recognise_their_effect() {
    let again = ["manage_memory", "remove_scheduled_job", "schedule_task", "send_message", "sop_step"];
    for tool in House::new().tools {
        let spec = tool.spec();
        let expected = spec.read_only || again.contains(&spec.name.as_str());
        assert_eq!(spec.runs_again(), expected, "{}", spec.name);
    }
}
