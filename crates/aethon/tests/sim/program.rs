//! A program of the home: an engine over the faulty storage, and for a daemon its outbox and its schedule. A supervisor
//! starts it again whenever it has died or was shut down.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aethon_agent::outbox::Worker;
use aethon_agent::prompt::Prompt;
use aethon_agent::{Agent, Engine, Meter, Models, Options, Services};
use aethon_core::assistant::Assistant;
use aethon_core::channel::{Channel, Channels};
use aethon_core::event::EventBus;
use aethon_core::ledger::{Ledger, LedgerEntry, Price, WorkKind};
use aethon_core::model::Usage;
use aethon_core::owner::Owners;
use aethon_core::shutdown::ShutdownTrigger;
use aethon_core::testkit::NoWorkflows;
use aethon_core::tool::FixedTools;
use aethon_core::usage::Budget;
use aethon_workflows::schedule::{BookOptions, BookParts, JobBook, Scheduler, SchedulerParts};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::doubles::{FaultyChannel, FaultyLedger, FaultyModel, FaultyTool, Watcher};
use crate::store::FaultyStore;
use crate::world::{Life, World};

/// A program that runs.
#[derive(Clone)]
pub struct Program {
    pub life: Arc<Life>,
    pub engine: Engine,
    /// Ends its outbox and its schedule.
    triggers: Arc<Mutex<Vec<ShutdownTrigger>>>,
}

/// The place of a program: who runs there, if anybody does.
pub type Slot = watch::Sender<Option<Program>>;

impl Program {
    /// Starts one; a daemon delivers and runs jobs besides.
    async fn start(world: &Arc<World>, life: Arc<Life>, is_daemon: bool) -> Self {
        let base = world.open(&life);
        let store = Arc::new(FaultyStore { world: world.clone(), life: life.clone(), base });
        let (clock, bus) = (world.clock.clone(), EventBus::default());
        let ledger = Arc::new(FaultyLedger { world: world.clone(), life: life.clone() });
        let budget = Budget { daily_usd: 1_000.0, ..Budget::default() };
        let prices = Arc::new(|_: &str, _: &str, _| Some(Price::new(2.0, 10.0)));
        let meter = Meter::new(ledger, prices, budget, clock.clone(), bus);
        let model = Arc::new(FaultyModel { world: world.clone(), life: life.clone() });
        let tools = FixedTools::new("sim", FaultyTool::both(world, &life));
        let agent = Agent::main(Models::one(model), Arc::new(Prompt::fixed("You are Sim.")))
            .with_tools(vec![Arc::new(tools)]);
        let services = Services::new(store.clone(), store.clone(), store.clone(), meter, clock.clone());
        let wake = services.wake.clone();
        let is_short = world.seed.is_multiple_of(4);
        let options = Options::default().with(|options| {
            options.turn_timeout = Duration::from_secs(45);
            if is_short {
                (options.window_messages, options.keep_recent) = (8, 4);
            }
        });
        let engine = Engine::new(agent, services, options);
        let triggers = Arc::default();
        let program = Self { life: life.clone(), engine: engine.clone(), triggers };
        let (watched, its) = (world.clone(), life.clone());
        let watcher = move |_: &_| {
            let (world, life) = (watched.clone(), its.clone());
            let (number, since) = (world.count(), 0);
            Arc::new(Watcher { world, life, number, since }) as Arc<_>
        };
        // A start that fails is made again.
        while let Err(error) = engine.recover(watcher.clone()).await {
            world.note(|| format!("{} cannot start: {error}", life.number));
            sleep(Duration::from_secs(1)).await;
        }
        if is_daemon {
            program.start_workers(world, &store, wake);
        }
        program
    }

