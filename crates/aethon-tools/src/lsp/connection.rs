//! The connection to a language server: matches answers to requests, and collects notifications.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::untrusted::shortened_between_words;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::framing;

/// Maximum number of messages queued for a server that does not read.
const WAITING: usize = 64;
/// Maximum number of documents whose diagnostics are kept.
const MAX_DOCUMENTS: usize = 512;
/// Maximum characters kept of its stderr.
const KEPT_WORDS: usize = 1_000;

/// A connection. Dropping it ends it.
pub(super) struct Connection {
    outgoing: mpsc::Sender<Value>,
    state: Arc<ConnectionState>,
    tasks: Vec<JoinHandle<()>>,
}

/// State shared by both directions.
struct ConnectionState {
    next: AtomicI64,
    waiting: Mutex<BTreeMap<i64, oneshot::Sender<Result<Value, String>>>>,
    status: Mutex<ServerStatus>,
    /// Counts the server's announcements.
    news: watch::Sender<u64>,
}

/// An announcement of a server.
#[derive(Default)]
struct ServerStatus {
    /// Per document, how often diagnostics were published, and the latest ones.
    diagnostics: BTreeMap<String, (u64, Vec<Value>)>,
    /// Work in progress.
    progress: BTreeSet<String>,
    /// Whether it says that it is still loading the project.
    is_reading: bool,
    is_over: bool,
    /// The last part of its stderr.
    words: String,
}

impl Connection {
    /// Connects over these pipes.
    pub(super) fn new(
        input: Box<dyn AsyncWrite + Send + Unpin>,
        output: Box<dyn AsyncRead + Send + Unpin>,
        errors: Box<dyn AsyncRead + Send + Unpin>,
    ) -> Self {
        let (outgoing, messages) = mpsc::channel(WAITING);
        let state = Arc::new(ConnectionState {
            next: AtomicI64::new(1),
            waiting: Mutex::default(),
            status: Mutex::default(),
            news: watch::channel(0).0,
        });
        let tasks = vec![
            tokio::spawn(write(input, messages)),
            tokio::spawn(read(output, outgoing.clone(), state.clone())),
            tokio::spawn(listen(errors, state.clone())),
        ];
        Self { outgoing, state, tasks }
    }

    /// Sends a request and waits for the answer. The error is a sentence.
    pub(super) async fn request(
        &self,
        method: &str,
        params: Value,
        patience: Duration,
    ) -> Result<Value, String> {
        let id = self.state.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.state.waiting().insert(id, answer);
        let _forget = ForgetOnDrop { state: &self.state, id };
        if self.state.status().is_over {
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
                // If the server no longer reads, there is nothing to cancel.
                let _ = self.outgoing.try_send(notification("$/cancelRequest", &json!({"id": id})));
                Err(format!("the language server did not answer within {} s", patience.as_secs()))
            }
        }
    }

    /// Sends a notification.
    pub(super) async fn notify(&self, method: &str, params: Value) -> Result<(), String> {
        let sending = self.outgoing.send(notification(method, &params));
        match timeout(Duration::from_secs(30), sending).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(self.over()),
            Err(_) => Err("the language server does not read its input".into()),
        }
    }

    /// Returns the diagnostics of a document, and how often any were published.
    pub(super) fn diagnostics(&self, uri: &str) -> (u64, Vec<Value>) {
        self.state.status().diagnostics.get(uri).cloned().unwrap_or_default()
    }

    /// Returns whether it is busy with work of its own, such as loading the project.
    pub(super) fn is_busy(&self) -> bool {
        let status = self.state.status();
        status.is_reading || !status.progress.is_empty()
    }

    /// Returns whether it has ended.
    pub(super) fn is_over(&self) -> bool {
        self.state.status().is_over
    }

    /// Waits until a condition holds, up to a timeout. Returns whether it holds.
    pub(super) async fn until(&self, patience: Duration, holds: impl Fn(&Self) -> bool) -> bool {
        let mut news = self.state.news.subscribe();
        let reached = async { while !holds(self) && !self.is_over() && news.changed().await.is_ok() {} };
        // Check again: the condition may have become true just as time ran out.
        let _ = timeout(patience, reached).await;
        holds(self)
    }

    fn over(&self) -> String {
        let words = self.state.status().words.trim().to_owned();
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

/// Forgets a request when dropped, because its caller is gone.
struct ForgetOnDrop<'s> {
    state: &'s ConnectionState,
    id: i64,
}

