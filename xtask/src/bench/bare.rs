//! The baseline of the benchmark: hyper's own "hello" server, answering every request with the body of `/health`.
//!
//! Deliberately untuned: two worker threads like the server, hyper's defaults, the system's allocator.

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::io::Write;
use std::net::Ipv4Addr;
use tokio::net::TcpListener;

/// Binds a free port, prints its address on one line, and serves until the process is killed.
pub(crate) fn serve() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("cannot bind")?;
        println!("bare hyper listening on http://{}", listener.local_addr()?);
        std::io::stdout().flush()?;
        accept(listener).await
    })
}

async fn accept(listener: TcpListener) -> Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            // The load generator reports connections that end in an error.
            let connection = hyper::server::conn::http1::Builder::new();
            let _ = connection.serve_connection(TokioIo::new(stream), service_fn(hello)).await;
        });
    }
}

async fn hello(_request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(Bytes::from_static(b"{\"status\":\"ok\"}")));
    let json = hyper::header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, json);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::super::load;
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_load_generator_and_the_bare_server_understand_each_other() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let outcome = runtime.block_on(async {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            let address = listener.local_addr().unwrap();
            tokio::spawn(accept(listener));
            load::repeat(address, vec![load::get("/health"); 4], Duration::from_millis(50)).await.unwrap()
        });
        assert!(outcome.requests >= 4 && outcome.rate() > 0.0);
    }
}
