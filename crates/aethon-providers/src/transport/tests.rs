//! The transport against a real listener on this machine.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::failure::Limits;
use super::{Client, Failure, Method, Outgoing};

/// Serves connections one after the other with `answer`, which gets the request's head and body.
fn serve(answer: impl Fn(TcpStream, String) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            while let Some(request) = read_request(&mut stream) {
                answer(stream.try_clone().unwrap(), request);
            }
        }
    });
    address
}

/// Reads one request with a body of known length, or returns `None` at the end of the connection.
fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        request.push(byte[0]);
    }
    let head = String::from_utf8(request).unwrap();
    let length =
        head.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    Some(head + &String::from_utf8(body).unwrap())
}

fn post(url: &str) -> Outgoing {
    Outgoing { method: Method::Post, url: url.to_owned(), headers: Vec::new(), body: b"{}".to_vec() }
}

fn client(timeout: Duration) -> Client {
    Client::new(timeout, true)
}

const PATIENT: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_body_comes_piece_by_piece() {
    let (go, wait) = mpsc::channel::<()>();
    let url = serve(move |mut stream, request| {
        assert!(
            request.starts_with("POST /v1/x HTTP/1.1\r\n") && request.ends_with("\r\n\r\n{}"),
            "{request}"
        );
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\none").unwrap();
        wait.recv().unwrap();
        stream.write_all(b"two").unwrap();
    });
    let mut incoming = client(PATIENT).send(post(&format!("{url}/v1/x"))).await.unwrap();
    assert_eq!(incoming.status, 200);
    assert_eq!(&incoming.body.next().await.unwrap().unwrap()[..], b"one");
    go.send(()).unwrap();
    assert_eq!(&incoming.body.next().await.unwrap().unwrap()[..], b"two");
    assert!(incoming.body.next().await.is_none());
}

#[tokio::test]
async fn a_connection_is_used_again_after_a_whole_answer() {
    let (seen, ports) = mpsc::channel();
    let url = serve(move |mut stream, _| {
        seen.send(stream.peer_addr().unwrap().port()).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").unwrap();
    });
    let client = client(PATIENT);
    for _ in 0..3 {
        let mut incoming = client.send(post(&url)).await.unwrap();
        assert_eq!(incoming.body.read(100).await, b"ok");
        assert!(incoming.body.next().await.is_none());
    }
    let ports: Vec<u16> = ports.try_iter().collect();
    assert_eq!((ports.len(), ports[0] == ports[2]), (3, true), "{ports:?}");
}

#[tokio::test]
async fn silence_ends_within_the_limit() {
    let limit = Duration::from_millis(150);
    for answered in ["", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\npart"] {
        let (_hold, held) = mpsc::channel::<()>();
        let held = std::sync::Mutex::new(held);
        let url = serve(move |mut stream, _| {
            stream.write_all(answered.as_bytes()).unwrap();
            let _ = held.lock().unwrap().recv();
        });
        let began = Instant::now();
        let failure = match client(limit).send(post(&url)).await {
            Err(failure) => failure,
            Ok(mut incoming) => {
                assert_eq!(&incoming.body.next().await.unwrap().unwrap()[..], b"part");
                incoming.body.next().await.unwrap().unwrap_err()
            }
        };
        assert!(matches!(failure, Failure::Silence(_)), "{failure:?}");
        assert!(began.elapsed() >= limit && began.elapsed() < PATIENT, "{:?}", began.elapsed());
    }
}

/// Returns whether the other side closes the connection soon.
fn closes(stream: &mut TcpStream) -> bool {
    let began = Instant::now();
    stream.set_read_timeout(Some(PATIENT)).unwrap();
    let ended = matches!(stream.read(&mut [0; 16]), Ok(0) | Err(_));
    ended && began.elapsed() < Duration::from_secs(5)
}

#[tokio::test]
async fn dropping_the_request_closes_the_connection() {
    let (arrived, arrives) = tokio::sync::mpsc::unbounded_channel();
    let (closed, closes_soon) = mpsc::channel();
    let url = serve(move |mut stream, _| {
        arrived.send(()).unwrap();
        closed.send(closes(&mut stream)).unwrap();
    });
    let client = client(PATIENT);
    let mut arrives = arrives;
    tokio::select! {
        answer = client.send(post(&url)) => panic!("unexpected {answer:?}"),
        _ = arrives.recv() => {}
    }
    assert!(closes_soon.recv_timeout(PATIENT).unwrap());
}

