//! The door in front of the engine's: it recognises messages that call a SOP, asks for missing parameters, opens a run,
//! and passes the message on with the SOP attached. Everything else passes through.
//!
//! A message calls a SOP if it begins with `/name`, or if its source says so (a webhook, a job). A stranger's text
//! never calls one by itself. While a run waits for its person, the next message of the session continues it.
//!
//! A message that is not accepted changes nothing, and a duplicate delivery does not count twice.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use aethon_core::agents::AgentBoard;
use aethon_core::assistant::{ActiveTurn, Assistant, Posting, Submitted};
use aethon_core::clock::Clock;
use aethon_core::error::{Error, Result};
use aethon_core::event::EventBus;
use aethon_core::hook::Hook;
use aethon_core::ids::{SessionId, TurnId, unique};
use aethon_core::ledger::WorkKind;
use aethon_core::message::{Dedupe, Handling, Inbound, Intent};
use aethon_core::session::{Clear, TurnLog};
use aethon_core::sop::{Sop, SopCatalog, SopName, SopRun, SopRunChange, SopRunState, SopRunner, SopRuns};
use aethon_core::surface::{Surface, Unattended};
use async_trait::async_trait;
use jiff::SignedDuration;

use super::brief::{self, Company};
use super::input::{SopInput, call, read_input};
use super::record::{self, RecordSopRuns, publish};

/// How many runs are resumed at start-up.
const MAX_OPEN: usize = 1_000;

/// The longest time between opening a run and recording its turn.
const HANDED_ON: SignedDuration = SignedDuration::from_mins(1);

/// The word that withdraws a question for parameters.
const CANCEL: &str = "cancel";

/// The runs in progress by session, in memory: most messages have nothing to do with a run and need no query.
#[derive(Clone, Default)]
pub(super) struct Open(Arc<Mutex<HashMap<SessionId, OpenRun>>>);

#[derive(Clone)]
struct OpenRun {
    run_id: String,
    /// Whether the session's next message continues it.
    is_waiting: bool,
}

impl Open {
    fn set(&self, session: &SessionId, run_id: &str, is_waiting: bool) {
        let run = OpenRun { run_id: run_id.to_owned(), is_waiting };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(session.clone(), run);
    }

    /// A turn is working on it.
    pub(super) fn runs(&self, session: &SessionId, run_id: &str) {
        self.set(session, run_id, false);
    }

    /// It is waiting for the person.
    pub(super) fn waits(&self, session: &SessionId, run_id: &str) {
        self.set(session, run_id, true);
    }

    /// It is over.
    pub(super) fn ended(&self, session: &SessionId, run_id: &str) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open.get(session).is_some_and(|run| run.run_id == run_id) {
            open.remove(session);
        }
    }

    pub(super) fn has(&self, session: &SessionId) -> bool {
        self.get(session).is_some()
    }

    fn waiting(&self, session: &SessionId) -> Option<String> {
        self.get(session).filter(|run| run.is_waiting).map(|run| run.run_id)
    }

    fn get(&self, session: &SessionId) -> Option<OpenRun> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(session).cloned()
    }
}

/// What running SOPs needs before there is an engine. Cheap to clone; clones share it.
#[derive(Clone)]
pub struct Sops {
    catalog: Arc<dyn SopCatalog>,
    runs: Arc<dyn SopRuns>,
    turns: Arc<dyn TurnLog>,
    open: Open,
    board: AgentBoard,
    bus: EventBus,
    clock: Arc<dyn Clock>,
}

impl Sops {
    /// SOPs of this catalog, with these stores for runs and turns. The board says which turn called which.
    pub fn new(
        catalog: Arc<dyn SopCatalog>,
        (runs, turns): (Arc<dyn SopRuns>, Arc<dyn TurnLog>),
        board: AgentBoard,
        bus: EventBus,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { catalog, runs, turns, open: Open::default(), board, bus, clock }
    }

    /// Returns the hook that the engine needs to keep runs up to date.
    pub fn hook(&self) -> Arc<dyn Hook> {
        let (runs, open) = (self.runs.clone(), self.open.clone());
        Arc::new(RecordSopRuns::new(runs, open, (self.board.clone(), self.bus.clone())))
    }

