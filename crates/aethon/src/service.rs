//! The daemon around an assistant: the home lock, the listener, the channels, delivery and upkeep.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aethon_config::Config;
use aethon_core::approval::PendingApprovals;
use aethon_core::assistant::Assistant;
use aethon_core::audit::AuditTrail;
use aethon_core::backup::Backups;
use aethon_core::channel::Channels;
use aethon_core::instance::{Instance, InstanceList};
use aethon_core::live::Live;
use aethon_core::model::Readiness;
use aethon_core::model_setup::ModelSetup;
use aethon_core::service::ConfigView;
use aethon_core::session::TurnRecord;
use aethon_core::shutdown::{Shutdown, ShutdownTrigger};
use aethon_core::storage::Storage;
use aethon_core::surface::{Surface, Unattended};
use aethon_http::Deps;
use aethon_http::deps::{Activity, Archive, Knowledge, Runtime, Setup, Workflows};
use aethon_http::mount::Mount;
use aethon_http::ws::Hub;
use aethon_store::OpenMode;
use aethon_tools::{DockerSandbox, PullPolicy};
use jiff::Timestamp;
use tokio::sync::Mutex;
use tokio::sync::mpsc::Sender;
use tokio::task::JoinHandle;

use crate::aethon::Aethon;
use crate::background::Background;
use crate::backup::BackupTask;
use crate::channel_setup::MessengerSetup;
use crate::channels::{ChannelTasks, Supervision};
use crate::error::{Error, Result};
use crate::file_changes::ChangesUpkeep;
use crate::first_model::FirstModelSetup;
use crate::front::{Front, SignIns};
use crate::holding::Keeper;
use crate::home::HomeLock;
use crate::peers::Joined;
use crate::postgres;
use crate::prepared::Prepared;
use crate::push::{Push, Watched};
use crate::quota::Quota;
use crate::reload::Reload;
use crate::temporary::end_idle;
use crate::upkeep::UpkeepTask;
use crate::uploads::UploadFolder;
use crate::view::{MaskedConfig, ReloadRequest};
use crate::wiring;
use crate::wiring::messengers::MessengerDeps;

/// How long a start may spend removing containers left over from an earlier run.
const MAX_REAP: Duration = Duration::from_secs(10);

/// The pause between attempts to publish the address.
const PUBLISH_PAUSE: Duration = Duration::from_secs(5);

/// A started daemon.
///
/// [`Service::run`] serves it and ends it. If it is dropped before that, it stops like a dropped [`Aethon`], and its listener and the
/// lock of the home are released.
pub struct Service {
    aethon: Arc<Aethon>,
    front: Front,
    channels: ChannelTasks,
    /// What ends by itself at shutdown: delivery, the audit log, upkeep, the scheduler, multi-turn work, notifications.
    tasks: Vec<JoinHandle<()>>,
    /// Reloads the configuration after the page has changed the file.
    reloading: Reloading,
    trigger: ShutdownTrigger,
    shutdown: Shutdown,
    greeting: Greeting,
    config: Live<Config>,
    setup: Setup,
    lock: Arc<HomeLock>,
    keeper: Keeper,
    /// The other instances of the storage, if there can be some.
    peers: Option<Joined>,
}

