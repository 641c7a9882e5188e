//! `POST /api/sign-out`: invalidates this browser's cookie and ends everything admitted under it.

use std::sync::Arc;

use http::header::SET_COOKIE;
use schemars::JsonSchema;
use serde::Serialize;

use crate::audit_notes::AuditNotes;
use crate::auth::{SignIns, TokenAuth};
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// It was done.
#[derive(Serialize, JsonSchema)]
pub(super) struct Done {
    /// Always `ok`.
    status: &'static str,
}

/// Revokes the sign-in and clears the cookie.
pub(super) async fn sign_out(
    (auth, sign_ins, notes): (Arc<TokenAuth>, Arc<SignIns>, AuditNotes),
    request: Request,
) -> HandlerResult {
    let own = auth.sign_in(request.token, &request.head.headers);
    let others = auth.named_sign_ins(&request.head.headers);
    for sign_in in std::iter::once(own).chain(others) {
        sign_ins.end(&sign_in);
        sign_ins.keep(&sign_in).await;
    }
    notes.signed("out", request.client.address);
    let mut answer = response::json(&Done { status: "ok" })?;
    answer.headers_mut().insert(SET_COOKIE, auth.sign_out_cookie(request.client.is_https));
    Ok(answer)
}
