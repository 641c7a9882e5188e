//! A strict stand-in for the docker daemon on a socket of its own. It knows the requests of a sandbox for commands, to
//! the letter; anything else is written down as wrong. Commands are a few words that it acts out.
#![allow(clippy::unwrap_used, clippy::expect_used, unreachable_pub, reason = "tests and what they share")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tempfile::TempDir;

mod looks;

/// The labels of containers.
pub const HOME: &str = "aethon.home";
pub const OWNER: &str = "aethon.owner";

/// A daemon that listens on a socket.
pub struct Daemon {
    folder: TempDir,
    state: Arc<State>,
}

#[derive(Default)]
struct State(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    log: Vec<String>,
    wrong: Vec<String>,
    made: Vec<Value>,
    executed: Vec<Value>,
    containers: BTreeMap<String, Container>,
    commands: BTreeMap<String, Command>,
    refusals: Vec<(String, u16, Value)>,
    has_image: bool,
    hangs_up: bool,
    dribbles: bool,
    stalls: Option<String>,
    stalled: Vec<UnixStream>,
    count: usize,
    /// Processes that the kernel has ended in each container.
    killed: BTreeMap<String, u64>,
    /// What `GET /info` says beyond the usual.
    info: Value,
    /// Whether the trial sees a workspace of the daemon's own.
    is_elsewhere: bool,
    /// Nothing can be started in the containers that are there.
    is_dead: bool,
}

struct Container {
    document: Value,
    is_running: bool,
}

struct Command {
    container: String,
    text: String,
    words: Vec<String>,
    status: Option<i32>,
    /// How often it is still said to run.
    busy_for: usize,
    /// Where it writes, once it is attached to.
    stream: Option<UnixStream>,
}

/// A request, as it came.
struct Request {
    method: String,
    target: String,
    headers: BTreeMap<String, String>,
    body: Value,
}

impl Daemon {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("docker.sock")).unwrap();
        let state = Arc::new(State::default());
        let shared = state.clone();
        // Ends with the process of the tests; nothing waits for it.
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let state = shared.clone();
                // A client may hang up once it has its answer.
                std::thread::spawn(move || state.serve(connection));
            }
        });
        Self { folder, state }
    }

    pub fn host(&self) -> String {
        format!("unix://{}/docker.sock", self.folder.path().display())
    }

    pub fn made(&self) -> Vec<Value> {
        self.state.lock().made.clone()
    }

    pub fn executed(&self) -> Vec<Value> {
        self.state.lock().executed.clone()
    }

    pub fn log(&self) -> Vec<String> {
        self.state.lock().log.clone()
    }

    pub fn containers(&self) -> usize {
        self.state.lock().containers.len()
    }

    /// A container of another program, or of an earlier run.
    pub fn leave(&self, document: Value) {
        let mut inner = self.state.lock();
        let id = inner.fresh("left");
        inner.containers.insert(id, Container { document, is_running: true });
    }

    /// As after a start of the daemon that kept nothing.
    pub fn forget_everything(&self) {
        self.state.lock().containers.clear();
    }

    /// Answers requests whose path ends like this with an error.
    pub fn refuse(&self, path: &str, status: u16, answer: Value) {
        self.state.lock().refusals.push((path.to_owned(), status, answer));
    }

    /// The daemon's description of itself; keys as in `GET /info`.
    pub fn describe(&self, info: Value) {
        self.state.lock().info = info;
    }

    /// The daemon mounts a folder of its own that has the workspace's name.
    pub fn move_elsewhere(&self) {
        self.state.lock().is_elsewhere = true;
    }

    /// Stops every container, as a crash of its first process would; commands in it are refused from now on.
    pub fn stop_everything(&self) {
        self.state.lock().containers.values_mut().for_each(|container| container.is_running = false);
    }

    /// Accepts requests whose path ends like this from now on, and never answers them.
    pub fn stall(&self, path: &str) {
        self.state.lock().stalls = Some(path.to_owned());
    }

    /// Sends answers byte by byte.
    pub fn dribble(&self) {
        self.state.lock().dribbles = true;
    }

    /// Closes every connection without an answer from now on.
    pub fn hang_up(&self) {
        self.state.lock().hangs_up = true;
    }

    /// Asserts that a daemon would know and accept every request.
    #[track_caller]
    pub fn assert_sound(&self) {
        assert_eq!(self.state.lock().wrong, Vec::<String>::new());
    }
}

impl Inner {
    fn fresh(&mut self, kind: &str) -> String {
        self.count += 1;
        format!("{kind}{}", self.count)
    }