impl Service {
    /// Runs the preflight checks, locks the home, opens everything and binds. When this returns, the system already accepts
    /// connections, which wait for [`Service::run`].
    pub async fn start(prepared: Prepared) -> Result<Self> {
        let lock = take_home(&prepared).await?;
        let (key, register) = (prepared.home.sign_in_key(), prepared.home.sign_ins());
        let mut sign_ins = SignIns { key, register, journal: None };
        let push = Push::open(&prepared);
        // This process holds the lock of the home, so no earlier daemon is working there.
        let this = this_instance(&prepared);
        let mut aethon = Aethon::open(prepared, OpenMode::Daemon).await?;
        let mut peers = crate::peers::join(&mut aethon);
        let aethon = Arc::new(aethon);
        warn_without_model(&aethon);
        let (trigger, shutdown) = ShutdownTrigger::pair();
        let hub = hub(&aethon, peers.as_mut()).await;
        let channels = aethon.channels(aethon.assistant(), hub.clone())?;
        aethon.deliveries.channels.set(channels.clone());
        let noted = push.as_ref().and_then(|push| push.listen(&aethon.shared.bus));
        // Recovery starts before new messages are accepted, and can be watched in a reopened chat.
        recover(&aethon, &hub, &channels).await?;
        aethon.engine.tell(hub.clone());
        aethon.engine.look_at_models();
        let config = Live::new(aethon.config.clone());
        let (reload, reloads) = crate::view::reload_requests();
        if let Some(peers) = &peers {
            peers.reload_by(reload.clone());
        }
        let backups = backups(&aethon, &config);
        let shared_backups = backups.clone().map(|backups| Arc::new(backups) as Arc<dyn Backups>);
        let setup = Setup {
            push: push.as_ref().map(Push::devices),
            ..setup(&aethon, config.clone(), reload, channels.clone(), shared_backups)
        };
        crate::features::offer_channels(&setup.features, aethon.deliveries.channels.clone());
        let (trail, rows) = AuditTrail::new();
        let runtime = runtime(&aethon, this, shutdown.clone());
        let deps = deps(&aethon, hub.clone(), setup.clone(), trail, runtime);
        if let Some(peers) = &peers {
            sign_ins = peers.share(sign_ins).await?;
        }
        let front = Front::open(&aethon, sign_ins, deps).await?;
        if let (Some(peers), Some(app)) = (&mut peers, front.app()) {
            peers.admit(app);
        }
        let greeting = greeting(&front, &lock);
        let application = front.app().map(|app| (app, setup.clone()));
        let reloading = crate::view::grant(reloads, Reload::new(&aethon, config.clone(), application));
        let push = push.zip(front.app()).map(|(push, app)| {
            let bus = aethon.shared.bus.clone();
            let is_in_sight = in_sight(hub.clone(), peers.as_ref());
            let watched = Watched { bus, events: noted, is_in_sight, sign_ins: app };
            push.start(aethon.clock.clone(), watched, shutdown.clone())
        });
        sync_jobs(&aethon).await;
        let keeper = Keeper::start(aethon.storage.owners.clone()).await;
        let background = Background { aethon: aethon.clone(), channels: channels.clone() };
        let tasks = [
            tokio::spawn(crate::audit::keep(rows, aethon.storage.audit.clone(), shutdown.clone())),
            tokio::spawn(upkeep(&aethon, hub, backups, &shutdown)),
        ];
        let background = background.spawn(&keeper, &shutdown);
        let channels = ChannelTasks::start(&supervision(&aethon, channels), &keeper.holding(), &shutdown);
        Ok(Self {
            channels,
            tasks: tasks.into_iter().chain(background).chain(push).collect(),
            reloading: Reloading(tokio::spawn(reloading)),
            aethon,
            front,
            trigger,
            shutdown,
            greeting,
            config,
            setup,
            lock: Arc::new(lock),
            keeper,
            peers,
        })
    }

    /// Creates the handle that reloads the configuration.
    pub fn reload(&self) -> Reload {
        let application = self.front.app().map(|app| (app, self.setup.clone()));
        Reload::new(&self.aethon, self.config.clone(), application)
    }

    /// The running assistant, for asking and looking while the service runs: `service.aethon()` before [`Service::run`], which
    /// takes the service. Once that has returned, the assistant accepts nothing more.
    pub fn aethon(&self) -> Arc<Aethon> {
        self.aethon.clone()
    }

    /// The single entry point for messages, as [`Aethon::assistant`] returns it.
    pub fn assistant(&self) -> Arc<dyn Assistant> {
        self.aethon.assistant()
    }

    /// The pending approvals of everything that runs here. Clones show the same ones.
    pub fn approvals(&self) -> PendingApprovals {
        self.aethon.approvals().clone()
    }

