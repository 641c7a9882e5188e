//! `/api/push`: devices that are notified while no page is in sight.

use std::sync::Arc;

use aethon_core::push::{PushDevice, PushDevices, PushRefusal};
use aethon_core::secret::Secret;
use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::TokenAuth;
use crate::deps::Setup;
use crate::error::Problem;
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// Browsers leave the padding out; other clients may not.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The key of this program.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PushKey")]
pub(super) struct Key {
    key: String,
}

/// The device is notified from now on.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PushSubscribed")]
pub(super) struct Subscribed {
    status: &'static str,
}

/// A `PushSubscription`, as browsers give it.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "PushSubscription")]
pub(super) struct Subscription {
    /// The address of the device at its push service.
    #[schemars(length(min = 1))]
    endpoint: String,
    keys: Option<Keys>,
}

/// The keys of a device, in base64url.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "PushKeys")]
struct Keys {
    p256dh: Option<String>,
    auth: Option<String>,
}

/// The device that is notified no longer.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "PushEndpoint")]
pub(super) struct Endpoint {
    /// The address that it was subscribed with.
    #[schemars(length(min = 1))]
    endpoint: String,
}

/// `GET /api/push/key`: the key that a browser needs to subscribe.
pub(super) fn key(setup: Setup, _request: &Request) -> HandlerResult {
    response::json(&Key { key: devices(&setup)?.key() })
}

/// `POST /api/push/subscriptions`: notifies this device from now on, as long as its sign-in lasts.
pub(super) async fn subscribe((setup, auth): (Setup, Arc<TokenAuth>), mut request: Request) -> HandlerResult {
    let devices = devices(&setup)?;
    let sign_in = auth.lasting_name(&auth.sign_in(request.token, &request.head.headers));
    let Subscription { endpoint, keys } = request.sent().await?;
    let (endpoint, keys) = (Secret::new(endpoint), keys.unwrap_or_default());
    let (key, auth) = (part(keys.p256dh, "keys.p256dh")?, part(keys.auth, "keys.auth")?);
    devices.add(PushDevice { endpoint, key, auth, sign_in }).await.map_err(refused)?;
    response::created(&Subscribed { status: "subscribed" })
}

/// `DELETE /api/push/subscriptions {endpoint}`: no longer notifies this device.
pub(super) async fn unsubscribe(setup: Setup, mut request: Request) -> HandlerResult {
    let devices = devices(&setup)?;
    let Endpoint { endpoint } = request.sent().await?;
    if !devices.remove(&endpoint).await.map_err(refused)? {
        return Err(Problem::not_found("no device with this address is notified"));
    }
    Ok(response::no_content())
}

fn devices(setup: &Setup) -> Result<&Arc<dyn PushDevices>, Problem> {
    setup.push.as_ref().ok_or_else(|| {
        Problem::not_found("notifications of devices are off (`push.enabled`)").with_code("push_off")
    })
}

fn part(text: Option<String>, shown: &'static str) -> Result<Vec<u8>, Problem> {
    let text = text.unwrap_or_default();
    let text = text.trim();
    if text.is_empty() {
        return Err(Problem::invalid(shown, "is required"));
    }
    BASE64.decode(text).map_err(|_| Problem::invalid(shown, "must be base64url"))
}

fn refused(refusal: PushRefusal) -> Problem {
    match refusal {
        PushRefusal::Endpoint(why) => Problem::invalid("endpoint", why),
        PushRefusal::Key(why) => Problem::invalid("keys", why),
        PushRefusal::Unstored => Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "storage_unavailable",
            "the list of devices cannot be stored; the log says why",
        ),
    }
}
