//! Chooses the language server for a file, and manages the running servers: one per project, started when first needed,
//! and ended when idle.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::program::{Program, ProgramSandbox, Programs};
use aethon_core::secret::Secret;
use aethon_core::tool::ToolError;
use aethon_core::turn::Trust;
use serde_json::Value;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::answers;
use super::server::{Server, uri};
use crate::files::Workspace;
use crate::options::Options;

/// Maximum number of running servers; the least recently used one makes room for another.
const MAX_COUNT: usize = 4;
/// A server idle for this long is ended when another file is looked at.
const IDLE: Duration = Duration::from_secs(15 * 60);
/// Maximum size of a file.
const MAX_SIZE: u64 = 2 << 20;
/// How many levels above a file its project root may be.
const MAX_STEPS: usize = 12;
/// Files that mark a project root.
const BEGINNINGS: [&str; 10] = [
    "Cargo.toml",
    "pyproject.toml",
    "pyrightconfig.json",
    "setup.py",
    "tsconfig.json",
    "package.json",
    "go.mod",
    "compile_commands.json",
    "pom.xml",
    ".git",
];

/// Settings of the language servers.
#[derive(Debug, Clone)]
pub struct LspOptions {
    /// Timeout of an answer.
    pub timeout: Duration,
    /// The available servers; if several handle a file, the first one counts.
    pub servers: Vec<LanguageServer>,
    /// Whether they see only the workspace, as in a container.
    pub workspace_only: bool,
}

/// A language server.
#[derive(Debug, Clone)]
pub struct LanguageServer {
    /// Its display name.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Additional environment variables.
    pub environment: Vec<(String, Secret)>,
    /// The extensions of its files, without the dot.
    pub extensions: Vec<String>,
}

/// The language servers of one assistant.
pub struct LanguageServers {
    options: LspOptions,
    programs: Arc<dyn Programs>,
    workspace: Arc<Workspace>,
    root: PathBuf,
    running: Mutex<BTreeMap<(String, PathBuf), Running>>,
}

#[derive(Clone)]
struct Running {
    server: Arc<OnceCell<Server>>,
    used: Instant,
}

/// A file that was sent to a server.
pub(super) struct Document {
    pub(super) server: Arc<OnceCell<Server>>,
    pub(super) uri: String,
    pub(super) text: String,
    /// How often its diagnostics had been published before that.
    pub(super) publications_before: u64,
}

impl Document {
    pub(super) fn server(&self) -> Result<&Server, ToolError> {
        self.server.get().ok_or_else(|| ToolError::failed("the language server has ended"))
    }
}

/// A file that was read.
struct File {
    path: PathBuf,
    text: String,
    project: PathBuf,
}

impl fmt::Debug for LanguageServers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LanguageServers").field("options", &self.options).finish_non_exhaustive()
    }
}

impl LanguageServers {
    /// Creates the set of servers. `programs` starts them, and the file tools' options in `tools` decide which files
    /// they may see. None is running yet.
    pub fn new(options: LspOptions, programs: Arc<dyn Programs>, tools: &Options) -> Self {
        let workspace = Arc::new(Workspace::new(tools));
        let root = tools.workspace.clone();
        Self { options, programs, workspace, root, running: Mutex::default() }
    }

    /// Returns the names of the servers and their file types, for the model and for people.
    pub(super) fn names(&self) -> Vec<String> {
        let name = |server: &LanguageServer| format!("{} ({})", server.name, server.extensions.join(", "));
        self.options.servers.iter().map(name).collect()
    }

    /// Returns the formatted diagnostics of a file after an edit; `None` if no server handles such files.
    pub(crate) async fn after_edit(&self, path: &str, trust: Trust) -> Option<Result<String, String>> {
        self.of(path)?;
        Some(self.diagnostics(path, trust).await.map_err(|error| error.to_string()))
    }

