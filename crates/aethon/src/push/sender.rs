//! Sends notifications of waiting approvals and of finished replies of the web chat, while no page of the owner is in sight.
//!
//! Nothing else waits for a push service. Each message is tried a few times and then dropped, because the page shows everything
//! anyway; a device that its service no longer knows is removed.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::clock::Clock;
use aethon_core::event::{Event, EventBus};
use aethon_core::exchange::{Exchange, ExchangeRequest, Method};
use aethon_core::ids::SessionId;
use aethon_core::message::TurnEnd;
use aethon_core::push::{PushDevice, PushKind, PushNote, SignInCheck};
use aethon_core::secret::Secret;
use aethon_core::shutdown::Shutdown;
use ring::digest::{SHA256, digest};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::devices::DeviceList;
use super::encryption::{DeviceKeys, encrypt};

/// How long a service may take to answer.
const TIMEOUT: Duration = Duration::from_secs(20);
/// How often a message is tried.
const ATTEMPTS: u32 = 3;
/// The first pause between, which doubles.
const PAUSE: Duration = Duration::from_secs(2);
/// The longest pause that a service can ask for. A message that must wait longer is dropped.
const MAX_PAUSE: Duration = Duration::from_secs(120);
/// How many messages are under way at most. Further ones are dropped.
const MAX_SENDING: usize = 64;

/// The sources that the sender watches.
pub(crate) struct Watched {
    /// Where events are published.
    pub(crate) bus: EventBus,
    /// The events since the start, if there were devices then.
    pub(crate) events: Option<Receiver<Event>>,
    /// Whether a page is in sight now.
    pub(crate) is_in_sight: Box<dyn Fn() -> bool + Send + Sync>,
    /// Whether a device's sign-in still lasts.
    pub(crate) sign_ins: Arc<dyn SignInCheck>,
}

/// The task that sends.
pub(crate) struct Sender {
    /// The devices.
    pub(crate) devices: Arc<DeviceList>,
    /// The way out, which reaches public addresses only.
    pub(crate) exchange: Arc<dyn Exchange>,
    /// The time.
    pub(crate) clock: Arc<dyn Clock>,
}

/// What became of a message.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Sent,
    /// The service no longer knows the device.
    Gone,
    Refused(String),
    /// It may go later, after this pause if the service named one.
    Later(String, Option<Duration>),
}

impl Sender {
    /// Runs until the program shuts down. Unfinished messages are dropped then.
    pub(crate) async fn run(self, mut watched: Watched, mut shutdown: Shutdown) {
        let this = Arc::new(self);
        let mut sending = JoinSet::new();
        let mut count = this.devices.count();
        loop {
            // Without devices nothing is listened for, and events are not built for this.
            let events = match *count.borrow_and_update() {
                0 => {
                    watched.events = None;
                    None
                }
                _ => Some(watched.events.get_or_insert_with(|| watched.bus.subscribe())),
            };
            let event = tokio::select! {
                biased;
                () = shutdown.requested() => return,
                Some(_) = sending.join_next(), if !sending.is_empty() => continue,
                changed = count.changed() => match changed {
                    Ok(()) => continue,
                    Err(_) => return,
                },
                event = next(events) => event,
            };
            let note = match event {
                Ok(event) => note_of(&event),
                Err(RecvError::Lagged(_)) => None,
                Err(RecvError::Closed) => return,
            };
            let Some(note) = note.filter(|_| !(watched.is_in_sight)()) else { continue };
            let (lasting, ended): (Vec<_>, Vec<_>) =
                this.devices.all().into_iter().partition(|device| watched.sign_ins.lasts(&device.sign_in));
            let ended: Vec<Secret> = ended.into_iter().map(|device| device.endpoint).collect();
            this.devices.forget(&ended).await;
            for device in lasting {
                if sending.len() >= MAX_SENDING {
                    tracing::warn!("push services are too slow; a notification was dropped");
                    break;
                }
                let (this, note) = (Arc::clone(&this), note.clone());
                sending.spawn(async move { this.deliver(&device, &note).await });
            }
        }
    }

    /// Sends a message to a device, trying again where that helps.
    async fn deliver(&self, device: &PushDevice, note: &PushNote) {
        let mut pause = PAUSE;
        for attempt in 1..=ATTEMPTS {
            let sent = timeout(TIMEOUT, self.send(device, note)).await;
            match sent.unwrap_or_else(|_| Outcome::Later("no answer in time".to_owned(), None)) {
                Outcome::Sent => return,
                Outcome::Gone => {
                    tracing::info!("a device is no longer subscribed to notifications and was removed");
                    return self.devices.forget(std::slice::from_ref(&device.endpoint)).await;
                }
                Outcome::Refused(why) => {
                    return tracing::warn!(why, "a push service refused a notification");
                }
                Outcome::Later(why, after) => {
                    let wait = after.unwrap_or(pause);
                    if attempt == ATTEMPTS || wait > MAX_PAUSE {
                        return tracing::warn!(why, "a notification could not be sent");
                    }
                    sleep(wait).await;
                    pause *= 2;
                }
            }
        }
    }

