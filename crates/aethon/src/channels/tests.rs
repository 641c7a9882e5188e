//! Channels that fail, panic, end or hang.

use std::collections::VecDeque;
use std::sync::Mutex;

use aethon_core::channel::{Delivery, DeliveryError};
use aethon_core::error::Result;
use aethon_core::shutdown::ShutdownTrigger;
use aethon_core::testkit::{CollectingAssistant, ManualClock};
use async_trait::async_trait;
use tokio::sync::mpsc;

use super::*;

#[derive(Clone, Copy)]
enum Step {
    Fail,
    Panic,
    End,
    Hang,
    Wait,
}

/// Performs one scripted step per start, and reports it.
struct Scripted {
    steps: Mutex<VecDeque<Step>>,
    started: mpsc::UnboundedSender<Instant>,
}

#[async_trait]
impl Channel for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn run(&self, _assistant: Arc<dyn Assistant>, mut shutdown: Shutdown) -> Result<()> {
        let step = self.steps.lock().unwrap().pop_front().unwrap_or(Step::Wait);
        self.started.send(Instant::now()).unwrap();
        match step {
            Step::Fail => Err(Error::internal("the connection broke")),
            Step::Panic => panic!("a fault"),
            Step::End => Ok(()),
            Step::Hang => std::future::pending().await,
            Step::Wait => {
                shutdown.requested().await;
                Ok(())
            }
        }
    }

    async fn send(&self, _delivery: &Delivery) -> Result<(), DeliveryError> {
        Ok(())
    }
}

struct Bench {
    channels: Channels,
    tasks: ChannelTasks,
    started: mpsc::UnboundedReceiver<Instant>,
    trigger: ShutdownTrigger,
}

impl Bench {
    fn with(steps: impl IntoIterator<Item = Step>) -> Self {
        let (sender, started) = mpsc::unbounded_channel();
        let scripted = Scripted { steps: Mutex::new(steps.into_iter().collect()), started: sender };
        let channels = Channels::new([Arc::new(scripted) as Arc<dyn Channel>]).unwrap();
        let (trigger, shutdown) = ShutdownTrigger::pair();
        let (assistant, clock): (Arc<dyn Assistant>, Arc<dyn Clock>) = (
            Arc::new(CollectingAssistant::default()),
            Arc::new(ManualClock::at("2026-11-20T10:00:00Z".parse().unwrap())),
        );
        let supervision =
            Supervision { channels: channels.clone(), assistant, clock, bus: EventBus::default() };
        let tasks = ChannelTasks::start(&supervision, &Holding::always(), &shutdown);
        Self { channels, tasks, started, trigger }
    }

    fn health(&self) -> ChannelHealth {
        self.channels.health("scripted").unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn a_channel_that_fails_is_started_again_after_growing_pauses() {
    let mut bench = Bench::with([Step::Fail, Step::Panic, Step::Fail, Step::Wait]);
    let mut starts = Vec::new();
    for _ in 0..4 {
        starts.push(bench.started.recv().await.unwrap());
    }
    let pauses: Vec<u64> = starts.windows(2).map(|pair| (pair[1] - pair[0]).as_secs()).collect();
    assert_eq!(pauses, [1, 2, 4]);
    assert_eq!(bench.health(), ChannelHealth::Running);
    bench.trigger.trigger();
    bench.tasks.join().await;
    assert_eq!(bench.channels.health("scripted"), Some(ChannelHealth::Ended));
}

#[tokio::test(start_paused = true)]
async fn channel_fault_stays_visible_until_the_channel_runs() {
    let mut bench = Bench::with([Step::Fail]);
    bench.started.recv().await.unwrap();
    tokio::task::yield_now().await;
    let at = "2026-11-20T10:00:01Z".parse().unwrap();
    let error = "the connection broke".to_owned();
    assert_eq!(bench.health(), ChannelHealth::Restarting { error, failures: 1, at });
    bench.started.recv().await.unwrap();
    assert_eq!(bench.health(), ChannelHealth::Running);
}

#[tokio::test(start_paused = true)]
async fn ended_channel_stays_ended_and_hanging_one_is_cut_off() {
    let ended = Bench::with([Step::End, Step::Fail]);
    ended.tasks.join().await;
    assert_eq!(ended.channels.health("scripted"), Some(ChannelHealth::Ended));

    let mut hanging = Bench::with([Step::Hang]);
    hanging.started.recv().await.unwrap();
    hanging.trigger.trigger();
    let before = Instant::now();
    hanging.tasks.join().await;
    assert_eq!(before.elapsed(), MAX_END);
}

#[test]
fn pauses_grow_up_to_five_minutes() {
    let check = |failures, seconds| assert_eq!(pause_after(failures).as_secs(), seconds, "{failures}");
    check(1, 1);
    check(2, 2);
    check(9, 256);
    check(10, 300);
    check(u32::MAX, 300);
}
