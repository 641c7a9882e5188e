//! The programs that serve one storage together.
//!
//! Each daemon is an *instance*: it gives signs of life, and answers the conversations that come to it. What must have one
//! holder at a time, such as the receiving end of a messenger, is a *role*: an instance holds it for as long as it says so, and
//! another one takes it when that ends. A storage that only one daemon can use has no roles to share out.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Result;
use crate::peers::Peers;

/// The most instances that are listed.
pub const MAX_INSTANCES: usize = 100;

/// A running daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Instance {
    /// Its name: the machine and the home.
    pub name: String,
    /// The version of the program.
    pub version: String,
    /// When it started.
    #[serde(serialize_with = "crate::time::serialize")]
    pub started_at: Timestamp,
    /// Its last sign of life.
    #[serde(serialize_with = "crate::time::serialize")]
    pub last_seen: Timestamp,
    /// Whether it is the one that says this.
    pub this: bool,
}

/// What the instances of one storage know of each other.
#[async_trait]
pub trait Instances: Send + Sync {
    /// Whether several daemons may use the storage.
    fn is_shared(&self) -> bool {
        false
    }

    /// The instances that are alive, the oldest first, at most [`MAX_INSTANCES`]. Empty where only one can be.
    async fn instances(&self) -> Result<Vec<Instance>> {
        Ok(Vec::new())
    }

    /// Takes these roles for this owner, or keeps them, for the length of a lease. Returns those that it holds now.
    async fn hold(&self, roles: &[String]) -> Result<Vec<String>> {
        Ok(roles.to_vec())
    }

    /// The other instances, for telling them what happens here; `None` where there can be none.
    fn peers(&self) -> Option<Arc<dyn Peers>> {
        None
    }

    /// Gives up all roles, so that another instance need not wait for the end of the lease.
    async fn let_go(&self) -> Result<()> {
        Ok(())
    }
}

/// Lists the instances, for a program that is one of them.
#[derive(Clone, Default)]
pub struct InstanceList {
    shared: Option<Arc<dyn Instances>>,
    this: Option<Instance>,
}

impl fmt::Debug for InstanceList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstanceList").field("this", &self.this).finish_non_exhaustive()
    }
}

impl InstanceList {
    /// A list for this instance of a storage.
    pub fn new(shared: Arc<dyn Instances>, this: Instance) -> Self {
        Self { shared: Some(shared), this: Some(this) }
    }

    /// The instances that are alive at `now`: this one alone where only one can be.
    pub async fn list(&self, now: Timestamp) -> Result<Vec<Instance>> {
        let others = match &self.shared {
            Some(shared) => shared.instances().await?,
            None => Vec::new(),
        };
        if others.is_empty() {
            return Ok(self.this.iter().map(|this| Instance { last_seen: now, ..this.clone() }).collect());
        }
        Ok(others)
    }
}
