//! Opens a store: the server, its format, and whatever an earlier daemon left behind.

use std::sync::atomic::{AtomicBool, AtomicI64};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aethon_core::storage::{StorageHealth, Synchronous};

use crate::db::{self, Address, Durability, Pool};
use crate::error::Error;
use crate::growth::Growth;
use crate::memory::Sketches;
use crate::owner::Owner;
use crate::store::{OpenMode, Opener, Options, Store, StoreInner};
use crate::{clock_jumps, ledger, owners, rows};

impl Store {
    /// Connects to the server and brings the database to the current format. To be called within a runtime, which the
    /// connections live in.
    pub async fn open(url: &str, options: Options) -> Result<Self, Error> {
        let address = Address::parse(url)?;
        let words = address.words();
        let pool = Pool::new(address)?;
        db::prepare(&pool, &words).await?;
        if db::read(&pool, rows::is_unfinished).await? {
            return Err(Error::setup(format!(
                "a copy into the {words} was begun and not finished: run `aethon-cli storage copy` again, which goes on with it"
            )));
        }
        let Options { mode, instance, synchronous, clock, agent_name, lease, max_oneshot_bytes } = options;
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
            opener: Opener { mode, instance, owner },
            suspicious_leases: Mutex::default(),
            health: StorageHealth::default(),
            is_probing: AtomicBool::new(false),
            latest: AtomicI64::new(i64::MIN),
            refused: Mutex::default(),
            sketches: Sketches::default(),
            oneshots: max_oneshot_bytes.map(Growth::new),
        }));
        if mode == OpenMode::Daemon {
            store.take_the_place().await?;
            store.beat();
        }
        Ok(store)
    }

    /// Waits until no other daemon is there. One on a machine that is gone leaves a lease behind, and that is soon over.
    async fn take_the_place(&self) -> Result<(), Error> {
        let lease = Duration::from_millis(self.owner().lease.unsigned_abs());
        let until = Instant::now() + lease + lease / 4;
        loop {
            match self.end_former().await {
                Err(error) if error.is_occupied() && Instant::now() < until => {
                    tracing::info!(%error, "waiting for the database");
                    tokio::time::sleep((lease / 10).max(Duration::from_millis(50))).await;
                }
                other => return other,
            }
        }
    }

    /// Gives signs of life for as long as the daemon runs, also when it has nothing to do, and keeps out of the way of another
    /// one that has come all the same: because this one was thought to be gone.
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
                match store.write(move |sql| owners::stay(sql, &opener, now)).await {
                    Err(error) if error.is_occupied() => {
                        tracing::error!(%error, "this program writes no more");
                        store.0.health.damaged(error.to_string());
                        store.0.pool.close();
                        return;
                    }
                    Err(error) => tracing::warn!(%error, "no sign of life could be given"),
                    Ok(()) => {}
                }
            }
        });
    }

    /// Ends the open work of an earlier daemon of this instance.
    async fn end_former(&self) -> Result<(), Error> {
        let (now, day, opener) = (self.now(), self.day(), self.0.opener.clone());
        self.write(move |sql| {
            owners::keep_others_out(sql, &opener, now)?;
            clock_jumps::undo_future_deliveries(sql, now)?;
            let booked = ledger::write_off(sql, day, Some(&opener.instance))?;
            if booked > 0 {
                tracing::info!(calls = booked, "model calls of the last run were booked as interrupted");
            }
            Ok(())
        })
        .await
    }
}