    /// Returns the catalog of SOPs.
    pub fn catalog(&self) -> Arc<dyn SopCatalog> {
        self.catalog.clone()
    }

    /// Returns the stored runs.
    pub fn runs(&self) -> Arc<dyn SopRuns> {
        self.runs.clone()
    }

    /// Loads the runs that an earlier process had in progress. If that was killed between the end of a run's turn and
    /// the record of it, the record is made now.
    pub async fn load(&self) -> Result<()> {
        for state in [SopRunState::Running, SopRunState::Waiting, SopRunState::Asking] {
            for mut run in self.runs.runs(Some(state), MAX_OPEN).await? {
                if state == SopRunState::Running {
                    let Some(left) = self.settled(run).await? else { continue };
                    run = left;
                }
                self.open.set(&run.session_id, &run.run_id, run.state.awaits_message());
            }
        }
        Ok(())
    }

    /// Brings a run that is stored as running up to date with the outcome of its turn; `None` if it is over.
    async fn settled(&self, run: SopRun) -> Result<Option<SopRun>> {
        let Some(turn) = &run.turn else {
            // Another program may be handing it on right now. If its turn does begin, that will be recorded.
            if self.clock.now().duration_since(run.updated_at) < HANDED_ON {
                return Ok(Some(run));
            }
            let change = SopRunChange {
                state: Some(SopRunState::Failed),
                error: Some("interrupted before it began; `aethon-cli sop resume` begins it".into()),
                ..SopRunChange::default()
            };
            self.runs.change(&run.run_id, change).await?;
            return Ok(None);
        };
        let reply = self.turns.turn(turn).await?.and_then(|turn| turn.reply);
        let Some(reply) = reply else { return Ok(Some(run)) };
        // What was spent before the end is already included.
        let change = record::change(&run, &reply, reply.usage.cost_usd);
        self.runs.change(&run.run_id, change).await?;
        Ok(self.runs.run(&run.run_id).await?.filter(|run| run.state.awaits_message()))
    }
}

/// The door for SOPs.
pub struct SopDoor {
    inner: Arc<dyn Assistant>,
    sops: Sops,
}

/// What to do with a message.
enum Plan {
    /// The program answers it, with these consequences.
    Answer(String, Effect),
    /// It starts a run, or provides a run's last parameters.
    Start(Box<Start>),
    /// It continues a run.
    GoOn(SopName, String),
}

/// How an answer of the program affects runs.
enum Effect {
    /// The waiting run is cancelled.
    Cancelled,
    /// A run was opened and asks for parameters; the other one was open in the session before.
    ParametersAsked(String, Option<OpenRun>),
    /// A run has received parameters; these are the ones it had before.
    ParametersAdded(String, BTreeMap<String, String>),
}

struct Start {
    sop: Arc<Sop>,
    input: SopInput,
    /// The run that asked for parameters.
    asked: Option<String>,
}

impl SopDoor {
    /// Places the door in front of this assistant.
    pub fn new(inner: Arc<dyn Assistant>, sops: Sops) -> Self {
        Self { inner, sops }
    }

    /// Returns what to do; `None` for a message that has nothing to do with SOPs.
    async fn plan(&self, inbound: &Inbound) -> Result<Option<Plan>> {
        if inbound.intent != Intent::Say {
            return Ok(None);
        }
        match &inbound.handling {
            Handling::Program { .. } | Handling::Sop { run: Some(_), .. } => Ok(None),
            Handling::Sop { name, run: None } => {
                if self.is_second_delivery(inbound).await? {
                    return Ok(None);
                }
                let sop = self.sops.catalog.sop(name).await?;
                let sop = sop.ok_or_else(|| Error::not_found(format!("there is no SOP named {name}")))?;
                // The name may also precede the text.
                let text = match call(&inbound.text) {
                    Some((called, rest)) if called == *name && !inbound.untrusted => rest,
                    _ => &inbound.text,
                };
                self.start(inbound, sop, text).await.map(Some)
            }
            Handling::Model if inbound.is_from_outside() => Ok(None),
            Handling::Model => self.plan_message(inbound).await,
        }
    }

