//! The kinds of isolation that this machine's kernel supports, and a plain description of those that it lacks.

/// Which walls this machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protection {
    /// Files can be closed, and the memory and descriptors of outside processes are (Landlock of Linux 5.19).
    pub files: bool,
    /// Ports can be closed (Linux 6.7, and filters of system calls).
    pub ports: bool,
    /// Signals and abstract sockets stay inside, and everything that was started can be ended at once (Linux 6.12).
    pub signals: bool,
    /// Whether commands run as root, whom no such wall fully contains.
    pub is_root: bool,
}

/// How sockets that are keys are closed to commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketProtection {
    /// By a rule of the kernel (Landlock of Linux 7.1).
    Rule,
    /// By a view of the file system in which they are covered, which needs root.
    Cover,
    /// To turns that the owner did not begin, whose commands get no local sockets at all.
    Strangers,
    /// Not at all.
    None,
}

impl SocketProtection {
    /// Asks the kernel.
    pub fn of_this_machine() -> Self {
        #[cfg(target_os = "linux")]
        {
            if super::landlock::has_sockets() {
                return Self::Rule;
            }
            if super::cover::is_possible() {
                return Self::Cover;
            }
            if super::filter::is_known() {
                return Self::Strangers;
            }
        }
        Self::None
    }
}

impl Protection {
    /// Asks the kernel.
    pub fn of_this_machine() -> Self {
        let is_root = rustix::process::geteuid().is_root();
        #[cfg(target_os = "linux")]
        let (files, ports, signals) = super::landlock::abilities();
        #[cfg(not(target_os = "linux"))]
        let (files, ports, signals) = (false, false, false);
        Self { files, ports, signals, is_root }
    }

    /// Returns the ways out that a command has here, one phrase each. Empty if every wall stands.
    pub fn missing(&self) -> Vec<&'static str> {
        let gaps = [
            (self.files, "open the assistant's own files and memory (Linux 5.19 with Landlock keeps it out)"),
            (
                self.ports,
                "connect to the assistant's own port (Linux 6.7 with Landlock and seccomp keeps it from that)",
            ),
            (
                self.signals,
                "signal the assistant, or leave a process behind that cleared its environment (Linux 6.12 with \
                 Landlock keeps it from that)",
            ),
        ];
        gaps.into_iter().filter(|(stands, _)| !stands).map(|(_, gap)| gap).collect()
    }

    /// Describes the protection in a sentence.
    pub fn describe(&self) -> String {
        let missing = self.missing();
        let state = if missing.is_empty() {
            "the kernel keeps commands from the assistant's files, port, memory and process".to_owned()
        } else {
            format!("on this machine a command could {}", missing.join("; "))
        };
        let root = "; as root, commands still reach disks and settings of the kernel: run Aethon as a user of its own";
        if self.is_root { state + root } else { state }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_kernel_features_are_described() {
        let whole = Protection { files: true, ports: true, signals: true, is_root: false };
        assert!(whole.missing().is_empty());
        assert!(!whole.describe().contains("could"), "{}", whole.describe());
        let none = Protection { files: false, ports: false, signals: false, is_root: true };
        assert_eq!(none.missing().len(), 3);
        for word in ["files", "port", "signal", "root"] {
            assert!(none.describe().contains(word), "{word}: {}", none.describe());
        }
    }
}
