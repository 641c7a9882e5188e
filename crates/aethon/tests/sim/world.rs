//! The world that a seed makes: chance, time, faults, and the record of all that happens.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::clock::Clock;
use aethon_core::error::Error;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::testkit::{MemoryLedger, MemoryStore, Random};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::history::History;
use crate::mutants::Mutant;

/// Steps after which a run counts as one that never comes to rest.
const MAX_STEPS: u64 = 20_000;

/// How likely each kind of fault is, in thousandths; drawn once for each seed.
#[derive(Debug, Clone, Copy)]
pub struct Odds {
    pub storage: u64,
    pub model: u64,
    pub tool: u64,
    pub channel: u64,
    /// How often a step takes time, and not only turns.
    pub slow: u64,
}

/// A program, until it is killed. After that its waits never end: as after `kill -9`, none of its code runs, not even its
/// destructors.
pub struct Life {
    pub number: usize,
    is_dead: AtomicBool,
    /// It is ending and has released its unfinished turns: others may take them while it is still running.
    has_released_turns: AtomicBool,
    /// Wakes in the order of the waits; a `watch` of tokio wakes in one that no seed decides.
    died: Notify,
}

impl Life {
    pub fn new(number: usize) -> Arc<Self> {
        let (is_dead, has_released_turns) = (AtomicBool::new(false), AtomicBool::new(false));
        Arc::new(Self { number, is_dead, has_released_turns, died: Notify::new() })
    }

    pub fn release_turns(&self) {
        self.has_released_turns.store(true, Ordering::SeqCst);
    }

    /// Whether the turns that it took are still its own.
    pub fn holds_its_turns(&self) -> bool {
        !self.is_dead() && !self.has_released_turns.load(Ordering::SeqCst)
    }

    pub fn kill(&self) {
        self.is_dead.store(true, Ordering::SeqCst);
        self.died.notify_waiters();
    }

    pub fn is_dead(&self) -> bool {
        self.is_dead.load(Ordering::SeqCst)
    }

    /// Waits for the end.
    pub async fn died(&self) {
        let died = self.died.notified();
        if !self.is_dead() {
            died.await;
        }
    }
}

/// A clock that goes with the paused one of the runtime.
pub struct VirtualClock(Instant);

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        let begin: Timestamp = "2026-02-03T04:05:06Z".parse().unwrap();
        begin + SignedDuration::try_from(self.0.elapsed()).unwrap()
    }
}

pub struct World {
    pub seed: u64,
    pub mutant: Option<Mutant>,
    pub odds: Odds,
    pub clock: Arc<VirtualClock>,
    pub begin: Instant,
    /// The storage as it really is; programs see it through faults.
    pub store: Arc<MemoryStore>,
    pub ledger: Arc<MemoryLedger>,
    inner: Mutex<Inner>,
}

struct Inner {
    random: Random,
    history: History,
    steps: u64,
    crashes: BTreeSet<u64>,
    /// No write succeeds between these moments.
    outages: Vec<(Duration, Duration)>,
    /// From then on nothing fails any more.
    is_calm: bool,
    violations: Vec<String>,
    /// What happened, mixed into one number: two runs of a seed are the same when it is.
    digest: u64,
    trace: Option<Vec<String>>,
    /// Who works on each turn, as the storage says.
    holders: BTreeMap<TurnId, Arc<Life>>,
    /// The open reservations of each life.
    reserved: BTreeMap<i64, usize>,
    /// The storage as each program has opened it.
    opened: Vec<(usize, Arc<MemoryStore>)>,
    counted: u64,
}

