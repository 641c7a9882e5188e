//! Runs the built programs on their own homes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::http::{Request, Response, TIMEOUT};
use crate::socket::Socket;
use crate::storage;

/// A running `aethon-server`, killed on drop.
pub struct Server {
    child: Child,
    stdout: BufReader<ChildStdout>,
    home: Arc<TempDir>,
    /// The first line on stdout.
    pub greeting: String,
    /// The address it listens on.
    pub address: SocketAddr,
}

/// The resources that a program holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceUse {
    /// Resident memory in KiB.
    pub resident: u64,
    /// The number of open files and sockets.
    pub descriptors: u64,
    /// The number of threads.
    pub threads: u64,
}

impl Server {
    /// Starts the server with the `fake` model in an empty home on a free port, with `--set` for each setting.
    pub fn start(settings: &[&str]) -> Self {
        Self::start_in(home(), settings)
    }

    /// The same, in this home.
    pub fn start_in(home: Arc<TempDir>, settings: &[&str]) -> Self {
        let command = server_command(home.path(), settings);
        Self::start_command(home, command)
    }

    /// Starts the server from a command made with [`server_command`] or [`program`].
    pub fn start_command(home: Arc<TempDir>, mut command: Command) -> Self {
        // stderr goes to a file, because an unread pipe would block the server once it is full.
        let errors = std::fs::File::create(home.path().with_extension("stderr")).expect("a file for stderr");
        let mut child = command.stdout(Stdio::piped()).stderr(errors).spawn().expect("aethon-server starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut greeting = String::new();
        stdout.read_line(&mut greeting).expect("stdout can be read");
        if greeting.is_empty() {
            let status = child.wait().expect("it has ended");
            let errors = std::fs::read_to_string(home.path().with_extension("stderr")).unwrap_or_default();
            panic!("aethon-server ended with {status} before it listened: {errors}");
        }
        let address = greeting.trim().rsplit("http://").next().and_then(|address| address.parse().ok());
        let address = address.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)));
        Self { child, stdout, home, greeting: greeting.trim_end().to_owned(), address }
    }

    /// The same, with writes that can be made to fail: see [`Server::break_disk`].
    pub fn start_breakable(settings: &[&str]) -> Self {
        let home = home();
        let usual = server_command(home.path(), settings);
        let mut command = Command::new("/bin/sh");
        // A write beyond the file size limit raises a fatal signal; if that is ignored, the write fails.
        command
            .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
            .arg(usual.get_program())
            .args(usual.get_args());
        command.env_clear().envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Self::start_command(home, command)
    }

    /// Makes every write to a file fail from now on, as on a full disk.
    pub fn break_disk(&self) {
        self.limit_files(Some(0));
    }

    /// Reverts [`Server::break_disk`].
    pub fn mend_disk(&self) {
        self.limit_files(None);
    }

    fn limit_files(&self, current: Option<u64>) {
        use rustix::process::{Pid, Resource, Rlimit, prlimit};
        let limit = Rlimit { current, maximum: None };
        prlimit(Some(Pid::from_child(&self.child)), Resource::Fsize, limit).expect("the limit can be set");
    }

    /// The home, for starting another server in it.
    pub fn home(&self) -> Arc<TempDir> {
        self.home.clone()
    }

    /// The output on stderr.
    pub fn stderr(&self) -> String {
        std::fs::read_to_string(self.home.path().with_extension("stderr")).unwrap_or_default()
    }

    /// The id of its process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Its current memory in KiB.
    pub fn resident(&self) -> u64 {
        self.memory("VmRSS:")
    }

    /// Its peak memory in KiB.
    pub fn most_resident(&self) -> u64 {
        self.memory("VmHWM:")
    }

    /// Its current resources.
    pub fn holding(&self) -> ResourceUse {
        let status = |name| self.memory(name);
        let descriptors =
            std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).expect("it runs").count();
        ResourceUse {
            resident: status("VmRSS:"),
            threads: status("Threads:"),
            descriptors: descriptors as u64,
        }
    }

    /// The processor time that it has used, in ticks of a hundredth of a second.
    pub fn processor_ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("it runs");
        // The name of the program, which may contain anything, ends with the last bracket.
        let fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
        fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().expect("a number of ticks")).sum()
    }

    fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("it has memory");
        line.trim().trim_end_matches(" kB").parse().expect("a number of KiB")
    }

    /// Returns whether no delivery to a messenger waits.
    pub fn has_delivered(&self) -> bool {
        self.get("/api/outbox?state=waiting").json()["deliveries"].as_array().is_some_and(Vec::is_empty)
    }

    /// All messages of a session as returned by the API, oldest first.
    pub fn messages(&self, session: &str) -> Vec<Value> {
        let mut messages: Vec<Value> = Vec::new();
        loop {
            let before = messages.first().and_then(|first| first["id"].as_str());
            let before = before.map(|id| format!("&before={id}")).unwrap_or_default();
            let answer = self.get(&format!("/api/sessions/{session}?limit=100{before}"));
            assert_eq!(answer.status, 200, "{}", answer.text());
            let page = answer.json()["messages"].as_array().expect("a session has messages").clone();
            if page.is_empty() {
                return messages;
            }
            messages.splice(0..0, page);
        }
    }

    /// The role and text of each message in a session.
    pub fn said(&self, session: &str) -> Vec<(String, String)> {
        self.messages(session).iter().map(said).collect()
    }

    /// The same, read from the session's export: in one pass, however long it is, and without HTML.
    pub fn exported(&self, session: &str) -> Vec<(String, String)> {
        let answer = self.get(&format!("/api/sessions/{session}/export?format=json"));
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["messages"].as_array().expect("a session has messages").iter().map(said).collect()
    }

    /// A row of the feature board, with `state`, `detail` and `config_key`.
    pub fn feature(&self, id: &str) -> Value {
        let features = self.get("/api/features").json()["features"].clone();
        let found = features.as_array().and_then(|rows| rows.iter().find(|row| row["id"] == id));
        found.unwrap_or_else(|| panic!("a row {id} in {features}")).clone()
    }

    /// Sends a request.
    pub fn send(&self, request: &Request) -> Response {
        request.send(self.address)
    }

    /// Sends a GET.
    pub fn get(&self, target: &str) -> Response {
        self.send(&Request::get(target))
    }

    /// Sends a POST of JSON.
    pub fn post(&self, target: &str, body: &Value) -> Response {
        self.send(&Request::post(target, body))
    }

    /// Opens a WebSocket.
    pub fn socket(&self, target: &str) -> Socket {
        Socket::open(self.address, target, &[])
    }

    /// Opens a chat socket with `aethon.chat.v1` and reads its `ready`.
    pub fn chat(&self, session: &str) -> Socket {
        let protocol = [("Sec-WebSocket-Protocol", "aethon.chat.v1")];
        let mut socket = Socket::open(self.address, &format!("/ws/chat?session={session}"), &protocol);
        assert_eq!(socket.frame()["type"], "ready");
        socket
    }

    /// Sends SIGTERM and waits for the exit.
    pub fn terminate(self) -> ExitStatus {
        self.signal(rustix::process::Signal::TERM);
        self.wait().0
    }

    /// The id of the process that was started.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("the process is there");
    }

    /// Kills it without warning, like a power cut, and returns its home.
    pub fn kill(mut self) -> Arc<TempDir> {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it has ended");
        self.home.clone()
    }

    /// Waits for the exit and returns the output on stderr; panics if it does not exit.
    pub fn wait(mut self) -> (ExitStatus, String) {
        let status = wait_for(&mut self.child);
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).expect("stdout can be read");
        assert_eq!(rest, "", "stdout carries one line only");
        (status, self.stderr())
    }
}

