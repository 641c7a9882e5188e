//! Recognises messages that call a SOP, asks for missing parameters, opens a run, and attaches the SOP to the message.
//!
//! A message calls a SOP if it begins with `/name`, or if its source says so (a webhook, a job). A stranger's text
//! never calls one by itself. While a run waits for its person, the next message of the session continues it.

use std::collections::BTreeMap;
use std::sync::Arc;

use aethon_core::answer_schema::AnswerSchema;
use aethon_core::assistant::Assistant;
use aethon_core::error::{Error, Result};
use aethon_core::ids::{SessionId, TurnId, unique};
use aethon_core::ledger::WorkKind;
use aethon_core::message::{Dedupe, Handling, Inbound, Intent};
use aethon_core::sop::{Sop, SopName, SopRunChange, SopRunState, SopRunner};
use aethon_core::surface::Unattended;
use async_trait::async_trait;

use super::brief::{self, Audience};
use super::claim::{Beginning, Effect, SopClaim};
use super::input::{SopInput, call, read_input};
use super::runs::Sops;
use super::schemas;
use crate::commands::{Claim, CommandHandler};

/// The command that withdraws a question for parameters.
const CANCEL: &str = "cancel";

/// Routes messages to SOPs.
pub struct SopRouter {
    /// Runs that are resumed go straight to it: there is nothing left to recognise.
    engine: Arc<dyn Assistant>,
    sops: Sops,
}

/// A SOP that has all it needs.
struct Start {
    sop: Arc<Sop>,
    input: SopInput,
    /// The run that asked for parameters.
    asked: Option<String>,
}

impl SopRouter {
    /// Routes messages to these SOPs.
    pub fn new(engine: Arc<dyn Assistant>, sops: Sops) -> Self {
        Self { engine, sops }
    }

    /// Returns the effect of a message that calls a SOP by name, or whose source does.
    async fn call_named(&self, inbound: &mut Inbound, name: &SopName) -> Result<Option<Effect>> {
        if self.is_second_delivery(inbound).await? {
            return Ok(None);
        }
        let sop = self.find(name).await?;
        // The name may also precede the text.
        let text = match call(&inbound.text) {
            Some((called, rest)) if called == *name && !inbound.untrusted => rest,
            _ => &inbound.text,
        };
        let input = read_input(&sop, BTreeMap::new(), text);
        self.start_or_ask(inbound, sop, input).await.map(Some)
    }

    /// Returns the effect of an ordinary message; `None` if it has nothing to do with SOPs.
    async fn route_text(&self, inbound: &mut Inbound) -> Result<Option<Effect>> {
        let waiting = self.sops.open.get(&inbound.session).filter(|run| run.is_waiting);
        let called = call(&inbound.text);
        if (waiting.is_none() && called.is_none()) || self.is_second_delivery(inbound).await? {
            return Ok(None);
        }
        if let Some((name, rest)) = called {
            if let Some(sop) = self.sops.parts.catalog.sop(&name).await? {
                let input = read_input(&sop, BTreeMap::new(), rest);
                return self.start_or_ask(inbound, sop, input).await.map(Some);
            }
            if name.as_str() == CANCEL && waiting.is_some() {
                return Ok(Some(answer(inbound, "The SOP is cancelled.".into(), Effect::Cancel)));
            }
        }
        match waiting {
            Some(waiting) => self.answer_run(inbound, waiting.run_id).await,
            None => Ok(None),
        }
    }

    /// Returns the effect of a message on the run that waits for it.
    async fn answer_run(&self, inbound: &mut Inbound, run_id: String) -> Result<Option<Effect>> {
        let runs = &self.sops.parts.runs;
        let Some(run) = runs.run(&run_id).await?.filter(|run| run.state.awaits_message()) else {
            self.sops.open.remove(&inbound.session, &run_id);
            return Ok(None);
        };
        if run.state == SopRunState::Waiting {
            self.sops.open.set_running(&inbound.session, &run_id);
            if let Some(sop) = self.sops.parts.catalog.sop(&run.sop_name).await? {
                choose_model(inbound, &sop);
                inbound.wishes.schema = answer_schema(&sop)?.map(Box::new).or(inbound.wishes.schema.take());
            }
            hand_to_run(inbound, run.sop_name, &run_id);
            return Ok(Some(Effect::Continue { run_id }));
        }
        let Some(sop) = self.sops.parts.catalog.sop(&run.sop_name).await? else {
            self.sops.stop_waiting_run(&inbound.session).await?;
            return Ok(None);
        };
        let before = run.parameters.clone();
        let input = read_input(&sop, run.parameters, &inbound.text);
        let missing = input.missing(&sop);
        if missing.is_empty() {
            return self.begin(inbound, Start { sop, input, asked: Some(run_id) }).await.map(Some);
        }
        let question = brief::question(&sop, &missing);
        let change = SopRunChange { parameters: Some(input.parameters), ..SopRunChange::default() };
        runs.change(&run_id, change).await?;
        Ok(Some(answer(inbound, question, Effect::Fill { run_id, before })))
    }