    async fn plan_message(&self, inbound: &Inbound) -> Result<Option<Plan>> {
        let waiting = self.sops.open.waiting(&inbound.session);
        let called = call(&inbound.text);
        if (waiting.is_none() && called.is_none()) || self.is_second_delivery(inbound).await? {
            return Ok(None);
        }
        if let Some((name, rest)) = called {
            if let Some(sop) = self.sops.catalog.sop(&name).await? {
                return self.start(inbound, sop, rest).await.map(Some);
            }
            if name.as_str() == CANCEL && waiting.is_some() {
                return Ok(Some(Plan::Answer("The SOP is cancelled.".into(), Effect::Cancelled)));
            }
        }
        let Some(run_id) = waiting else { return Ok(None) };
        let run = self.sops.runs.run(&run_id).await?;
        let Some(run) = run.filter(|run| run.state.awaits_message()) else {
            self.sops.open.ended(&inbound.session, &run_id);
            return Ok(None);
        };
        if run.state == SopRunState::Waiting {
            return Ok(Some(Plan::GoOn(run.sop_name, run_id)));
        }
        let Some(sop) = self.sops.catalog.sop(&run.sop_name).await? else {
            self.drop_waiting(&inbound.session).await?;
            return Ok(None);
        };
        let before = run.parameters.clone();
        let input = read_input(&sop, run.parameters, &inbound.text);
        if input.missing(&sop).is_empty() {
            return Ok(Some(Plan::Start(Box::new(Start { sop, input, asked: Some(run_id) }))));
        }
        let change = SopRunChange { parameters: Some(input.parameters.clone()), ..SopRunChange::default() };
        self.sops.runs.change(&run_id, change).await?;
        let question = brief::question(&sop, &input.missing(&sop));
        Ok(Some(Plan::Answer(question, Effect::ParametersAdded(run_id, before))))
    }

    /// Whether this message was processed before; then its turn exists, and its changes are made.
    async fn is_second_delivery(&self, inbound: &Inbound) -> Result<bool> {
        let Some(dedupe) = &inbound.dedupe else { return Ok(false) };
        Ok(self.sops.turns.known(&inbound.channel, &dedupe.id).await?.is_some())
    }

    /// Starts a run, or asks for what is missing if somebody can be asked.
    async fn start(&self, inbound: &Inbound, sop: Arc<Sop>, text: &str) -> Result<Plan> {
        let input = read_input(&sop, BTreeMap::new(), text);
        let missing = input.missing(&sop);
        if missing.is_empty() {
            return Ok(Plan::Start(Box::new(Start { sop, input, asked: None })));
        }
        let question = brief::question(&sop, &missing);
        if company(inbound) == Company::Nobody {
            let names: Vec<&str> = missing.iter().map(|one| one.name.as_str()).collect();
            return Err(Error::invalid(format!(
                "the SOP {} needs {}; give it as text or as {}=...",
                sop.name,
                names.join(" and "),
                names.first().copied().unwrap_or_default()
            )));
        }
        let run = self.new_run(&inbound.session, &sop, &input, SopRunState::Asking);
        self.sops.runs.open(&run).await?;
        let before = self.sops.open.get(&inbound.session);
        self.sops.open.waits(&inbound.session, &run.run_id);
        publish(&self.sops.bus, &*self.sops.runs, &run.run_id).await;
        Ok(Plan::Answer(question, Effect::ParametersAsked(run.run_id, before)))
    }

    /// Passes on a message that the program answers.
    async fn submit_answered(
        &self,
        inbound: Inbound,
        (answer, effect): (String, Effect),
        surface: Arc<dyn Surface>,
    ) -> Result<Submitted> {
        let session = inbound.session.clone();
        let submitted = self.inner.submit(inbound.handled_by(Handling::Program { answer }), surface).await;
        let is_new = submitted.as_ref().is_ok_and(|submitted| submitted.is_new);
        match effect {
            Effect::Cancelled if is_new => self.drop_waiting(&session).await?,
            Effect::ParametersAsked(_, before) if is_new => self.end_waiting(before).await?,
            Effect::ParametersAsked(run_id, before) => {
                self.put_back(&session, &run_id, before);
                self.sops.runs.discard(&run_id).await?;
            }
            Effect::ParametersAdded(run_id, parameters) if !is_new => {
                let change = SopRunChange { parameters: Some(parameters), ..SopRunChange::default() };
                self.sops.runs.change(&run_id, change).await?;
            }
            Effect::Cancelled | Effect::ParametersAdded(..) => {}
        }
        submitted
    }