    fn start_workers(
        &self,
        world: &Arc<World>,
        store: &Arc<FaultyStore>,
        wake: aethon_agent::outbox::DeliveryWake,
    ) {
        let pigeon = FaultyChannel { world: world.clone(), life: self.life.clone() };
        let channels = Channels::new([Arc::new(pigeon) as Arc<dyn Channel>]).unwrap();
        // One each: those that wait for the same one wake in an order that no seed decides.
        let ((one, shutdown), (other, end)) = (ShutdownTrigger::pair(), ShutdownTrigger::pair());
        let worker = Worker::new(store.clone(), channels.clone(), world.clock.clone(), wake);
        tokio::spawn(worker.run(shutdown));
        let book = JobBook::new(BookParts {
            jobs: store.clone(),
            runs: store.clone(),
            sops: Arc::new(NoWorkflows),
            options: job_options(),
            clock: world.clock.clone(),
            bus: EventBus::default(),
        });
        let assistant = Arc::new(self.engine.clone());
        let scheduler = Scheduler::new(SchedulerParts { book, assistant, channels });
        tokio::spawn(scheduler.run(end));
        *self.triggers.lock().unwrap() = vec![one, other];
    }

    /// Ends it as a signal does.
    async fn shut_down(&self) {
        let triggers = std::mem::take(&mut *self.triggers.lock().unwrap());
        triggers.iter().for_each(ShutdownTrigger::trigger);
        self.engine.shutdown(Duration::from_secs(3)).await;
    }

    /// The turns in progress.
    pub fn activity(&self) -> Vec<String> {
        let told = |turn: aethon_core::assistant::ActiveTurn| format!("{} {}", turn.turn, turn.state);
        self.engine.activity().into_iter().map(told).collect()
    }
}

pub fn job_options() -> BookOptions {
    BookOptions {
        is_enabled: true,
        default_channel: "pigeon".into(),
        channels: vec!["pigeon".into()],
        without_home: Vec::new(),
    }
}

/// Keeps a program running in its place.
pub async fn supervise(world: Arc<World>, place: usize, slot: Arc<Slot>) {
    // Some are shut down after a while.
    let mut polite_ends = world.below(3);
    for generation in 0.. {
        if !world.violations().is_empty() {
            return;
        }
        let life = Life::new(place * 1_000 + generation);
        world.note(|| format!("{} starts", life.number));
        tokio::select! {
            biased;
            () = life.died() => {}
            program = Program::start(&world, life.clone(), place == 0) => {
                slot.send_replace(Some(program.clone()));
                let is_ended = polite_ends > 0 && !world.is_calm();
                let lasts = Duration::from_millis(200 + world.below(8_000) as u64);
                tokio::select! {
                    biased;
                    () = life.died() => {}
                    () = sleep(lasts), if is_ended => {
                        polite_ends -= 1;
                        if !world.is_calm() {
                            end(&world, &program).await;
                        } else {
                            life.died().await;
                        }
                    }
                }
            }
        }
        slot.send_replace(None);
        bury(&world, &life).await;
        let pause = if world.is_calm() { 0 } else { world.below(9_000) as u64 };
        sleep(Duration::from_millis(pause)).await;
    }
}

async fn end(world: &Arc<World>, program: &Program) {
    world.note(|| format!("{} is told to end", program.life.number));
    tokio::select! {
        biased;
        () = program.life.died() => {}
        () = program.shut_down() => program.life.kill(),
    }
}

/// Does as the storage does when it is opened after a dead program: counts its reservations as spent, as far as is known.
/// A daemon knows that the one before it is dead; of others only the lease says so.
async fn bury(world: &Arc<World>, life: &Life) {
    world.history(|history| history.deaths += 1);
    for id in world.left_by(life) {
        let entry = LedgerEntry {
            at: aethon_core::clock::Clock::now(&*world.clock),
            session: None,
            turn: None,
            provider: "sim".into(),
            model: "sim-1".into(),
            kind: WorkKind::Interrupted,
            usage: Usage::default(),
            saved_usd: 0.0,
            is_ok: false,
        };
        world.ledger.settle(Some(id), entry).await.unwrap();
        world.given_back(id);
    }
    if life.number < 1_000 && world.below(2) == 0 {
        world.release(life).await;
    }
}

impl World {
    /// Ends the lease of a program that is known to be gone.
    async fn release(&self, life: &Life) {
        for opened in self.opened_by(life) {
            opened.release().await.unwrap();
        }
    }
}
