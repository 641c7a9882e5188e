//! Opens a store: the server, its format, and whatever an earlier daemon left behind.

use std::sync::atomic::{AtomicBool, AtomicI64};
use std::sync::{Arc, Mutex};

use aethon_core::storage::{StorageHealth, Synchronous};

use crate::db::{self, Address, Durability, Pool};
use crate::error::Error;
use crate::growth::Growth;
use crate::memory::Sketches;
use crate::owner::Owner;
use crate::store::{OpenMode, Opener, Options, Store, StoreInner};
use crate::{clock_jumps, ledger, owners};

impl Store {
    /// Connects to the server and brings the database to the current format. To be called within a runtime, which the
    /// connections live in.
    pub async fn open(url: &str, options: Options) -> Result<Self, Error> {
        let address = Address::parse(url)?;
        let words = address.words();
        let pool = Pool::new(address)?;
        db::prepare(&pool, &words).await?;
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
            store.end_former().await?;
        }
        Ok(store)
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