    /// The address of the listener, with the port that the system chose if `channels.webchat.port` is 0.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.front.local_addr()
    }

    /// The path of the Unix socket, if the service listens on one.
    pub fn socket_path(&self) -> Option<&Path> {
        self.front.socket_path()
    }

    /// The HTTP application for your own server, if the assistant was built with [`Builder::mount`](crate::Builder::mount).
    pub fn http(&self) -> Option<Mount> {
        self.front.mount()
    }

    /// The line to print on standard output.
    pub fn greeting(&self) -> &str {
        &self.greeting.line
    }

    /// Serves until `stop` resolves, then shuts down in order: stops accepting, lets running turns finish within
    /// `server.shutdown_grace`, closes the sockets, closes the storage.
    pub async fn run(self, stop: impl Future<Output = ()> + Send) -> Result<()> {
        let grace = Duration::from_secs(self.aethon.config.server.shutdown_grace);
        let serving = tokio::spawn(self.front.serve(self.shutdown.clone()));
        let publishing =
            self.greeting.unpublished.map(|address| tokio::spawn(publish_later(self.lock.clone(), address)));
        stop.await;
        tracing::info!("stopping");
        if let Some(publishing) = publishing {
            publishing.abort();
        }
        // At once: the listener and idle connections close, and busy ones end with the turns they wait for.
        self.trigger.trigger();
        self.aethon.engine.shutdown(grace).await;
        serving.await.map_err(|error| Error::failed("the server failed").because(error))?;
        for task in self.tasks {
            task.await.map_err(|error| Error::failed("a background task failed").because(error))?;
        }
        drop(self.reloading);
        self.channels.join().await;
        self.keeper.give_up().await;
        drop(self.peers);
        self.aethon.close().await;
        Ok(())
    }
}

/// What the channels are supervised with.
fn supervision(aethon: &Aethon, channels: Channels) -> Supervision {
    Supervision {
        channels,
        assistant: aethon.assistant(),
        clock: aethon.clock.clone(),
        bus: aethon.shared.bus.clone(),
    }
}

/// The task that reloads the configuration on request.
struct Reloading(JoinHandle<()>);

impl Drop for Reloading {
    /// It may be waiting for a request that never comes, and has nothing to finish.
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Returns what tells whether a page of the owner is in sight, at this instance or another.
fn in_sight(hub: Arc<Hub>, peers: Option<&Joined>) -> Box<dyn Fn() -> bool + Send + Sync> {
    let elsewhere = peers.map(Joined::sight);
    Box::new(move || hub.is_in_sight() || elsewhere.as_ref().is_some_and(|is_in_sight| is_in_sight()))
}

/// Logs the warnings about a configuration.
async fn log_warnings(config: &Config) {
    for warning in crate::preflight::warnings(config).await {
        tracing::warn!("{warning}");
    }
    if let Some(warning) = crate::other_accounts::warning(config) {
        tracing::warn!("{warning}; {}", crate::other_accounts::FIX);
    }
}

/// The task that makes backups. `None` if the embedding program brought a storage of its own.
fn backups(aethon: &Aethon, config: &Live<Config>) -> Option<BackupTask> {
    let is_ours = aethon.source.parts.storage.is_none();
    is_ours.then(|| {
        let place = (aethon.home.clone(), aethon.source.sources.config_file());
        let task = BackupTask::new(place, config.clone(), aethon.clock.clone(), aethon.storage.audit.clone());
        task.offer(&aethon.shared.features);
        task
    })
}

/// The running parts as the application shows them.
fn setup(
    aethon: &Aethon,
    config: Live<Config>,
    reload: Sender<ReloadRequest>,
    channels: Channels,
    backups: Option<Arc<dyn Backups>>,
) -> Setup {
    let config: Arc<dyn ConfigView> = Arc::new(MaskedConfig {
        config,
        source: aethon.source.clone(),
        home: aethon.home.clone(),
        redactor: aethon.shared.redactor.clone(),
        audit: aethon.storage.audit.clone(),
        clock: aethon.clock.clone(),
        reload,
    });
    let is_configured = aethon.source.parts.model.is_none();
    let first_model = is_configured.then(|| {
        Arc::new(FirstModelSetup {
            source: aethon.source.clone(),
            config: config.clone(),
            meter: aethon.models.meter.clone(),
            clock: aethon.clock.clone(),
            turnstile: Mutex::default(),
        }) as Arc<dyn ModelSetup>
    });
    let channel_setup = Arc::new(MessengerSetup {
        source: aethon.source.clone(),
        config: config.clone(),
        // Lists of its own: what is tried is not what runs.
        deps: MessengerDeps { allowed: Default::default(), ..aethon.messenger_deps() },
        turnstile: Mutex::default(),
    });
    Setup {
        config,
        first_model,
        channel_setup,
        provider: aethon.models.provider.clone(),
        channels,
        messengers: &wiring::messengers::NAMES,
        pairings: aethon.pairings(),
        reach: aethon.reach.clone(),
        features: aethon.shared.features.clone(),
        backups,
        push: None,
    }
}

/// The upkeep of the storage, the backups, and the end of temporary conversations that were left.
fn upkeep(
    aethon: &Aethon,
    hub: Arc<Hub>,
    backups: Option<BackupTask>,
    shutdown: &Shutdown,
) -> impl Future<Output = ()> + Send + 'static + use<> {
    let quota =
        Quota::of(&aethon.config, &aethon.home, aethon.shared.limits_set).showing(&aethon.shared.features);
    let upkeep = UpkeepTask {
        storage: aethon.storage.upkeep.clone(),
        clock: aethon.clock.clone(),
        retention: wiring::store::retention(&aethon.config),
        quota,
        uploads: UploadFolder::new(aethon.home.uploads(), aethon.clock.clone()),
        changes: ChangesUpkeep {
            transcripts: aethon.storage.transcripts.clone(),
            files: aethon.tools.files.clone(),
        },
    };
    let upkeep = upkeep.run(shutdown.clone());
    let idle = end_idle(aethon.temporary(), aethon.assistant(), hub, shutdown.clone());
    let shutdown = shutdown.clone();
    async move {
        let backups = async {
            if let Some(backups) = backups {
                backups.run(shutdown).await;
            }
        };
        tokio::join!(upkeep, backups, idle);
    }
}

