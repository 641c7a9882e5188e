//! The inputs of the configuration. Only this module reads the environment of the process; everything else gets its
//! inputs as values.

use std::path::{Path, PathBuf};

use crate::problem::Error;

/// The inputs of a load, collected once. Tests construct their own.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The home directory.
    pub home: PathBuf,
    /// The configuration file, if one was named instead of `HOME/config.toml`; it must exist.
    pub file: Option<PathBuf>,
    /// The environment variables.
    pub environment: Vec<(String, String)>,
    /// `key=value`, as given with `--set`.
    pub sets: Vec<String>,
    /// `key=value`, as a program that embeds the assistant gives it. They stand below the `sets` and above everything else, and
    /// every one must name a known key: nobody reads the warning of a program that misspells one.
    pub program: Vec<String>,
}

impl Sources {
    /// Collects the sources of this process: the command-line flags and the environment.
    pub fn from_process(
        home: Option<PathBuf>,
        file: Option<PathBuf>,
        sets: Vec<String>,
    ) -> Result<Self, Error> {
        // Values that are not Unicode are converted lossily, not dropped: a mangled token refuses everybody, a dropped
        // one would let everybody in.
        let environment: Vec<(String, String)> = std::env::vars_os()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
            .collect();
        let home = home_directory(home, &environment)?;
        Ok(Self { home, file, environment, sets, program: Vec::new() })
    }

    /// The file to read: the given one, else `HOME/config.toml`.
    pub fn config_file(&self) -> PathBuf {
        self.file.clone().unwrap_or_else(|| self.home.join("config.toml"))
    }

    /// The directory of credentials.
    pub fn credentials_directory(&self) -> PathBuf {
        self.home.join("credentials")
    }

    /// An environment variable, if it is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&str> {
        set_variable(&self.environment, name)
    }
}

/// The home directory as an absolute path: the given one, else `AETHON_HOME`, else `~/.aethon`.
fn home_directory(given: Option<PathBuf>, environment: &[(String, String)]) -> Result<PathBuf, Error> {
    let home = given
        .or_else(|| set_variable(environment, "AETHON_HOME").map(PathBuf::from))
        .or_else(|| set_variable(environment, "HOME").map(|user| Path::new(user).join(".aethon")))
        .ok_or_else(|| {
            Error::one("home directory", "neither AETHON_HOME nor HOME set", "--home DIR, or AETHON_HOME")
        })?;
    std::path::absolute(&home).map_err(|error| {
        Error::one("home directory", format!("{home:?}: {error}"), "a path such as /srv/aethon")
    })
}

fn set_variable<'e>(environment: &'e [(String, String)], name: &str) -> Option<&'e str> {
    environment
        .iter()
        .find(|(known, value)| known == name && !value.is_empty())
        .map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_is_the_flag_then_the_variable_then_below_the_users() {
        let check = |given: Option<&str>, environment: &[(&str, &str)], expected: Option<&str>| {
            let environment: Vec<_> =
                environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let home = home_directory(given.map(PathBuf::from), &environment).ok();
            assert_eq!(home, expected.map(PathBuf::from));
        };
        check(Some("/a"), &[("AETHON_HOME", "/b"), ("HOME", "/c")], Some("/a"));
        check(None, &[("AETHON_HOME", "/b"), ("HOME", "/c")], Some("/b"));
        check(None, &[("AETHON_HOME", ""), ("HOME", "/c")], Some("/c/.aethon"));
        check(None, &[], None);
    }

    #[test]
    fn a_process_has_an_absolute_home() {
        let sources = Sources::from_process(Some("relative".into()), None, Vec::new()).unwrap();
        assert!(sources.home.is_absolute() && sources.home.ends_with("relative"));
        assert_eq!(sources.config_file(), sources.home.join("config.toml"));
    }
}
