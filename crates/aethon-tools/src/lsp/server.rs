//! A running language server: its negotiated capabilities, and the documents that it knows.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aethon_core::program::{ProgramLife, RunningProgram};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use url::Url;

use super::connection::Connection;

/// How long a server may take to initialize.
const STARTING: Duration = Duration::from_secs(60);
/// Maximum number of open documents.
const MAX_OPEN: usize = 64;
/// Retry interval: a server that is still loading the project may know the answer before it has finished.
const AGAIN: Duration = Duration::from_secs(2);
/// How long to wait for more diagnostics once some have arrived: servers report syntax errors first.
const MORE: Duration = Duration::from_millis(400);
/// For this long after its start, an empty answer may mean that the project is not loaded yet.
const YOUNG: Duration = Duration::from_secs(120);

/// A running server.
pub(super) struct Server {
    connection: Connection,
    /// Its processes; dropping this ends them.
    _life: Box<dyn ProgramLife>,
    documents: Mutex<BTreeMap<String, Document>>,
    /// Whether it supports pull diagnostics; other servers publish them unasked.
    is_asked_for_diagnostics: bool,
    patience: Duration,
    since: Instant,
}

/// The state of a document as sent to the server.
struct Document {
    version: i64,
    text: String,
}

impl Server {
    /// Initializes a program that was just started.
    pub(super) async fn agree(
        program: RunningProgram,
        root: &Path,
        patience: Duration,
    ) -> Result<Self, String> {
        let RunningProgram { input, output, errors, life } = program;
        let connection = Connection::new(input, output, errors);
        let root = uri(root)?;
        let agreed = connection.request("initialize", beginning(&root), STARTING).await?;
        connection.notify("initialized", json!({})).await?;
        let provider = &agreed["capabilities"]["diagnosticProvider"];
        Ok(Self {
            connection,
            _life: life,
            documents: Mutex::default(),
            is_asked_for_diagnostics: provider.is_object(),
            patience,
            since: Instant::now(),
        })
    }

    /// Returns whether it has ended.
    pub(super) fn is_over(&self) -> bool {
        self.connection.is_over()
    }

    /// Sends the current text of a document. Returns `false` if the server has it already, and so will publish nothing
    /// new.
    pub(super) async fn sync(&self, uri: &str, language: &str, text: String) -> Result<bool, String> {
        let (method, params, closed) = {
            let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
            match documents.get_mut(uri) {
                Some(document) if document.text == text => return Ok(false),
                Some(document) => {
                    document.version += 1;
                    document.text.clone_from(&text);
                    let named = json!({"uri": uri, "version": document.version});
                    let params = json!({"textDocument": named, "contentChanges": [{"text": text}]});
                    ("textDocument/didChange", params, None)
                }
                None => {
                    let closed = (documents.len() >= MAX_OPEN).then(|| documents.pop_first()).flatten();
                    documents.insert(uri.to_owned(), Document { version: 1, text: text.clone() });
                    let item = json!({"uri": uri, "languageId": language, "version": 1, "text": text});
                    ("textDocument/didOpen", json!({"textDocument": item}), closed)
                }
            }
        };
        if let Some((uri, _)) = closed {
            let params = json!({"textDocument": {"uri": uri}});
            self.connection.notify("textDocument/didClose", params).await?;
        }
        self.connection.notify(method, params).await?;
        let saved = json!({"textDocument": {"uri": uri}});
        self.connection.notify("textDocument/didSave", saved).await.map(|()| true)
    }

    /// Returns the diagnostics of a document that was sent to the server.
    pub(super) async fn diagnostics(
        &self,
        uri: &str,
        publications_before: u64,
    ) -> Result<Vec<Value>, String> {
        if self.is_asked_for_diagnostics {
            let asked = json!({"textDocument": {"uri": uri}});
            let pulled =
                self.ask("textDocument/diagnostic", &asked, |answer| answer["items"].is_null()).await?;
            let mut items = pulled["items"].as_array().cloned().unwrap_or_default();
            let (_, published) = self.connection.diagnostics(uri);
            items.extend(published.into_iter().filter(|one| !items.contains(one)).collect::<Vec<_>>());
            return Ok(items);
        }
        let has_more = |than: u64| move |connection: &Connection| connection.diagnostics(uri).0 > than;
        if !self.connection.until(self.patience, has_more(publications_before)).await {
            if self.is_over() {
                return Err("the language server has ended".into());
            }
            return Err(format!(
                "the language server said nothing of the file within {} s",
                self.patience.as_secs()
            ));
        }
        // Bounded: each round needs another publication, and a server might publish forever.
        for _ in 0..8 {
            let (times, _) = self.connection.diagnostics(uri);
            if !self.connection.until(MORE, has_more(times)).await {
                break;
            }
        }
        Ok(self.connection.diagnostics(uri).1)
    }

    /// Returns how often diagnostics of a document were published.
    pub(super) fn publications(&self, uri: &str) -> u64 {
        self.connection.diagnostics(uri).0
    }

    /// Sends a request. Retries an empty answer while the server is still loading the project.
    pub(super) async fn ask(
        &self,
        method: &str,
        params: &Value,
        is_empty: impl Fn(&Value) -> bool,
    ) -> Result<Value, String> {
        let until = Instant::now() + self.patience;
        loop {
            let answer = self.connection.request(method, params.clone(), self.patience).await;
            let left = until.saturating_duration_since(Instant::now());
            // Some servers refuse requests while loading, each with its own message.
            let is_early = self.connection.is_busy() || self.since.elapsed() < Duration::from_secs(2);
            let may_be_early =
                answer.as_ref().map_or(!self.is_over(), &is_empty) && self.since.elapsed() < YOUNG;
            if !may_be_early || !is_early {
                return answer;
            }
            if left.is_zero() {
                return answer.map_err(|why| {
                    format!("the language server is still reading the project ({why}); ask again in a while")
                });
            }
            self.connection.until(left.min(AGAIN), |connection| !connection.is_busy()).await;
            sleep(MORE.min(left)).await;
        }
    }
}

/// Returns the URI of a path.
pub(super) fn uri(path: &Path) -> Result<String, String> {
    let url = Url::from_file_path(path).map_err(|()| format!("{} has no address", path.display()))?;
    Ok(url.into())
}

/// Declares the client's capabilities: few, so that answers stay simple.
fn beginning(root: &str) -> Value {
    json!({
        "processId": null,
        "clientInfo": {"name": "aethon", "version": env!("CARGO_PKG_VERSION")},
        "rootUri": root,
        "workspaceFolders": [{"uri": root, "name": "project"}],
        "capabilities": {
            "general": {"positionEncodings": ["utf-16"]},
            "window": {"workDoneProgress": true},
            "workspace": {"configuration": true, "workspaceFolders": true, "symbol": {}},
            "experimental": {"serverStatusNotification": true},
            "textDocument": {
                "synchronization": {"didSave": true},
                "publishDiagnostics": {"versionSupport": true},
                "diagnostic": {},
                "definition": {},
                "references": {},
                "hover": {"contentFormat": ["plaintext", "markdown"]},
                "documentSymbol": {"hierarchicalDocumentSymbolSupport": true},
            },
        },
    })
}