/// Role and text of a message.
fn said(message: &Value) -> (String, String) {
    let blocks = message["content"].as_array().expect("content is a list");
    let texts: Vec<&str> = blocks
        .iter()
        .filter(|block| block["type"] == "text")
        .filter_map(|block| block["text"].as_str())
        .collect();
    (message["role"].as_str().expect("a role").to_owned(), texts.join("\n\n"))
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(self.home.path().with_extension("stderr"));
    }
}

/// Creates a folder for a home, removed with its last owner.
pub fn home() -> Arc<TempDir> {
    Arc::new(tempfile::tempdir().expect("a folder for the home"))
}

/// The command for `aethon-server` on this home with the `fake` model and a free port, with `--set` for each setting.
pub fn server_command(home: &Path, settings: &[&str]) -> Command {
    let mut command = program("aethon-server", home);
    for setting in ["channels.webchat.port=0", "model.provider=fake"].iter().chain(settings) {
        command.args(["--set", setting]);
    }
    command
}

/// The command for a program on this home, in an environment that reveals nothing about the machine's owner.
pub fn program(name: &str, home: &Path) -> Command {
    let path = binaries().join(name);
    assert!(path.exists(), "{} is not built; `cargo xtask test` builds it", path.display());
    let mut command = Command::new(path);
    command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", home).arg("--home").arg(home);
    command.stdin(Stdio::null());
    if let Some(url) = storage::url_of(home) {
        command.env("AETHON_STORAGE__URL", url);
    }
    command
}

/// Runs `aethon-server` until it exits, to test refusals.
pub fn run_server(home: &Path, arguments: &[&str]) -> Output {
    run(program("aethon-server", home).args(arguments), None)
}

/// Runs `aethon-cli` until it exits.
pub fn run_cli(home: &Path, arguments: &[&str], input: Option<&str>) -> Output {
    run(program("aethon-cli", home).args(arguments), input)
}

/// Runs a command until it exits, with this on stdin.
pub fn run(command: &mut Command, input: Option<&str>) -> Output {
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    let mut child = command
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
        // A program that rejects its arguments does not read its input.
        let _ = stdin.write_all(input.as_bytes());
    }
    let drain = |stream: Option<Box<dyn Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut stream) = stream {
                stream.read_to_end(&mut bytes).expect("the output can be read");
            }
            bytes
        })
    };
    let stdout = drain(child.stdout.take().map(|stream| Box::new(stream) as _));
    let stderr = drain(child.stderr.take().map(|stream| Box::new(stream) as _));
    let status = wait_for(&mut child);
    Output { status, stdout: stdout.join().expect("stdout"), stderr: stderr.join().expect("stderr") }
}

fn wait_for(child: &mut Child) -> ExitStatus {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(status) = child.try_wait().expect("the process can be waited for") {
            return status;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            panic!("the program did not end within {TIMEOUT:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The folder of the programs: that of the test's own executable, or `AETHON_BIN_DIR`.
pub fn binaries() -> PathBuf {
    if let Some(folder) = std::env::var_os("AETHON_BIN_DIR") {
        return folder.into();
    }
    let test = std::env::current_exe().expect("a test knows its own path");
    test.parent().and_then(Path::parent).expect("tests lie in target/PROFILE/deps").to_owned()
}
