//! The pages and the API of the assistant in a server of one's own, below a path, beside a route of one's own.
//!
//! Run it with `cargo run -p aethon --example mount`, and open <http://127.0.0.1:8080/assistant/>.

use std::convert::Infallible;
use std::error::Error;

use aethon::Mount;
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};

type Body = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;

/// Serves the assistant below `/assistant` and everything else from here, until `stop` resolves.
pub(crate) async fn serve(
    home: &std::path::Path,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), Box<dyn Error>> {
    let settings = json!({ "model": { "provider": "echo" }, "server": { "base_path": "/assistant" } });
    let prepared = aethon::Builder::new().home(home).settings(settings).mount().load()?;
    let service = aethon::Service::start(prepared).await?;
    let assistant = service.http().ok_or("channels.webchat.enabled is false")?;
    let accepting = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(connection(stream, assistant.clone()));
        }
    });
    // The assistant's own tasks: deliveries, jobs, upkeep.
    service.run(stop).await?;
    accepting.abort();
    Ok(())
}

async fn connection(stream: TcpStream, assistant: Mount) {
    let Ok(peer) = stream.peer_addr() else { return };
    let answer = service_fn(async |request: Request<Incoming>| {
        let answer = match request.uri().path().starts_with("/assistant") {
            true => {
                assistant.call(request, peer.ip()).await.map(|body| body.map_err(Into::into).boxed_unsync())
            }
            false => own(&request),
        };
        Ok::<_, Infallible>(answer)
    });
    // Without upgrades there would be no WebSockets.
    let served = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).with_upgrades().await;
    drop(served); // An error is the client's: it went away.
}

fn own(request: &Request<Incoming>) -> Response<Body> {
    let text = format!("This is {} of the program itself.\n", request.uri().path());
    Response::new(Full::new(Bytes::from(text)).map_err(Into::into).boxed_unsync())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let listener = TcpListener::bind("127.0.0.1:8080").await?;
    serve(home.path(), listener, async { drop(tokio::signal::ctrl_c().await) }).await
}
