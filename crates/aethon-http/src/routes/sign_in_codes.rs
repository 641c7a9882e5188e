//! `POST /api/sign-in-codes`: an address with which another device signs in once, and its QR code.

use std::sync::Arc;

use aethon_core::jiff::Timestamp;
use http::StatusCode;
use qrcodegen::{QrCode, QrCodeEcc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audit_notes::AuditNotes;
use crate::auth::TokenAuth;
use crate::error::Problem;
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// The longest address of the chat page; with a code, it still fits a QR code that a phone reads from a screen.
const MAX_ADDRESS: usize = 300;

/// An address for another device.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SignInCode")]
pub(super) struct Issued {
    /// The address to open on the other device. The code is in its fragment, which no server or proxy receives.
    url: String,
    #[serde(serialize_with = "aethon_core::time::serialize")]
    expires_at: Timestamp,
    /// The rows of the QR code of that address; 1 is dark.
    qr: Vec<String>,
}

/// Where another device signs in.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "SignInCodeWanted")]
pub(super) struct Wanted {
    /// The http or https address of the chat page, as the other device reaches it.
    #[schemars(length(min = 1, max = MAX_ADDRESS))]
    address: String,
}

/// Makes a code for the chat page at this address.
pub(super) async fn issue(
    (auth, notes): (Arc<TokenAuth>, AuditNotes),
    mut request: Request,
) -> HandlerResult {
    let Wanted { address } = request.sent().await?;
    let address = chat_address(&address)?;
    let (code, ends) = auth.issue_code().ok_or_else(|| {
        let detail = "no access token is set (`dashboard.auth_token`), so there is nothing to sign in to";
        Problem::new(StatusCode::CONFLICT, "no_token", detail)
    })?;
    let url = format!("{address}#sign-in={}", code.expose());
    let drawn = QrCode::encode_text(&url, QrCodeEcc::Medium);
    let drawn = drawn.map_err(|_| Problem::invalid("address", "is too long for a QR code"))?;
    let row = |y| (0..drawn.size()).map(|x| if drawn.get_module(x, y) { '1' } else { '0' }).collect();
    notes.signed("code_made", request.client.address);
    response::created(&Issued {
        qr: (0..drawn.size()).map(row).collect(),
        expires_at: Timestamp::from_second(ends).unwrap_or_default(),
        url,
    })
}

/// Returns the address as it is shown, with a slash at its end.
fn chat_address(text: &str) -> Result<String, Problem> {
    let invalid = || Problem::invalid("address", "must be the http or https address of the chat page");
    let url = url::Url::parse(text.trim()).map_err(|_| invalid())?;
    let is_plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    if !matches!(url.scheme(), "http" | "https")
        || !is_plain
        || url.fragment().is_some()
        || text.len() > MAX_ADDRESS
    {
        return Err(invalid());
    }
    let text = String::from(url);
    Ok(if text.ends_with('/') { text } else { format!("{text}/") })
}