#[tokio::test]
async fn dropping_the_body_closes_the_connection() {
    let (closed, closes_soon) = mpsc::channel();
    let url = serve(move |mut stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n").unwrap();
        closed.send(closes(&mut stream)).unwrap();
    });
    let mut incoming = client(PATIENT).send(post(&url)).await.unwrap();
    assert_eq!(&incoming.body.next().await.unwrap().unwrap()[..], b"one");
    drop(incoming);
    assert!(closes_soon.recv_timeout(PATIENT).unwrap());
}

#[tokio::test]
async fn a_slow_reader_stops_the_sender() {
    let (sent, counts) = mpsc::channel();
    let url = serve(move |mut stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n").unwrap();
        stream.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
        let piece = vec![b'x'; 64 * 1024];
        let mut written = 0;
        while stream.write_all(&piece).is_ok() {
            written += piece.len();
        }
        sent.send(written).unwrap();
    });
    let incoming = client(PATIENT).send(post(&url)).await.unwrap();
    let written = tokio::task::spawn_blocking(move || counts.recv_timeout(PATIENT).unwrap()).await.unwrap();
    // Only the content of the sockets' own buffers.
    assert!(written < 64 * 1024 * 1024, "{written}");
    drop(incoming);
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let url = serve(|mut stream, request| {
        assert!(request.starts_with("POST /first "), "{request}");
        stream.write_all(b"HTTP/1.1 307 x\r\nlocation: /second\r\ncontent-length: 0\r\n\r\n").unwrap();
    });
    let incoming = client(PATIENT).send(post(&format!("{url}/first"))).await.unwrap();
    assert_eq!(incoming.status, 307);
    assert_eq!(incoming.headers["location"], "/second");
}

#[test]
fn a_name_that_is_not_known_is_no_broken_connection() {
    let limits = Limits { connect: PATIENT, silence: PATIENT };
    let error = ("no-such-host.invalid", 443).to_socket_addrs().unwrap_err();
    let failure = Failure::of(ureq::Error::Io(error), limits);
    assert!(matches!(failure, Failure::UnknownHost), "{failure:?}");
}

#[test]
fn a_proxy_that_cannot_be_reached_is_named_and_a_broken_answer_is_not_its_fault() {
    let named = Failure::Refused.through("127.0.0.1:9");
    assert!(matches!(&named, Failure::NoProxy(proxy) if proxy == "127.0.0.1:9"), "{named:?}");
    assert!(matches!(Failure::NotHttp("x".into()).through("127.0.0.1:9"), Failure::NotHttp(_)));
}

#[tokio::test]
async fn failures_below_http_have_classes() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let failure = client(PATIENT).send(post(&format!("http://{free}/"))).await.unwrap_err();
    assert!(matches!(failure, Failure::Refused), "{failure:?}");

    let url = serve(|mut stream, _| stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n\r\n\r\n").unwrap());
    let failure = client(PATIENT).send(post(&url)).await.unwrap_err();
    assert!(matches!(failure, Failure::NotHttp(_)), "{failure:?}");

    let url = serve(|stream, _| stream.shutdown(std::net::Shutdown::Both).unwrap());
    let failure = client(PATIENT).send(post(&url)).await.unwrap_err();
    assert!(matches!(failure, Failure::Broken(_)), "{failure:?}");

    let url = serve(|mut stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\npart").unwrap();
        stream.shutdown(std::net::Shutdown::Both).unwrap();
    });
    let mut incoming = client(PATIENT).send(post(&url)).await.unwrap();
    assert_eq!(&incoming.body.next().await.unwrap().unwrap()[..], b"part");
    let failure = incoming.body.next().await.unwrap().unwrap_err();
    assert!(matches!(failure, Failure::Broken(_)), "{failure:?}");

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tls = format!("https://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]);
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });
    let failure = client(PATIENT).send(post(&tls)).await.unwrap_err();
    // The sentence about it knows this word.
    assert!(matches!(&failure, Failure::Tls(why) if why.contains("InvalidContentType")), "{failure:?}");
}
