//! A fake Docker daemon: a container runs as a process of this machine with the container's environment, but without isolation.
//! It records the requests. Of commands, it knows those of the trial at the start.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::stub::Seen;

/// A fake daemon on loopback.
pub struct Docker {
    /// The address it listens on.
    pub address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    containers: Mutex<BTreeMap<String, Container>>,
    /// The results of the sandbox trial, by the id of its command.
    probes: Mutex<Vec<String>>,
    /// Additional fields of the daemon's `GET /info`.
    info: Mutex<Value>,
    changed: Condvar,
}

/// A container.
#[derive(Default)]
struct Container {
    document: Value,
    attached: Option<TcpStream>,
    process: Option<u32>,
    status: Option<i32>,
    is_removed: bool,
}

impl Docker {
    /// Starts the daemon. Its only image is `there`.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port for the stand-in");
        let address = listener.local_addr().expect("it has an address");
        let state = Arc::new(State::default());
        let shared = state.clone();
        // Never joined; it ends with the test process.
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let state = shared.clone();
                // A client that hangs up is satisfied.
                std::thread::spawn(move || state.serve(connection));
            }
        });
        Self { address, state }
    }

    /// The value for `DOCKER_HOST`.
    pub fn host(&self) -> String {
        format!("tcp://{}", self.address)
    }

    /// Changes the daemon's description of itself; keys as in `GET /info`.
    pub fn describe(&self, info: Value) {
        *self.state.info.lock().unwrap_or_else(PoisonError::into_inner) = info;
    }

    /// The creation requests of the containers, with the first word of their command.
    pub fn made(&self) -> Vec<(String, Value)> {
        let word = |document: &Value| document["Entrypoint"][0].as_str().unwrap_or_default().to_owned();
        self.state.lock().values().map(|one| (word(&one.document), one.document.clone())).collect()
    }

    /// Returns whether a container was created and neither ended nor removed.
    pub fn has_left(&self) -> bool {
        self.state.lock().values().any(|one| one.status.is_none() && !one.is_removed)
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Container>> {
        self.containers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(self: &Arc<Self>, mut connection: TcpStream) -> std::io::Result<()> {
        let seen = Seen::read(&connection)?;
        connection.set_read_timeout(None)?;
        let (method, target) = seen.line.split_once(' ').unwrap_or_default();
        let path = target.split('?').next().unwrap_or_default();
        let words: Vec<&str> = path.split('/').skip(1).collect();
        let (status, body) = match (method, words.as_slice()) {
            ("GET", ["_ping"]) => (200, json!("OK")),
            ("GET", ["info"]) => (200, self.info()),
            ("GET", ["images", "there", "json"]) => (200, json!({"Id": "sha256:1"})),
            ("GET", ["containers", id, "json"]) => (200, self.lock()[*id].document.clone()),
            ("POST", ["containers", id, "exec"]) => self.probe(id, &seen.json()),
            ("POST", ["exec", id, "start"]) => return self.answer_probe(id, connection),
            ("GET", ["exec", _, "json"]) => (200, json!({"Running": false, "ExitCode": 0})),
            ("GET", ["containers", "json"]) => (200, json!([])),
            ("POST", ["containers", "create"]) => self.make(seen.json()),
            ("POST", ["images", "create"]) => (500, json!({"message": "this daemon fetches nothing"})),
            ("POST", ["containers", id, "attach"]) => return self.attach(id, connection),
            ("POST", ["containers", id, "wait"]) => return self.wait(id, connection),
            ("POST", ["containers", id, "start"]) => self.begin(id),
            ("DELETE", ["containers", id]) => self.remove(id),
            _ => (404, json!({"message": format!("no {method} {path}")})),
        };
        let body = body.to_string();
        let head =
            format!("HTTP/1.1 {status} It\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        connection.write_all((head + &body).as_bytes())
    }

    fn make(&self, document: Value) -> (u16, Value) {
        if document["Image"] != "there" {
            return (404, json!({"message": "no such image"}));
        }
        let mut containers = self.lock();
        let id = format!("c{}", containers.len());
        containers.insert(id.clone(), Container { document, ..Container::default() });
        (201, json!({"Id": id}))
    }

    fn info(&self) -> Value {
        let mut info = json!({
            "ServerVersion": "27.0", "OSType": "linux", "OperatingSystem": "Debian", "NCPU": 64,
            "MemTotal": 64_u64 << 30, "SecurityOptions": [], "MemoryLimit": true, "PidsLimit": true, "CpuCfsQuota": true,
        });
        let own = self.info.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, value) in own.as_object().into_iter().flatten() {
            info[key] = value.clone();
        }
        info
    }

    /// Prepares the results of the sandbox trial in a container; no other command is run.
    fn probe(&self, id: &str, wanted: &Value) -> (u16, Value) {
        let (words, document) = (&wanted["Cmd"], self.lock()[id].document.clone());
        let (user, group) =
            document["User"].as_str().and_then(|user| user.split_once(':')).unwrap_or_default();
        let host = &document["HostConfig"];
        let cpus = host["NanoCpus"].as_i64().unwrap_or_default() / 10_000;
        let script = words[2].as_str().unwrap_or_default();
        let seen = if script.contains("/proc/self/status") {
            if let (Some(path), Some(content)) = (words[4].as_str(), words[5].as_str())
                && path.contains("/workspace/.aethon-trial-")
            {
                std::fs::write(path, content).expect("the workspace is there");
            }
            format!(
                "Uid: {user}\nGid: {group}\nNoNewPrivs: 1\nroot ro\ntmp tmpfs\nunified yes\nmemory {}\npids {}\ncpu {cpus} \
                 100000\nwritten yes\ndone yes\n",
                host["Memory"], host["PidsLimit"],
            )
        } else if script.contains("/proc/self/mountinfo") {
            let line = |mount: &Value| {
                let place = mount["Target"].as_str().unwrap_or_default();
                let options = if mount["ReadOnly"] == true { "ro" } else { "rw" };
                format!("1 2 8:1 {place} {place} {options} - ext4 /dev/sda1 rw\n")
            };
            host["Mounts"].as_array().into_iter().flatten().map(line).collect()
        } else if script.starts_with("kill -KILL -1") {
            "swept\n".to_owned()
        } else {
            return (500, json!({"message": "this daemon runs no commands"}));
        };
        let mut probes = self.probes.lock().unwrap_or_else(PoisonError::into_inner);
        probes.push(seen);
        (201, json!({"Id": format!("{}", probes.len() - 1)}))
    }

    fn answer_probe(&self, id: &str, mut connection: TcpStream) -> std::io::Result<()> {
        let seen = {
            let probes = self.probes.lock().unwrap_or_else(PoisonError::into_inner);
            id.parse::<usize>().ok().and_then(|at| probes.get(at).cloned()).unwrap_or_default()
        };
        connection.write_all(b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")?;
        let size = u32::try_from(seen.len()).expect("it is small").to_be_bytes();
        connection.write_all(&[&[1, 0, 0, 0][..], &size, seen.as_bytes()].concat())
    }

    fn attach(&self, id: &str, mut connection: TcpStream) -> std::io::Result<()> {
        self.lock().get_mut(id).expect("it was made").attached = Some(connection.try_clone()?);
        connection.write_all(b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
    }

    /// Answers once the container has ended, chunked like the real daemon.
    fn wait(&self, id: &str, mut connection: TcpStream) -> std::io::Result<()> {
        connection
            .write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")?;
        let containers = self.lock();
        let lives = |containers: &mut BTreeMap<String, Container>| containers[id].status.is_none();
        let containers = self.changed.wait_while(containers, lives).unwrap_or_else(PoisonError::into_inner);
        let body = json!({"StatusCode": containers[id].status}).to_string();
        drop(containers);
        connection.write_all(format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()).as_bytes())
    }

    fn begin(self: &Arc<Self>, id: &str) -> (u16, Value) {
        let mut containers = self.lock();
        let container = containers.get_mut(id).expect("it was made");
        if container.attached.is_none() {
            // The container of commands, in which nothing runs by itself.
            return (204, Value::Null);
        }
        let texts = |key: &str| -> Vec<String> {
            let texts = container.document[key].as_array().cloned().unwrap_or_default();
            texts.iter().filter_map(|text| Some(text.as_str()?.to_owned())).collect()
        };
        let words: Vec<String> = texts("Entrypoint").into_iter().chain(texts("Cmd")).collect();
        let environment = texts("Env");
        let environment = environment.iter().filter_map(|pair| pair.split_once('='));
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env_clear().envs(environment);
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let Ok(child) = pipes else {
            let message = format!("exec: {:?}: executable file not found in $PATH", words[0]);
            return (400, json!({"message": message}));
        };
        container.process = Some(child.id());
        let attached = container.attached.take().expect("it is attached to before it starts");
        let (state, id) = (self.clone(), id.to_owned());
        std::thread::spawn(move || {
            let status = bridge(child, &attached);
            state.lock().get_mut(&id).expect("it was made").status = Some(status);
            state.changed.notify_all();
        });
        (204, Value::Null)
    }

    fn remove(&self, id: &str) -> (u16, Value) {
        let mut containers = self.lock();
        let Some(container) = containers.get_mut(id) else {
            return (404, json!({"message": "no such container"}));
        };
        container.is_removed = true;
        let lives = container.process.filter(|_| container.status.is_none());
        if let Some(process) = lives.and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?)) {
            // It may have ended just now.
            let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
        }
        (204, Value::Null)
    }
}