/// Warns if no model is configured, or if the offline model answers in its place.
fn warn_without_model(aethon: &Aethon) {
    if let Readiness::NotConfigured(hint) = aethon.models.provider.readiness() {
        tracing::warn!(
            "messages cannot be answered yet: {hint} Meanwhile, `--demo` answers with the offline model."
        );
    }
    if aethon.is_demo {
        tracing::warn!("demonstration mode: no model is configured, so the offline model answers");
    }
}

/// The announcement of a started daemon.
struct Greeting {
    /// The line to print.
    line: String,
    /// The address, if it could not be published yet.
    unpublished: Option<String>,
}

impl Greeting {
    fn without_listener(version: &str) -> Self {
        Self { line: format!("aethon {version} running without a listener"), unpublished: None }
    }
}

fn greeting(front: &Front, lock: &HomeLock) -> Greeting {
    let version = env!("CARGO_PKG_VERSION");
    let address = match (front.local_addr(), front.socket_path()) {
        (Some(address), _) => format!("http://{address}"),
        (None, Some(path)) => format!("unix:{}", path.display()),
        (None, None) => return Greeting::without_listener(version),
    };
    if let (Some(_), Some(path)) = (front.local_addr(), front.socket_path()) {
        tracing::info!(socket = %path.display(), "also serving on the Unix socket");
    }
    let unpublished = lock.publish_address(&address).err().map(|error| {
        tracing::error!(
            %error,
            "the address could not be published in the home's run/; until it is, terminals cannot find this server"
        );
        address.clone()
    });
    Greeting { line: format!("aethon {version} listening on {address}"), unpublished }
}

/// Publishes the address once that is possible: a full disk may have room again.
async fn publish_later(lock: Arc<HomeLock>, address: String) {
    while lock.publish_address(&address).is_err() {
        tokio::time::sleep(PUBLISH_PAUSE).await;
    }
}

/// Checks what would refuse the start, prepares the home and takes it.
async fn take_home(prepared: &Prepared) -> Result<HomeLock> {
    prepared.preflight().await?;
    prepared.home.prepare()?;
    log_warnings(&prepared.config).await;
    let lock = prepared.home.lock()?;
    if let Some(docker) = &prepared.shared.docker {
        tokio::join!(remove_stale_containers(docker), prove_sandbox(prepared)).1?;
    }
    Ok(lock)
}

/// Runs the trial container of the docker sandbox, and logs concerns about it.
async fn prove_sandbox(prepared: &Prepared) -> Result<()> {
    let proof = wiring::sandbox::proof(prepared, PullPolicy::Missing).await.map_err(Error::refused)?;
    if let Some(proved) = proof.proved {
        tracing::info!(proved, "docker sandbox");
    }
    proof.concerns.iter().for_each(|concern| tracing::warn!("{concern}"));
    Ok(())
}