    /// Returns the formatted diagnostics of a file.
    pub(super) async fn diagnostics(&self, path: &str, trust: Trust) -> Result<String, ToolError> {
        let document = self.document(path, trust).await?;
        let found = document.server()?.diagnostics(&document.uri, document.publications_before).await;
        Ok(answers::diagnostics(&found.map_err(ToolError::failed)?, path))
    }

    /// Sends the current text of a file that a turn of this trust may read to its server.
    pub(super) async fn document(&self, path: &str, trust: Trust) -> Result<Document, ToolError> {
        let config = self.of(path).ok_or_else(|| self.nobody(path))?;
        let File { path: real, text, project } = self.read(path, trust).await?;
        let server = self.server(config, &project).await?;
        let uri = uri(&real).map_err(ToolError::failed)?;
        let running = server.get().ok_or_else(|| ToolError::failed("the language server has ended"))?;
        let publications = running.publications(&uri);
        let is_news = running.sync(&uri, language(path), text.clone()).await.map_err(ToolError::failed)?;
        // If the text has not changed, earlier diagnostics are still valid.
        let publications_before = if is_news { publications } else { 0 };
        Ok(Document { server, uri, text, publications_before })
    }

    /// Searches for symbols by name in all running servers.
    pub(super) async fn symbols_named(&self, query: &str) -> Result<Vec<Value>, ToolError> {
        let running: Vec<Running> = self.running().values().cloned().collect();
        let mut found = Vec::new();
        for server in running.iter().filter_map(|running| running.server.get()) {
            let asked = serde_json::json!({"query": query});
            let is_empty = |answer: &Value| answer.as_array().is_none_or(Vec::is_empty);
            let answer = server.ask("workspace/symbol", &asked, is_empty).await.map_err(ToolError::failed)?;
            found.extend(answer.as_array().cloned().unwrap_or_default());
        }
        if running.is_empty() {
            return Err(ToolError::failed(
                "no language server runs yet: give the `path` of a file of the project as well",
            ));
        }
        Ok(found)
    }

    /// Returns how to show a place, and its line of text if the file tools may read the file.
    pub(super) async fn line_at(&self, uri: &str, line: u64, trust: Trust) -> (String, String) {
        let Some(path) = url::Url::parse(uri).ok().and_then(|url| url.to_file_path().ok()) else {
            return (uri.chars().take(300).collect(), String::new());
        };
        let (workspace, shown) = (self.workspace.for_turn(trust), self.workspace.shown(&path));
        let read = tokio::task::spawn_blocking(move || {
            let opened = workspace.open(&path.to_string_lossy()).ok()?;
            let mut text = String::new();
            opened.file.take(MAX_SIZE).read_to_string(&mut text).ok()?;
            let line = text.lines().nth(usize::try_from(line).ok()?)?;
            Some(line.trim().chars().take(200).collect::<String>())
        });
        (shown, read.await.ok().flatten().unwrap_or_default())
    }

    fn of(&self, path: &str) -> Option<&LanguageServer> {
        let ending = Path::new(path).extension()?.to_str()?.to_lowercase();
        self.options.servers.iter().find(|server| server.extensions.contains(&ending))
    }

    fn nobody(&self, path: &str) -> ToolError {
        let known = self.names().join(", ");
        ToolError::failed(format!(
            "no language server looks after {path:?}; there is {known} (`lsp.servers`)"
        ))
    }

    async fn read(&self, path: &str, trust: Trust) -> Result<File, ToolError> {
        let (workspace, root, path) = (self.workspace.for_turn(trust), self.root.clone(), path.to_owned());
        let workspace_only = self.options.workspace_only;
        let read = tokio::task::spawn_blocking(move || {
            let opened = workspace.open(&path)?;
            if opened.length > MAX_SIZE {
                return Err(ToolError::failed(format!("{path:?} is too large for a language server")));
            }
            let mut text = String::new();
            opened
                .file
                .take(MAX_SIZE)
                .read_to_string(&mut text)
                .map_err(|error| ToolError::failed(format!("{path:?} cannot be read as text: {error}")))?;
            let root = root.canonicalize().unwrap_or(root);
            if workspace_only && !opened.path.starts_with(&root) {
                return Err(ToolError::failed(format!(
                    "{path:?} lies outside of the workspace, which is all that a language server sees with \
                         security.sandbox = \"docker\""
                )));
            }
            let project = project(&opened.path, &root);
            Ok(File { path: opened.path, text, project })
        });
        read.await
            .map_err(|_| ToolError::failed("reading the file failed because of a fault in the program"))?
    }