    /// Passes on a message that starts a run. The run is recorded first, because its turn may begin before `submit`
    /// returns.
    async fn submit_start(
        &self,
        mut inbound: Inbound,
        start: Start,
        surface: Arc<dyn Surface>,
    ) -> Result<Submitted> {
        let Start { sop, mut input, asked } = start;
        let (is_untrusted, company) = (inbound.untrusted, company(&inbound));
        let file = brief::file(&sop, &input, company, is_untrusted);
        if is_untrusted {
            // They are a stranger's words and stay in the message.
            input.parameters.clear();
        }
        let run_id = match &asked {
            Some(run_id) => run_id.clone(),
            None => {
                let run = self.new_run(&inbound.session, &sop, &input, SopRunState::Running);
                self.sops.runs.open(&run).await?;
                run.run_id
            }
        };
        let before = self.sops.open.get(&inbound.session);
        self.sops.open.runs(&inbound.session, &run_id);
        inbound.attachments.push(file);
        // A turn with a dedupe id is resumed after a crash.
        inbound.dedupe.get_or_insert_with(|| dedupe(&run_id));
        let session = inbound.session.clone();
        let handling = Handling::Sop { name: sop.name.clone(), run: Some(run_id.clone()) };
        let submitted = self.inner.submit(inbound.handled_by(handling), surface).await;
        let is_new = submitted.as_ref().is_ok_and(|submitted| submitted.is_new);
        if !is_new {
            // Nothing began, so everything is as it was: an open question still waits for its answer.
            self.put_back(&session, &run_id, before);
            if asked.is_none() {
                self.sops.runs.discard(&run_id).await?;
            }
        } else if let (Ok(submitted), true) = (&submitted, is_new) {
            let change = SopRunChange {
                turn: Some(submitted.turn.clone()),
                parameters: Some(input.parameters),
                ..SopRunChange::default()
            };
            self.sops.runs.change(&run_id, change).await?;
            publish(&self.sops.bus, &*self.sops.runs, &run_id).await;
            self.end_waiting(before.filter(|_| asked.is_none())).await?;
        }
        submitted
    }

    /// Restores what was open in the session before a run that did not begin.
    fn put_back(&self, session: &SessionId, run_id: &str, before: Option<OpenRun>) {
        self.sops.open.ended(session, run_id);
        if let Some(OpenRun { run_id, is_waiting }) = before {
            self.sops.open.set(session, &run_id, is_waiting);
        }
    }

    fn new_run(&self, session: &SessionId, sop: &Sop, input: &SopInput, state: SopRunState) -> SopRun {
        let now = self.sops.clock.now();
        SopRun {
            run_id: unique(),
            sop_name: sop.name.clone(),
            session_id: session.clone(),
            turn: None,
            state,
            step: 0,
            steps_done: 0,
            steps: u32::try_from(sop.steps.len()).unwrap_or(u32::MAX),
            parameters: input.parameters.clone(),
            started_at: now,
            updated_at: now,
            cost_usd: 0.0,
            error: None,
        }
    }

    /// Ends the run that waits in a session, because something else begins there.
    async fn drop_waiting(&self, session: &SessionId) -> Result<()> {
        let Some(open) = self.sops.open.get(session) else { return Ok(()) };
        if open.is_waiting {
            self.sops.open.ended(session, &open.run_id);
        }
        self.end_waiting(Some(open)).await
    }

    /// Ends a run that waited for its person and has been replaced by another.
    async fn end_waiting(&self, open: Option<OpenRun>) -> Result<()> {
        let Some(OpenRun { run_id, is_waiting: true }) = open else { return Ok(()) };
        let change = SopRunChange { state: Some(SopRunState::Stopped), ..SopRunChange::default() };
        self.sops.runs.change(&run_id, change).await?;
        publish(&self.sops.bus, &*self.sops.runs, &run_id).await;
        Ok(())
    }
}

