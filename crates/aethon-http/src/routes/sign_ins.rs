//! `/api/sign-ins`: which browsers are signed in, and revoking a sign-in.

use std::sync::Arc;

use aethon_core::jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::{SignIn, SignInRecord, SignIns, TokenAuth};
use crate::error::Problem;
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// The browsers that are signed in, newest first.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SignIns")]
pub(super) struct List {
    sign_ins: Vec<Listed>,
}

/// A browser that is signed in.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SignIn")]
pub(super) struct Listed {
    id: String,
    address: String,
    #[serde(serialize_with = "aethon_core::time::serialize")]
    began_at: Timestamp,
    #[serde(serialize_with = "aethon_core::time::serialize")]
    ends_at: Timestamp,
    /// Whether the request itself came in under it.
    is_current: bool,
}

/// `GET /api/sign-ins`: active sign-ins, newest first.
pub(super) fn list(auth: Arc<TokenAuth>, request: &Request) -> HandlerResult {
    let own = auth.sign_in(request.token, &request.head.headers);
    let time = |seconds| Timestamp::from_second(seconds).unwrap_or_default();
    let listed = |begun: SignInRecord| Listed {
        is_current: matches!(&own, SignIn::Session(session, _) if session.name == begun.name),
        id: begun.name,
        address: begun.address,
        began_at: time(begun.began),
        ends_at: time(begun.ends),
    };
    response::json(&List { sign_ins: auth.sign_ins().into_iter().map(listed).collect() })
}

/// `DELETE /api/sign-ins/{id}`: invalidates the cookie and ends everything admitted under it.
pub(super) async fn end((auth, sign_ins): (Arc<TokenAuth>, Arc<SignIns>), request: Request) -> HandlerResult {
    let id: Option<String> = request.params.get("id");
    let begun = auth.sign_ins().into_iter().find(|begun| Some(&begun.name) == id.as_ref());
    let begun = begun.ok_or_else(|| Problem::not_found("there is no such sign-in"))?;
    sign_ins.revoke(begun).await;
    Ok(response::no_content())
}
