//! Runs commands in a container that is up.
//!
//! The end of a stream proves nothing: the daemon closes it when the command ends, when the command closes its output, when
//! the container dies and when the command never began; in the last case it even writes an explanation where output would
//! be. So a command first writes a word of its own, which separates its output from the daemon's; its status counts as
//! known only when the daemon reports it; and the sweep between two commands has to say that it came to its end.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWrite;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout, timeout_at};

use super::client::{Client, Origin, Output, TIMEOUT};

/// How often to check whether a command that left its output open has ended.
const LOOK: Duration = Duration::from_millis(500);
/// How long to wait before asking again for the status of a command whose output has ended.
const STATUS_RETRY: Duration = Duration::from_millis(20);
/// How long killing a command's leftovers may take; a container that needs longer is replaced.
const SWEEP: Duration = Duration::from_secs(2);
/// Maximum size of an explanation of the daemon.
const MAX_EXPLANATION: usize = 1_000;
/// Maximum size of the output of a probe.
const MAX_PROBE: usize = 256 << 10;

/// The first line of every command's output.
const BEGUN: &[u8] = b"[aethon: begun]\n";
/// Writes that line and becomes the command.
const BEGIN: &str = r#"echo '[aethon: begun]'; exec "$@""#;

/// Kills everything but itself and the container's first process, counts the processes that the kernel has ended for want
/// of memory, and says that it is done.
const SWEEP_SCRIPT: &str = r#"kill -KILL -1 2>/dev/null
for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
  [ -r "$file" ] && while read -r key value; do [ "$key" = oom_kill ] && echo "killed $value"; done < "$file"
done
echo swept"#;

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    /// It ended with this status.
    Status(i32),
    /// It was still running at the deadline.
    TimedOut,
    /// It never began. Contains the daemon's explanation.
    NotBegun(String),
    /// It began, and what became of it is not known, because the container or the daemon went. Contains the reason.
    Lost(String),
}

/// The result of a sweep that came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Swept {
    /// How many processes the kernel has ended for want of memory since the container was created.
    pub(super) killed: u64,
}

/// A container in which commands run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room<'r> {
    pub(super) client: &'r Client,
    pub(super) id: &'r str,
}

impl Room<'_> {
    /// Runs a command until it ends or the deadline passes, and passes on its output.
    pub(super) async fn run(
        self,
        words: &[String],
        directory: &Path,
        deadline: Instant,
        take: &mut (impl FnMut(&[u8]) + Send),
    ) -> Ended {
        let wrapped = ["/bin/sh", "-c", BEGIN, "sh"].into_iter().map(str::to_owned);
        let words: Vec<String> = wrapped.chain(words.iter().cloned()).collect();
        let mut running = match timeout_at(deadline, self.start(&words, directory)).await {
            Ok(Ok(running)) => running,
            Ok(Err(error)) => return Ended::NotBegun(error),
            Err(_) => return Ended::TimedOut,
        };
        let mut opening = Opening::default();
        let ended = {
            let mut pass = |piece: &[u8]| opening.pass(piece, take);
            tokio::select! {
                ended = self.follow(&mut running, &mut pass) => ended,
                () = sleep_until(deadline) => Ended::TimedOut,
            }
        };
        match ended {
            Ended::TimedOut => Ended::TimedOut,
            _ if !opening.has_begun => Ended::NotBegun(opening.explanation()),
            ended => ended,
        }
    }

    /// Runs a short script of our own and returns its output, with errors apart. The error says why it did not succeed.
    pub(super) async fn probe(
        self,
        script: &str,
        arguments: &[&str],
        directory: &Path,
        limit: Duration,
    ) -> Result<(String, String), String> {
        let shell = ["/bin/sh", "-c", script, "sh"];
        let words: Vec<String> = shell.iter().chain(arguments).map(|word| (*word).to_owned()).collect();
        let (mut said, mut errors) = (Vec::new(), Vec::new());
        let probed = async {
            let mut running = self.start(&words, directory).await?;
            while let Some((origin, piece)) =
                running.output.next().await.map_err(|error| error.to_string())?
            {
                let kept = if origin == Origin::Errors { &mut errors } else { &mut said };
                kept.extend_from_slice(&piece[..piece.len().min(MAX_PROBE - kept.len().min(MAX_PROBE))]);
            }
            self.ended(&running.exec).await
        };
        let status = timeout(limit, probed).await.map_err(|_| format!("it took longer than {limit:?}"))??;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if status == 0 {
            return Ok((text(&said), text(&errors)));
        }
        let explanation = [said, errors].concat();
        Err(format!("{} (exit status {status})", text(&explanation).trim()))
    }

    /// Ends the processes that a command has left behind. `None` if that is not proved; the container is then no longer
    /// usable.
    pub(super) async fn sweep(self, directory: &Path) -> Option<Swept> {
        let (said, _) = self.probe(SWEEP_SCRIPT, &[], directory, SWEEP).await.ok()?;
        let mut lines: Vec<&str> = said.lines().collect();
        if lines.pop() != Some("swept") {
            return None;
        }
        let counts = lines.iter().filter_map(|line| line.strip_prefix("killed ")?.trim().parse::<u64>().ok());
        Some(Swept { killed: counts.max().unwrap_or_default() })
    }

    /// Returns whether the daemon knows of a process in the container that the kernel has ended for want of memory.
    pub(super) async fn was_out_of_memory(self) -> bool {
        let path = format!("/containers/{}/json", self.id);
        let looked = timeout(SWEEP, self.client.ask("GET", &path, None, TIMEOUT)).await;
        matches!(looked, Ok(Ok(answer)) if answer.json()["State"]["OOMKilled"] == Value::Bool(true))
    }

    async fn start(self, words: &[String], directory: &Path) -> Result<Running, String> {
        let wanted = json!({
            "AttachStdout": true, "AttachStderr": true, "Cmd": words, "WorkingDir": directory.display().to_string(),
        });
        let path = format!("/containers/{}/exec", self.id);
        let made = self.client.ask("POST", &path, Some(&wanted), TIMEOUT).await?.ok()?;
        let exec = made.json()["Id"].as_str().ok_or("docker named no command")?.to_owned();
        let how = json!({"Detach": false, "Tty": false});
        let (output, input) = self.client.attach(&format!("/exec/{exec}/start"), Some(&how)).await?;
        Ok(Running { exec, output, _input: input })
    }

    /// Reads until the command has ended.
    async fn follow(self, running: &mut Running, take: &mut (impl FnMut(&[u8]) + Send)) -> Ended {
        let (exec, output) = (running.exec.clone(), &mut running.output);
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        looks.reset();
        loop {
            tokio::select! {
                piece = output.next() => match piece {
                    Ok(Some((_, piece))) => take(&piece),
                    // A command may close its output and go on.
                    Ok(None) | Err(_) => return match self.ended(&exec).await {
                        Ok(status) => Ended::Status(status),
                        Err(error) => Ended::Lost(error),
                    },
                },
                // Its background processes may keep the output open.
                _ = looks.tick() => match self.status(&exec).await {
                    Ok(None) => {}
                    Ok(Some(status)) => {
                        while let Ok(Ok(Some((_, piece)))) = timeout(Duration::from_millis(100), output.next()).await {
                            take(&piece);
                        }
                        return Ended::Status(status);
                    }
                    Err(error) => return Ended::Lost(error),
                },
            }
        }
    }

    /// Waits until a command has ended, and returns its status.
    async fn ended(self, exec: &str) -> Result<i32, String> {
        loop {
            if let Some(status) = self.status(exec).await? {
                return Ok(status);
            }
            sleep(STATUS_RETRY).await;
        }
    }

    /// Returns the status of a command; `None` while it is running.
    async fn status(self, exec: &str) -> Result<Option<i32>, String> {
        let path = format!("/exec/{exec}/json");
        let state = self.client.ask("GET", &path, None, TIMEOUT).await?.ok()?.json();
        if state["Running"] == Value::Bool(true) {
            return Ok(None);
        }
        let code = state["ExitCode"].as_i64().and_then(|code| i32::try_from(code).ok());
        code.map(Some).ok_or_else(|| "docker does not know how the command ended".to_owned())
    }
}

