//! The list of devices, kept at `run/push.devices`, readable by the owner only.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aethon_config::private_file;
use aethon_core::egress::HostRule;
use aethon_core::push::{MAX_DEVICES, PushDevice, PushDevices, PushRefusal};
use aethon_core::secret::Secret;
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use url::{Host, Url};

use super::encryption::is_public_key;
use super::vapid::Vapid;

/// The longest address of a device.
const MAX_ENDPOINT: usize = 2048;

/// The devices and the key for which they subscribed.
pub(crate) struct DeviceList {
    pub(super) vapid: Vapid,
    path: PathBuf,
    /// Hosts that the owner opened although they are not public; a push service at home is reached there.
    opened: Vec<HostRule>,
    devices: Mutex<Vec<PushDevice>>,
    /// How many there are.
    count: watch::Sender<usize>,
    /// Held while the file is written, so that the newest list is written last.
    writing: tokio::sync::Mutex<()>,
}

/// A device as the file has it.
#[derive(Serialize, Deserialize)]
struct Kept {
    endpoint: String,
    p256dh: String,
    auth: String,
    sign_in: String,
}

impl DeviceList {
    /// Opens the list in this folder of the home. A list that cannot be read is empty: devices subscribe again when their page is
    /// opened.
    pub(crate) fn open(run: &std::path::Path, opened: Vec<HostRule>) -> std::io::Result<Arc<Self>> {
        let vapid = Vapid::open(&run.join("push.key"))?;
        let path = run.join("push.devices");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let kept: Vec<Kept> = serde_json::from_str(&text).unwrap_or_default();
        let devices: Vec<PushDevice> = kept.into_iter().filter_map(Kept::device).collect();
        let count = watch::Sender::new(devices.len());
        let (devices, writing) = (Mutex::new(devices), tokio::sync::Mutex::default());
        Ok(Arc::new(Self { vapid, path, opened, devices, count, writing }))
    }

    /// The devices, oldest first.
    pub(super) fn all(&self) -> Vec<PushDevice> {
        self.lock().clone()
    }

    /// Follows how many there are.
    pub(super) fn count(&self) -> watch::Receiver<usize> {
        self.count.subscribe()
    }

    /// Removes the devices with these addresses.
    pub(super) async fn forget(&self, gone: &[Secret]) {
        if gone.is_empty() {
            return;
        }
        self.lock().retain(|device| !gone.iter().any(|one| one.expose() == device.endpoint.expose()));
        // If it cannot be stored, the device is removed again after a restart.
        let _ = self.store().await;
    }