#[async_trait]
impl Assistant for SopDoor {
    async fn submit(&self, inbound: Inbound, surface: Arc<dyn Surface>) -> Result<Submitted> {
        match self.plan(&inbound).await? {
            None => self.inner.submit(inbound, surface).await,
            Some(Plan::Answer(answer, effect)) => {
                self.submit_answered(inbound, (answer, effect), surface).await
            }
            Some(Plan::Start(start)) => self.submit_start(inbound, *start, surface).await,
            Some(Plan::GoOn(name, run)) => {
                self.sops.open.runs(&inbound.session, &run);
                let mut inbound = inbound.handled_by(Handling::Sop { name, run: Some(run.clone()) });
                inbound.dedupe.get_or_insert_with(|| dedupe(&run));
                let session = inbound.session.clone();
                let submitted = self.inner.submit(inbound, surface).await;
                if !submitted.as_ref().is_ok_and(|submitted| submitted.is_new) {
                    self.sops.open.waits(&session, &run);
                }
                submitted
            }
        }
    }

    async fn stop(&self, session: &SessionId, turn: Option<&TurnId>) -> usize {
        self.inner.stop(session, turn).await
    }

    fn activity(&self) -> Vec<ActiveTurn> {
        self.inner.activity()
    }

    fn is_busy(&self, session: &SessionId) -> bool {
        self.inner.is_busy(session)
    }

    async fn clear(&self, session: &SessionId, how: Clear) -> Result<bool> {
        let cleared = self.inner.clear(session, how).await?;
        self.drop_waiting(session).await?;
        Ok(cleared)
    }

    async fn post(&self, session: &SessionId, key: &str, posting: &Posting) -> Result<bool> {
        self.inner.post(session, key, posting).await
    }
}

#[async_trait]
impl SopRunner for SopDoor {
    async fn resume(&self, run_id: &str) -> Result<TurnId> {
        let run = self.sops.runs.run(run_id).await?;
        let run = run.ok_or_else(|| Error::not_found(format!("there is no run {run_id:?}")))?;
        match run.state {
            SopRunState::Failed | SopRunState::Stopped | SopRunState::Waiting => {}
            SopRunState::Done => return Err(Error::invalid("the run is done; start the SOP anew")),
            SopRunState::Running => return Err(Error::invalid("the run is under way")),
            SopRunState::Asking => {
                return Err(Error::invalid("the run waits for parameters; answer in its session"));
            }
        }
        let sop = self.sops.catalog.sop(&run.sop_name).await?;
        let sop = sop.ok_or_else(|| Error::not_found(format!("there is no SOP named {}", run.sop_name)))?;
        let input = SopInput { parameters: run.parameters, free_text: String::new() };
        let step = run.step.max(run.steps_done + 1).min(run.steps.max(1));
        let text = format!("Go on with the SOP `{}` at step {step}.", run.sop_name);
        let handling = Handling::Sop { name: run.sop_name, run: Some(run_id.to_owned()) };
        let before = match &run.turn {
            Some(turn) => self.sops.turns.turn(turn).await?,
            None => None,
        };
        // Whoever resumes it, it continues for the person whose run it is, and as far as that may go.
        let before = before.map(|turn| turn.inbound);
        let outside = before.as_ref().is_some_and(Inbound::is_from_outside);
        let inbound = Inbound::say(run.session_id.clone(), text)
            .for_person(before.map(|inbound| inbound.behalf.person).unwrap_or_default())
            .with_outside(outside)
            .with_attachments(vec![brief::reminder(&sop, &input, run.step, run.steps_done)])
            .with_dedupe(dedupe(run_id))
            .handled_by(handling);
        let open = self.sops.open.get(&run.session_id);
        self.sops.open.runs(&run.session_id, run_id);
        let submitted = self.inner.submit(inbound, Arc::new(Unattended)).await;
        if submitted.is_err() {
            self.put_back(&run.session_id, run_id, open);
        }
        Ok(submitted?.turn)
    }
}

/// Whether somebody is present who can be asked.
fn company(inbound: &Inbound) -> Company {
    let is_alone = inbound.is_from_outside() || inbound.kind == WorkKind::Scheduled;
    if is_alone { Company::Nobody } else { Company::Person }
}

fn dedupe(run_id: &str) -> Dedupe {
    Dedupe { id: format!("sop:{run_id}:{}", unique()), fingerprint: None, valid_for: None }
}
