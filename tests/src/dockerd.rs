//! A real docker daemon with a data folder of its own, where a fake proves nothing. It needs root, Debian's `docker.io`
//! and `busybox-static`; where it cannot run, tests that need it say so and pass.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long the daemon may take to start on a busy machine.
const START: Duration = Duration::from_secs(60);

/// The image that the daemon has: busybox.
pub const IMAGE: &str = "aethon-test:1";
/// An image without a shell.
pub const IMAGE_WITHOUT_SHELL: &str = "aethon-test:bare";

/// A running daemon, stopped on drop.
pub struct Dockerd {
    folder: TempDir,
    process: Child,
}

/// How a daemon numbers the users of containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Users {
    /// As the machine does.
    OfTheMachine,
    /// Mapped to others (`--userns-remap`).
    Remapped,
}

impl Dockerd {
    /// Starts a daemon. `None` where it cannot run, with the reason on stderr.
    pub fn start() -> Option<Self> {
        Self::start_as(Users::OfTheMachine)
    }

    /// Starts a daemon that treats the users of containers like this. `None` where it cannot run, with the reason on stderr.
    pub fn start_as(users: Users) -> Option<Self> {
        match Self::started(users) {
            Ok(daemon) => Some(daemon),
            Err(reason) => {
                eprintln!("left out on this machine, because no docker daemon can run here: {reason}");
                None
            }
        }
    }