    async fn send(&self, device: &PushDevice, note: &PushNote) -> Outcome {
        let Some(request) = self.request(device, note) else {
            return Outcome::Refused("the notification could not be encrypted".to_owned());
        };
        match self.exchange.send(request).await {
            Ok(response) => outcome(response.status, response.header("retry-after")),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                Outcome::Refused(error.to_string())
            }
            Err(error) => Outcome::Later(error.to_string(), None),
        }
    }

    fn request(&self, device: &PushDevice, note: &PushNote) -> Option<ExchangeRequest> {
        let endpoint = device.endpoint.expose();
        let origin = self.devices.origin(endpoint).ok()?;
        let keys = DeviceKeys { public: &device.key, auth: &device.auth };
        let body = encrypt(&serde_json::to_vec(note).ok()?, &keys).ok()?;
        let (lifetime, urgency) = match note.kind {
            PushKind::Approval => ("3600", "high"),
            PushKind::Reply | PushKind::Failure => ("86400", "normal"),
        };
        let headers = [
            ("authorization", self.devices.vapid.authorization(&origin, self.clock.now())?),
            ("content-encoding", "aes128gcm".to_owned()),
            ("content-type", "application/octet-stream".to_owned()),
            ("ttl", lifetime.to_owned()),
            ("urgency", urgency.to_owned()),
            ("topic", topic(note)),
        ];
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Some(ExchangeRequest { method: Method::Post, url: endpoint.to_owned(), headers, body })
    }
}

/// Waits for the next event; without end if it listens for none.
async fn next(events: Option<&mut Receiver<Event>>) -> Result<Event, RecvError> {
    match events {
        Some(events) => events.recv().await,
        None => std::future::pending().await,
    }
}

/// Returns the note about an event for a device, if there is one.
fn note_of(event: &Event) -> Option<PushNote> {
    // A temporary session has no place in what a phone keeps, and where its page is gone it is over.
    let note = |kind, session: &SessionId| {
        (!session.is_temporary()).then(|| PushNote { kind, session: session.to_string() })
    };
    match event {
        Event::ApprovalOpened(request) => note(PushKind::Approval, &request.session_id),
        Event::TurnEnded { session, end, .. } if session.channel() == "webchat" => match end {
            TurnEnd::Stopped => None,
            TurnEnd::End | TurnEnd::Limit => note(PushKind::Reply, session),
            TurnEnd::Budget | TurnEnd::Error => note(PushKind::Failure, session),
        },
        // A device is known to the instance at which it asked, which notifies it wherever the turn runs.
        Event::Elsewhere(event) => note_of(event),
        _ => None,
    }
}