    /// Starts a run, or asks for missing parameters if there is a person to ask.
    async fn start_or_ask(&self, inbound: &mut Inbound, sop: Arc<Sop>, input: SopInput) -> Result<Effect> {
        let missing = input.missing(&sop);
        if missing.is_empty() {
            return self.begin(inbound, Start { sop, input, asked: None }).await;
        }
        if audience(inbound) == Audience::None {
            let names: Vec<&str> = missing.iter().map(|one| one.name.as_str()).collect();
            return Err(Error::invalid(format!(
                "the SOP {} needs {}; give it as text or as {}=...",
                sop.name,
                names.join(" and "),
                names.first().copied().unwrap_or_default()
            )));
        }
        let question = brief::question(&sop, &missing);
        let run_id = self.sops.open_run(&inbound.session, &sop, &input, SopRunState::Asking).await?;
        let before = self.sops.open.get(&inbound.session);
        self.sops.open.set_waiting(&inbound.session, &run_id);
        self.sops.parts.publish(&run_id).await;
        Ok(answer(inbound, question, Effect::Ask { run_id, before }))
    }

    /// Prepares a message that starts a run. The run is recorded first, because its turn may begin before the engine
    /// returns.
    async fn begin(&self, inbound: &mut Inbound, start: Start) -> Result<Effect> {
        let Start { sop, mut input, asked } = start;
        inbound.wishes.schema = answer_schema(&sop)?.map(Box::new).or(inbound.wishes.schema.take());
        let file = brief::file(&sop, &input, audience(inbound), inbound.untrusted);
        if inbound.untrusted {
            // They are a stranger's words and stay in the message.
            input.parameters.clear();
        }
        let is_opened = asked.is_none();
        let run_id = match asked {
            Some(run_id) => run_id,
            None => self.sops.open_run(&inbound.session, &sop, &input, SopRunState::Running).await?,
        };
        let before = self.sops.open.get(&inbound.session);
        self.sops.open.set_running(&inbound.session, &run_id);
        inbound.attachments.push(file);
        choose_model(inbound, &sop);
        hand_to_run(inbound, sop.name.clone(), &run_id);
        Ok(Effect::Begin(Beginning { run_id, parameters: input.parameters, before, is_opened }))
    }

    /// Returns whether this message was processed before; then its turn exists, and its changes are made.
    async fn is_second_delivery(&self, inbound: &Inbound) -> Result<bool> {
        let Some(dedupe) = &inbound.dedupe else { return Ok(false) };
        Ok(self.sops.parts.turns.known(&inbound.channel, &dedupe.id).await?.is_some())
    }

    async fn find(&self, name: &SopName) -> Result<Arc<Sop>> {
        let sop = self.sops.parts.catalog.sop(name).await?;
        sop.ok_or_else(|| Error::not_found(format!("there is no SOP named {name}")))
    }
}

#[async_trait]
impl CommandHandler for SopRouter {
    async fn claim(&self, inbound: &mut Inbound) -> Result<Option<Box<dyn Claim>>> {
        if inbound.intent != Intent::Say {
            return Ok(None);
        }
        let effect = match inbound.handling.clone() {
            Handling::Program { .. } | Handling::Sop { run: Some(_), .. } => None,
            Handling::Sop { name, run: None } => self.call_named(inbound, &name).await?,
            Handling::Model if inbound.is_from_outside() => None,
            Handling::Model => self.route_text(inbound).await?,
        };
        let (sops, session) = (self.sops.clone(), inbound.session.clone());
        Ok(effect.map(|effect| Box::new(SopClaim { sops, session, effect }) as Box<dyn Claim>))
    }