    /// Returns the origin of a device's push service, or why it is none.
    pub(super) fn origin(&self, endpoint: &str) -> Result<String, &'static str> {
        let url = Url::parse(endpoint).map_err(|_| "must be an https address")?;
        let host = url.host().ok_or("must be an https address")?;
        let port = url.port_or_known_default().ok_or("must be an https address")?;
        let is_opened = self.opened.iter().any(|rule| rule.admits(&host.to_string(), port));
        let is_plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
        if endpoint.len() > MAX_ENDPOINT || !is_plain {
            return Err("must be an https address without a password, of at most 2,048 characters");
        }
        let is_service = url.scheme() == "https" && port == 443 && is_public_name(&host);
        match is_service || (is_opened && matches!(url.scheme(), "http" | "https")) {
            true => Ok(url.origin().ascii_serialization()),
            false => Err("must be the https address of a public push service"),
        }
    }

    async fn store(&self) -> Result<(), PushRefusal> {
        let _writing = self.writing.lock().await;
        let kept: Vec<Kept> = self.lock().iter().map(Kept::of).collect();
        self.count.send_replace(kept.len());
        let path = self.path.clone();
        let written = spawn_blocking(move || {
            let text = serde_json::to_vec_pretty(&kept).map_err(std::io::Error::other)?;
            private_file::write(&path, &text)
        });
        let written = written.await.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        written.map_err(|error| {
            tracing::warn!(%error, path = %self.path.display(), "the list of devices to notify cannot be stored");
            PushRefusal::Unstored
        })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<PushDevice>> {
        // Every statement leaves the list consistent.
        self.devices.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a name is one of the public network. Its addresses are judged when it is contacted.
fn is_public_name(host: &Host<&str>) -> bool {
    let Host::Domain(name) = host else { return false };
    let name = name.trim_end_matches('.');
    let last = name.rsplit('.').next().unwrap_or_default();
    name.contains('.') && !matches!(last, "localhost" | "local" | "internal" | "lan" | "home" | "onion")
}

#[async_trait]
impl PushDevices for DeviceList {
    fn key(&self) -> String {
        self.vapid.public()
    }

    async fn add(&self, device: PushDevice) -> Result<(), PushRefusal> {
        self.origin(device.endpoint.expose()).map_err(PushRefusal::Endpoint)?;
        if !is_public_key(&device.key) {
            return Err(PushRefusal::Key("keys.p256dh must be a public key of P-256, in base64url"));
        }
        if device.auth.len() != 16 {
            return Err(PushRefusal::Key("keys.auth must be 16 bytes, in base64url"));
        }
        {
            let mut devices = self.lock();
            devices.retain(|known| known.endpoint.expose() != device.endpoint.expose());
            if devices.len() >= MAX_DEVICES {
                devices.remove(0);
            }
            devices.push(device);
        }
        self.store().await
    }

    async fn remove(&self, endpoint: &str) -> Result<bool, PushRefusal> {
        let is_known = {
            let mut devices = self.lock();
            let before = devices.len();
            devices.retain(|known| known.endpoint.expose() != endpoint);
            devices.len() < before
        };
        if is_known {
            self.store().await?;
        }
        Ok(is_known)
    }
}

impl Kept {
    fn of(device: &PushDevice) -> Self {
        Self {
            endpoint: device.endpoint.expose().to_owned(),
            p256dh: URL_SAFE_NO_PAD.encode(&device.key),
            auth: URL_SAFE_NO_PAD.encode(&device.auth),
            sign_in: device.sign_in.clone(),
        }
    }

    fn device(self) -> Option<PushDevice> {
        Some(PushDevice {
            endpoint: Secret::new(&self.endpoint),
            key: URL_SAFE_NO_PAD.decode(self.p256dh).ok()?,
            auth: URL_SAFE_NO_PAD.decode(self.auth).ok()?,
            sign_in: self.sign_in,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const KEY: &str =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";

    fn device(endpoint: &str) -> PushDevice {
        PushDevice {
            endpoint: Secret::new(endpoint),
            key: URL_SAFE_NO_PAD.decode(KEY).unwrap(),
            auth: vec![7; 16],
            sign_in: "open".into(),
        }
    }

    #[tokio::test]
    async fn devices_outlive_a_restart_in_a_private_file_and_are_bounded() {
        let home = tempfile::tempdir().unwrap();
        let list = DeviceList::open(home.path(), Vec::new()).unwrap();
        for number in 0..=MAX_DEVICES {
            list.add(device(&format!("https://push.example/{number}"))).await.unwrap();
        }
        list.add(device("https://push.example/5")).await.unwrap();
        assert!(list.remove("https://push.example/6").await.unwrap());
        assert!(!list.remove("https://push.example/6").await.unwrap());
        let again = DeviceList::open(home.path(), Vec::new()).unwrap();
        let all: Vec<_> = again.all().iter().map(|device| device.endpoint.expose().to_owned()).collect();
        assert_eq!(all.len(), MAX_DEVICES - 1);
        assert_eq!(all.last().unwrap(), "https://push.example/5", "what is added again is the newest");
        assert!(!all.contains(&"https://push.example/0".to_owned()), "the oldest made room");
        assert_eq!((again.key(), again.all()[0].auth.len()), (list.key(), 16));
        let mode = std::fs::metadata(home.path().join("push.devices")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[tokio::test]
    async fn devices_need_a_public_push_service_and_valid_keys() {
        let home = tempfile::tempdir().unwrap();
        let opened = vec!["nas.local:8080".parse().unwrap()];
        let list = DeviceList::open(home.path(), opened).unwrap();
        for (endpoint, expected) in [
            ("https://fcm.googleapis.com/fcm/send/abc", true),
            ("https://updates.push.services.mozilla.com/wpush/v2/x", true),
            ("http://nas.local:8080/push", true),
            ("http://nas.local:8081/push", false),
            ("http://push.example/x", false),
            ("https://push.example:8443/x", false),
            ("https://user@push.example/x", false),
            ("https://push.example/x#y", false),
            ("https://127.0.0.1/x", false),
            ("https://[::1]/x", false),
            ("https://8.8.8.8/x", false),
            ("https://localhost/x", false),
            ("https://printer.local/x", false),
            ("https://printer/x", false),
            ("ftp://push.example/x", false),
            ("push.example", false),
            ("", false),
        ] {
            assert_eq!(list.add(device(endpoint)).await.is_ok(), expected, "{endpoint}");
        }
        let wrong = PushDevice { auth: vec![7; 15], ..device("https://push.example/x") };
        assert!(matches!(list.add(wrong).await, Err(PushRefusal::Key(_))));
        let wrong = PushDevice { key: vec![4; 65], ..device("https://push.example/x") };
        assert!(matches!(list.add(wrong).await, Err(PushRefusal::Key(_))));
        assert_eq!(list.all().len(), 3);
    }
}
