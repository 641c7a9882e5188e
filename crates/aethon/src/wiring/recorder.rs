//! Builds the recorder from `[session_recorder]`, and the library of the home's `recordings/`.

use std::sync::Arc;
use std::time::Duration;

use aethon_config::Config;
use aethon_core::event::EventBus;
use aethon_core::feature::{Feature, FeatureState, Features};
use aethon_core::hook::Hook;
use aethon_core::live::Live;
use aethon_core::recording::Recordings;
use aethon_core::storage::Storage;
use aethon_recorder::{Keep, Library, Options, Recorder, Seal};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::error::{Error, Result};
use crate::file_copies;
use crate::prepared::Prepared;
use crate::shared_recordings::SharedRecordings;

/// How long a start waits to finish interrupted recordings; the rest are finished in the background.
const MAX_RECOVERY: Duration = Duration::from_secs(3);

/// How long shutdown waits for the copies of those.
const LAST_COPIES: Duration = Duration::from_secs(5);

/// How long shutdown waits for recordings to finish.
const LAST_RECORDINGS: Duration = Duration::from_secs(5);

/// The recordings of the home, and the recorder if enabled.
#[derive(Clone)]
pub(crate) struct Recorded {
    library: Library,
    recorder: Option<Recorder>,
    /// The recordings of all instances, with `storage.files = "database"`.
    shared: Option<SharedRecordings>,
}

impl Recorded {
    /// Finishes recordings that an earlier run left incomplete, and starts the recorder.
    pub(crate) async fn open(prepared: &Prepared) -> Result<Self> {
        let seal = seal(prepared);
        let library = Library::sealed(prepared.home.recordings(), prepared.shared.bus.clone(), seal.clone());
        let finishing = library.clone();
        let recovery = tokio::spawn(async move { finishing.recover().await });
        if timeout(MAX_RECOVERY, recovery).await.is_err() {
            tracing::info!("finishing interrupted recordings in the background");
        }
        let options = &prepared.config.session_recorder;
        let recorder = if options.enabled { Some(start(prepared, seal)?) } else { None };
        Ok(Self { library, recorder, shared: None })
    }

    /// Wraps the storage so that the recorder sees everything that is stored.
    pub(crate) fn watch(&self, storage: Storage) -> Storage {
        match &self.recorder {
            Some(recorder) => recorder.watch(storage),
            None => storage,
        }
    }

    /// Has the recordings of all instances of this storage, if the configuration wants that.
    pub(crate) fn sharing(self, prepared: &Prepared, storage: &Storage) -> Self {
        let shared = file_copies::copies(&prepared.config, storage, prepared.clock(), "recordings");
        let shared = shared.map(|copies| SharedRecordings {
            here: Arc::new(self.library.clone()),
            copies,
            folder: prepared.home.recordings(),
        });
        Self { shared, ..self }
    }

    /// Copies recordings for other instances as they end. The task ends when the set is dropped.
    pub(crate) fn copying(&self, bus: &EventBus) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        if let Some(shared) = self.shared.clone() {
            tasks.spawn(shared.follow(bus.clone()));
        }
        tasks
    }

    /// The hook that records turns.
    pub(crate) fn hook(&self) -> Option<Arc<dyn Hook>> {
        self.recorder.as_ref().map(Recorder::hook)
    }

    /// The finished recordings.
    pub(crate) fn library(&self) -> Arc<dyn Recordings> {
        match &self.shared {
            Some(shared) => Arc::new(shared.clone()),
            None => Arc::new(self.library.clone()),
        }
    }

    /// Reports the recorder's state on the board.
    pub(crate) fn offer(&self, board: &Features, config: Live<Config>) {
        let Some(recorder) = self.recorder.clone() else { return };
        board.offer(move || {
            let status = recorder.status();
            let row = feature(&config.get());
            let row = match (&status.trouble, status.live) {
                (Some(trouble), _) => row.but(FeatureState::Degraded, trouble.clone()),
                (None, 1) => row.but(FeatureState::On, "1 session is being recorded"),
                (None, live) => row.but(FeatureState::On, format!("{live} sessions are being recorded")),
            };
            vec![row]
        });
    }

    /// Finishes the recordings in progress.
    pub(crate) async fn close(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.close(LAST_RECORDINGS).await;
        }
        if let Some(shared) = &self.shared
            && timeout(LAST_COPIES, shared.copy_missing()).await.is_err()
        {
            tracing::warn!("some recordings are copied to the database at the next start");
        }
    }
}

/// The recorder's row, as far as the configuration determines it.
pub(crate) fn feature(config: &Config) -> Feature {
    let options = &config.session_recorder;
    let detail = match (options.enabled, options.keep) {
        (false, _) => "sessions are not recorded".to_owned(),
        (true, 0) => "every session is recorded, and all recordings are kept".to_owned(),
        (true, keep) => format!("every session is recorded; the newest {keep} recordings are kept"),
    };
    let state = FeatureState::of_switch(options.enabled);
    Feature::new(("session_recorder", "Session recordings"), state, detail, "session_recorder.enabled")
}

/// The key by which the home recognises its own recordings. Without one every recording counts as foreign.
fn seal(prepared: &Prepared) -> Option<Seal> {
    let file = prepared.home.run().join("recordings.key");
    let seal = match prepared.config.session_recorder.enabled {
        true => Seal::load_or_create(&file).map(Some),
        false => Seal::load(&file),
    };
    seal.unwrap_or_else(|error| {
        tracing::warn!(%error, "recordings are not signed, so resumed ones count as foreign");
        None
    })
}

fn start(prepared: &Prepared, seal: Option<Seal>) -> Result<Recorder> {
    let options = &prepared.config.session_recorder;
    let recorder = Recorder::start(Options {
        folder: prepared.home.recordings(),
        version: env!("CARGO_PKG_VERSION"),
        cwd: prepared.home.workspace().display().to_string(),
        idle: Duration::from_secs(60 * u64::from(options.idle_minutes)),
        keep: Keep { most: options.keep as usize, days: options.max_age_days },
        redactor: prepared.shared.redactor.clone(),
        clock: prepared.clock(),
        bus: prepared.shared.bus.clone(),
        seal,
    });
    recorder.map_err(|error| Error::failed(error.to_string()).because(error))
}
