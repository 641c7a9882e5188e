//! A model whose answer arrives piece by piece, when the test says so.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

use aethon_tests::stub::{Seen, failure};
use serde_json::json;

/// The service; it answers one question after the other.
pub(crate) struct SlowModel {
    address: SocketAddr,
    pieces: Sender<Option<String>>,
}

impl SlowModel {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (pieces, wanted) = channel();
        std::thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                // A server that has gone away is no concern of the test.
                let _ = answer(connection, &wanted);
            }
        });
        Self { address, pieces }
    }

    /// What makes a server use it.
    pub(crate) fn settings(&self) -> Vec<String> {
        vec![
            "model.provider=openai".to_owned(),
            "model.model_id=gpt-4o".to_owned(),
            "model.api_key=sk-anything-0123456789".to_owned(),
            format!("model.host=http://{}/v1", self.address),
        ]
    }

    /// The next piece of the answer.
    pub(crate) fn say(&self, text: &str) {
        self.pieces.send(Some(text.to_owned())).unwrap();
    }

    /// The end of the answer.
    pub(crate) fn end(&self) {
        self.pieces.send(None).unwrap();
    }
}

fn answer(mut connection: TcpStream, wanted: &Receiver<Option<String>>) -> std::io::Result<()> {
    let seen = Seen::read(&connection)?;
    if !seen.line.starts_with("POST ") {
        return connection.write_all(&failure("404 Not Found", "", "{}"));
    }
    connection
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")?;
    for text in wanted.iter().map_while(|piece| piece) {
        let event = json!({"choices": [{"index": 0, "delta": {"content": text}}]});
        write!(connection, "data: {event}\n\n")?;
        connection.flush()?;
    }
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    write!(connection, "data: {end}\n\ndata: [DONE]\n\n")
}