    async fn forget(&self, session: &SessionId) -> Result<()> {
        self.sops.stop_waiting_run(session).await
    }
}

#[async_trait]
impl SopRunner for SopRouter {
    async fn resume(&self, run_id: &str) -> Result<TurnId> {
        let run = self.sops.parts.runs.run(run_id).await?;
        let run = run.ok_or_else(|| Error::not_found(format!("there is no run {run_id:?}")))?;
        match run.state {
            SopRunState::Failed | SopRunState::Stopped | SopRunState::Waiting => {}
            SopRunState::Done => return Err(Error::invalid("the run is done; start the SOP anew")),
            SopRunState::Running => return Err(Error::invalid("the run is under way")),
            SopRunState::Asking => {
                return Err(Error::invalid("the run waits for parameters; answer in its session"));
            }
        }
        let sop = self.find(&run.sop_name).await?;
        let schema = answer_schema(&sop)?;
        let input = SopInput { parameters: run.parameters, free_text: String::new() };
        let step = run.step.max(run.steps_done + 1).min(run.steps.max(1));
        let text = format!("Go on with the SOP `{}` at step {step}.", run.sop_name);
        let handling = Handling::Sop { name: run.sop_name, run: Some(run_id.to_owned()) };
        let before = match &run.turn {
            Some(turn) => self.sops.parts.turns.turn(turn).await?,
            None => None,
        };
        // A resumed run continues for its own person and with its own trust, not those of the caller.
        let before = before.map(|turn| turn.inbound);
        let outside = before.as_ref().is_some_and(Inbound::is_from_outside);
        let inbound = Inbound::say(run.session_id.clone(), text)
            .for_person(before.map(|inbound| inbound.behalf.person).unwrap_or_default())
            .with_outside(outside)
            .with_model(sop.model().map(str::to_owned))
            .with_attachments(vec![brief::reminder(&sop, &input, run.step, run.steps_done)])
            .with_dedupe(dedupe(run_id))
            .with_schema(schema)
            .handled_by(handling);
        let open = self.sops.open.get(&run.session_id);
        self.sops.open.set_running(&run.session_id, run_id);
        let submitted = self.engine.submit(inbound, Arc::new(Unattended)).await;
        if submitted.is_err() {
            self.sops.restore_open_run(&run.session_id, run_id, open);
        }
        Ok(submitted?.turn)
    }
}

/// Returns the schema of the answer that ends a run: that of its last step. The error names a schema that cannot be used.
fn answer_schema(sop: &Sop) -> Result<Option<AnswerSchema>> {
    for (number, step) in (1..).zip(&sop.steps) {
        if let Some(schema) = &step.schema
            && let Err(why) = &schema.content
        {
            let why = schemas::unusable(schema, why);
            return Err(Error::invalid(format!("step {number} of the SOP {}: {why}", sop.name)));
        }
    }
    let last = sop.steps.last().and_then(|step| step.schema.as_ref());
    let schema = last.and_then(|schema| schema.content.as_ref().ok());
    Ok(schema.map(|schema| (**schema).clone()))
}

/// Turns a message into one that the program answers.
fn answer(inbound: &mut Inbound, answer: String, effect: Effect) -> Effect {
    inbound.handling = Handling::Program { answer };
    effect
}

/// Lets the SOP's model answer, unless the message names one.
fn choose_model(inbound: &mut Inbound, sop: &Sop) {
    if inbound.wishes.model.is_none() {
        inbound.wishes.model = sop.model().map(str::to_owned);
    }
}

/// Turns a message into one that a turn of a run works on.
fn hand_to_run(inbound: &mut Inbound, name: SopName, run_id: &str) {
    inbound.handling = Handling::Sop { name, run: Some(run_id.to_owned()) };
    // A turn with a dedupe id is resumed after a crash.
    inbound.dedupe.get_or_insert_with(|| dedupe(run_id));
}

/// Returns whether a person can answer questions.
fn audience(inbound: &Inbound) -> Audience {
    let is_alone = inbound.is_from_outside() || inbound.kind == WorkKind::Scheduled;
    if is_alone { Audience::None } else { Audience::Person }
}

fn dedupe(run_id: &str) -> Dedupe {
    Dedupe { id: format!("sop:{run_id}:{}", unique()), fingerprint: None, valid_for: None }
}
