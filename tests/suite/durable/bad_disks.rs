//! Starts on a disk that is full or read-only: reading works, messages are refused, and every surface names the cause and the
//! remedy (docs/behaviour.md, "Storage").

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use aethon_tests::server::server_command;
use aethon_tests::{Server, eventually, home, run_cli};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A small disk of its own, unmounted on drop.
struct SmallDisk {
    folder: Arc<TempDir>,
}

impl SmallDisk {
    /// Mounts it; `None` on machines on which this is not permitted.
    fn mount() -> Option<Self> {
        let folder = home();
        std::fs::create_dir(folder.path().join("disk")).expect("a folder");
        let disk = Self { folder };
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=6m,mode=700", "tmpfs"])
            .arg(disk.path())
            .output();
        if !mounted.is_ok_and(|mounted| mounted.status.success()) {
            eprintln!("left out on this machine: mounting is not permitted");
            return None;
        }
        Some(disk)
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    /// Takes all room that is left. Returns the file that has it.
    fn fill(&self) -> PathBuf {
        let path = self.path().join("filling");
        let mut file = File::create(&path).expect("a file");
        while file.write_all(&[1; 4096]).is_ok() {}
        path
    }

    fn remount(&self, how: &str) {
        let done = Command::new("mount").args(["-o", &format!("remount,{how}")]).arg(self.path()).status();
        assert!(done.expect("mount runs").success(), "{how}");
    }

    fn start(&self) -> Server {
        // The server's output goes to a file beside the disk.
        Server::start_command(self.folder.clone(), server_command(&self.home(), &[]))
    }

    fn cli(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let settings = ["--set", "model.provider=fake", "--set", "channels.webchat.port=0"];
        let output = run_cli(&self.home(), &[&settings[..], arguments].concat(), None);
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&said).into_owned())
    }

    /// What `doctor` finds of the database. The memory is in there, and is not called broken a second time.
    fn diagnosis(&self) -> Value {
        let (_, said) = self.cli(&["doctor", "--json"]);
        let report: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}"));
        let mut findings = report["findings"].as_array().expect("findings").iter();
        let memory = findings.clone().find(|finding| finding["area"] == "memory").expect("the memory");
        assert_eq!(memory["health"], "ok", "{memory}");
        findings.find(|finding| finding["area"] == "database").cloned().unwrap_or_else(|| panic!("{report}"))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).output();
    }
}

/// A home on the disk with one conversation, and no server.
fn with_history(disk: &SmallDisk) {
    let server = disk.start();
    let said = server.post("/webhook/trigger", &json!({"text": "!say remembered"}));
    assert_eq!(said.json()["response"], "remembered");
    server.terminate();
}

fn assert_reads_and_refuses(server: &Server, cause: &str) {
    let unready = server.get("/api/ready");
    assert_eq!((unready.status, &unready.json()["code"]), (503, &json!("storage_unavailable")));
    assert!(
        unready.json()["detail"].as_str().is_some_and(|detail| detail.contains(cause)),
        "{}",
        unready.text()
    );
    let refused = server.post("/webhook/trigger", &json!({"text": "!say never"}));
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(refused.text().contains(cause), "{}", refused.text());
    let sessions = server.get("/api/sessions").json();
    assert_eq!(sessions["count"], 1, "{sessions}");
    let session = sessions["sessions"][0]["session_id"].as_str().expect("an id").to_owned();
    assert_eq!(server.said(&session).last().map(|(_, text)| text.as_str()), Some("remembered"));
    let features = server.get("/api/features").json();
    let storage = features["features"].as_array().expect("rows").iter().find(|row| row["id"] == "storage");
    assert!(storage.is_some_and(|row| row["state"] == "degraded"), "{features}");
}

#[test]
fn server_on_a_full_disk_is_read_only_until_there_is_room() {
    let Some(disk) = SmallDisk::mount() else { return };
    with_history(&disk);
    let filling = disk.fill();
    let found = disk.diagnosis();
    assert_eq!(found["health"], "broken");
    assert!(found["message"].as_str().is_some_and(|words| words.contains("is full")), "{found}");
    assert_eq!(found["fix"], "free some space");
    let (code, said) = disk.cli(&["ask", "!say never"]);
    assert!(code != Some(0) && said.contains("is full") && said.contains("free some space"), "{said}");

    let server = disk.start();
    assert_reads_and_refuses(&server, "is full");
    std::fs::remove_file(filling).unwrap();
    eventually("it is ready again", || (server.get("/api/ready").status == 200).then_some(()));
    let said = server.post("/webhook/trigger", &json!({"text": "!say again"}));
    assert_eq!(said.json()["response"], "again");
    // Data written after it had been opened for reading is read.
    assert_eq!(server.get("/api/sessions").json()["count"], 2);
    assert_eq!(server.terminate().code(), Some(0));
}

#[test]
fn server_on_a_read_only_file_system_refuses_writes() {
    let Some(disk) = SmallDisk::mount() else { return };
    with_history(&disk);
    disk.remount("ro");
    let found = disk.diagnosis();
    assert_eq!(found["health"], "broken");
    assert!(found["message"].as_str().is_some_and(|words| words.contains("read-only")), "{found}");
    assert!(found["fix"].as_str().is_some_and(|fix| fix.contains("mount it for writing")), "{found}");
    let (code, said) = disk.cli(&["ask", "!say never"]);
    assert!(code != Some(0) && said.contains("read-only"), "{said}");

    let server = disk.start();
    assert_reads_and_refuses(&server, "read-only");
    disk.remount("rw");
    eventually("it is ready again", || (server.get("/api/ready").status == 200).then_some(()));
    let said = server.post("/webhook/trigger", &json!({"text": "!say again"}));
    assert_eq!(said.json()["response"], "again");
    assert_eq!(server.terminate().code(), Some(0));
}

#[test]
fn doctor_queries_the_running_server_and_not_its_database() {
    let Some(disk) = SmallDisk::mount() else { return };
    let server = disk.start();
    let found = disk.diagnosis();
    assert_eq!(found["health"], "ok", "{found}");
    assert!(found["message"].as_str().is_some_and(|words| words.contains("aethon-server at")), "{found}");
    let filling = disk.fill();
    server.post("/webhook/trigger", &json!({"text": "!say never"}));
    eventually("the server notices", || (server.get("/api/ready").status == 503).then_some(()));
    let found = disk.diagnosis();
    assert_eq!(found["health"], "broken", "{found}");
    assert!(found["message"].as_str().is_some_and(|words| words.contains("the disk is full")), "{found}");
    std::fs::remove_file(filling).unwrap();
}
