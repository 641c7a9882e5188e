//! A PostgreSQL server for tests, from Debian's package `postgresql`.
//!
//! Test programs that run at the same time share one server: the first one starts it on an empty data directory, each holds a
//! lock while it runs, and a watchdog stops the server when no lock is left, however the programs ended. Each test
//! gets a schema of its own. The server refuses to run as root, so root starts it as `nobody`.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use tokio_postgres::NoTls;

/// The role of the tests, and its password.
const ROLE: &str = "aethon:open sesame";

/// How long the server may take to start, beside other work.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Stops the server when no user holds the lock, and holds it itself until the server is gone, so that a newcomer does not
/// mistake a stopping server for a running one.
const WATCHDOG: &str = r#"
end='pid=$(head -n 1 "$1/data/postmaster.pid"); kill -INT "$pid"; while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done'
while sleep 2; do flock --nonblock --exclusive "$1/users" sh -c "$end" end "$1" && break; done
"#;

/// A running server, which stays for as long as this program runs.
struct Server {
    /// The address of its database, with the password.
    url: String,
    /// Held for the watchdog.
    _users: File,
}

/// Returns the address of an empty schema. Fails with the remedy where no server is installed.
pub async fn database() -> String {
    schema(&format!("t{}", aethon_core::ids::unique().replace('-', ""))).await
}

/// Returns the address of the schema with this name, which is empty unless it is there.
async fn schema(name: &str) -> String {
    let server = url();
    let (client, connection) =
        tokio_postgres::connect(&server, NoTls).await.expect("the server takes connections");
    let served = tokio::spawn(connection);
    client.batch_execute(&format!("CREATE SCHEMA IF NOT EXISTS {name}")).await.expect("a schema");
    drop(client);
    served.await.expect("the connection ends").expect("in order");
    format!("{server}?options=-csearch_path%3D{name}")
}

/// The same, for a program that has no runtime.
pub fn database_blocking() -> String {
    runtime().block_on(database())
}

/// Returns the address of the schema with this name, a word in lower case, for a program that has no runtime.
pub fn schema_blocking(name: &str) -> String {
    runtime().block_on(schema(name))
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Returns the address of the server's database.
pub fn url() -> String {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(start).url.clone()
}

fn start() -> Server {
    let programs = programs();
    let name = format!("aethon-postgres-{}", rustix::process::getuid().as_raw());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).expect("a folder for the server");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("a folder of ours");
    let open = |name: &str| {
        File::options().create(true).truncate(false).write(true).open(folder.join(name)).expect("a lock")
    };
    let (starting, users) = (open("starting"), open("users"));
    flock(&starting, FlockOperation::LockExclusive).expect("the lock of the start");
    let address = folder.join("address");
    // Before it is looked at: from then on no watchdog stops it.
    flock(&users, FlockOperation::LockShared).expect("the lock of the users");
    let known = fs::read_to_string(&address).ok().filter(|_| lives(&folder));
    let url = known.unwrap_or_else(|| {
        let url = begin(&programs, &folder);
        fs::write(&address, &url).expect("the address is kept");
        url
    });
    Server { url, _users: users }
}

/// Whether a commit waits for the disk.
#[derive(Clone, Copy)]
enum Fsync {
    On,
    Off,
}

/// A server of one test alone, which may stop it. It ends with this.
pub struct OwnServer {
    folder: PathBuf,
    programs: PathBuf,
    /// The address of its database.
    pub url: String,
}

impl OwnServer {
    /// Starts a server on an empty data directory.
    pub fn start() -> Self {
        Self::start_below(&std::env::temp_dir(), Fsync::Off)
    }

    /// Starts a server whose commits reach the disk, as in use, on an empty data directory below this folder. For measuring;
    /// tests need no disk that outlives the machine.
    pub fn start_durable(below: &Path) -> Self {
        Self::start_below(below, Fsync::On)
    }

    fn start_below(below: &Path, fsync: Fsync) -> Self {
        let (programs, folder) = (programs(), own_folder(below));
        let url = begin_unwatched(&programs, &folder, fsync);
        Self { folder, programs, url }
    }

