//! Limits how often one address may send a wrong token.
//!
//! The limit is sixty a minute, over all instances that share their sign-ins. Beyond it, any request that may be a guess
//! waits a second before it is checked. At most sixteen requests of an address wait at a time, and others are refused
//! unchecked. So the number of guesses is bounded, the right token works even if someone else guesses from the same address,
//! and a signed-in browser never notices. Memory is bounded too: when the table is full, the oldest entries are dropped.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::options::{AccessJournal, SignInOptions};

const PER_WINDOW: u32 = 60;
const WINDOW: Duration = Duration::from_secs(60);
const MAX_ADDRESSES: usize = 4096;
/// How long a possible guess waits once its address is over the limit.
pub(crate) const WAIT: Duration = Duration::from_secs(1);
/// How many requests of one address may wait at a time.
const MAX_WAITING: usize = 16;
/// How many requests may wait at a time in total.
const MAX_WAITING_OF_ALL: usize = 512;

/// Counts wrong tokens by address.
#[derive(Default)]
pub(crate) struct Attempts {
    windows: Mutex<HashMap<IpAddr, Window>>,
    waiting: Mutex<Vec<IpAddr>>,
    /// Tells other instances, which count them as well.
    journal: Option<Arc<dyn AccessJournal>>,
}

/// The rank of a wrong token among those of its address in this minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strike {
    /// The first.
    First,
    /// Any between the first and the last.
    Further,
    /// The last before the address has to wait.
    Last,
}

/// A place in the queue of requests that wait to be checked.
pub(crate) struct Waiting {
    attempts: Arc<Attempts>,
    address: IpAddr,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut waiting = self.attempts.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = waiting.iter().position(|address| *address == self.address) {
            waiting.swap_remove(place);
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Window {
    began: Instant,
    count: u32,
}

impl Attempts {
    /// Counts those of this process, and those that other instances [tell](Attempts::count_elsewhere).
    pub(crate) fn new(options: &SignInOptions) -> Self {
        Self { journal: options.shared(), ..Self::default() }
    }

    /// Returns whether this address is over the limit, so that its possible guesses must wait.
    pub(crate) fn is_over(&self, address: IpAddr, now: Instant) -> bool {
        let windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let window = windows.get(&neighbourhood(address));
        window.is_some_and(|window| window.count >= PER_WINDOW && now.duration_since(window.began) < WINDOW)
    }

    /// Takes a place to wait, or returns `None` if too many requests wait already.
    pub(crate) fn queue(self: &Arc<Self>, address: IpAddr) -> Option<Waiting> {
        let address = neighbourhood(address);
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let own = waiting.iter().filter(|other| **other == address).count();
        if own >= MAX_WAITING || waiting.len() >= MAX_WAITING_OF_ALL {
            return None;
        }
        waiting.push(address);
        Some(Waiting { attempts: Arc::clone(self), address })
    }

    /// Counts a wrong token, here and at other instances. Returns an error with the seconds to wait if there were too many.
    pub(crate) fn count(&self, address: IpAddr, now: Instant) -> Result<Strike, u64> {
        let strike = self.add(address, now)?;
        if let Some(journal) = &self.journal {
            journal.wrong_token(address);
        }
        Ok(strike)
    }

    /// Counts a wrong token that another instance has refused.
    pub(crate) fn count_elsewhere(&self, address: IpAddr, now: Instant) {
        // Who is over the limit already is told so at the next attempt here.
        let _ = self.add(address, now);
    }

    fn add(&self, address: IpAddr, now: Instant) -> Result<Strike, u64> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let address = neighbourhood(address);
        if windows.len() >= MAX_ADDRESSES && !windows.contains_key(&address) {
            make_room(&mut windows, now);
        }
        let window = windows.entry(address).or_insert(Window { began: now, count: 0 });
        if now.duration_since(window.began) >= WINDOW {
            *window = Window { began: now, count: 0 };
        }
        if window.count < PER_WINDOW {
            window.count += 1;
            return Ok(match window.count {
                1 => Strike::First,
                PER_WINDOW => Strike::Last,
                _ => Strike::Further,
            });
        }
        let left = WINDOW.saturating_sub(now.duration_since(window.began));
        Err(left.as_secs() + u64::from(left.subsec_nanos() > 0))
    }
}

/// Returns the address itself, or the /64 of an IPv6 address, because one subscriber has a whole /64.
pub(crate) fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) >> 64 << 64).into()),
        address => address,
    }
}

