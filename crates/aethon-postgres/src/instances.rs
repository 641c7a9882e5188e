//! The daemons that use the database, and which of them holds a role.

use std::sync::Arc;

use aethon_core::error::Result as CoreResult;
use aethon_core::instance::{Instance, Instances, MAX_INSTANCES};
use aethon_core::peers::{Heard, PeerId, Peers};
use async_trait::async_trait;
use tokio::sync::broadcast::Receiver;

use crate::db::{Sql, params};
use crate::error::Error;
use crate::owner::{About, Owner};
use crate::peers::Link;
use crate::store::Store;
use crate::time::from_millis;

#[async_trait]
impl Instances for Store {
    fn is_shared(&self) -> bool {
        true
    }

    async fn instances(&self) -> CoreResult<Vec<Instance>> {
        const ALIVE: &str = "SELECT instance, version, started_at, seen_at, owner = $1 FROM owners
            WHERE is_daemon AND lease_until > $2 ORDER BY started_at, owner LIMIT $3";
        let (about, owner, now) = (self.opener().about.clone(), self.owner(), self.now());
        let most = i64::try_from(MAX_INSTANCES).unwrap_or(i64::MAX);
        let read = move |sql: &Sql<'_>| {
            let now = about.lease_now(sql, now)?;
            sql.all(ALIVE, params![owner.id, now, most], |row| {
                Ok(Instance {
                    name: row.get(0)?,
                    version: row.get(1)?,
                    started_at: from_millis(row.get(2)?),
                    last_seen: from_millis(row.get(3)?),
                    this: row.get(4)?,
                })
            })
        };
        Ok(self.read(read).await?)
    }

    async fn hold(&self, roles: &[String]) -> CoreResult<Vec<String>> {
        let (about, owner, now) = (self.opener().about.clone(), self.owner(), self.now());
        let roles = roles.to_vec();
        let (asked, asker) = (roles.clone(), about.clone());
        // Those who only wait write nothing.
        let free = self.read(move |sql| {
            let now = asker.lease_now(sql, now)?;
            let mut free = Vec::new();
            for role in &asked {
                if !is_held_elsewhere(sql, role, owner, now)? {
                    free.push(role.clone());
                }
            }
            Ok(free)
        });
        let free = free.await?;
        if free.is_empty() {
            return Ok(free);
        }
        Ok(self.write(move |sql| take(sql, &about, (owner, now), &free)).await?)
    }

    fn peers(&self) -> Option<Arc<dyn Peers>> {
        let link = self.0.link.clone()?;
        Some(Arc::new(LinkedStore { store: self.clone(), link }))
    }

    async fn let_go(&self) -> CoreResult<()> {
        const LET_GO: &str = "DELETE FROM roles WHERE owner = $1";
        let owner = self.owner();
        Ok(self.write(move |sql| sql.execute(LET_GO, [owner.id]).map(drop)).await?)
    }
}

/// The store as a way to the other daemons.
struct LinkedStore {
    store: Store,
    link: Arc<Link>,
}

#[async_trait]
impl Peers for LinkedStore {
    fn id(&self) -> PeerId {
        self.link.id()
    }

    fn tell(&self, to: Option<PeerId>, topic: &str, body: String) {
        self.link.tell(to, topic, body);
    }

    fn listen(&self) -> Receiver<Heard> {
        self.link.listen()
    }

    async fn others(&self) -> CoreResult<Vec<PeerId>> {
        const OTHERS: &str = "SELECT owner FROM owners
            WHERE is_daemon AND lease_until > $1 AND owner <> $2 ORDER BY owner LIMIT $3";
        let (about, owner, now) = (self.store.opener().about.clone(), self.store.owner(), self.store.now());
        let most = i64::try_from(MAX_INSTANCES).unwrap_or(i64::MAX);
        let read = move |sql: &Sql<'_>| {
            let now = about.lease_now(sql, now)?;
            sql.all(OTHERS, [now, owner.id, most], |row| Ok(PeerId(row.get(0)?)))
        };
        Ok(self.store.read(read).await?)
    }
}

/// Whether a living program holds a role.
fn is_held_elsewhere(sql: &Sql<'_>, role: &str, owner: Owner, now: i64) -> Result<bool, Error> {
    const HELD: &str =
        "SELECT 1 FROM roles WHERE role = $1 AND owner <> $2 AND held_until > $3 AND held_until <= $4";
    // A lease that reaches further is a wrong clock's.
    let furthest = now.saturating_add(owner.lease.saturating_mul(2));
    Ok(sql.first(HELD, params![role, owner.id, now, furthest], |_| Ok(()))?.is_some())
}

fn take(
    sql: &Sql<'_>,
    about: &About,
    (owner, now): (Owner, i64),
    roles: &[String],
) -> Result<Vec<String>, Error> {
    const TAKE: &str = "INSERT INTO roles (role, owner, held_until) VALUES ($1, $2, $3)
        ON CONFLICT (role) DO UPDATE SET owner = $2, held_until = $3";
    let now = about.lease_now(sql, now)?;
    owner.sign_if_due(sql, about, now)?;
    let mut taken = Vec::new();
    for role in roles {
        // All writers take turns, so nobody comes in between.
        if !is_held_elsewhere(sql, role, owner, now)? {
            sql.execute(TAKE, params![role, owner.id, now.saturating_add(owner.lease)])?;
            taken.push(role.clone());
        }
    }
    Ok(taken)
}
