//! Caddy in front of the instances, with the file that is shipped for that.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use aethon_tests::{Random, eventually};
use tempfile::TempDir;

/// Ports below those that the system hands out, so that nothing else takes the port of an instance that is down.
const PORTS: (u64, u64) = (20_000, 30_000);

/// A running Caddy, stopped on drop.
pub(super) struct Caddy {
    child: Child,
    /// The address that clients use.
    pub(super) address: SocketAddr,
    _folder: TempDir,
}

impl Caddy {
    /// Starts it in front of the instances at these ports.
    pub(super) fn in_front_of(ports: &[u16], random: &mut Random) -> Self {
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/scale/Caddyfile");
        let shipped = std::fs::read_to_string(shipped).expect("the shipped file");
        let own = free_port(random);
        let instances: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let file =
            shipped.replace(":8080", &format!(":{own}")).replace("one:18790 two:18790", &instances.join(" "));
        assert!(file.contains(&instances[0]) && file.contains(&own.to_string()), "{file}");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("Caddyfile");
        std::fs::write(&path, format!("{{\n\tadmin off\n\tauto_https off\n}}\n{file}")).expect("its file");
        let child = Command::new("caddy")
            .args(["run", "--adapter", "caddyfile", "--config"])
            .arg(&path)
            .env("HOME", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("this chore needs Caddy: on Debian `apt-get install caddy`");
        let address = SocketAddr::from(([127, 0, 0, 1], own));
        eventually("Caddy listens", || TcpStream::connect(address).is_ok().then_some(()));
        // It asks each instance once whether it is ready before it sends anything to it.
        std::thread::sleep(Duration::from_secs(3));
        Self { child, address, _folder: folder }
    }
}

impl Drop for Caddy {
    fn drop(&mut self) {
        // Both fail if it has already ended, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that nothing listens on.
pub(super) fn free_port(random: &mut Random) -> u16 {
    let port = || u16::try_from(random.between(PORTS.0, PORTS.1)).expect("a port");
    std::iter::repeat_with(port)
        .find(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok())
        .expect("there is always another")
}
