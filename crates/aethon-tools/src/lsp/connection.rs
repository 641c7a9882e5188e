//! A conversation with a language server: requests and their answers, and what it says by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::framing;

/// How many messages may wait for a server that does not read.
const WAITING: usize = 64;
/// Of how many documents it is kept what a server says.
const MOST_DOCUMENTS: usize = 512;
/// How much of what it says to its operator is kept.
const KEPT_WORDS: usize = 1_000;

/// A conversation. It ends when this is dropped.
pub(super) struct Connection {
    outgoing: mpsc::Sender<Value>,
    state: Arc<ConnectionState>,
    tasks: Vec<JoinHandle<()>>,
}

/// What both ends of a conversation share.
struct ConnectionState {
    next: AtomicI64,
    waiting: Mutex<BTreeMap<i64, oneshot::Sender<Result<Value, String>>>>,
    said: Mutex<Said>,
    /// Counts what was said.
    news: watch::Sender<u64>,
}

/// What a server has said by itself.
#[derive(Default)]
struct Said {
    /// By document: how often, and the newest.
    diagnostics: BTreeMap<String, (u64, Vec<Value>)>,
    /// Work that goes on.
    progress: BTreeSet<String>,
    /// Whether it says that it is still reading the project.
    is_reading: bool,
    is_over: bool,
    /// Its last words to its operator.
    words: String,
}

impl Connection {
    /// Talks over these pipes.
    pub(super) fn new(
        input: Box<dyn AsyncWrite + Send + Unpin>,
        output: Box<dyn AsyncRead + Send + Unpin>,
        errors: Box<dyn AsyncRead + Send + Unpin>,
    ) -> Self {
        let (outgoing, messages) = mpsc::channel(WAITING);
        let state = Arc::new(ConnectionState {
            next: AtomicI64::new(1),
            waiting: Mutex::default(),
            said: Mutex::default(),
            news: watch::channel(0).0,
        });
        let tasks = vec![
            tokio::spawn(write(input, messages)),
            tokio::spawn(read(output, outgoing.clone(), state.clone())),
            tokio::spawn(listen(errors, state.clone())),
        ];
        Self { outgoing, state, tasks }
    }

    /// Asks, and waits for the answer. The error is a sentence.
    pub(super) async fn request(
        &self,
        method: &str,
        params: Value,
        patience: Duration,
    ) -> Result<Value, String> {
        let id = self.state.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.state.waiting().insert(id, answer);
        let _forgotten = Forgotten { state: &self.state, id };
        if self.state.said().is_over {
            return Err(self.over());
        }
        let asked = async {
            let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            self.outgoing.send(message).await.map_err(|_| self.over())?;
            answered.await.unwrap_or_else(|_| Err(self.over()))
        };
        match timeout(patience, asked).await {
            Ok(answer) => answer,
            Err(_) => {
                // Where it does not read any more, there is nothing to take back.
                let _ = self.outgoing.try_send(notification("$/cancelRequest", &json!({"id": id})));
                Err(format!("the language server did not answer within {} s", patience.as_secs()))
            }
        }
    }

    /// Tells, without an answer.
    pub(super) async fn notify(&self, method: &str, params: Value) -> Result<(), String> {
        let sending = self.outgoing.send(notification(method, &params));
        match timeout(Duration::from_secs(30), sending).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(self.over()),
            Err(_) => Err("the language server does not read what it is told".into()),
        }
    }

    /// The diagnostics of a document, and how often some were told.
    pub(super) fn diagnostics(&self, uri: &str) -> (u64, Vec<Value>) {
        self.state.said().diagnostics.get(uri).cloned().unwrap_or_default()
    }

    /// Whether it works on something of its own: reading the project, most of all.
    pub(super) fn is_busy(&self) -> bool {
        let said = self.state.said();
        said.is_reading || !said.progress.is_empty()
    }

    /// Whether it has ended.
    pub(super) fn is_over(&self) -> bool {
        self.state.said().is_over
    }

    /// Waits until this holds, and no longer than that. Says whether it does.
    pub(super) async fn until(&self, patience: Duration, holds: impl Fn(&Self) -> bool) -> bool {
        let mut news = self.state.news.subscribe();
        let reached = async { while !holds(self) && !self.is_over() && news.changed().await.is_ok() {} };
        // What holds is looked at again, because time may be up in the moment in which it comes true.
        let _ = timeout(patience, reached).await;
        holds(self)
    }

    fn over(&self) -> String {
        let words = self.state.said().words.trim().to_owned();
        if words.is_empty() {
            "the language server has ended".into()
        } else {
            format!("the language server has ended; it said: {words}")
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// A request that nobody waits for any more.
struct Forgotten<'s> {
    state: &'s ConnectionState,
    id: i64,
}

impl Drop for Forgotten<'_> {
    fn drop(&mut self) {
        self.state.waiting().remove(&self.id);
    }
}

