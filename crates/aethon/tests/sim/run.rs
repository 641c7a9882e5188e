//! One seed, from an empty storage to rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aethon_core::event::EventBus;
use aethon_core::schedule::{JobRequest, Origin, Schedule};
use aethon_core::testkit::{NoWorkflows, count_words};
use aethon_workflows::schedule::{BookParts, JobBook};
use jiff::SignedDuration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::check::{check, unrest};
use crate::client::Client;
use crate::mutants::Mutant;
use crate::program::{Program, Slot, job_options, supervise};
use crate::world::World;

/// How long clients may take while things fail, and everything may take once they do not, in virtual time.
const MAX_STORM: Duration = Duration::from_secs(600);
const MAX_CALM: Duration = Duration::from_secs(3_600);

/// The result of a seed.
pub struct Outcome {
    pub violations: Vec<String>,
    pub digest: u64,
    pub trace: Vec<String>,
}

/// Runs one.
pub fn run(seed: u64, mutant: Option<Mutant>, traces: bool) -> Outcome {
    count_words(Some(seed));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let world = runtime.block_on(async {
        let world = World::new(seed, mutant, traces);
        live(&world).await;
        world
    });
    drop(runtime);
    count_words(None);
    Outcome { violations: world.violations(), digest: world.digest(), trace: world.trace() }
}

async fn live(world: &Arc<World>) {
    let sessions = 1 + world.below(2);
    let programs = 1 + world.below(2);
    add_jobs(world).await;
    let slots: Vec<Arc<Slot>> = (0..programs).map(|_| Arc::new(watch::channel(None).0)).collect();
    let mut supervisors = JoinSet::new();
    for (place, slot) in slots.iter().enumerate() {
        supervisors.spawn(supervise(world.clone(), place, slot.clone()));
    }
    let waits = Arc::new(AtomicUsize::new(0));
    let mut clients = JoinSet::new();
    for sender in 0..1 + world.below(3) {
        let (world, slots, waits) = (world.clone(), slots.clone(), waits.clone());
        clients.spawn(Client { world, slots, sender, sessions, waits }.run());
    }
    // Clients that are still at it go on when things have stopped failing.
    let _ = timeout(MAX_STORM, join(world, &mut clients)).await;
    world.calm();
    if timeout(MAX_CALM, join(world, &mut clients)).await.is_err() {
        return world.violated("a client never came to its end");
    }
    settle_down(world, &slots, (sessions, &waits)).await;
    if world.violations().is_empty() {
        check(world, sessions).await;
    }
}

/// Waits for the clients, as long as nothing has happened that must not.
async fn join(world: &World, clients: &mut JoinSet<()>) {
    while !clients.is_empty() && world.violations().is_empty() {
        if let Ok(Some(ended)) = timeout(Duration::from_secs(1), clients.join_next()).await {
            ended.unwrap();
        }
    }
}

/// Waits until nothing is under way any more, which needs no restart.
async fn settle_down(world: &Arc<World>, slots: &[Arc<Slot>], (sessions, waits): (usize, &AtomicUsize)) {
    let mut waited = Duration::ZERO;
    let mut pause = Duration::from_millis(500);
    loop {
        let programs: Vec<Program> = slots.iter().filter_map(|slot| slot.borrow().clone()).collect();
        let is_whole = programs.len() == slots.len();
        let open = waits.load(Ordering::SeqCst);
        let unrest = match unrest(world, &programs, sessions).await {
            None if !is_whole => Some("a program that has to start".into()),
            None if open > 0 => Some(format!("{open} replies that somebody waits for")),
            unrest => unrest,
        };
        let Some(unrest) = unrest else { break };
        if !world.violations().is_empty() {
            return;
        }
        if waited > MAX_CALM {
            return world.violated(format!("no rest: {unrest}"));
        }
        sleep(pause).await;
        waited += pause;
        pause = (pause * 2).min(Duration::from_secs(30));
    }
    // Calls that were dropped are booked beside the turns.
    sleep(Duration::from_secs(5)).await;
}

/// Adds jobs that are due once, soon, whichever program runs then.
async fn add_jobs(world: &Arc<World>) {
    let book = JobBook::new(BookParts {
        jobs: world.store.clone(),
        runs: world.store.clone(),
        sops: Arc::new(NoWorkflows),
        options: job_options(),
        clock: world.clock.clone(),
        bus: EventBus::default(),
    });
    for number in 0..world.below(3) {
        let soon = SignedDuration::from_millis(500 + world.below(15_000) as i64);
        let run_at = aethon_core::clock::Clock::now(&*world.clock) + soon;
        let request = JobRequest {
            job_id: Some(format!("job-{number}")),
            run_at: Some(run_at.to_string()),
            prompt: Some(format!("do job {number}")),
            missed: Some(["skip", "run_once"][world.below(2)].into()),
            retries: Some(world.below(3) as u32),
            ..JobRequest::default()
        };
        book.add(request, Origin::Owner).await.unwrap();
    }
}
