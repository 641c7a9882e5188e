//! A home in a temporary directory, and a load of it with given layers.
#![allow(dead_code, reason = "each test file uses its part")]

use std::fs;
use std::path::Path;

use aethon_config::{Error, Loaded, Sources, load};
use tempfile::TempDir;

/// A home with `file` as its `config.toml`.
pub(crate) struct Home {
    directory: TempDir,
    environment: Vec<(String, String)>,
    sets: Vec<String>,
}

impl Home {
    /// A home with this file; none when it is empty.
    pub(crate) fn with(file: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        if !file.is_empty() {
            fs::write(directory.path().join("config.toml"), file).unwrap();
        }
        Self { directory, environment: Vec::new(), sets: Vec::new() }
    }

    /// Adds environment variables.
    pub(crate) fn environment(mut self, variables: &[(&str, &str)]) -> Self {
        self.environment
            .extend(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        self
    }

    /// Adds `--set` flags.
    pub(crate) fn sets(mut self, sets: &[&str]) -> Self {
        self.sets.extend(sets.iter().map(|set| (*set).to_owned()));
        self
    }

    /// Adds a credential.
    pub(crate) fn credential(self, name: &str, value: &str) -> Self {
        let directory = self.directory.path().join("credentials");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(name), value).unwrap();
        self
    }

    /// The sources to load.
    pub(crate) fn sources(&self) -> Sources {
        Sources {
            home: self.directory.path().to_owned(),
            file: None,
            environment: self.environment.clone(),
            sets: self.sets.clone(),
            program: Vec::new(),
        }
    }

    /// Loads it.
    pub(crate) fn load(&self) -> Result<Loaded, Error> {
        load(&self.sources())
    }

    /// The home's path.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The file's text.
    pub(crate) fn file(&self) -> String {
        fs::read_to_string(self.path().join("config.toml")).unwrap()
    }
}
