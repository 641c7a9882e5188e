//! A model service on this machine, as the tests of whole providers need it: requests are read as text and answered as told.
#![allow(dead_code, reason = "each test program needs a part of it")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::thread;

/// A server that answers every request in the same way and reports each one.
pub(crate) fn serve(answer: impl Fn(&mut TcpStream) + Send + 'static) -> (String, Receiver<String>) {
    serve_each(move |_, stream| answer(stream))
}

/// A server that answers each request as its text deserves, and reports it.
pub(crate) fn serve_each(
    answer: impl Fn(&str, &mut TcpStream) + Send + 'static,
) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (seen, requests) = mpsc::channel();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            while let Some(request) = read_request(&mut stream) {
                let _ = seen.send(request.clone());
                answer(&request, &mut stream);
            }
        }
    });
    (address, requests)
}

/// The next request of a connection, as text.
pub(crate) fn read_request(stream: &mut TcpStream) -> Option<String> {
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

/// One whole response.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> impl Fn(&mut TcpStream) + Send + 'static {
    let length = body.len();
    let text = format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}");
    move |stream| stream.write_all(text.as_bytes()).unwrap()
}
