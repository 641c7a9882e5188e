//! The application inside another HTTP server: beside that server's own routes, behind its TLS and its limits.
//!
//! Access, Host and Origin are checked as on a listener of our own, by the same table. What a connection may cost is up to the server
//! that has it: no limit of this crate on connections, heads and idle time applies, only those on bodies.

use std::convert::Infallible;
use std::error::Error as StdError;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use aethon_core::shutdown::Shutdown;
use bytes::Bytes;
use http::header::{HOST, HeaderValue};
use http::{Request, Response, Version};
use tokio::time::MissedTickBehavior;

use crate::app::App;
use crate::body::Body;
use crate::request::RequestBody;
use crate::service;
use crate::ws::SWEEP;

/// The application as a service for requests that another server has accepted. Cheap to clone.
#[derive(Clone)]
pub struct Mount {
    app: Arc<App>,
}

/// The same for one connection: a [`hyper::service::Service`].
#[derive(Clone)]
pub struct PeerMount {
    mount: Mount,
    peer: IpAddr,
}

impl Mount {
    /// Wraps an application.
    pub fn new(app: Arc<App>) -> Self {
        Self { app }
    }

    /// Answers a request of this peer, whose address counts for the limit on wrong tokens and for `server.trusted_proxies`. If the
    /// application has a base path (`server.base_path`), the request may have it or not.
    ///
    /// For WebSockets the request must still have the extensions that hyper gave it, and its connection must allow upgrades.
    pub async fn call<B>(&self, request: Request<B>, peer: IpAddr) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let (mut head, body) = request.into_parts();
        name_host(&mut head);
        let Ok(answer) = service::call(&self.app, head, RequestBody::foreign(body), peer, |_| {}).await;
        answer
    }

    /// Returns the service for a connection from this peer.
    pub fn of_peer(&self, peer: IpAddr) -> PeerMount {
        PeerMount { mount: self.clone(), peer }
    }

    /// Does what a server of ours does beside serving: lets go of the logs of idle conversations. Ends with the shutdown.
    pub async fn sweep(&self, mut shutdown: Shutdown) {
        let mut sweeps = tokio::time::interval(SWEEP);
        sweeps.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = shutdown.requested() => return,
                _ = sweeps.tick() => self.app.deps.chat.hub.sweep(),
            }
        }
    }
}

impl<B> hyper::service::Service<Request<B>> for PeerMount
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn call(&self, request: Request<B>) -> Self::Future {
        let Self { mount, peer } = self.clone();
        Box::pin(async move { Ok(mount.call(request, peer).await) })
    }
}

/// Adds the Host that HTTP/2 gives as the authority of the target.
fn name_host(head: &mut http::request::Parts) {
    if head.version < Version::HTTP_2 || head.headers.contains_key(HOST) {
        return;
    }
    let host = head.uri.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    if let Some(host) = host {
        head.headers.insert(HOST, host);
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use http_body_util::{BodyExt as _, Full};

    use super::*;
    use crate::options::{BasePath, Options};
    use crate::service::tests::TestApp;

    fn mount() -> Mount {
        let options = Options { base_path: BasePath::new("/assistant"), ..Options::default() };
        Mount::new(TestApp::new(options).app)
    }

    async fn answer(mount: &Mount, request: http::request::Builder, body: &str) -> (StatusCode, String) {
        let request = request.body(Full::new(Bytes::from(body.to_owned()))).unwrap();
        let answer = mount.call(request, "127.0.0.1".parse().unwrap()).await;
        let status = answer.status();
        let bytes = answer.into_body().collect().await.unwrap_or_else(|_| unreachable!()).to_bytes();
        (status, String::from_utf8_lossy(&bytes).into_owned())
    }

    #[tokio::test]
    async fn requests_are_answered_with_and_without_the_base_path() {
        let mount = mount();
        for path in ["/assistant/health", "/health"] {
            let request = Request::get(path).header("host", "localhost");
            assert_eq!(answer(&mount, request, "").await.0, StatusCode::OK, "{path}");
        }
        let request = Request::get("/elsewhere").header("host", "localhost");
        assert_eq!(answer(&mount, request, "").await.0, StatusCode::NOT_FOUND);
        let request = Request::get("/health");
        assert_eq!(answer(&mount, request, "").await.0, StatusCode::BAD_REQUEST, "HTTP/1.1 names its host");
    }

    #[tokio::test]
    async fn http_2_names_the_host_in_its_target() {
        let request = Request::get("http://localhost/assistant/api/status").version(Version::HTTP_2);
        assert_eq!(answer(&mount(), request, "").await.0, StatusCode::OK);
        let request = Request::get("http://evil.example/assistant/api/status").version(Version::HTTP_2);
        assert_eq!(answer(&mount(), request, "").await.0, StatusCode::MISDIRECTED_REQUEST);
    }

    #[tokio::test]
    async fn a_body_is_read_within_its_limits() {
        let mount = mount();
        let send = |body: String| {
            let request = Request::post("/assistant/webhook/trigger").header("host", "localhost");
            let request = request.header("content-type", "application/json");
            let mount = mount.clone();
            async move { answer(&mount, request, &body).await }
        };
        let (status, problem) = send(r#"{"text": 1}"#.to_owned()).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "it was read: {problem}");
        let (status, problem) = send(format!("{{\"text\": \"{}\"}}", "x".repeat(3 << 20))).await;
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE, "{problem}");
    }
}