/// Returns a name under which a later message replaces this one at the service, and which reveals nothing.
fn topic(note: &PushNote) -> String {
    let kind = if note.kind == PushKind::Approval { "approval" } else { "reply" };
    let hash = digest(&SHA256, format!("{kind} {}", note.session).as_bytes());
    hash.as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn outcome(status: u16, retry_after: Option<&str>) -> Outcome {
    let pause = retry_after.and_then(|value| value.trim().parse().ok()).map(Duration::from_secs);
    match status {
        200..=299 => Outcome::Sent,
        404 | 410 => Outcome::Gone,
        429 | 500..=599 => Outcome::Later(format!("the push service answered {status}"), pause),
        _ => Outcome::Refused(format!("the push service answered {status}")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use aethon_core::clock::SystemClock;
    use aethon_core::exchange::ExchangeResponse;
    use aethon_core::ids::TurnId;
    use aethon_core::push::PushDevices as _;
    use aethon_core::shutdown::ShutdownTrigger;
    use async_trait::async_trait;
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    const KEY: &str =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";

    /// A service that answers with these statuses, one after the other, and records the requests.
    #[derive(Default)]
    struct FakeService {
        answers: Mutex<Vec<(u16, Option<&'static str>)>>,
        asked: Mutex<Vec<Vec<(String, String)>>>,
    }

    #[async_trait]
    impl Exchange for FakeService {
        async fn send(&self, request: ExchangeRequest) -> std::io::Result<ExchangeResponse> {
            self.asked.lock().unwrap().push(request.headers);
            let mut answers = self.answers.lock().unwrap();
            let (status, after) = if answers.is_empty() { (201, None) } else { answers.remove(0) };
            let headers =
                after.map(|after| ("retry-after".to_owned(), after.to_owned())).into_iter().collect();
            Ok(ExchangeResponse { status, headers, body: Box::pin(futures_util::stream::empty()) })
        }
    }

    struct Lasting;

    impl SignInCheck for Lasting {
        fn lasts(&self, sign_in: &str) -> bool {
            sign_in == "lasting"
        }
    }

    struct Bench {
        _home: tempfile::TempDir,
        service: Arc<FakeService>,
        devices: Arc<DeviceList>,
        bus: EventBus,
        _trigger: ShutdownTrigger,
    }

    impl Bench {
        async fn new(answers: &[(u16, Option<&'static str>)], is_in_sight: bool) -> Self {
            let home = tempfile::tempdir().unwrap();
            let devices = DeviceList::open(home.path(), Vec::new()).unwrap();
            for (endpoint, sign_in) in
                [("https://push.example/1", "lasting"), ("https://push.example/2", "over")]
            {
                let device = PushDevice {
                    endpoint: Secret::new(endpoint),
                    key: URL_SAFE_NO_PAD.decode(KEY).unwrap(),
                    auth: vec![7; 16],
                    sign_in: sign_in.into(),
                };
                devices.add(device).await.unwrap();
            }
            let service =
                Arc::new(FakeService { answers: Mutex::new(answers.to_vec()), ..FakeService::default() });
            let bus = EventBus::default();
            let watched = Watched {
                events: Some(bus.subscribe()),
                bus: bus.clone(),
                is_in_sight: Box::new(move || is_in_sight),
                sign_ins: Arc::new(Lasting),
            };
            let (trigger, shutdown) = ShutdownTrigger::pair();
            let sender = Sender {
                devices: Arc::clone(&devices),
                exchange: service.clone(),
                clock: Arc::new(SystemClock),
            };
            tokio::spawn(sender.run(watched, shutdown));
            Self { _home: home, service, devices, bus, _trigger: trigger }
        }

        fn end(&self, session: &str, end: TurnEnd) {
            let session: SessionId = session.parse().unwrap();
            self.bus.publish(|| Event::TurnEnded { session, turn: TurnId::fresh(), end });
        }

        async fn asked(&self, count: usize) -> Vec<Vec<(String, String)>> {
            for _ in 0..2000 {
                if self.service.asked.lock().unwrap().len() >= count {
                    break;
                }
                sleep(Duration::from_millis(100)).await;
            }
            self.service.asked.lock().unwrap().clone()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_finished_reply_is_sent_to_devices_whose_sign_in_lasts() {
        let bench = Bench::new(&[], false).await;
        bench.end("telegram:1", TurnEnd::End);
        bench.end("webchat:a", TurnEnd::Stopped);
        bench.end("webchat:a", TurnEnd::End);
        let asked = bench.asked(1).await;
        assert_eq!(asked.len(), 1, "no messenger's, no stopped one's, and no signed-out device");
        let header = |name: &str| asked[0].iter().find(|(own, _)| own == name).unwrap().1.clone();
        assert_eq!((header("content-encoding"), header("ttl")), ("aes128gcm".into(), "86400".into()));
        assert!(header("authorization").starts_with("vapid t="));
        assert_eq!(header("topic").len(), 32);
        sleep(Duration::from_secs(1)).await;
        let left: Vec<_> = bench.devices.all().iter().map(|device| device.sign_in.clone()).collect();
        assert_eq!(left, ["lasting"], "a device whose sign-in ended is removed");
    }

    #[test]
    fn phones_hear_nothing_of_temporary_sessions() {
        let ended = |session| Event::TurnEnded { session, turn: TurnId::fresh(), end: TurnEnd::End };
        assert!(note_of(&ended(SessionId::of("webchat", "a").unwrap())).is_some());
        assert!(note_of(&ended(SessionId::temporary("webchat", None).unwrap())).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_sent_while_a_page_is_in_sight() {
        let bench = Bench::new(&[], true).await;
        bench.end("webchat:a", TurnEnd::End);
        sleep(Duration::from_secs(5)).await;
        assert!(bench.service.asked.lock().unwrap().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_busy_service_is_asked_again_when_it_says() {
        let bench = Bench::new(&[(429, Some("60")), (503, None)], false).await;
        let began = tokio::time::Instant::now();
        bench.end("webchat:a", TurnEnd::End);
        assert_eq!(bench.asked(3).await.len(), 3);
        assert!(began.elapsed() >= Duration::from_secs(60), "{:?}", began.elapsed());
        sleep(Duration::from_secs(600)).await;
        assert_eq!(bench.asked(3).await.len(), 3, "and not once more");
    }

    #[tokio::test(start_paused = true)]
    async fn a_service_that_asks_for_too_long_a_pause_is_not_waited_for() {
        let bench = Bench::new(&[(429, Some("86400"))], false).await;
        bench.end("webchat:a", TurnEnd::End);
        sleep(Duration::from_secs(200_000)).await;
        assert_eq!(bench.asked(1).await.len(), 1);
        assert_eq!(bench.devices.all().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_device_that_its_service_does_not_know_is_removed() {
        for status in [404, 410] {
            let bench = Bench::new(&[(status, None)], false).await;
            bench.end("webchat:a", TurnEnd::End);
            bench.asked(1).await;
            sleep(Duration::from_secs(1)).await;
            assert!(bench.devices.all().is_empty(), "{status}");
        }
        let bench = Bench::new(&[(403, None)], false).await;
        bench.end("webchat:a", TurnEnd::Error);
        bench.asked(1).await;
        sleep(Duration::from_secs(1)).await;
        assert_eq!(bench.devices.all().len(), 1, "a refusal of ours is no news of the device");
    }
}
