//! Opens the way out of a channel again after it was closed, by asking the platform who we are.
//!
//! After an outage it asks soon and often. After a refusal it asks once more right away, because one refusal may be a slip, and
//! then after one, five and thirty minutes and every thirty minutes, until the platform knows us.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::health::Closure;
use super::outlet::RateLimitedSender;
use super::platform::Fault;

/// The first pause during an outage; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(15);
/// The pauses after refusals; the last one repeats.
const AFTER_REFUSALS: [Duration; 4] =
    [Duration::from_secs(5), Duration::from_secs(60), Duration::from_secs(300), Duration::from_secs(1800)];
/// A refusal this long after the last one counts as the first again.
const FORGIVEN_AFTER: Duration = Duration::from_secs(3600);

/// How often we were refused lately.
#[derive(Default)]
struct Refusals {
    count: usize,
    last: Option<Instant>,
}

impl Refusals {
    /// Returns the pause after a further refusal.
    fn pause(&mut self) -> Duration {
        if self.last.is_some_and(|last| last.elapsed() > FORGIVEN_AFTER) {
            self.count = 0;
        }
        let pause = AFTER_REFUSALS[self.count.min(AFTER_REFUSALS.len() - 1)];
        self.count += 1;
        pause
    }
}

/// Looks after the way out of a channel, while it is polled.
pub(super) async fn look_after(outlet: &RateLimitedSender) {
    let (health, mut refusals) = (&outlet.health, Refusals::default());
    loop {
        let mut looks = 0;
        let mut closure = health.closed().await;
        loop {
            let pause = match closure {
                Closure::Unreachable => FIRST_PAUSE.saturating_mul(1 << looks.min(10)).min(MAX_PAUSE),
                Closure::Refused => refusals.pause(),
            };
            tokio::select! {
                () = health.other_than(closure) => {}
                () = sleep(pause) => {}
            }
            match health.closure() {
                None => break,
                Some(other) if other != closure => {
                    (closure, looks) = (other, 0);
                    continue;
                }
                Some(_) => {}
            }
            let asked = outlet.platform.identify().await;
            if closure == Closure::Refused {
                refusals.last = Some(Instant::now());
            }
            match asked {
                // Receiving may have found it reachable meanwhile.
                _ if health.closure().is_none() => break,
                Ok(()) => {
                    let was_away = looks > 0 || closure == Closure::Refused;
                    if was_away {
                        tracing::info!(channel = outlet.channel(), "the platform answers again");
                    }
                    health.is_known(was_away);
                    break;
                }
                Err(Fault::Identity(message)) => {
                    outlet.refused(&message);
                    closure = Closure::Refused;
                }
                Err(fault) => {
                    looks += 1;
                    closure = Closure::Unreachable;
                    health.is_unreachable(fault.message());
                }
            }
        }
    }
}

/// Makes everything due that waits for a channel, each time its platform can be reached again, while it is polled.
pub(super) async fn pass_on_recoveries(outlet: &RateLimitedSender) {
    loop {
        outlet.health.recovered().await;
        let mut pause = FIRST_PAUSE;
        while let Err(error) = outlet.services.courier.recovered(outlet.channel()).await {
            tracing::warn!(channel = outlet.channel(), %error, "what waits for the channel could not be made due; trying again");
            sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn refusals_are_looked_into_after_one_five_and_thirty_minutes() {
        let mut refusals = Refusals::default();
        let mut seconds = Vec::new();
        for _ in 0..6 {
            let pause = refusals.pause();
            sleep(pause).await;
            refusals.last = Some(Instant::now());
            seconds.push(pause.as_secs());
        }
        assert_eq!(seconds, [5, 60, 300, 1800, 1800, 1800]);
        sleep(Duration::from_secs(3601)).await;
        assert_eq!(refusals.pause().as_secs(), 5);
    }
}
