//! The daemon's resources under long load: memory, files and threads do not grow with time.

use std::time::{Duration, Instant};

use aethon_tests::{ResourceUse, Server};

use super::{RunSize, number, tell, with_clients};

/// How often it is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How many descriptors more there may be: connections of clients come and go.
const MORE_DESCRIPTORS: u64 = 24;
/// How many threads more: those for blocking work come and go as well.
const MORE_THREADS: u64 = 16;
/// How much more memory, in KiB: the cache of conversations is bounded, and full only after a while.
const MORE_MEMORY: u64 = 32 << 10;

/// The most of each.
fn most(seen: &[ResourceUse]) -> ResourceUse {
    let of = |part: fn(&ResourceUse) -> u64| seen.iter().map(part).max().unwrap_or_default();
    ResourceUse {
        resident: of(|seen| seen.resident),
        descriptors: of(|seen| seen.descriptors),
        threads: of(|seen| seen.threads),
    }
}

/// Watches for this long; returns the samples.
fn watched(server: &Server, time: Duration) -> Vec<ResourceUse> {
    let (begun, mut seen) = (Instant::now(), Vec::new());
    while begun.elapsed() < time {
        std::thread::sleep(LOOK);
        seen.push(server.holding());
        if seen.len() % 60 == 0 {
            tell(&format!("{:.0?}: {:?}", begun.elapsed(), most(&seen[seen.len() - 60..])));
        }
    }
    seen
}

fn steady(time: Duration) {
    with_clients(&RunSize { kills: 0, seed: 5, each: 1 }, |_, _, server| {
        let seen = watched(&server, time);
        // The last third against the middle one: everything is warm by then.
        let third = seen.len() / 3;
        let (middle, last) = (most(&seen[third..2 * third]), most(&seen[2 * third..]));
        tell(&format!("{time:.0?}: {:?} at first, {middle:?} in the middle, {last:?} at last", seen[0]));
        assert!(last.descriptors <= middle.descriptors + MORE_DESCRIPTORS, "{middle:?} {last:?}");
        assert!(last.threads <= middle.threads + MORE_THREADS, "{middle:?} {last:?}");
        assert!(last.resident <= middle.resident + MORE_MEMORY, "{middle:?} {last:?}");
        server
    });
}

#[test]
fn resource_use_stays_flat_under_load() {
    steady(Duration::from_secs(90));
}

/// `cargo xtask steady` runs this.
#[test]
#[ignore = "a chore that runs for an hour: cargo xtask steady"]
fn resource_use_stays_flat_under_long_load() {
    steady(Duration::from_secs(60 * number("AETHON_STEADY_MINUTES", 60)));
}
