//! The daemon's descriptions of itself and of containers, and the report of the sandbox's own script from inside one.

use serde_json::{Value, json};

use super::{Container, Inner};

impl Inner {
    pub(super) fn inspected(&mut self, id: &str) -> (u16, Value) {
        let killed = self.killed.get(id).copied().unwrap_or_default();
        match self.containers.get(id) {
            Some(container) => (
                200,
                json!({
                    "HostConfig": container.document["HostConfig"],
                    "State": {"Running": container.is_running, "OOMKilled": killed > 0},
                }),
            ),
            None => (404, json!({"message": "No such container"})),
        }
    }

    pub(super) fn described(&mut self) -> (u16, Value) {
        let mut info = json!({
            "ServerVersion": "27.0", "OSType": "linux", "OperatingSystem": "Debian", "NCPU": 4,
            "MemTotal": 8_u64 << 30, "SecurityOptions": ["name=seccomp,profile=default"], "MemoryLimit": true,
            "SwapLimit": true, "PidsLimit": true, "CpuCfsQuota": true,
        });
        for (key, value) in self.info.as_object().into_iter().flatten() {
            info[key] = value.clone();
        }
        (200, info)
    }

    /// The report of the sandbox's own script in a container, as a sound daemon has set it up.
    fn probed(&mut self, container: &str, script: &str, arguments: &[String]) -> String {
        let Some(Container { document, .. }) = self.containers.get(container) else { return String::new() };
        let host = &document["HostConfig"];
        if script.starts_with("kill -KILL -1") {
            let killed = self.killed.get(container).copied().unwrap_or_default();
            return format!("killed {killed}\nswept\n");
        }
        if script.contains("/proc/self/mountinfo") {
            let line = |mount: &Value| {
                let (source, target) = (mount["Source"].as_str().unwrap(), mount["Target"].as_str().unwrap());
                let options = if mount["ReadOnly"] == true { "ro" } else { "rw" };
                format!("1 2 8:1 {source} {target} {options} - ext4 /dev/sda1 rw\n")
            };
            return host["Mounts"].as_array().unwrap().iter().map(line).collect();
        }
        if script.starts_with("rm -f") {
            return String::new();
        }
        let (user, group) = document["User"].as_str().unwrap().split_once(':').unwrap();
        let mut seen = format!(
            "Uid: {user}\nGid: {group}\nCapBnd: 0000000000000000\nCapEff: 0000000000000000\nNoNewPrivs: 1\n\
             root ro,relatime\ntmp tmpfs\nunified yes\nmemory {}\npids {}\ncpu {} 100000\nroute Iface\n",
            host["Memory"],
            host["PidsLimit"],
            host["NanoCpus"].as_i64().unwrap() / 10_000
        );
        if let [path, content] = arguments
            && path.contains("/.aethon-trial-")
        {
            if !self.is_elsewhere {
                std::fs::write(path, content).unwrap();
            }
            seen.push_str("written yes\n");
        }
        seen + "done yes\n"
    }

    /// Answers a script of the sandbox's own, with its exit status.
    pub(super) fn probe(
        &mut self,
        container: &str,
        id: &str,
        (script, words): (&str, &[String]),
    ) -> (String, i32) {
        if script.starts_with("kill -KILL -1") {
            self.end_all(container, id, 137);
        }
        if self.is_dead {
            // As a daemon does whose container is out of memory: an explanation where output would be.
            return ("OCI runtime exec failed: cannot exec in a stopped state: unknown\r\n".into(), 126);
        }
        (self.probed(container, script, words), 0)
    }
}