    /// The id of its first process, whose children serve the connections.
    pub fn process(&self) -> u32 {
        let pid = fs::read_to_string(self.folder.join("data/postmaster.pid")).expect("it runs");
        pid.lines().next().and_then(|pid| pid.trim().parse().ok()).expect("the id of a process")
    }

    /// Kills all its processes at once, as a crash does, and starts it again, which recovers what was committed.
    pub fn crash(&self) {
        let restarted = self.control(&["restart", "--mode=immediate", "--wait", "--silent"]);
        assert!(restarted, "the server starts again: see {}", self.folder.join("log").display());
    }

    /// Kills all its processes at once. [`OwnServer::crash`] starts it again.
    pub fn stop(&self) {
        assert!(self.control(&["stop", "--mode=immediate", "--silent"]), "the server stops");
    }

    /// Starts a standby that follows this server. From then on a commit here waits until it is on the standby's disk as well.
    pub fn standby(&self) -> Self {
        let folder = own_folder(&std::env::temp_dir());
        let data = folder.join("data");
        fs::create_dir(&data).expect("a data directory");
        // A server refuses data that others may read.
        fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).expect("a folder of ours");
        belongs_to_the_server(&[&data]);
        let copied = unprivileged(&self.programs.join("pg_basebackup"))
            .args([
                "--write-recovery-conf",
                "--checkpoint=fast",
                "--wal-method=stream",
                "--no-sync",
                "--dbname",
            ])
            .arg(&self.url)
            .arg("--pgdata")
            .arg(&data)
            .output()
            .expect("pg_basebackup runs");
        assert!(copied.status.success(), "pg_basebackup: {}", String::from_utf8_lossy(&copied.stderr));
        let url = serve(&self.programs, &folder, Fsync::Off);
        self.execute("ALTER SYSTEM SET synchronous_standby_names = '*'");
        self.execute("SELECT pg_reload_conf()");
        Self { folder, programs: self.programs.clone(), url }
    }

    /// The address of this server and another, of which the one that takes writes is used.
    pub fn url_with(&self, other: &Self) -> String {
        let place = |server: &Self| server.url.split(['@', '/']).nth(3).expect("a host").to_owned();
        let (both, own) = (format!("{},{}", place(self), place(other)), place(self));
        format!("{}?target_session_attrs=read-write", self.url.replacen(&own, &both, 1))
    }

    /// Kills all its processes at once, and has its standby take its place.
    pub fn fail_over_to(&self, standby: &Self) {
        self.stop();
        assert!(standby.control(&["promote", "--wait", "--silent"]), "the standby takes over");
    }

    /// Cuts up to so many connections of aethon, any of them.
    pub fn cut(&self, count: i64) {
        self.execute(&format!(
            "SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity
             WHERE application_name = 'aethon' ORDER BY random() LIMIT {count}) AS chosen"
        ));
    }

    fn execute(&self, statement: &str) {
        runtime().block_on(async {
            let (client, connection) =
                tokio_postgres::connect(&self.url, NoTls).await.expect("the server takes connections");
            tokio::spawn(connection);
            client.batch_execute(statement).await.expect("the statement is carried out");
        });
    }

    fn control(&self, arguments: &[&str]) -> bool {
        let status = unprivileged(&self.programs.join("pg_ctl"))
            .args(arguments)
            .arg("--log")
            .arg(self.folder.join("log"))
            .arg("--pgdata")
            .arg(self.folder.join("data"))
            .stdin(Stdio::null())
            .status();
        status.is_ok_and(|status| status.success())
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        self.control(&["stop", "--mode=immediate", "--silent"]);
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns where the programs of the server are.
fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let found =
        versions.map(|version| version.path().join("bin")).filter(|bin| bin.join("postgres").exists());
    found.max().unwrap_or_else(|| {
        panic!(
            "these tests need a PostgreSQL server: install it, on Debian with `apt-get install postgresql`"
        )
    })
}