/// Drops expired entries. If there are none, drops the oldest quarter at once, so that a flood of addresses does not
/// trigger a scan for each of them.
fn make_room(windows: &mut HashMap<IpAddr, Window>, now: Instant) {
    windows.retain(|_, window| now.duration_since(window.began) < WINDOW);
    if windows.len() < MAX_ADDRESSES {
        return;
    }
    let mut left = MAX_ADDRESSES / 4;
    let mut begins: Vec<Instant> = windows.values().map(|window| window.began).collect();
    let (_, &mut newest_to_go, _) = begins.select_nth_unstable(left);
    windows.retain(|_, window| {
        let goes = left > 0 && window.began <= newest_to_go;
        left -= usize::from(goes);
        !goes
    });
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use aethon_core::secret::Secret;

    use super::*;
    use crate::options::Options;
    use crate::service::tests::TestApp;

    fn with_token() -> Options {
        Options { token: Secret::new("right"), ..Options::default() }
    }

    #[test]
    fn sixty_a_minute_and_then_a_wait() {
        let (attempts, start) = (Attempts::default(), Instant::now());
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        let strikes: Vec<Strike> = (0..60).map(|_| attempts.count(address, start).unwrap()).collect();
        assert_eq!((strikes[0], strikes[1], strikes[59]), (Strike::First, Strike::Further, Strike::Last));
        assert_eq!(attempts.count(address, start + Duration::from_millis(500)), Err(60));
        assert_eq!(attempts.count("::ffff:192.0.2.1".parse().unwrap(), start), Err(60));
        assert_eq!(attempts.count("192.0.2.2".parse().unwrap(), start), Ok(Strike::First));
        assert_eq!(attempts.count(address, start + WINDOW), Ok(Strike::First));
        let later = start + WINDOW * 2;
        (0..60).for_each(|_| attempts.count_elsewhere(address, later));
        assert!(attempts.is_over(address, later) && attempts.count(address, later).is_err());
    }

    #[test]
    fn sixteen_of_an_address_wait_and_others_beside_them() {
        let attempts = Arc::new(Attempts::default());
        let (address, other): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let mut waiting: Vec<_> = (0..16).map(|_| attempts.queue(address).expect("a place")).collect();
        assert!(attempts.queue(address).is_none() && attempts.queue(other).is_some());
        waiting.pop();
        assert!(attempts.queue(address).is_some());
        let start = Instant::now();
        for _ in 0..60 {
            assert!(!attempts.is_over(address, start));
            attempts.count(address, start).unwrap();
        }
        assert!(attempts.is_over(address, start) && !attempts.is_over(other, start));
        assert!(!attempts.is_over(address, start + WINDOW));
    }

    #[test]
    fn a_network_of_one_subscriber_counts_as_one() {
        let (attempts, now) = (Attempts::default(), Instant::now());
        for host in 0..60_u16 {
            let address = format!("2001:db8::{host:x}").parse().unwrap();
            assert!(attempts.count(address, now).is_ok());
        }
        assert!(attempts.count("2001:db8::ffff".parse().unwrap(), now).is_err());
        assert!(attempts.count("2001:db8:0:1::1".parse().unwrap(), now).is_ok());
    }

    #[test]
    fn the_table_does_not_grow_without_bound() {
        let (attempts, now) = (Attempts::default(), Instant::now());
        for host in 0..10_000_u32 {
            let _ = attempts.count(Ipv4Addr::from(host).into(), now);
        }
        let kept = attempts.windows.lock().unwrap().len();
        assert!((MAX_ADDRESSES / 2..=MAX_ADDRESSES).contains(&kept), "{kept}");
    }

    #[tokio::test(start_paused = true)]
    async fn past_the_limit_a_guess_waits_and_the_right_token_works() {
        let app = TestApp::new(with_token());
        let signed_in = app.get("/dashboard?token=right", &[]).await;
        let cookie = signed_in.header("set-cookie").split(';').next().unwrap().to_owned();
        let (wrong, right) = ([("authorization", "Bearer wrong")], [("authorization", "Bearer right")]);
        let start = tokio::time::Instant::now();
        for _ in 0..60 {
            assert_eq!(app.get("/api/status", &wrong).await.status, 401);
        }
        assert_eq!(start.elapsed(), Duration::ZERO, "within the limit nobody waits");
        let limited = app.get("/dashboard?token=wrong", &[]).await;
        assert_eq!((limited.status, limited.code().as_str()), (429, "too_many_attempts"));
        assert!(limited.header("retry-after").parse::<u64>().expect("seconds") <= 60);
        assert_eq!(start.elapsed(), Duration::from_secs(1), "it was judged after a wait");
        assert_eq!(app.get("/api/status", &right).await.status, 200);
        let raw = [("cookie", "aethon_dash=right")];
        assert_eq!(app.get("/api/status", &raw).await.status, 200);
        assert_eq!(start.elapsed(), Duration::from_secs(3));
        for _ in 0..100 {
            assert_eq!(app.get("/api/status", &[("cookie", &cookie)]).await.status, 200);
            assert_eq!(app.get("/api/status", &[]).await.status, 401, "there is nothing to judge");
            assert_eq!(app.get("/health", &wrong).await.status, 200);
        }
        assert_eq!(start.elapsed(), Duration::from_secs(3), "a browser that is signed in never waits");
    }

    #[tokio::test(start_paused = true)]
    async fn past_the_limit_sixteen_wait_and_the_others_are_not_judged() {
        let app = TestApp::new(with_token());
        for _ in 0..60 {
            app.get("/api/status", &[("authorization", "Bearer wrong")]).await;
        }
        let start = tokio::time::Instant::now();
        let right = [("authorization", "Bearer right")];
        let answers = futures_util::future::join_all((0..40).map(|_| app.get("/api/status", &right))).await;
        let judged = answers.iter().filter(|answer| answer.status == 200).count();
        assert_eq!((judged, start.elapsed()), (16, Duration::from_secs(1)));
        let refused = answers.iter().find(|answer| answer.status == 429).expect("the others");
        assert_eq!((refused.code().as_str(), refused.header("retry-after")), ("too_many_attempts", "1"));
        assert_eq!(app.get("/api/status", &right).await.status, 200, "their places are free again");
    }
}