    fn wrong(&mut self, what: String) -> (u16, Value) {
        self.wrong.push(what.clone());
        (400, json!({"message": what}))
    }

    /// Whether a document has these keys and no others.
    fn has_only(&mut self, document: &Value, keys: &[&str]) -> bool {
        let found: Vec<&String> = document.as_object().map(|it| it.keys().collect()).unwrap_or_default();
        let strange: Vec<&&String> = found.iter().filter(|key| !keys.contains(&key.as_str())).collect();
        let is_sound = strange.is_empty() && found.len() == keys.len();
        if !is_sound {
            let what = format!("wanted {keys:?}, got {found:?}");
            self.wrong(what);
        }
        is_sound
    }

    fn create(&mut self, document: Value) -> (u16, Value) {
        let keys = [
            "Image",
            "Entrypoint",
            "Cmd",
            "User",
            "WorkingDir",
            "Env",
            "Labels",
            "NetworkDisabled",
            "HostConfig",
        ];
        if !self.has_only(&document, &keys) {
            return (400, json!({"message": "strange"}));
        }
        if document["HostConfig"]["Memory"].as_u64().is_none_or(|bytes| bytes < 6 << 20) {
            return (400, json!({"message": "Minimum memory limit allowed is 6MB"}));
        }
        if !self.has_image {
            return (404, json!({"message": "No such image"}));
        }
        let id = self.fresh("c");
        self.made.push(document.clone());
        self.containers.insert(id.clone(), Container { document, is_running: false });
        (201, json!({"Id": id, "Warnings": []}))
    }

    fn begin(&mut self, id: &str) -> (u16, Value) {
        match self.containers.get_mut(id) {
            Some(container) if !container.is_running => {
                container.is_running = true;
                (204, Value::Null)
            }
            Some(_) => self.wrong(format!("{id} was started twice")),
            None => self.wrong(format!("{id} is started and was not made")),
        }
    }

    fn execute(&mut self, container: &str, document: Value) -> (u16, Value) {
        if !self.has_only(&document, &["AttachStdout", "AttachStderr", "Cmd", "WorkingDir"]) {
            return (400, json!({"message": "strange"}));
        }
        match self.containers.get(container) {
            None => return (404, json!({"message": format!("No such container: {container}")})),
            Some(container) if !container.is_running => {
                return (
                    409,
                    json!({"message": format!("Container {id} is not running", id = container.document["Image"])}),
                );
            }
            Some(_) => {}
        }
        let id = self.fresh("e");
        let text = document["Cmd"]
            .as_array()
            .and_then(|words| words.last()?.as_str())
            .unwrap_or_default()
            .to_owned();
        let is_command = document["Cmd"][2] == r#"echo '[aethon: begun]'; exec "$@""#;
        if is_command
            && (document["Cmd"][0] != "/bin/sh" || document["Cmd"].as_array().map(Vec::len) != Some(7))
        {
            let what = format!("a command of {}", document["Cmd"]);
            return self.wrong(what);
        }
        let text = if is_command {
            text
        } else {
            format!("probe {}", document["Cmd"][2].as_str().unwrap_or_default())
        };
        let words = document["Cmd"].as_array().into_iter().flatten().skip(4);
        let words = words.filter_map(|word| Some(word.as_str()?.to_owned())).collect();
        self.executed.push(document);
        let container = container.to_owned();
        let command = Command { container, text, words, status: None, busy_for: 0, stream: None };
        self.commands.insert(id.clone(), command);
        (201, json!({"Id": id}))
    }

