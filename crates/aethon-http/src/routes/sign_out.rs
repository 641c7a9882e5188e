//! `POST /api/sign-out`: takes the cookie back from this browser.

use http::header::SET_COOKIE;

use crate::auth::TokenAuth;
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// Clears the cookie.
pub(super) async fn sign_out(_: (), request: Request) -> HandlerResult {
    let mut answer = response::json_bytes(r#"{"status":"ok"}"#);
    answer.headers_mut().insert(SET_COOKIE, TokenAuth::sign_out_cookie(request.client.is_https));
    Ok(answer)
}
