//! Accounts of other people on this machine, who reach whatever listens on loopback.
//!
//! The list is that of `/etc/passwd` and of the folders below `/home`, which also shows accounts that a directory service
//! knows. It decides nothing; it says whom a port without a token is open to.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;

use aethon_config::Config;
use aethon_core::sandbox::NOBODY;

/// The largest list of accounts that is read.
const MAX_LIST: u64 = 1 << 20;
/// How many folders of people are looked at.
const MAX_FOLDERS: usize = 1_000;
/// The users of people begin here; the ones below are for programs.
const FIRST_PERSON: u32 = if cfg!(target_os = "macos") { 501 } else { 1_000 };
/// How many names are shown.
const MAX_SHOWN: usize = 3;

/// Returns a warning if other people have accounts on this machine and may use the assistant, with the remedy.
pub(crate) fn warning(config: &Config) -> Option<String> {
    let webchat = &config.channels.webchat;
    let is_open = config.dashboard.auth_token.is_empty();
    if !webchat.enabled || webchat.tcp_port().is_none() || !is_open {
        return None;
    }
    sentence(&of_this_machine())
}

/// The remedy.
pub(crate) const FIX: &str = "set dashboard.auth_token, or serve on a socket of your own: channels.webchat.socket = \"aethon.sock\" \
                              with channels.webchat.port = -1";

fn sentence(others: &BTreeSet<String>) -> Option<String> {
    let shown: Vec<&str> = others.iter().take(MAX_SHOWN).map(String::as_str).collect();
    let rest = match others.len().saturating_sub(MAX_SHOWN) {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    (!others.is_empty()).then(|| {
        format!(
            "there is no token, and other people have accounts on this machine ({}{rest}): they can use the assistant through its \
             port, with your files and your rights",
            shown.join(", ")
        )
    })
}

fn of_this_machine() -> BTreeSet<String> {
    let own = rustix::process::getuid().as_raw();
    let mut list = String::new();
    // A list that cannot be read has no names.
    let _ = File::open("/etc/passwd").and_then(|file| file.take(MAX_LIST).read_to_string(&mut list));
    let mut others = listed(&list, own);
    let folders = ["/home", "/Users"].into_iter().filter_map(|place| std::fs::read_dir(place).ok());
    for folder in folders.flat_map(|folders| folders.take(MAX_FOLDERS).flatten()) {
        let owner = folder.metadata().ok().filter(std::fs::Metadata::is_dir).map(|folder| folder.uid());
        if owner.is_some_and(|owner| is_other_person(owner, own)) {
            others.insert(folder.file_name().to_string_lossy().into_owned());
        }
    }
    others
}

/// The people in a list of accounts who may sign in, except one.
fn listed(list: &str, own: u32) -> BTreeSet<String> {
    let person = |line: &str| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, user, _, _, _, shell] = fields[..] else { return None };
        let may_sign_in =
            !["nologin", "false", "sync", "shutdown", "halt"].iter().any(|word| shell.ends_with(word));
        let is_other = user.parse().is_ok_and(|user| is_other_person(user, own));
        (is_other && may_sign_in && !name.is_empty()).then(|| name.to_owned())
    };
    list.lines().filter_map(person).collect()
}

fn is_other_person(user: u32, own: u32) -> bool {
    user != own && (FIRST_PERSON..NOBODY).contains(&user)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n\
                        sync:x:4:65534:sync:/bin:/bin/sync\nanna:x:1000:1000:Anna,,,:/home/anna:/bin/bash\n\
                        ben:x:1001:1001::/home/ben:/usr/bin/zsh\nrobot:x:1002:1002::/srv:/usr/sbin/nologin\n\
                        old:x:1003:1003::/home/old:/bin/false\nplain:x:1004:1004::/home/plain:\n\
                        nobody:x:65534:65534:nobody:/nonexistent:/bin/sh\nbroken:x:1005\n::1006::::\n";

    #[test]
    fn others_are_the_people_who_may_sign_in() {
        let check = |own: u32, expected: &[&str]| {
            let found = listed(LIST, own);
            assert_eq!(found.iter().map(String::as_str).collect::<Vec<&str>>(), expected, "{own}");
        };
        check(1000, &["ben", "plain"]);
        check(1001, &["anna", "plain"]);
        // A daemon of its own user has them all as others, and so has root.
        check(0, &["anna", "ben", "plain"]);
        assert!(listed("", 1000).is_empty());
    }

    #[test]
    fn other_accounts_are_reported_where_they_can_use_the_assistant() {
        let others = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<String>>();
        assert_eq!(sentence(&others(&[])), None);
        let said = sentence(&others(&["a", "b", "c", "d", "e"])).unwrap();
        for part in ["(a, b, c and 2 more)", "dashboard.auth_token", "channels.webchat.socket", "port = -1"] {
            assert!(said.contains(part) || FIX.contains(part), "{part}: {said}");
        }
        let check = |change: fn(&mut Config)| {
            let mut config = Config::default();
            change(&mut config);
            assert_eq!(warning(&config), None);
        };
        check(|config| config.dashboard.auth_token = aethon_core::secret::Secret::new("a token"));
        check(|config| config.channels.webchat.enabled = false);
        check(|config| config.channels.webchat.port = -1);
    }
}
