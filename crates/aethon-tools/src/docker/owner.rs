//! Identifies the process that a container belongs to, so that leftovers of a dead one are recognised.

use std::path::Path;

/// Identifies this process, even after its pid is reused.
pub(super) fn owner() -> String {
    let id = std::process::id();
    format!("{id}:{}", started_at(id).unwrap_or_default())
}

pub(super) fn is_alive(owner: &str) -> bool {
    let Some((id, started)) = owner.split_once(':') else { return false };
    id.parse().is_ok_and(|id| {
        started_at(id).unwrap_or_default() == started && Path::new(&format!("/proc/{id}")).exists()
    })
}

/// Returns the start time of a living process.
fn started_at(id: u32) -> Option<String> {
    start_of(&std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
}

/// Parses the start time of a process: the 22nd field, after a name that may contain spaces. A process that has ended
/// but was not reaped yet (`Z`, `X`) has none.
fn start_of(stat: &str) -> Option<String> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let lives = !matches!(fields.next()?, "Z" | "X");
    fields.nth(18).filter(|_| lives).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn container_owner_lives_as_long_as_its_process() {
        assert!(is_alive(&owner()));
        assert!(!is_alive("4294967294:1"));
        let other = format!("{}:1", std::process::id());
        assert!(!is_alive(&other), "another process had the number before");
        assert!(!is_alive(""));
    }

    #[test]
    fn a_process_that_only_waits_to_be_collected_is_not_alive() {
        let stat = |state: &str| {
            format!(
                "7 (a ) b) {state} {} 4242 0",
                (1..=18).map(|n| n.to_string()).collect::<Vec<_>>().join(" ")
            )
        };
        assert_eq!(start_of(&stat("S")).as_deref(), Some("4242"));
        assert_eq!(start_of(&stat("Z")), None);
    }
}
