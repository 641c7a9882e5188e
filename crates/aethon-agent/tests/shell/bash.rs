//! Runs a command line with bash where no program can be found, and tells which commands it looked for.
//!
//! `PATH` is an empty folder, the input is empty, files are small, and time is short. Bash calls a function for a command
//! that it does not find; the function writes the words of the command down.

use std::cell::Cell;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The function that bash calls, as it is passed in the environment.
const NOT_FOUND: &str = "() { printf '%s\\0' \"$#\" \"$@\" >>\"$ASKED_FOR\"; }";

/// How long a line may take.
const MAX_DURATION: Duration = Duration::from_secs(20);

/// A folder in which command lines run.
pub struct Sandbox {
    folder: tempfile::TempDir,
    program: PathBuf,
    /// How many lines have run.
    lines: Cell<u64>,
}

impl Sandbox {
    /// A sandbox; `None` where there is no bash.
    pub fn new() -> Option<Self> {
        let program = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"]
            .into_iter()
            .map(PathBuf::from)
            .find(|path| path.exists())?;
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("empty")).unwrap();
        Some(Self { folder, program, lines: Cell::new(0) })
    }

    /// The commands that bash looked for, and those only.
    pub fn asked_for(&self, line: &str) -> Vec<Vec<String>> {
        // What a line left running must not write into the log of the next one.
        let number = self.lines.get();
        self.lines.set(number + 1);
        let here = self.folder.path().join(format!("here{number}"));
        std::fs::create_dir(&here).unwrap();
        let log = self.folder.path().join(format!("log{number}"));
        // Files of 64 KiB and two seconds of work at most.
        let limited = "ulimit -t 2 -f 64 -c 0 2>/dev/null; cd \"$1\" || exit; shift; export PATH=\"$2\"; unset -v OLDPWD; exec \"$3\" --norc --noprofile -c \"$1\"";
        let mut child = Command::new(&self.program)
            .args(["--norc", "--noprofile", "-c", limited, "run"])
            .arg(&here)
            .arg(line)
            .arg(self.folder.path().join("empty"))
            .arg(&self.program)
            .env_clear()
            .env("BASH_FUNC_command_not_found_handle%%", NOT_FOUND)
            .env("ASKED_FOR", &log)
            .env("HOME", "/nowhere")
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        self.wait(&mut child);
        let bytes = std::fs::read(&log).unwrap_or_default();
        let _ = (std::fs::remove_dir_all(&here), std::fs::remove_file(&log));
        commands(&String::from_utf8_lossy(&bytes))
    }
}

impl Sandbox {
    /// Waits for its end, but not for ever: bash can wait for itself, which takes no time of a processor. Then it ends what the
    /// line has left behind, such as a function that starts itself anew for ever.
    fn wait(&self, child: &mut Child) {
        let deadline = Instant::now() + MAX_DURATION;
        while child.try_wait().unwrap().is_none() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        let group = child.id().to_string();
        let kill = ["--norc", "--noprofile", "-c", "kill -9 -- \"-$0\" 2>/dev/null", &group];
        // Nothing is left of most lines, which is an error of `kill`.
        Command::new(&self.program).args(kill).env_clear().status().unwrap();
        child.wait().unwrap();
    }
}

/// The commands in the log: the number of words, then the words.
fn commands(log: &str) -> Vec<Vec<String>> {
    let mut words = log.split('\0');
    let mut found = Vec::new();
    while let Some(count) = words.next().and_then(|count| count.parse::<usize>().ok()) {
        found.push(words.by_ref().take(count).map(str::to_owned).collect());
    }
    found
}