impl World {
    pub fn new(seed: u64, mutant: Option<Mutant>, traces: bool) -> Arc<Self> {
        let mut random = Random::new(seed);
        let mut odds = |choices: &[u64]| choices[random.below(choices.len())];
        let odds = Odds {
            storage: odds(&[0, 0, 20, 80]),
            model: odds(&[0, 30, 150]),
            tool: odds(&[0, 100]),
            channel: odds(&[0, 100, 400]),
            slow: odds(&[0, 50, 300]),
        };
        let crashes = (0..random.below(4)).map(|_| 1 + random.number() % 500).collect();
        let outages = match random.below(4) {
            0 => {
                let begin = Duration::from_millis(random.number() % 3_000);
                vec![(begin, begin + Duration::from_millis(random.number() % 20_000))]
            }
            _ => Vec::new(),
        };
        let begin = Instant::now();
        let clock = Arc::new(VirtualClock(begin));
        Arc::new(Self {
            seed,
            mutant,
            odds,
            begin,
            store: Arc::new(MemoryStore::new(clock.clone())),
            ledger: Arc::new(MemoryLedger::new(clock.clone())),
            clock,
            inner: Mutex::new(Inner {
                random,
                history: History::default(),
                steps: 0,
                crashes,
                outages,
                is_calm: false,
                violations: Vec::new(),
                digest: seed,
                trace: traces.then(Vec::new),
                holders: BTreeMap::new(),
                reserved: BTreeMap::new(),
                opened: Vec::new(),
                counted: 0,
            }),
        })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One step of a program, at which it may be held up, overtaken, or killed for good.
    pub async fn step(&self, life: &Life, what: &str) {
        if life.is_dead() {
            return pending().await;
        }
        let (yields, pause) = {
            let mut inner = self.inner();
            inner.steps += 1;
            let line = || format!("{:?} {} {what}", self.begin.elapsed(), life.number);
            inner.note(line);
            let is_last = inner.steps > MAX_STEPS;
            if is_last && inner.violations.is_empty() {
                inner.violations.push(format!("no rest after {MAX_STEPS} steps; the last was {what}"));
            }
            let step = inner.steps;
            if is_last || (inner.crashes.remove(&step) && !inner.is_calm) {
                inner.note(|| format!("{} is killed", life.number));
                life.kill();
            }
            let is_slow = inner.random.number() % 1000 < self.odds.slow && !inner.is_calm;
            let longest: u64 = if inner.random.below(40) == 0 { 4_000 } else { 60 };
            let pause = is_slow.then(|| Duration::from_millis(inner.random.number() % longest));
            (inner.random.below(4), pause)
        };
        if life.is_dead() {
            return pending().await;
        }
        for _ in 0..yields {
            tokio::task::yield_now().await;
        }
        if let Some(pause) = pause {
            sleep(pause).await;
        }
        if life.is_dead() {
            pending().await
        }
    }

    /// Whether something of these odds happens now.
    pub fn happens(&self, odds: u64) -> bool {
        let mut inner = self.inner();
        inner.random.number() % 1000 < odds && !inner.is_calm
    }

    /// The error of a storage that fails just now, if it does.
    pub fn storage_fails(&self, is_write: bool) -> Result<(), Error> {
        let now = self.begin.elapsed();
        let is_out = is_write && {
            let inner = self.inner();
            !inner.is_calm && inner.outages.iter().any(|(from, to)| (*from..*to).contains(&now))
        };
        if is_out || self.happens(self.odds.storage) {
            return Err(Error::unavailable("the storage fails, because the seed says so"));
        }
        Ok(())
    }

    /// Whether the storage fails at any time of this seed.
    pub fn has_storage_faults(&self) -> bool {
        self.odds.storage > 0 || !self.inner().outages.is_empty()
    }

    pub fn below(&self, end: usize) -> usize {
        self.inner().random.below(end)
    }

    pub fn is_calm(&self) -> bool {
        self.inner().is_calm
    }

    pub fn calm(&self) {
        self.inner().is_calm = true;
        self.note(|| "calm".into());
    }

    /// A number that was not given before.
    pub fn count(&self) -> u64 {
        let mut inner = self.inner();
        inner.counted += 1;
        inner.counted
    }

    pub fn note(&self, line: impl FnOnce() -> String) {
        self.inner().note(line);
    }

    /// Something happened that must never.
    pub fn violated(&self, what: impl Into<String>) {
        let what = what.into();
        let mut inner = self.inner();
        inner.note(|| format!("VIOLATION {what}"));
        inner.violations.push(what);
    }

    pub fn violations(&self) -> Vec<String> {
        self.inner().violations.clone()
    }

    pub fn history<T>(&self, work: impl FnOnce(&mut History) -> T) -> T {
        work(&mut self.inner().history)
    }

    pub fn holds(&self, turn: &TurnId, life: &Arc<Life>) -> Option<Arc<Life>> {
        self.inner().holders.insert(turn.clone(), life.clone())
    }

    pub fn reserved(&self, id: i64, life: &Life) {
        self.inner().reserved.insert(id, life.number);
    }

    pub fn given_back(&self, id: i64) {
        self.inner().reserved.remove(&id);
    }

    /// The reservations that a life has left behind.
    pub fn left_by(&self, life: &Life) -> Vec<i64> {
        let inner = self.inner();
        inner.reserved.iter().filter(|(_, of)| **of == life.number).map(|(id, _)| *id).collect()
    }

    /// The storage as a new program opens it.
    pub fn open(&self, life: &Life) -> Arc<MemoryStore> {
        let opened = Arc::new(self.store.beside());
        self.inner().opened.push((life.number, opened.clone()));
        opened
    }

    /// The storage as this program has opened it.
    pub fn opened_by(&self, life: &Life) -> Vec<Arc<MemoryStore>> {
        let inner = self.inner();
        let own = inner.opened.iter().filter(|(number, _)| *number == life.number);
        own.map(|(_, opened)| opened.clone()).collect()
    }

    /// The storage as all other programs have opened it.
    pub fn others(&self, life: &Life) -> Vec<Arc<MemoryStore>> {
        let inner = self.inner();
        let others = inner.opened.iter().filter(|(number, _)| *number != life.number);
        others.map(|(_, opened)| opened.clone()).collect()
    }

    pub fn digest(&self) -> u64 {
        self.inner().digest
    }

    pub fn trace(&self) -> Vec<String> {
        self.inner().trace.clone().unwrap_or_default()
    }
}

impl Inner {
    fn note(&mut self, line: impl FnOnce() -> String) {
        let line = line();
        for byte in line.bytes() {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if let Some(trace) = &mut self.trace {
            trace.push(line);
        }
    }
}

pub fn session(number: usize) -> SessionId {
    SessionId::of("webchat", &format!("s{number}")).unwrap()
}
