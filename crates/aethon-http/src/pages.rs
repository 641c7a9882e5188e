//! The HTML pages: chat, dashboard, API documentation, and the sign-in page.

use std::sync::Arc;

use http::StatusCode;
use http::header::{HeaderMap, HeaderValue, LOCATION, SET_COOKIE, WWW_AUTHENTICATE};

use crate::assets::{self, Caching};
use crate::audit_notes::AuditNotes;
use crate::auth::{Carrier, TokenAuth, TokenCheck};
use crate::base_path::BasePath;
use crate::body::Response;
use crate::error::CHALLENGE;
use crate::page_set::{File, PageSet};
use crate::request::{Client, Request};
use crate::response::{self, HandlerResult};

/// `GET /`: the chat.
pub(crate) fn chat(pages: Arc<PageSet>, request: &Request) -> HandlerResult {
    Ok(page(&pages.chat, &request.head.headers))
}

/// `GET /dashboard`, for those with access. If opened with the token in the query or the Authorization header, it
/// signs the browser in. A navigation is redirected to the plain address, so that the token leaves the address bar
/// and the history.
pub(crate) async fn dashboard(
    (auth, notes, pages, base): (Arc<TokenAuth>, AuditNotes, Arc<PageSet>, BasePath),
    request: Request,
) -> HandlerResult {
    let is_signed_in = !matches!(request.token, TokenCheck::Granted(Carrier::Query | Carrier::Bearer));
    if is_signed_in {
        return Ok(page(&pages.dashboard, &request.head.headers));
    }
    let mut answer = match request.token {
        TokenCheck::Granted(Carrier::Query) if request.header_is("sec-fetch-mode", "navigate") => {
            let mut answer = response::with_body(StatusCode::SEE_OTHER, "");
            if let Ok(address) = HeaderValue::try_from(base.address("/dashboard")) {
                answer.headers_mut().insert(LOCATION, address);
            }
            answer
        }
        // Never a 304 here, because the cookie must arrive.
        _ => assets::whole(&pages.dashboard, &request.head.headers, Caching::Never),
    };
    sign_in(&auth, &notes, &request, &mut answer).await;
    Ok(answer)
}

/// `GET /docs`: the API documentation.
pub(crate) fn docs(pages: Arc<PageSet>, request: &Request) -> HandlerResult {
    Ok(page(&pages.docs, &request.head.headers))
}

/// Returns the 401 response of `/dashboard` to those without access.
pub(crate) fn sign_in_page(pages: &PageSet, headers: &HeaderMap) -> Response {
    let mut answer = assets::whole(&pages.sign_in, headers, Caching::Never);
    *answer.status_mut() = StatusCode::UNAUTHORIZED;
    answer.headers_mut().insert(WWW_AUTHENTICATE, CHALLENGE);
    answer
}

/// Signs the browser in by adding the cookie to a response.
pub(crate) async fn sign_in(auth: &TokenAuth, notes: &AuditNotes, request: &Request, answer: &mut Response) {
    let Client { address, is_https } = request.client;
    if let Some(cookie) = auth.sign_in_cookie(address, is_https).await {
        notes.signed("in", address);
        answer.headers_mut().insert(SET_COOKIE, cookie);
    }
}

fn page(page: &File, headers: &HeaderMap) -> Response {
    assets::respond(page, headers, Caching::Revalidate)
}
