//! Open connections by address, so that no address can take up all of them.
//!
//! An address may hold a quarter of the connections. If it opens one more, its longest idle connection is closed.
//! Connections that never showed a valid token go first, because the owner's browser and a stranger may share an
//! address. When all connections are taken, the address that holds the most gives one up in the same way. A
//! connection with a request in progress is never closed, and webhooks, which may wait for their reply, take no more than
//! their share of all (`App::waiting_strangers`). The quarter does not apply to trusted proxies, which
//! connect on behalf of many clients.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OwnedSemaphorePermit;

use crate::limits::neighbourhood;
use crate::progress::Progress;

/// Below this total, a quarter would be too few for one person.
const MIN_TO_SHARE: usize = 16;

/// The open connections, by address.
pub(crate) struct Connections {
    by_address: Mutex<HashMap<IpAddr, Vec<Arc<Progress>>>>,
    /// How many each address may hold, or `None` if there are too few to share.
    most_each: Option<usize>,
}

/// One connection's entry among the open connections. It holds the server's permit.
pub(crate) struct ConnectionSlot {
    connections: Arc<Connections>,
    address: IpAddr,
    progress: Arc<Progress>,
    is_from_proxy: bool,
    _permit: OwnedSemaphorePermit,
}

impl Connections {
    /// Creates an empty set that allows this many connections in total.
    pub(crate) fn new(most: usize) -> Self {
        let most_each = (most >= MIN_TO_SHARE).then_some(most / 4);
        Self { by_address: Mutex::default(), most_each }
    }

    /// Adds a connection. If its address now holds too many, its longest idle one is closed.
    pub(crate) fn add(
        self: &Arc<Self>,
        peer: IpAddr,
        permit: OwnedSemaphorePermit,
        is_proxy: bool,
    ) -> ConnectionSlot {
        let (address, progress) = (neighbourhood(peer), Arc::new(Progress::default()));
        let mut all = self.lock();
        let own = all.entry(address).or_default();
        if self.most_each.is_some_and(|most| own.len() >= most) && !is_proxy {
            close_one(own);
        }
        own.push(Arc::clone(&progress));
        ConnectionSlot {
            connections: Arc::clone(self),
            address,
            progress,
            is_from_proxy: is_proxy,
            _permit: permit,
        }
    }

    /// Makes the address with the most connections give one up, or, if all of those are busy, the next one. Returns
    /// `false` if none can be closed.
    pub(crate) fn make_room(&self) -> bool {
        let all = self.lock();
        let mut by_number: Vec<&Vec<Arc<Progress>>> = all.values().collect();
        by_number.sort_by_key(|connections| std::cmp::Reverse(connections.len()));
        self.most_each.is_some() && by_number.into_iter().any(|connections| close_one(connections))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, Vec<Arc<Progress>>>> {
        // Every statement leaves the map consistent, so a poisoned lock is usable.
        self.by_address.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionSlot {
    /// Returns the progress of the connection.
    pub(crate) fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Returns whether a trusted proxy holds the connection, on behalf of others.
    pub(crate) fn is_from_proxy(&self) -> bool {
        self.is_from_proxy
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut all = self.connections.lock();
        if let Some(own) = all.get_mut(&self.address) {
            own.retain(|other| !Arc::ptr_eq(other, &self.progress));
            if own.is_empty() {
                all.remove(&self.address);
            }
        }
    }
}

/// Closes the connection that has been idle longest, preferring those without a valid token.
fn close_one(connections: &[Arc<Progress>]) -> bool {
    let idle = connections.iter().filter(|connection| connection.is_idle());
    let first = idle.min_by_key(|connection| (connection.is_known(), connection.touched()));
    first.inspect(|connection| connection.close()).is_some()
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;

    use super::*;

    fn slots(connections: &Arc<Connections>, address: &str, count: usize) -> Vec<ConnectionSlot> {
        let permits = Arc::new(Semaphore::new(count));
        let permit = || Arc::clone(&permits).try_acquire_owned().unwrap();
        (0..count).map(|_| connections.add(address.parse().unwrap(), permit(), false)).collect()
    }

    fn closed(slots: &[ConnectionSlot]) -> Vec<usize> {
        (0..slots.len()).filter(|&at| slots[at].progress().is_closed()).collect()
    }

    #[test]
    fn an_address_holds_a_quarter_and_its_longest_idle_one_goes() {
        let connections = Arc::new(Connections::new(40));
        let mut own = slots(&connections, "192.0.2.1", 10);
        assert_eq!(closed(&own), [0; 0]);
        own[0].progress().begin();
        own[1].progress().know();
        own[2].progress().touch();
        own.extend(slots(&connections, "192.0.2.1", 1));
        assert_eq!(closed(&own), [3], "busy, known and lately used ones stay");
        let others = slots(&connections, "192.0.2.2", 10);
        assert_eq!(closed(&others), [0; 0]);
        own.remove(3);
        assert!(connections.make_room());
        assert_eq!(closed(&others).len() + closed(&own).len(), 1);
    }

    #[test]
    fn few_connections_are_not_shared_out() {
        let connections = Arc::new(Connections::new(8));
        assert_eq!(closed(&slots(&connections, "192.0.2.1", 8)), [0; 0]);
        assert!(!connections.make_room());
    }

    #[test]
    fn an_address_with_busy_connections_leaves_the_others_evictable() {
        let connections = Arc::new(Connections::new(16));
        let busy = slots(&connections, "192.0.2.1", 4);
        busy.iter().for_each(|slot| slot.progress().begin());
        let idle = slots(&connections, "192.0.2.2", 2);
        assert!(connections.make_room());
        assert_eq!((closed(&busy).len(), closed(&idle).len()), (0, 1));
    }

    #[test]
    fn where_all_are_busy_nothing_is_closed() {
        let connections = Arc::new(Connections::new(16));
        let own = slots(&connections, "::1", 4);
        own.iter().for_each(|slot| slot.progress().begin());
        let more = slots(&connections, "::1", 1);
        assert_eq!((closed(&own), closed(&more)), (Vec::new(), Vec::new()));
        drop((own, more));
        assert!(connections.lock().is_empty());
    }
}
