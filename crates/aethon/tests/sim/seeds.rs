//! The seeds that are run: many in the ordinary tests, as many as one likes by `cargo xtask sim`, the regressions, and those
//! that find each planted mutant.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::mutants::Mutant;
use crate::run::{Outcome, run};

/// How many seeds the ordinary tests run.
const USUAL: u64 = 300;

/// Seeds within which every mutant must be found.
const MUTANTS_WITHIN: u64 = 400;

/// Lines of a run that a failure shows.
const SHOWN: usize = 80;

/// The first of these seeds whose run breaks a promise.
fn first_failure(from: u64, count: u64, mutant: Option<Mutant>) -> Option<(u64, String)> {
    let next = AtomicU64::new(from);
    let found: Mutex<Option<(u64, String)>> = Mutex::default();
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(8);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let is_over = || found.lock().unwrap_or_else(PoisonError::into_inner).is_some();
                    if seed >= from + count || is_over() {
                        return;
                    }
                    if let Some(violation) = run(seed, mutant, false).violations.into_iter().next() {
                        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                        if found.as_ref().is_none_or(|(before, _)| seed < *before) {
                            *found = Some((seed, violation));
                        }
                    }
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a seed once more, for its steps.
fn fail(seed: u64) -> ! {
    let Outcome { violations, trace, .. } = run(seed, None, true);
    let shown = trace.len().saturating_sub(SHOWN);
    println!("{}", trace[shown..].join("\n"));
    panic!("seed {seed}: {violations:?}; run it again with `cargo xtask sim --seed {seed}`");
}

#[test]
fn simulated_world_loses_nothing_and_comes_to_rest() {
    if let Some((seed, _)) = first_failure(1, USUAL, None) {
        fail(seed);
    }
}

#[test]
fn a_seed_is_the_same_run_every_time() {
    for seed in [3, 4, 7, 12, 28] {
        let (one, other) = (run(seed, None, true), run(seed, None, true));
        let differs = one.trace.iter().zip(&other.trace).position(|(one, other)| one != other);
        assert_eq!(one.digest, other.digest, "seed {seed} differs at {differs:?}");
    }
}

#[test]
fn each_planted_mutant_is_found() {
    for mutant in Mutant::ALL {
        let found = first_failure(1, MUTANTS_WITHIN, Some(mutant));
        let (seed, violation) = found.unwrap_or_else(|| panic!("nothing finds {mutant:?}"));
        println!("{mutant:?}: seed {seed}, {violation}");
    }
}

/// `cargo xtask sim` runs this with seeds of its own.
#[test]
#[ignore = "a chore that runs for minutes: cargo xtask sim"]
fn seeds_from_the_environment() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    if let Some(seed) = number("AETHON_SIM_SEED") {
        let Outcome { violations, trace, digest } = run(seed, None, true);
        println!("{}\nseed {seed}, digest {digest:016x}: {violations:?}", trace.join("\n"));
        assert!(violations.is_empty(), "seed {seed}: {violations:?}");
        return;
    }
    let (from, count) =
        (number("AETHON_SIM_FROM").unwrap_or(1), number("AETHON_SIM_SEEDS").unwrap_or(10_000));
    let began = std::time::Instant::now();
    if let Some((seed, _)) = first_failure(from, count, None) {
        fail(seed);
    }
    println!("{count} seeds from {from} on in {:.1} s", began.elapsed().as_secs_f64());
}