/// Removes containers left over from an earlier run.
async fn remove_stale_containers(docker: &DockerSandbox) {
    let reaped = tokio::time::timeout(MAX_REAP, docker.reap()).await;
    match reaped.unwrap_or_else(|_| Err("the Docker daemon did not answer in time".into())) {
        Ok(0) => {}
        Ok(removed) => {
            tracing::info!(removed, "leftover containers of an earlier run were removed")
        }
        Err(error) => tracing::warn!(error, "could not search for containers of an earlier run"),
    }
}

/// The live conversations, those of other instances among them.
async fn hub(aethon: &Aethon, peers: Option<&mut Joined>) -> Arc<Hub> {
    let hub = Hub::new(aethon.clock.clone()).numbering_after(latest(&aethon.storage).await);
    let Some(peers) = peers else { return Arc::new(hub) };
    let hub = Arc::new(hub.shared());
    peers.relay(&hub);
    hub
}

/// Recovers the turns that an earlier daemon left. If they cannot be read, the engine tries again later; the rest of the service
/// runs meanwhile and reports the problem.
async fn recover(aethon: &Aethon, hub: &Arc<Hub>, channels: &Channels) -> Result<()> {
    let (watch, theirs) = (hub.clone(), channels.clone());
    match aethon.engine.recover(move |record| watcher(&watch, &theirs, record)).await {
        Err(error) if error.is_unavailable() => {
            tracing::error!(%error, "could not search for interrupted turns; trying again later");
        }
        recovered => drop(recovered?),
    }
    Ok(())
}

/// Stores the jobs of the configuration. A full disk must not prevent the start: the stored jobs run, and the next start syncs the
/// new ones.
async fn sync_jobs(aethon: &Aethon) {
    if let Err(error) = aethon.take_over_jobs().await {
        tracing::error!(%error, "the jobs of the configuration could not be synced");
    }
}

/// The clock, the health of the storage, and who else serves it.
fn runtime(aethon: &Aethon, this: Instance, shutdown: Shutdown) -> Runtime {
    let instances = InstanceList::new(aethon.storage.owners.clone(), this);
    Runtime { clock: aethon.clock.clone(), health: aethon.storage.health.clone(), shutdown, instances }
}

/// This daemon as it shows in the list of instances.
fn this_instance(prepared: &Prepared) -> Instance {
    let now = prepared.clock().now();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Instance {
        name: postgres::instance_name(&prepared.home),
        version,
        started_at: now,
        last_seen: now,
        this: true,
    }
}

/// The parts of the assistant that the HTTP application serves.
fn deps(aethon: &Aethon, hub: Arc<Hub>, setup: Setup, trail: AuditTrail, runtime: Runtime) -> Deps {
    Deps {
        chat: aethon.chat(hub),
        activity: Activity {
            bus: aethon.shared.bus.clone(),
            logs: aethon.shared.logs.clone(),
            ledger: aethon.ledger(),
            audit: aethon.storage.audit.clone(),
            agents: aethon.agents().clone(),
            telemetry: aethon.storage.telemetry.clone(),
            outbox: aethon.outbox(),
            trail,
        },
        workflows: Workflows {
            sops: aethon.sops(),
            prompts: aethon.prompts(),
            sop_runs: aethon.storage.workflows.sop_runs.clone(),
            sop_runner: aethon.sop_runner(),
            schedule: aethon.schedule(),
            work: aethon.work(),
        },
        knowledge: Knowledge {
            memory: aethon.memory(),
            archive: Some(Archive { recordings: aethon.recordings(), sessions: aethon.storage.imports() }),
        },
        setup,
        runtime,
    }
}

/// The surface on which to show a recovered turn: that of its session if it can be watched there, else one that
/// denies approvals.
fn watcher(hub: &Arc<Hub>, channels: &Channels, record: &TurnRecord) -> Arc<dyn Surface> {
    let session = &record.inbound.session;
    if session.channel() == "webchat" {
        return hub.surface(session);
    }
    let channel = channels.get(&record.inbound.channel).ok();
    channel.and_then(|channel| channel.watcher(record)).unwrap_or_else(|| Arc::new(Unattended))
}

/// A time after which earlier runs stored nothing, as far as recorded. A failure does not prevent the start.
async fn latest(storage: &Storage) -> Option<Timestamp> {
    let marks = storage.upkeep.marks().await.inspect_err(|error| {
        tracing::warn!(%error, "the time of the last run could not be read; frames are numbered by the clock");
    });
    marks.ok().and_then(|marks| marks.latest)
}
