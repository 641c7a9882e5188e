//! Sends the notes of this daemon.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio_postgres::types::{ToSql, Type};

use super::link::Link;
use super::pieces;
use crate::db::Pool;
use crate::error::Error;
use crate::store::StoreInner;

/// How long notes are gathered, so that a stream of words is few notifications.
const GATHERED: Duration = Duration::from_millis(15);

/// How long a batch is tried to be sent. What is older is asked for again by those who miss it.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);

/// The pause after a batch that could not be sent.
const PAUSE: Duration = Duration::from_secs(1);

/// How long the server may take for one.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// The name on which the daemons of this schema listen.
pub(super) const CHANNEL: &str = "'aethon_' || md5(current_schema())";

/// Sends until the store is closed.
pub(super) async fn send(store: Weak<StoreInner>, link: Arc<Link>) {
    let mut number = 0;
    loop {
        link.wake.notified().await;
        tokio::time::sleep(GATHERED).await;
        while let Some(batch) = link.take() {
            let Some(inner) = store.upgrade() else { return };
            if inner.pool.is_closed() {
                return;
            }
            number += 1;
            let text = serde_json::to_string(&batch).unwrap_or_default();
            let pieces = pieces::cut(link.id(), number, &text);
            if let Err(error) = notify(&inner.pool, &pieces).await {
                tracing::debug!(%error, "notes to the other instances are lost");
                link.lose();
                // That some are lost must be told, also when nothing else follows.
                tokio::time::sleep(PAUSE).await;
                link.wake.notify_one();
                break;
            }
        }
    }
}

/// Sends the pieces of a batch, all or none. Where a connection breaks they are sent again: who has them passes over them.
async fn notify(pool: &Pool, pieces: &[String]) -> Result<(), Error> {
    // Nothing is stored, so there is nothing to wait for on the disk.
    let notify = format!(
        "SELECT pg_notify({CHANNEL}, piece), set_config('synchronous_commit', 'off', true) FROM unnest($1) AS piece"
    );
    let until = Instant::now() + SEND_TIMEOUT;
    loop {
        let connection = pool.take_patiently(until).await?;
        let values: [(&(dyn ToSql + Sync), Type); 1] = [(&pieces, Type::TEXT_ARRAY)];
        let sent =
            tokio::time::timeout(ANSWER_TIMEOUT, connection.client().query_typed(&notify, &values)).await;
        match sent.map_err(|_| Error::lost("no answer"))?.map_err(Error::from) {
            Ok(_) => {
                pool.give(connection);
                return Ok(());
            }
            Err(error) if !error.is_passing() || Instant::now() >= until => return Err(error),
            Err(_) => drop(connection),
        }
    }
}
