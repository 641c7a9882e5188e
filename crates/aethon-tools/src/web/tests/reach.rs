//! The reach of the tools, and its limits.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::server::{answer, redirect};
use super::{Server, call, fetch, fetcher, options};
use crate::web::options::Names;

/// A resolver that returns these answers one after the other; the last one stays.
#[derive(Debug, Default)]
struct Told {
    answers: Vec<Vec<IpAddr>>,
    asked: AtomicUsize,
}

impl Told {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parsed = |answer: &&[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
        Arc::new(Self { answers: answers.iter().map(parsed).collect(), asked: AtomicUsize::new(0) })
    }
}

impl Names for Told {
    fn addresses(&self, _host: &str, port: u16) -> std::io::Result<Vec<SocketAddr>> {
        let turn = self.asked.fetch_add(1, Ordering::Relaxed).min(self.answers.len() - 1);
        Ok(self.answers[turn].iter().map(|address| SocketAddr::new(*address, port)).collect())
    }
}

#[tokio::test]
async fn private_addresses_are_refused_unless_allowed() {
    let server = Server::with("text/plain", "inside");
    for url in [
        server.url("/"),
        format!("http://localhost:{}/", server.port()),
        format!("http://[::ffff:127.0.0.1]:{}/", server.port()),
        format!("http://0.0.0.0:{}/", server.port()),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://10.0.0.1/".to_owned(),
        "http://[fd00:ec2::254]/".to_owned(),
        "http://[64:ff9b::7f00:1]/".to_owned(),
    ] {
        let error = call(&*fetcher(&options(&[], |_| {})), json!({"url": url})).await.unwrap_err();
        assert!(error.is_denied(), "{url}: {error}");
        assert!(error.to_string().contains("security.egress_allowed_hosts"), "{url}: {error}");
    }
    for url in [
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "file:///etc/passwd",
        "http://me:pw@a.example/",
    ] {
        let error = fetch(url).await.unwrap_err();
        assert!(error.is_denied() && !error.to_string().contains("pw"), "{url}: {error}");
    }
    assert!(server.requests().is_empty());
    let text = fetch(&server.url("/")).await.unwrap();
    assert!(text.ends_with("inside"), "{text}");
    let allowed = format!("127.0.0.1:{}", server.port() ^ 1);
    let error = call(&*fetcher(&options(&[&allowed], |_| {})), json!({"url": server.url("/")})).await;
    assert!(error.unwrap_err().is_denied(), "another port is allowed");
}

#[tokio::test]
async fn the_assistants_own_port_stays_closed() {
    let server = Server::with("text/plain", "inside");
    let mut options = options(&["127.0.0.1", "localhost", "0.0.0.0"], |_| {});
    options.port = Some(server.port());
    for host in ["127.0.0.1", "127.0.0.2", "localhost", "0.0.0.0"] {
        let url = format!("http://{host}:{}/", server.port());
        let error = call(&*fetcher(&options), json!({"url": url})).await.unwrap_err();
        assert!(error.is_denied() && error.to_string().contains("own port"), "{host}: {error}");
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn each_step_of_a_redirect_is_judged() {
    let inside = Server::with("text/plain", "inside");
    let port = inside.port();
    for to in [
        format!("http://127.0.0.1:{port}/secret"),
        format!("//127.0.0.1:{port}/secret"),
        format!("http://localhost:{port}/secret"),
        format!("http://2130706433:{port}/secret"),
        "http://169.254.169.254/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "http://me:pw@127.0.0.1/".to_owned(),
    ] {
        let location = to.clone();
        let server = Server::new(move |_, stream| redirect(stream, &location));
        let allowed = format!("127.0.0.1:{}", server.port());
        let tool = fetcher(&options(&[&allowed], |_| {}));
        let error = call(&*tool, json!({"url": server.url("/")})).await.unwrap_err();
        assert!(error.is_denied(), "{to}: {error}");
        assert_eq!(server.requests().len(), 1, "{to}");
    }
    assert!(inside.requests().is_empty());
}

#[tokio::test]
async fn redirects_are_followed_counted_and_bounded() {
    let server = Server::new(|request, stream| match request.line.as_str() {
        "GET /a" => redirect(stream, "b?x=1"),
        "GET /b?x=1" => redirect(stream, "/c#part"),
        "GET /c" => answer(stream, "200 OK", &[("content-type", "text/plain")], b"there"),
        "GET /round" => redirect(stream, "/and-round"),
        "GET /and-round" => redirect(stream, "/round"),
        line => redirect(stream, &format!("{}x", line.trim_start_matches("GET "))),
    });
    let text = fetch(&server.url("/a")).await.unwrap();
    assert_eq!(text, format!("Address: {} (after 2 redirects)\n\nthere", server.url("/c")));
    let error = fetch(&server.url("/round")).await.unwrap_err().to_string();
    assert!(error.contains("circle"), "{error}");
    let before = server.requests().len();
    let error = fetch(&server.url("/x")).await.unwrap_err().to_string();
    assert!(error.contains("more than 5 redirects"), "{error}");
    assert_eq!(server.requests().len() - before, 6);
}

#[tokio::test]
async fn a_name_is_looked_up_once_and_every_address_of_it_is_judged() {
    let server = Server::with("text/plain", "first");
    let url = format!("http://rebind.test:{}/", server.port());
    let other = Server::at(&format!("127.0.0.2:{}", server.port()), |_, stream| {
        answer(stream, "200 OK", &[("content-type", "text/plain")], b"second");
    });
    let names = Told::new(&[&["127.0.0.1"], &["127.0.0.2"]]);
    let told = names.clone();
    let tool = fetcher(&options(&["rebind.test"], |web| web.names = Some(told)));
    assert!(call(&*tool, json!({"url": url})).await.unwrap().ends_with("first"));
    assert_eq!((names.asked.load(Ordering::Relaxed), other.requests().len()), (1, 0));
    for answers in
        [&["127.0.0.1"][..], &["93.184.215.14", "127.0.0.1"], &["93.184.215.14", "::ffff:10.0.0.1"]]
    {
        let names = Told::new(&[answers]);
        let tool = fetcher(&options(&[], |web| web.names = Some(names)));
        let error = call(&*tool, json!({"url": url})).await.unwrap_err();
        assert!(error.is_denied() && error.to_string().contains("rebind.test"), "{answers:?}: {error}");
    }
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_name_that_turns_inward_between_two_steps_is_caught() {
    let server = Server::new(|_, stream| redirect(stream, "/again"));
    let names = Told::new(&[&["127.0.0.1"], &["169.254.169.254"]]);
    let tool = fetcher(&options(&["rebind.test"], |web| web.names = Some(names)));
    let url = format!("http://rebind.test:{}/", server.port());
    let error = call(&*tool, json!({"url": url})).await.unwrap_err();
    assert!(error.is_denied() && error.to_string().contains("metadata"), "{error}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn failures_below_http_are_described() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = fetch(&format!("http://{free}/")).await.unwrap_err();
    assert!(!error.is_denied() && error.to_string().contains("nothing listens"), "{error}");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let plain = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = std::io::Read::read(&mut stream, &mut [0; 64]);
            let _ = std::io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let error = fetch(&format!("https://{plain}/")).await.unwrap_err().to_string();
    assert!(error.contains("no trusted TLS"), "{error}");
}