    /// Returns the server of a project, starting it if necessary.
    async fn server(
        &self,
        config: &LanguageServer,
        project: &Path,
    ) -> Result<Arc<OnceCell<Server>>, ToolError> {
        let cell = self.cell(config, project);
        let starting = cell.get_or_try_init(|| async {
            let program = Program {
                command: config.command.clone(),
                args: config.args.clone(),
                environment: config.environment.clone(),
                sandbox: Some(ProgramSandbox::default()),
            };
            let cannot =
                |why: String| format!("the language server `{}` cannot be used: {why}", config.command);
            let running = self.programs.start(&program).await.map_err(|error| cannot(error.to_string()))?;
            Server::agree(running, project, self.options.timeout).await.map_err(cannot)
        });
        starting.await.map_err(ToolError::failed)?;
        Ok(cell)
    }

    /// Returns the slot of a project's server. Also drops servers that have ended or been idle for too long.
    fn cell(&self, config: &LanguageServer, project: &Path) -> Arc<OnceCell<Server>> {
        let mut running = self.running();
        running.retain(|_, running| {
            running.used.elapsed() < IDLE && !running.server.get().is_some_and(Server::is_over)
        });
        let key = (config.name.clone(), project.to_owned());
        if running.len() >= MAX_COUNT && !running.contains_key(&key) {
            let oldest = running.iter().min_by_key(|(_, running)| running.used).map(|(key, _)| key.clone());
            oldest.and_then(|oldest| running.remove(&oldest));
        }
        let fresh = || Running { server: Arc::default(), used: Instant::now() };
        let entry = running.entry(key).or_insert_with(fresh);
        entry.used = Instant::now();
        entry.server.clone()
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<(String, PathBuf), Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the project root of a file: the nearest folder with a marker file, otherwise the workspace, otherwise its
/// own folder.
fn project(file: &Path, root: &Path) -> PathBuf {
    let folder = file.parent().unwrap_or(root);
    let end = if folder.starts_with(root) { root } else { folder };
    let above = folder.ancestors().take(MAX_STEPS).take_while(|above| above.starts_with(end));
    let begins = |above: &&Path| BEGINNINGS.iter().any(|name| above.join(name).exists());
    above.into_iter().find(begins).unwrap_or(end).to_owned()
}

/// Returns the protocol's language id for a file.
fn language(path: &str) -> &str {
    match Path::new(path).extension().and_then(|ending| ending.to_str()).unwrap_or_default() {
        "rs" => "rust",
        "py" | "pyi" => "python",
        "ts" | "mts" | "cts" => "typescript",
        "tsx" => "typescriptreact",
        "js" | "mjs" | "cjs" => "javascript",
        "jsx" => "javascriptreact",
        "cc" | "cpp" | "hpp" | "cxx" | "hh" => "cpp",
        "h" => "c",
        "rb" => "ruby",
        "cs" => "csharp",
        "kt" => "kotlin",
        "sh" | "bash" => "shellscript",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_begins_where_something_says_so() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path();
        let deep = root.join("crate/src/deep");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(root.join("crate/Cargo.toml"), "").unwrap();
        assert_eq!(project(&deep.join("a.rs"), root), root.join("crate"));
        assert_eq!(project(&root.join("a.rs"), root), root);
        assert_eq!(project(&root.join("none/a.rs"), root), root);
        assert_eq!(project(Path::new("/elsewhere/a.rs"), root), Path::new("/elsewhere"));
    }
}