/// Relays between a process and the attached client until the process ends; returns its status.
fn bridge(mut child: Child, attached: &TcpStream) -> i32 {
    let copy = |stream: &TcpStream| stream.try_clone().expect("a second handle");
    let (mut from, mut input) = (copy(attached), child.stdin.take().expect("stdin is piped"));
    // Ends with the connection, which closes the input. `io::copy` would let the kernel wait for more.
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            if input.write_all(&buffer[..length]).and_then(|()| input.flush()).is_err() {
                return;
            }
        }
    });
    let to = Arc::new(Mutex::new(copy(attached)));
    let output = child.stdout.take().expect("stdout is piped");
    let errors = child.stderr.take().expect("stderr is piped");
    let readers = [
        std::thread::spawn({
            let to = to.clone();
            move || frames(output, 1, &to)
        }),
        std::thread::spawn(move || frames(errors, 2, &to)),
    ];
    let status = child.wait().ok().and_then(|status| status.code()).unwrap_or(137);
    for reader in readers {
        let _ = reader.join();
    }
    // The client may be gone.
    let _ = attached.shutdown(Shutdown::Both);
    status
}

/// Sends the output in the daemon's frames.
fn frames(mut from: impl Read, kind: u8, to: &Mutex<TcpStream>) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let size = u32::try_from(length).expect("it is small").to_be_bytes();
        let frame = [&[kind, 0, 0, 0][..], &size, &buffer[..length]].concat();
        if to.lock().unwrap_or_else(PoisonError::into_inner).write_all(&frame).is_err() {
            return;
        }
    }
}

/// The names of the environment variables in a creation request.
pub fn variables(document: &Value) -> BTreeSet<String> {
    let pairs = document["Env"].as_array().cloned().unwrap_or_default();
    pairs.iter().filter_map(|pair| Some(pair.as_str()?.split('=').next()?.to_owned())).collect()
}
