//! The devices of a home and the way to their services, from the configuration to the running task.

use std::sync::Arc;

use aethon_core::clock::Clock;
use aethon_core::event::{Event, EventBus};
use aethon_core::exchange::Exchange;
use aethon_core::push::PushDevices;
use aethon_core::shutdown::Shutdown;
use tokio::sync::broadcast::Receiver;
use tokio::task::JoinHandle;

use super::devices::DeviceList;
use super::sender::{Sender, Watched};
use crate::prepared::Prepared;
use crate::wiring;

/// What notifying devices takes.
pub(crate) struct Push {
    devices: Arc<DeviceList>,
    exchange: Arc<dyn Exchange>,
}

impl Push {
    /// Opens the list of devices. `None` if that is switched off, or if the home cannot keep it, which is logged.
    pub(crate) fn open(prepared: &Prepared) -> Option<Self> {
        if !prepared.config.push.enabled {
            return None;
        }
        let opened = wiring::web::options(&prepared.config).allowed_hosts;
        let devices = DeviceList::open(&prepared.home.run(), opened)
            .inspect_err(|error| tracing::warn!(%error, "devices cannot be notified (`push.enabled`)"))
            .ok()?;
        // A device says where its service is, so the rules for the tools hold.
        let exchange = aethon_tools::outside(&wiring::tool_options::options(prepared), Vec::new());
        Some(Self { devices, exchange: Arc::new(exchange) })
    }

    /// The devices, as the HTTP application changes them.
    pub(crate) fn devices(&self) -> Arc<dyn PushDevices> {
        self.devices.clone()
    }

    /// Begins to listen if there are devices, so that a turn that is taken up again at the start is not missed.
    pub(crate) fn listen(&self, bus: &EventBus) -> Option<Receiver<Event>> {
        (!self.devices.all().is_empty()).then(|| bus.subscribe())
    }

    /// Starts the task that sends.
    pub(crate) fn start(self, clock: Arc<dyn Clock>, watched: Watched, shutdown: Shutdown) -> JoinHandle<()> {
        let sender = Sender { devices: self.devices, exchange: self.exchange, clock };
        tokio::spawn(sender.run(watched, shutdown))
    }
}
