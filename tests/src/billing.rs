//! A model service that counts what it would bill: the tokens of every request that reached it, and every token it produced,
//! seen or not, whether or not anybody was still there to read it.
//!
//! The test defines its response to each request as a [`Play`]. It counts by its own rule, not by Aethon's, and answers each
//! connection on its own thread. A play can be throttled to its reader by a [`Window`]: then it stays at most a few tokens
//! ahead, like a service that is no faster than its network, however busy the test machine is.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::http::TIMEOUT;
use crate::stub::{Seen, failure};

/// A token of an answer: four bytes, so that both sides count alike.
pub const TOKEN: &str = "tok ";

/// How many tokens a throttled play may be ahead of its reader.
const AHEAD: u64 = 12;

/// The API dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI's chat completions.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
}

/// The response to a request.
#[derive(Debug, Clone, Default)]
pub struct Play {
    /// Refuses with this status, such as `401 Unauthorized`; nothing is billed.
    pub refused: Option<&'static str>,
    /// The number of hidden thinking tokens before anything is sent.
    pub hidden: u64,
    /// The number of tokens sent.
    pub spoken: u64,
    /// Whether it exceeds the request's output limit.
    pub ignores_limit: bool,
    /// Whether it hangs after its last token instead of ending.
    pub hangs: bool,
    /// The usage it reports instead of its own counts.
    pub usage: Option<Value>,
    /// The model it names instead of the one requested.
    pub named: Option<&'static str>,
    /// The progress of its reader.
    pub window: Option<Window>,
}

impl Play {
    /// Sends this many tokens.
    pub fn say(spoken: u64) -> Self {
        Self { spoken, ..Self::default() }
    }

    /// Refuses with this status.
    pub fn refuse(status: &'static str) -> Self {
        Self { refused: Some(status), ..Self::default() }
    }
}

/// How much of an answer its reader has seen. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Window(Arc<(Mutex<u64>, Condvar)>);

impl Window {
    /// Records that the reader has seen this many more bytes.
    pub fn seen(&self, bytes: usize) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) += bytes as u64;
        self.0.1.notify_all();
    }

    /// Waits until at most a few of this many tokens are unseen. Returns `false` if the reader makes no progress.
    fn wait(&self, said: u64) -> bool {
        let bytes = |tokens: u64| tokens * TOKEN.len() as u64;
        let (seen, news) = (&self.0.0, &self.0.1);
        let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = news.wait_timeout_while(seen, TIMEOUT, |seen| bytes(said) > *seen + bytes(AHEAD));
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

/// The bill of one request.
#[derive(Debug, Clone, Default)]
pub struct Charge {
    /// The model requested.
    pub model: String,
    /// The output limit in the request.
    pub limit: Option<u64>,
    /// The number of input tokens.
    pub input: u64,
    /// The number of tokens produced so far.
    pub output: u64,
}

/// The service.
pub struct Billing {
    /// The address it listens on.
    pub address: SocketAddr,
    charges: Charges,
}

type Charges = Arc<Mutex<Vec<Charge>>>;
type Script = Arc<dyn Fn(&Seen) -> Play + Send + Sync>;

impl Billing {
    /// Starts the service with a function that chooses the play for each request.
    pub fn start(dialect: Dialect, script: impl Fn(&Seen) -> Play + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port for the service");
        let address = listener.local_addr().expect("it has an address");
        let charges: Charges = Arc::default();
        let (record, script): (_, Script) = (charges.clone(), Arc::new(script));
        // Never joined; it ends with the test process.
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (record, script) = (record.clone(), script.clone());
                // A client may leave mid-answer; the tokens produced are billed.
                std::thread::spawn(move || serve(&connection, dialect, &record, &*script));
            }
        });
        Self { address, charges }
    }

    /// All requests so far that were not refused.
    pub fn charges(&self) -> Vec<Charge> {
        self.charges.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The bill in USD at these prices per million input and output tokens.
    pub fn usd(&self, input: f64, output: f64) -> f64 {
        let of = |charge: &Charge| charge.input as f64 * input + charge.output as f64 * output;
        self.charges().iter().map(of).sum::<f64>() / 1e6
    }
}

fn serve(
    connection: &TcpStream,
    dialect: Dialect,
    charges: &Charges,
    script: &dyn Fn(&Seen) -> Play,
) -> std::io::Result<()> {
    let seen = Seen::read(connection)?;
    if !seen.line.starts_with("POST ") {
        return refuse(connection, "404 Not Found");
    }
    let play = script(&seen);
    if let Some(status) = play.refused {
        return refuse(connection, status);
    }
    let body = seen.json();
    let limit = ["max_tokens", "max_completion_tokens"].iter().find_map(|key| body[*key].as_u64());
    let model = body["model"].as_str().unwrap_or_default().to_owned();
    let charge = Charge { model, limit, input: input_tokens(&body), output: 0 };
    let place = {
        let mut all = charges.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(charge.clone());
        all.len() - 1
    };
    let bill = |tokens: u64| {
        charges.lock().unwrap_or_else(PoisonError::into_inner)[place].output += tokens;
    };
    Performance { connection, dialect, play, charge }.run(&bill)
}

