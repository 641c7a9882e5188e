//! Whose home directories are protected: that of the account that the program runs as, and the one that the environment
//! names. The environment alone decides nothing, because a service may be started without it or with another one.
//!
//! Also recognizes the home of an assistant, this one or a copy.

use std::path::{Path, PathBuf};

use crate::files::real;
use crate::options::Options;

/// Where the accounts of the machine are listed.
const ACCOUNTS: &str = "/etc/passwd";

/// The contents by which the home of an assistant is known, whatever its name: the database and the folder of credentials.
const DATABASE: &str = "aethon.db";
const CREDENTIALS: &str = "credentials";

/// Where people's homes usually are. Closed to commands if no home is known.
pub(crate) const USUAL_HOMES: [&str; 3] = ["/root", "/home", "/Users"];

/// Returns the home directory of the account that this program runs as, from the list of accounts. `None` if it is not
/// there: accounts of a directory service have `HOME` in their environment.
pub fn account_home() -> Option<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    home_of(&std::fs::read_to_string(ACCOUNTS).ok()?, user)
}

fn home_of(accounts: &str, user: u32) -> Option<PathBuf> {
    let of_user = accounts.lines().find_map(|line| {
        let mut fields = line.split(':').skip(2);
        let number: u32 = fields.next()?.parse().ok()?;
        // The group and the full name stand between.
        (number == user).then(|| fields.nth(2)).flatten()
    });
    of_user.map(PathBuf::from).filter(|home| is_home(home))
}

/// Returns whether a path can be a person's home: services have `/` or nothing there.
fn is_home(path: &Path) -> bool {
    path.is_absolute() && path.parent().is_some()
}

/// Returns the real paths of the homes of these options, each once; that of the environment first.
pub(crate) fn homes_of(options: &Options) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let homes = [options.user_home.as_deref(), options.places.account_home.as_deref()];
    for home in homes.into_iter().flatten().filter(|home| is_home(home)).map(real) {
        if !found.contains(&home) {
            found.push(home);
        }
    }
    found
}

/// Returns whether a directory is the home of an assistant or a copy of one.
pub(crate) fn is_assistants_home(directory: &Path) -> bool {
    directory.join(DATABASE).symlink_metadata().is_ok() && directory.join(CREDENTIALS).is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_of_an_account_stands_in_the_list_of_accounts() {
        let accounts = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n\
                        broken\nada:x:1000:1000:Ada, of London:/home/ada:/bin/bash\n";
        assert_eq!(home_of(accounts, 0), Some("/root".into()));
        assert_eq!(home_of(accounts, 1000), Some("/home/ada".into()));
        assert_eq!(home_of(accounts, 65_534), None);
        assert_eq!(home_of(accounts, 4), None);
    }

    #[test]
    fn a_home_is_known_by_what_it_holds() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_assistants_home(folder.path()));
        std::fs::write(folder.path().join(DATABASE), "").unwrap();
        assert!(!is_assistants_home(folder.path()));
        std::fs::create_dir(folder.path().join(CREDENTIALS)).unwrap();
        assert!(is_assistants_home(folder.path()));
    }
}
