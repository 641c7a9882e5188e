//! How an instance joins the others.

use std::sync::{Arc, Mutex, OnceLock};

use aethon_core::peers::Peers;
use aethon_http::App;
use aethon_http::ws::{Hub, relay};
use tokio::sync::mpsc::Sender;
use tokio::task::JoinHandle;

use super::asking::Asking;
use super::assistant::Everywhere;
use super::sight;
use super::sign_ins::Journal;
use super::state::Others;
use super::task::{Desk, run};
use crate::aethon::Aethon;
use crate::error::Result;
use crate::front::SignIns;
use crate::postgres;
use crate::view::ReloadRequest;

/// This instance among others. It leaves them when this is dropped.
pub(crate) struct Joined {
    peers: Arc<dyn Peers>,
    others: Arc<Others>,
    sign_ins: Journal,
    reload: Arc<OnceLock<Sender<ReloadRequest>>>,
    tasks: Vec<JoinHandle<()>>,
}

/// Joins the others of a storage that several serve. From then on the assistant stops turns wherever they run, and knows
/// what waits for approval there. `None` where there can be no others.
pub(crate) fn join(aethon: &mut Aethon) -> Option<Joined> {
    let peers = aethon.storage.owners.peers()?;
    let (others, reload) = (Arc::new(Others::default()), Arc::default());
    let asking = Arc::new(Asking::new(peers.clone(), others.clone()));
    let everywhere = Everywhere {
        here: aethon.workflows.entry.clone(),
        others: others.clone(),
        asking: asking.clone(),
        transcripts: aethon.storage.transcripts.clone(),
    };
    aethon.workflows.entry = Arc::new(everywhere);
    aethon.approvals.elsewhere().answered_by(asking.clone());
    aethon.tools.commands.found_by(asking.clone());
    let desk = Desk {
        peers: peers.clone(),
        others: others.clone(),
        asking,
        engine: aethon.engine.clone(),
        approvals: aethon.approvals.clone(),
        commands: aethon.tools.commands.clone(),
        name: postgres::instance_name(&aethon.home),
        bus: aethon.shared.bus.clone(),
        deliveries: aethon.deliveries.wake.clone(),
        ended: Mutex::default(),
        reload: Arc::clone(&reload),
    };
    let sign_ins = Journal { records: aethon.storage.channel_records.clone(), peers: peers.clone() };
    Some(Joined { peers, others, sign_ins, reload, tasks: vec![tokio::spawn(run(Arc::new(desk)))] })
}

impl Joined {
    /// Relays the frames of the conversations of this hub, which must be [shared](Hub::shared), and tells the others whether one
    /// of its pages is in sight.
    pub(crate) fn relay(&mut self, hub: &Arc<Hub>) {
        self.tasks.push(tokio::spawn(relay(hub.clone(), self.peers.clone())));
        let pages = hub.pages_in_sight();
        self.tasks.push(tokio::spawn(sight::run(pages, self.peers.clone(), self.others.clone())));
    }

    /// Returns what tells whether a page is in sight at another instance.
    pub(crate) fn sight(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let others = self.others.clone();
        move || others.is_in_sight()
    }

    /// Has the configuration reloaded here when another instance has put new settings into force.
    pub(crate) fn reload_by(&self, requests: Sender<ReloadRequest>) {
        // There is one only.
        let _ = self.reload.set(requests);
    }

    /// Has the sign-ins of all instances in place of those of this home.
    pub(crate) async fn share(&self, sign_ins: SignIns) -> Result<SignIns> {
        let key = self.sign_ins.key(&sign_ins.key).await?;
        Ok(SignIns { key, journal: Some(self.sign_ins.shared().await?), ..sign_ins })
    }

    /// Has this application admit those who sign in at other instances.
    pub(crate) fn admit(&mut self, app: Arc<App>) {
        self.tasks.push(tokio::spawn(self.sign_ins.clone().follow(app)));
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}