fn refuse(mut connection: &TcpStream, status: &str) -> std::io::Result<()> {
    connection.write_all(&failure(status, "", r#"{"error": {"message": "Refused by the script."}}"#))
}

/// Counts input tokens: one for five bytes of text, plus a few per message.
fn input_tokens(body: &Value) -> u64 {
    let bytes = |value: &Value| if value.is_null() { 0 } else { value.to_string().len() as u64 };
    let messages = body["messages"].as_array().map_or(0, Vec::len) as u64;
    (bytes(&body["messages"]) + bytes(&body["system"]) + bytes(&body["tools"])) / 5 + 4 * messages
}

/// One answer.
struct Performance<'a> {
    connection: &'a TcpStream,
    dialect: Dialect,
    play: Play,
    charge: Charge,
}

impl Performance<'_> {
    fn run(&self, bill: &dyn Fn(u64)) -> std::io::Result<()> {
        let limit = self.charge.limit.filter(|_| !self.play.ignores_limit).unwrap_or(u64::MAX);
        let hidden = self.play.hidden.min(limit);
        bill(hidden);
        if self.play.spoken == 0 && self.play.hangs {
            return self.hang();
        }
        self.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")?;
        self.begin()?;
        let spoken = self.play.spoken.min(limit - hidden);
        for said in 1..=spoken {
            bill(1);
            self.event(&self.piece())?;
            if self.play.window.as_ref().is_some_and(|window| !window.wait(said)) {
                return Ok(());
            }
        }
        if self.play.hangs {
            return self.hang();
        }
        self.end(hidden + spoken, spoken < self.play.spoken || hidden < self.play.hidden)
    }

    /// Stays silent until the client disconnects.
    fn hang(&self) -> std::io::Result<()> {
        let mut byte = [0];
        std::io::Read::read(&mut { self.connection }, &mut byte).map(drop)
    }

    fn begin(&self) -> std::io::Result<()> {
        if self.dialect == Dialect::OpenAi {
            return self.event(&self.chunk(json!({"role": "assistant", "content": ""}), &Value::Null));
        }
        let usage = json!({"input_tokens": self.charge.input, "output_tokens": 1});
        self.event(&json!({"type": "message_start", "message": {"id": "msg_1", "type": "message",
            "role": "assistant", "content": [], "model": self.named(), "usage": usage}}))?;
        let block = json!({"type": "text", "text": ""});
        self.event(&json!({"type": "content_block_start", "index": 0, "content_block": block}))
    }

    fn piece(&self) -> Value {
        match self.dialect {
            Dialect::OpenAi => self.chunk(json!({"content": TOKEN}), &Value::Null),
            Dialect::Anthropic => json!({"type": "content_block_delta", "index": 0,
                "delta": {"type": "text_delta", "text": TOKEN}}),
        }
    }

    fn end(&self, output: u64, is_cut: bool) -> std::io::Result<()> {
        if self.dialect == Dialect::Anthropic {
            let stop = if is_cut { "max_tokens" } else { "end_turn" };
            self.event(&json!({"type": "content_block_stop", "index": 0}))?;
            self.event(&json!({"type": "message_delta", "delta": {"stop_reason": stop},
                "usage": {"output_tokens": output}}))?;
            return self.event(&json!({"type": "message_stop"}));
        }
        let stop = if is_cut { "length" } else { "stop" };
        self.event(&self.chunk(json!({}), &json!(stop)))?;
        let counted = json!({"prompt_tokens": self.charge.input, "completion_tokens": output});
        let usage = self.play.usage.as_ref().unwrap_or(&counted);
        self.event(&json!({"choices": [], "model": self.named(), "usage": usage}))?;
        self.send("data: [DONE]\n\n")
    }

    fn named(&self) -> &str {
        self.play.named.unwrap_or(&self.charge.model)
    }

    fn chunk(&self, delta: Value, finish: &Value) -> Value {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        json!({"id": "c", "object": "chat.completion.chunk", "model": self.named(), "choices": [choice]})
    }

    fn event(&self, event: &Value) -> std::io::Result<()> {
        match event["type"].as_str() {
            Some(kind) => self.send(&format!("event: {kind}\ndata: {event}\n\n")),
            None => self.send(&format!("data: {event}\n\n")),
        }
    }

    fn send(&self, text: &str) -> std::io::Result<()> {
        { self.connection }.write_all(text.as_bytes())
    }
}