/// A running command.
struct Running {
    exec: String,
    output: Output,
    /// Kept open: a daemon takes a closed direction for a client that left.
    _input: Box<dyn AsyncWrite + Send + Unpin>,
}

/// The beginning of a command's output.
#[derive(Default)]
struct Opening {
    has_begun: bool,
    /// The output before the command's own word.
    before: Vec<u8>,
}

impl Opening {
    fn pass(&mut self, piece: &[u8], take: &mut impl FnMut(&[u8])) {
        if self.has_begun {
            return take(piece);
        }
        self.before.extend_from_slice(piece);
        // The daemon copies the two outputs side by side, so an error of the command may come before the word.
        if let Some(at) = self.before.windows(BEGUN.len()).position(|word| word == BEGUN) {
            self.has_begun = true;
            let rest = self.before.split_off(at + BEGUN.len());
            for said in [&self.before[..at], &rest] {
                if !said.is_empty() {
                    take(said);
                }
            }
        }
        self.before.truncate(MAX_EXPLANATION);
    }

    fn explanation(&self) -> String {
        match String::from_utf8_lossy(&self.before).trim() {
            "" => "docker gave no reason".to_owned(),
            text => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_counts_from_the_commands_own_word() {
        let check = |pieces: &[&str], expected: Result<&str, &str>| {
            let (mut opening, mut output) = (Opening::default(), Vec::new());
            for piece in pieces {
                opening.pass(piece.as_bytes(), &mut |piece: &[u8]| output.extend_from_slice(piece));
            }
            let text = String::from_utf8(output).unwrap();
            let seen = if opening.has_begun { Ok(text) } else { Err(opening.explanation()) };
            assert_eq!(seen.as_deref().map_err(String::as_str), expected, "{pieces:?}");
        };
        check(&["[aethon: begun]\nhello\n"], Ok("hello\n"));
        check(&["[aethon: ", "begun]", "\n", "hello", "\n"], Ok("hello\n"));
        check(&["[aethon: begun]\n"], Ok(""));
        check(&["sh: no such file\n", "[aethon: begun]\nhello\n"], Ok("sh: no such file\nhello\n"));
        check(
            &["OCI runtime exec failed: cannot exec in a stopped state: unknown\r\n"],
            Err("OCI runtime exec failed: cannot exec in a stopped state: unknown"),
        );
        check(&[], Err("docker gave no reason"));
    }
}