    fn started(users: Users) -> Result<Self, String> {
        let busybox = found("busybox").ok_or("there is no busybox (Debian: busybox-static)")?;
        let dockerd = found("dockerd").ok_or("there is no dockerd (Debian: docker.io)")?;
        if !rustix::process::geteuid().is_root() {
            return Err("it needs root".into());
        }
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let path = |name: &str| folder.path().join(name).display().to_string();
        let log = fs::File::create(folder.path().join("log")).map_err(|error| error.to_string())?;
        // No bridge and no rules of a firewall: nothing of the machine changes.
        let mut command = match users {
            Users::OfTheMachine => Command::new(dockerd),
            Users::Remapped => remapping(&dockerd, folder.path()).map_err(|error| error.to_string())?,
        };
        let process = command
            .args(["--data-root", &path("data"), "--exec-root", &path("exec"), "--pidfile", &path("pid")])
            .args(["-H", &format!("unix://{}", path("docker.sock")), "--storage-driver", "vfs"])
            .args(["--iptables=false", "--ip6tables=false", "--bridge=none"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut daemon = Self { folder, process };
        let end = Instant::now() + START;
        while daemon.request("GET", "/_ping", &[]).is_none_or(|(status, _)| status != 200) {
            if Instant::now() > end || daemon.process.try_wait().is_ok_and(|ended| ended.is_some()) {
                let log = fs::read_to_string(daemon.folder.path().join("log")).unwrap_or_default();
                return Err(log.lines().last().unwrap_or("it says nothing").to_owned());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        daemon.import(
            &busybox,
            IMAGE,
            &["sh", "sleep", "cat", "ls", "dd", "head", "tail", "wc", "id", "rm", "touch", "mkdir"],
        )?;
        daemon.import(&busybox, IMAGE_WITHOUT_SHELL, &[])?;
        Ok(daemon)
    }

    /// The value for `DOCKER_HOST`.
    pub fn host(&self) -> String {
        format!("unix://{}/docker.sock", self.folder.path().display())
    }

    /// The ids of all containers.
    pub fn containers(&self) -> Vec<String> {
        let (_, list) = self.request("GET", "/containers/json?all=1", &[]).expect("the daemon answers");
        let list = list.as_array().cloned().unwrap_or_default();
        list.iter().filter_map(|one| Some(one["Id"].as_str()?.to_owned())).collect()
    }

    /// Kills a container from outside.
    pub fn kill(&self, id: &str) {
        let (status, answer) =
            self.request("POST", &format!("/containers/{id}/kill"), &[]).expect("the daemon answers");
        assert_eq!(status, 204, "{answer}");
    }

    /// Stops the daemon in its tracks, or lets it go on.
    pub fn freeze(&self, is_frozen: bool) {
        let signal = if is_frozen { Signal::STOP } else { Signal::CONT };
        kill_process(Pid::from_child(&self.process), signal).expect("it runs");
    }

    fn import(&self, busybox: &Path, image: &str, links: &[&str]) -> Result<(), String> {
        let describe = |error: std::io::Error| error.to_string();
        let root = self.folder.path().join(image);
        for name in ["bin", "tmp", "proc", "sys", "dev", "etc"] {
            fs::create_dir_all(root.join(name)).map_err(describe)?;
        }
        fs::set_permissions(root.join("tmp"), fs::Permissions::from_mode(0o1777)).map_err(describe)?;
        fs::copy(busybox, root.join("bin/busybox")).map_err(describe)?;
        for link in links {
            symlink("busybox", root.join("bin").join(link)).map_err(describe)?;
        }
        self.import_root(&root, image, &[])
    }

    /// Makes an image of a folder, with instructions of a Dockerfile (`USER 1000`) that change how it runs.
    pub fn import_root(&self, root: &Path, image: &str, instructions: &[&str]) -> Result<(), String> {
        let packed = Command::new("tar").arg("-C").arg(root).args(["-c", "."]).output();
        let packed = packed.map_err(|error| error.to_string())?;
        let (repository, tag) = image.split_once(':').unwrap_or((image, "latest"));
        let mut path = format!("/images/create?fromSrc=-&repo={repository}&tag={tag}");
        for instruction in instructions {
            path.push_str("&changes=");
            for byte in instruction.bytes() {
                path.push_str(&format!("%{byte:02X}"));
            }
        }
        match self.raw("POST", &path, "application/x-tar", &packed.stdout) {
            // An instruction that is refused is told in the body.
            Some((200, body)) if !body.contains("\"error\"") => Ok(()),
            answer => Err(format!("the image could not be imported: {answer:?}")),
        }
    }

    /// Sends a request with JSON.
    pub fn call(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (status, answer) =
            self.raw(method, path, "application/json", body.as_bytes()).expect("the daemon answers");
        (status, serde_json::from_str(&answer).unwrap_or(Value::String(answer)))
    }

    /// Runs a command in a running container, and returns its status and its output.
    pub fn run_in(&self, container: &str, command: &[&str]) -> (i64, String) {
        // With a terminal, the output arrives as it is, without frames.
        let wish = json!({"Cmd": command, "AttachStdout": true, "AttachStderr": true, "Tty": true});
        let (status, made) = self.call("POST", &format!("/containers/{container}/exec"), &wish);
        assert_eq!(status, 201, "{made}");
        let id = made["Id"].as_str().expect("an id");
        let (_, output) =
            self.call("POST", &format!("/exec/{id}/start"), &json!({"Detach": false, "Tty": true}));
        let output = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
        let (_, state) = self.call("GET", &format!("/exec/{id}/json"), &Value::Null);
        (state["ExitCode"].as_i64().unwrap_or(-1), output)
    }

    fn request(&self, method: &str, path: &str, body: &[u8]) -> Option<(u16, Value)> {
        let (status, body) = self.raw(method, path, "application/x-tar", body)?;
        Some((status, serde_json::from_str(&body).unwrap_or_default()))
    }

    fn raw(&self, method: &str, path: &str, kind: &str, body: &[u8]) -> Option<(u16, String)> {
        let mut stream = UnixStream::connect(self.folder.path().join("docker.sock")).ok()?;
        stream.set_read_timeout(Some(START)).ok()?;
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: docker\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
        );
        // What refuses a request may not read its body to the end.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let answer = String::from_utf8_lossy(&answer);
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some((status, body.to_owned()))
    }
}

impl Drop for Dockerd {
    fn drop(&mut self) {
        self.freeze(false);
        for id in self.containers() {
            let _ = self.request("DELETE", &format!("/containers/{id}?force=1"), &[]);
        }
        // It ends its containerd.
        let _ = kill_process(Pid::from_child(&self.process), Signal::TERM);
        let _ = self.process.wait();
    }
}

/// A daemon that maps users. Its list of numbers is put over that of the machine for this daemon only.
fn remapping(dockerd: &Path, folder: &Path) -> std::io::Result<Command> {
    fs::write(folder.join("subids"), "nobody:100000:65536\n")?;
    let script = "mount --bind \"$0\" /etc/subuid && mount --bind \"$0\" /etc/subgid && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]).arg(folder.join("subids")).arg(dockerd);
    command.args(["--userns-remap", "nobody:nogroup"]);
    Ok(command)
}

fn found(name: &str) -> Option<PathBuf> {
    ["/usr/sbin", "/usr/bin", "/usr/local/bin", "/bin"]
        .iter()
        .map(|folder| Path::new(folder).join(name))
        .find(|it| it.is_file())
}