impl ConnectionState {
    fn waiting(&self) -> MutexGuard<'_, BTreeMap<i64, oneshot::Sender<Result<Value, String>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, change: impl FnOnce(&mut Said)) {
        change(&mut self.said());
        self.news.send_modify(|count| *count += 1);
    }

    /// What a server answers or says by itself. What it asks gets the answer that is returned.
    fn take(&self, message: &Value) -> Option<Value> {
        let method = message.get("method").and_then(Value::as_str);
        match (method, message.get("id")) {
            (Some(method), Some(id)) => return Some(answer(method, id, &message["params"])),
            (Some(method), None) => self.tell(|said| said.take(method, &message["params"])),
            (None, Some(id)) => {
                let waiting = id.as_i64().and_then(|id| self.waiting().remove(&id));
                let answer = match message.get("error") {
                    Some(error) => {
                        Err(error["message"].as_str().unwrap_or("it refused").chars().take(500).collect())
                    }
                    None => Ok(message.get("result").cloned().unwrap_or_default()),
                };
                // Who asked may have given up.
                if let Some(waiting) = waiting {
                    let _ = waiting.send(answer);
                }
            }
            (None, None) => {}
        }
        None
    }
}

impl Said {
    fn take(&mut self, method: &str, params: &Value) {
        match method {
            "textDocument/publishDiagnostics" => {
                let Some(uri) = params["uri"].as_str() else { return };
                if self.diagnostics.len() >= MOST_DOCUMENTS && !self.diagnostics.contains_key(uri) {
                    self.diagnostics.pop_first();
                }
                let (times, newest) = self.diagnostics.entry(uri.to_owned()).or_default();
                *times += 1;
                *newest = params["diagnostics"].as_array().cloned().unwrap_or_default();
            }
            "$/progress" => {
                let token = params["token"].to_string();
                match params["value"]["kind"].as_str() {
                    Some("begin") if self.progress.len() < MOST_DOCUMENTS => {
                        self.progress.insert(token);
                    }
                    Some("end") => {
                        self.progress.remove(&token);
                    }
                    _ => {}
                }
            }
            "experimental/serverStatus" => self.is_reading = params["quiescent"] == Value::Bool(false),
            _ => {}
        }
    }
}

/// What a server is answered that asks something: it gets no settings, and nothing is changed for it.
fn answer(method: &str, id: &Value, params: &Value) -> Value {
    let result = match method {
        "workspace/configuration" => {
            let items = params["items"].as_array().map_or(0, Vec::len).min(MOST_DOCUMENTS);
            Value::Array(vec![Value::Null; items])
        }
        "workspace/applyEdit" => json!({"applied": false, "failureReason": "nothing is edited for a server"}),
        "client/registerCapability"
        | "client/unregisterCapability"
        | "window/workDoneProgress/create"
        | "window/showMessageRequest"
        | "workspace/workspaceFolders"
        | "workspace/diagnostic/refresh"
        | "workspace/semanticTokens/refresh"
        | "workspace/inlayHint/refresh"
        | "workspace/codeLens/refresh" => Value::Null,
        _ => {
            let error = json!({"code": -32601, "message": "this client does not do that"});
            return json!({"jsonrpc": "2.0", "id": id, "error": error});
        }
    };
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

async fn write(mut input: Box<dyn AsyncWrite + Send + Unpin>, mut messages: mpsc::Receiver<Value>) {
    while let Some(message) = messages.recv().await {
        let written = async {
            input.write_all(&framing::framed(&message)).await?;
            input.flush().await
        };
        // A pipe that broke is the end of the program, which the other direction tells.
        if written.await.is_err() {
            return;
        }
    }
}

async fn read(
    output: Box<dyn AsyncRead + Send + Unpin>,
    answers: mpsc::Sender<Value>,
    state: Arc<ConnectionState>,
) {
    let mut output = BufReader::new(output);
    loop {
        match framing::read(&mut output).await {
            Ok(Some(message)) => {
                if let Some(answer) = state.take(&message) {
                    // A server that asks without reading the answers has to do without them.
                    let _ = answers.try_send(answer);
                }
            }
            Ok(None) => break,
            Err(error) => {
                state.said().words = error.to_string();
                break;
            }
        }
    }
    state.tell(|said| said.is_over = true);
    state.waiting().clear();
}

async fn listen(mut errors: Box<dyn AsyncRead + Send + Unpin>, state: Arc<ConnectionState>) {
    let mut buffer = vec![0; 4096];
    while let Ok(length @ 1..) = errors.read(&mut buffer).await {
        let words = &mut state.said().words;
        words.push_str(&String::from_utf8_lossy(&buffer[..length]));
        let surplus = words.chars().count().saturating_sub(KEPT_WORDS);
        *words = words.chars().skip(surplus).collect();
    }
}