    fn listed(&mut self, query: &str) -> (u16, Value) {
        let Some(filters) = query.strip_prefix("all=1&filters=").map(unescaped) else {
            return self.wrong(format!("a list of {query}"));
        };
        let filters: Value = serde_json::from_str(&filters).unwrap_or_default();
        let wanted = filters["label"][0].as_str().unwrap_or_default().to_owned();
        if filters != json!({"label": [wanted]}) || !wanted.starts_with(HOME) {
            return self.wrong(format!("a list of {filters}"));
        }
        let has = |container: &Container| {
            let labels = container.document["Labels"].as_object().unwrap();
            labels
                .iter()
                .any(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()) == wanted)
        };
        let found = self.containers.iter().filter(|(_, container)| has(container));
        (
            200,
            found.map(|(id, container)| json!({"Id": id, "Labels": container.document["Labels"]})).collect(),
        )
    }

    fn remove(&mut self, id: &str, query: &str) -> (u16, Value) {
        if query != "force=1&v=1" {
            return self.wrong(format!("a removal with {query}"));
        }
        if self.containers.remove(id).is_none() {
            return (404, json!({"message": "No such container"}));
        }
        self.end_all(id, "", 137);
        self.is_dead = false;
        (204, Value::Null)
    }

    /// Ends what runs in a container.
    fn end_all(&mut self, container: &str, except: &str, status: i32) {
        let others =
            self.commands.iter_mut().filter(|(id, command)| command.container == container && *id != except);
        for (_, command) in others {
            command.status.get_or_insert(status);
            if let Some(stream) = command.stream.take() {
                // Who read it may be gone.
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, mut connection: UnixStream) -> std::io::Result<()> {
        let request = match Request::read(&connection) {
            Ok(request) => request,
            Err(what) => {
                self.lock().wrong(what);
                return Ok(());
            }
        };
        let Request { method, target, headers, body } = request;
        let mut inner = self.lock();
        if inner.hangs_up {
            return Ok(());
        }
        inner.log.push(format!("{method} {target}"));
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let words: Vec<&str> = path.split('/').skip(1).collect();
        let is_upgrade = headers.get("connection").is_some_and(|value| value == "Upgrade");
        let is_attaching = matches!(words.as_slice(), ["exec", _, "start"]);
        if is_upgrade != is_attaching || is_upgrade != headers.contains_key("upgrade") {
            inner.wrong(format!("{method} {path} with {headers:?}"));
        }
        if inner.stalls.as_ref().is_some_and(|end| path.ends_with(end)) {
            inner.stalled.push(connection);
            return Ok(());
        }
        let refusal = inner.refusals.iter().find(|(end, ..)| path.ends_with(end)).cloned();
        let (status, answer) = match (refusal, method.as_str(), words.as_slice()) {
            (Some((_, status, answer)), ..) => (status, answer),
            (_, "POST", ["containers", "create"]) => inner.create(body),
            (_, "POST", ["containers", id, "start"]) => inner.begin(id),
            (_, "POST", ["containers", id, "exec"]) => inner.execute(id, body),
            (_, "POST", ["exec", id, "start"]) => {
                if body != json!({"Detach": false, "Tty": false}) {
                    inner.wrong(format!("a command is started with {body}"));
                }
                drop(inner);
                return self.act(id, connection);
            }
            (_, "GET", ["exec", id, "json"])
                if !inner.commands.contains_key(*id) && inner.containers.is_empty() =>
            {
                (404, json!({"message": "No such exec instance"}))
            }
            (_, "GET", ["exec", id, "json"]) => match inner.commands.get_mut(*id) {
                Some(command) => {
                    if command.busy_for > 0 {
                        command.busy_for -= 1;
                        command.status = (command.busy_for == 0).then_some(5);
                    }
                    (200, json!({"Running": command.status.is_none(), "ExitCode": command.status}))
                }
                None => inner.wrong(format!("a look at {id}, which is none")),
            },
            (_, "GET", ["containers", "json"]) => inner.listed(query),
            (_, "GET", ["containers", id, "json"]) => inner.inspected(id),
            (_, "GET", ["info"]) => inner.described(),
            (_, "GET", ["images", .., "json"]) if inner.has_image => (200, json!({"Id": "sha256:1"})),
            (_, "GET", ["images", .., "json"]) => (404, json!({"message": "No such image"})),
            (_, "DELETE", ["containers", id]) => inner.remove(id, query),
            (_, "POST", ["images", "create"]) => {
                inner.has_image = true;
                (200, json!({"status": "Downloaded"}))
            }
            _ => inner.wrong(format!("no {method} {target}")),
        };
        let dribbles = inner.dribbles;
        drop(inner);
        // In chunks, as the daemon sends longer bodies.
        let body = answer.to_string();
        let (first, rest) = body.split_at(body.len() / 2);
        let chunks: String = [first, rest]
            .iter()
            .filter(|part| !part.is_empty())
            .map(|part| format!("{:x}\r\n{part}\r\n", part.len()))
            .collect();
        let head = format!("HTTP/1.1 {status} It\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
        let whole = format!("{head}{chunks}0\r\n\r\n");
        for piece in whole.as_bytes().chunks(if dribbles { 1 } else { whole.len() }) {
            connection.write_all(piece)?;
        }
        Ok(())
    }

    /// Acts out a command.
    fn act(&self, id: &str, mut connection: UnixStream) -> std::io::Result<()> {
        let (container, text, words) = {
            let mut inner = self.lock();
            let Some(command) = inner.commands.get_mut(id) else {
                inner.wrong(format!("{id} is started and was not made"));
                return Ok(());
            };
            command.stream = Some(connection.try_clone()?);
            (command.container.clone(), command.text.clone(), command.words.clone())
        };
        connection.write_all(b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")?;
        let end = |status: i32, connection: &UnixStream| {
            self.lock().commands.get_mut(id).expect("it was made").status = Some(status);
            connection.shutdown(Shutdown::Write)
        };
        if let Some(script) = text.strip_prefix("probe ") {
            let (answer, status) = self.lock().probe(&container, id, (script, &words));
            connection.write_all(&frame(1, answer.as_bytes()))?;
            return end(status, &connection);
        }
        if text == "never" {
            connection.write_all(&frame(
                1,
                b"OCI runtime exec failed: cannot exec in a stopped state: unknown\r\n",
            ))?;
            return end(126, &connection);
        }
        connection.write_all(&frame(1, b"[aethon: begun]\n"))?;
        match text.as_str() {
            "say" => {
                let frames =
                    [frame(1, b"hello\n"), frame(2, b"worse\n"), frame(1, b""), frame(1, b"end\n")].concat();
                // Cut anywhere but where frames end.
                for piece in frames.chunks(5) {
                    connection.write_all(piece)?;
                    connection.flush()?;
                }
                end(3, &connection)
            }
            "hang" => connection.write_all(&frame(1, b"begun\n")),
            "leave" => {
                connection.write_all(&frame(1, b"done\n"))?;
                self.lock().commands.get_mut(id).expect("it was made").status = Some(0);
                Ok(())
            }
            "exhaust" => {
                *self.lock().killed.entry(container).or_default() += 1;
                connection.write_all(&frame(1, b"some\n"))?;
                end(137, &connection)
            }
            "fill" => {
                self.lock().is_dead = true;
                connection.write_all(&frame(1, b"some\n"))?;
                end(0, &connection)
            }
            "vanish" => {
                connection.write_all(&frame(1, b"some\n"))?;
                self.lock().containers.remove(&container);
                self.lock().commands.remove(id);
                connection.shutdown(Shutdown::Both)
            }
            "close its output" => {
                connection.write_all(&frame(1, b"some\n"))?;
                connection.shutdown(Shutdown::Both)?;
                // The first few queries are answered that it runs.
                self.lock().commands.get_mut(id).expect("it was made").busy_for = 3;
                Ok(())
            }
            text => {
                self.lock().wrong(format!("the command {text:?}"));
                Ok(())
            }
        }
    }
}

impl Request {
    fn read(connection: &UnixStream) -> Result<Self, String> {
        let mut reader = BufReader::new(connection);
        let mut line = || {
            let mut line = String::new();
            reader.read_line(&mut line).map_err(|error| error.to_string())?;
            line.strip_suffix("\r\n").map(str::to_owned).ok_or(format!("a line that does not end: {line:?}"))
        };
        let first = line()?;
        let words: Vec<&str> = first.split(' ').collect();
        let [method, target, "HTTP/1.1"] = words.as_slice() else {
            return Err(format!("a request {first:?}"));
        };
        let mut headers = BTreeMap::new();
        loop {
            let line = line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(": ").ok_or(format!("a header {line:?}"))?;
            if headers.insert(name.to_ascii_lowercase(), value.to_owned()).is_some() {
                return Err(format!("{name} stands there twice"));
            }
        }
        if !headers.contains_key("host") {
            return Err("no host".into());
        }
        let length: u64 =
            headers.get("content-length").and_then(|length| length.parse().ok()).ok_or("no length")?;
        let mut body = String::new();
        reader.take(length).read_to_string(&mut body).map_err(|error| error.to_string())?;
        if length > 0 && headers.get("content-type").map(String::as_str) != Some("application/json") {
            return Err("a body that is not said to be JSON".into());
        }
        let body = if body.is_empty() {
            Value::Null
        } else {
            serde_json::from_str(&body).map_err(|error| error.to_string())?
        };
        Ok(Self { method: (*method).to_owned(), target: (*target).to_owned(), headers, body })
    }
}

/// The output of a command, in a frame of the daemon.
fn frame(kind: u8, bytes: &[u8]) -> Vec<u8> {
    let size = u32::try_from(bytes.len()).unwrap().to_be_bytes();
    [&[kind, 0, 0, 0][..], &size, bytes].concat()
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits: String = rest.by_ref().take(2).map(char::from).collect();
            bytes.push(u8::from_str_radix(&digits, 16).unwrap());
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).unwrap()
}
