//! `POST /api/sign-out`: takes the cookie back from this browser.

use std::sync::Arc;

use http::header::SET_COOKIE;

use crate::app::App;
use crate::auth::Gate;
use crate::request::Request;
use crate::response::{self, Answer};

/// Clears the cookie.
pub(crate) async fn sign_out(_app: Arc<App>, request: Request) -> Answer {
    let mut answer = response::json_bytes(r#"{"status":"ok"}"#);
    answer.headers_mut().insert(SET_COOKIE, Gate::sign_out_cookie(request.client.is_https));
    Ok(answer)
}
