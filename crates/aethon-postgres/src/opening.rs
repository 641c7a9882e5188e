//! Opens a store: the server, its format, and whatever an earlier daemon left behind.

use std::sync::atomic::{AtomicBool, AtomicI64};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aethon_core::peers::PeerId;
use aethon_core::storage::{StorageHealth, Synchronous};

use crate::db::{self, Address, Durability, Pool};
use crate::error::Error;
use crate::growth::Growth;
use crate::memory::Sketches;
use crate::owner::{About, Owner};
use crate::peers::Link;
use crate::store::{OpenMode, Opener, Options, Store, StoreInner};
use crate::{clock_jumps, ledger, owners, rows};

impl Store {
    /// Connects to the server and brings the database to the current format. To be called within a runtime, which the
    /// connections live in.
    pub async fn open(url: &str, options: Options) -> Result<Self, Error> {
        let address = Address::parse(url)?;
        let words = address.words();
        let pool = Pool::new(address)?;
        prepare(&pool, &words, options.lease).await?;
        if db::read(&pool, rows::is_unfinished).await? {
            return Err(Error::setup(format!(
                "a copy into the {words} was begun and not finished: run `aethon-cli storage copy` again, which goes on with it"
            )));
        }
        let Options {
            mode,
            instance,
            version,
            lease_clock,
            synchronous,
            clock,
            agent_name,
            lease,
            max_oneshot_bytes,
        } = options;
        let about = About { instance, version, clock: lease_clock };
        let owner = Owner::fresh(mode == OpenMode::Daemon, lease);
        let store = Self(Arc::new(StoreInner {
            pool,
            words,
            durability: match synchronous {
                Synchronous::Normal => Durability::AsServer,
                Synchronous::Full => Durability::Full,
            },
            clock,
            agent_name,
            opener: Opener { mode, about, owner },
            suspicious_leases: Mutex::default(),
            health: StorageHealth::default(),
            is_probing: AtomicBool::new(false),
            latest: AtomicI64::new(i64::MIN),
            refused: Mutex::default(),
            sketches: Sketches::default(),
            oneshots: max_oneshot_bytes.map(Growth::new),
            link: (mode == OpenMode::Daemon).then(|| Arc::new(Link::new(PeerId(owner.id)))),
        }));
        if mode == OpenMode::Daemon {
            store.end_former().await?;
            store.beat();
            store.link_up();
        }
        Ok(store)
    }

    /// Gives signs of life for as long as the daemon runs, also when it has nothing to do.
    fn beat(&self) {
        let (store, lease) = (Arc::downgrade(&self.0), self.owner().lease.unsigned_abs());
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis((lease / 4).max(50))).await;
                let Some(store) = store.upgrade().map(Store) else { return };
                if store.0.pool.is_closed() {
                    return;
                }
                let (opener, now) = (store.opener().clone(), store.now());
                if let Err(error) = store.write(move |sql| owners::stay(sql, &opener, now)).await {
                    tracing::warn!(%error, "no sign of life could be given");
                }
            }
        });
    }

    /// Ends the open work of an earlier daemon of this instance.
    async fn end_former(&self) -> Result<(), Error> {
        let (now, day, opener) = (self.now(), self.day(), self.0.opener.clone());
        self.write(move |sql| {
            owners::take_the_place(sql, &opener, now)?;
            clock_jumps::undo_future_deliveries(sql, now)?;
            // A call of another instance may have begun before midnight.
            let booked = ledger::write_off(sql, day - 1, Some(&opener.about.instance))?;
            if booked > 0 {
                tracing::info!(calls = booked, "model calls of the last run were booked as interrupted");
            }
            Ok(())
        })
        .await
    }
}

/// Brings the database to the current format. Daemons of an older version are waited for: one on a machine that is gone leaves a
/// lease behind, and that is soon over.
async fn prepare(pool: &Pool, words: &str, lease: Duration) -> Result<(), Error> {
    let until = Instant::now() + lease + lease / 4;
    loop {
        match db::prepare(pool, words).await {
            Err(error) if error.is_occupied() && Instant::now() < until => {
                tracing::info!(%error, "waiting for the database");
                tokio::time::sleep((lease / 10).max(Duration::from_millis(50))).await;
            }
            other => return other,
        }
    }
}