/// Returns whether the server of this folder answers.
fn lives(folder: &Path) -> bool {
    let pid = fs::read_to_string(folder.join("data/postmaster.pid")).unwrap_or_default();
    let lines: Vec<&str> = pid.lines().collect();
    let is_there = lines.first().is_some_and(|pid| Path::new("/proc").join(pid.trim()).exists());
    is_there && lines.get(7).is_some_and(|status| status.trim() == "ready")
}

/// Starts a server, with the watchdog that stops it.
fn begin(programs: &Path, folder: &Path) -> String {
    let url = begin_unwatched(programs, folder, Fsync::Off);
    let watches = command("setsid")
        .args(["--fork", "sh", "-c", WATCHDOG, "watchdog"])
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(watches.is_ok_and(|status| status.success()), "the watchdog starts");
    url
}

fn begin_unwatched(programs: &Path, folder: &Path, fsync: Fsync) -> String {
    let (data, password) = (folder.join("data"), folder.join("password"));
    let (role, secret) = ROLE.split_once(':').expect("a role");
    // A server that was not shut down in order may still be on its way out.
    let until = Instant::now() + START_TIMEOUT;
    while data.exists() && fs::remove_dir_all(&data).is_err() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(100));
    }
    fs::create_dir(&data).expect("a data directory");
    fs::write(&password, secret).expect("a password");
    belongs_to_the_server(&[&data, &password]);
    let made = unprivileged(&programs.join("initdb"))
        .args([
            "--no-sync",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--auth=scram-sha-256",
            "--username",
            role,
        ])
        .arg("--pwfile")
        .arg(&password)
        .arg("--pgdata")
        .arg(&data)
        .output()
        .expect("initdb runs");
    assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
    serve(programs, folder, fsync)
}

/// Makes a folder below this one for a server of one test alone.
fn own_folder(below: &Path) -> PathBuf {
    let folder = below.join(format!("aethon-postgres-{}", aethon_core::ids::unique()));
    fs::create_dir_all(&folder).expect("a folder for the server");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("a folder of ours");
    folder
}

/// Gives files to the account as which the server runs.
fn belongs_to_the_server(paths: &[&Path]) {
    if rustix::process::getuid().is_root() {
        let owned = command("chown").arg("nobody").args(paths).status();
        assert!(owned.is_ok_and(|status| status.success()), "the files have an owner");
    }
}

/// Starts a server on the data directory of this folder, on a free port, and returns its address.
fn serve(programs: &Path, folder: &Path, fsync: Fsync) -> String {
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    let (role, secret) = ROLE.split_once(':').expect("a role");
    let log = folder.join("log");
    fs::write(&log, "").expect("a log");
    if rustix::process::getuid().is_root() {
        fs::set_permissions(&log, fs::Permissions::from_mode(0o666)).expect("a log for the server");
    }
    let fsync = match fsync {
        Fsync::On => "on",
        Fsync::Off => "off",
    };
    let settings = format!(
        "-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync={fsync} -c max_connections=400 \
         -c shared_buffers=64MB"
    );
    let started = unprivileged(&programs.join("pg_ctl"))
        .args([
            "start",
            "--wait",
            "--silent",
            "--options",
            &settings,
            "--timeout",
            &START_TIMEOUT.as_secs().to_string(),
        ])
        .arg("--log")
        .arg(&log)
        .arg("--pgdata")
        .arg(folder.join("data"))
        .stdin(Stdio::null())
        .status();
    assert!(started.is_ok_and(|status| status.success()), "the server starts: see {}", log.display());
    format!("postgres://{role}:{}@127.0.0.1:{port}/postgres", secret.replace(' ', "%20"))
}

/// A program that must not run as root, apart from signals to this one.
pub fn unprivileged(program: &Path) -> Command {
    let mut command = command("setsid");
    command.arg("--wait");
    if rustix::process::getuid().is_root() {
        command.args(["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]);
    }
    command.arg(program).current_dir("/").env_remove("LC_ALL");
    command
}

#[expect(clippy::disallowed_methods, reason = "only tests start a server")]
fn command(program: &str) -> Command {
    Command::new(program)
}