impl Drop for ForgetOnDrop<'_> {
    fn drop(&mut self) {
        self.state.waiting().remove(&self.id);
    }
}

impl ConnectionState {
    fn waiting(&self) -> MutexGuard<'_, BTreeMap<i64, oneshot::Sender<Result<Value, String>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn status(&self) -> MutexGuard<'_, ServerStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, change: impl FnOnce(&mut ServerStatus)) {
        change(&mut self.status());
        self.news.send_modify(|count| *count += 1);
    }

    /// Handles a message from the server. Returns the answer if it is a request.
    fn take(&self, message: &Value) -> Option<Value> {
        let method = message.get("method").and_then(Value::as_str);
        match (method, message.get("id")) {
            (Some(method), Some(id)) => return Some(answer(method, id, &message["params"])),
            (Some(method), None) => self.update(|status| status.take(method, &message["params"])),
            (None, Some(id)) => {
                let waiting = id.as_i64().and_then(|id| self.waiting().remove(&id));
                let answer = match message.get("error") {
                    Some(error) => {
                        let why = error["message"].as_str().unwrap_or("it refused");
                        Err(shortened_between_words(why.to_owned(), 500))
                    }
                    None => Ok(message.get("result").cloned().unwrap_or_default()),
                };
                // The requester may have given up.
                if let Some(waiting) = waiting {
                    let _ = waiting.send(answer);
                }
            }
            (None, None) => {}
        }
        None
    }
}

impl ServerStatus {
    fn take(&mut self, method: &str, params: &Value) {
        match method {
            "textDocument/publishDiagnostics" => {
                let Some(uri) = params["uri"].as_str() else { return };
                if self.diagnostics.len() >= MAX_DOCUMENTS && !self.diagnostics.contains_key(uri) {
                    self.diagnostics.pop_first();
                }
                let (times, newest) = self.diagnostics.entry(uri.to_owned()).or_default();
                *times += 1;
                *newest = params["diagnostics"].as_array().cloned().unwrap_or_default();
            }
            "$/progress" => {
                let token = params["token"].to_string();
                match params["value"]["kind"].as_str() {
                    Some("begin") if self.progress.len() < MAX_DOCUMENTS => {
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

/// Answers a request of the server: it gets no settings, and nothing is changed on its behalf.
fn answer(method: &str, id: &Value, params: &Value) -> Value {
    let result = match method {
        "workspace/configuration" => {
            let items = params["items"].as_array().map_or(0, Vec::len).min(MAX_DOCUMENTS);
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
        // A broken pipe means that the program has ended, which the reading side reports.
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
                    // A server that sends requests but does not read the answers has to do without them.
                    let _ = answers.try_send(answer);
                }
            }
            Ok(None) => break,
            Err(error) => {
                state.status().words = error.to_string();
                break;
            }
        }
    }
    state.update(|status| status.is_over = true);
    state.waiting().clear();
}

async fn listen(mut errors: Box<dyn AsyncRead + Send + Unpin>, state: Arc<ConnectionState>) {
    let mut buffer = vec![0; 4096];
    while let Ok(length @ 1..) = errors.read(&mut buffer).await {
        let words = &mut state.status().words;
        words.push_str(&String::from_utf8_lossy(&buffer[..length]));
        let surplus = words.chars().count().saturating_sub(KEPT_WORDS);
        *words = words.chars().skip(surplus).collect();
    }
}
