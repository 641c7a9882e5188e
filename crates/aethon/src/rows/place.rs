//! The ends of a copy: how a person names them, and who else uses them.

use std::fmt;
use std::path::{Path, PathBuf};

use aethon_config::Sources;
use aethon_core::secret::Secret;
use aethon_core::storage::rows::RowStorage;
use aethon_store::rows::FileRows;

use super::lines::LineRows;
use crate::backup;
use crate::error::{Error, Result};
use crate::home::{Home, HomeLock};
use crate::postgres::ServerRows;

/// The name of the database in a home.
const DATABASE: &str = "aethon.db";

/// What the name of a file of lines ends with.
const LINES: &str = ".jsonl";

/// One end of a copy.
#[derive(Clone)]
pub enum Place {
    /// A database file.
    File(PathBuf),
    /// A database on a server, by its address.
    Server(Secret),
    /// A file of lines.
    Lines(PathBuf),
}

impl Place {
    /// Reads `sqlite:///path/aethon.db`, `postgres://...`, `env:NAME`, the path of a database or of a `.jsonl` file, or a home.
    pub fn parse(text: &str, sources: &Sources) -> Result<Self> {
        let text = text.trim();
        if let Some(name) = text.strip_prefix("env:") {
            let value = sources.variable(name);
            let value = value.ok_or_else(|| Error::refused(format!("the variable {name} is not set")))?;
            return Self::parse_written(value);
        }
        Self::parse_written(text)
    }

    fn parse_written(text: &str) -> Result<Self> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Server(Secret::new(text)));
        }
        let path = text.strip_prefix("sqlite://").or_else(|| text.strip_prefix("sqlite:")).unwrap_or(text);
        // What stands in front of it may hold a password.
        if path.contains("://") || path.is_empty() {
            return Err(Error::refused(
                "a storage is named as `sqlite:///path/aethon.db`, as `postgres://user:password@host/database`, as `env:NAME` for a \
                 variable that holds one of these, or by the path of a database, of a .jsonl file or of a home",
            ));
        }
        let path = Path::new(path);
        Ok(match path.is_dir() {
            true => Self::File(path.join(DATABASE)),
            false if path.to_string_lossy().ends_with(LINES) => Self::Lines(path.to_owned()),
            false => Self::File(path.to_owned()),
        })
    }

    /// Opens it to read from.
    pub(super) async fn source(&self) -> Result<Opened> {
        Ok(match self {
            Self::File(path) => {
                let lock = unused(path)?;
                let rows = FileRows::open(path);
                let rows = rows.map_err(|error| Error::refused(error.to_string()).because(error))?;
                Opened { rows: Box::new(rows), server: None, words: self.to_string(), _lock: lock }
            }
            Self::Server(url) => Opened::server(url).await?,
            Self::Lines(path) => {
                let rows = Box::new(LineRows::open(path)?);
                Opened { rows, server: None, words: self.to_string(), _lock: None }
            }
        })
    }

    /// Opens it to write to. A file of lines is written otherwise.
    pub(super) async fn target(&self) -> Result<Opened> {
        Ok(match self {
            Self::File(path) | Self::Lines(path) => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
                    return Err(Error::refused(format!("there is no folder {}", folder.display())));
                }
                let lock = unused(path)?;
                let rows = FileRows::create(path);
                let rows = rows.map_err(|error| Error::refused(error.to_string()).because(error))?;
                Opened { rows: Box::new(rows), server: None, words: self.to_string(), _lock: lock }
            }
            Self::Server(url) => Opened::server(url).await?,
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) | Self::Lines(path) => write!(f, "{}", path.display()),
            Self::Server(_) => f.write_str("the PostgreSQL server"),
        }
    }
}

/// Keeps others out of a database file.
fn unused(path: &Path) -> Result<Option<HomeLock>> {
    let home = path.parent().filter(|_| path.file_name().is_some_and(|name| name == DATABASE)).map(Home::at);
    let lock = home.map_or(Ok(None), |home| backup::in_use(&home))?;
    if aethon_store::copy::is_open_elsewhere(path) {
        return Err(Error::refused(format!("another program has {} open; end it first", path.display())));
    }
    Ok(lock)
}

/// An end that is open.
pub(super) struct Opened {
    pub(super) rows: Box<dyn RowStorage>,
    server: Option<ServerRows>,
    pub(super) words: String,
    _lock: Option<HomeLock>,
}

impl Opened {
    async fn server(url: &Secret) -> Result<Self> {
        let server = ServerRows::open(url).await?;
        let words = format!("the {}", server.words());
        // On a connection of its own, which one transaction occupies.
        let rows = ServerRows::open(url).await?.into_rows();
        let opened = Self { rows, server: Some(server), words, _lock: None };
        opened.refuse_users().await?;
        Ok(opened)
    }

    /// Refuses a database that programs use now.
    pub(super) async fn refuse_users(&self) -> Result<()> {
        let Some(server) = &self.server else { return Ok(()) };
        let users = server.users().await?;
        if users.is_empty() {
            return Ok(());
        }
        Err(Error::refused(format!(
            "{} is in use by {}: stop every aethon-server and chat on it first, and wait 20 seconds for one that was killed",
            self.words,
            users.join(", ")
        )))
    }

    /// Refuses a source that only holds a part of a copy.
    pub(super) async fn refuse_unfinished(&self) -> Result<()> {
        let Some(server) = &self.server else { return Ok(()) };
        match server.is_unfinished().await? {
            false => Ok(()),
            true => {
                Err(Error::refused(format!("{} holds a part of a copy that was not finished", self.words)))
            }
        }
    }
}

#[cfg(test)]
#[test]
fn an_end_is_named_by_an_address_a_path_or_a_variable() {
    let home = tempfile::tempdir().unwrap();
    let sources = Sources {
        home: home.path().to_owned(),
        file: None,
        environment: vec![("DB".to_owned(), "postgres://ada:secret@db/x".to_owned())],
        sets: Vec::new(),
        program: Vec::new(),
    };
    let check = |text: &str, expected: &str| {
        let named =
            Place::parse(text, &sources).map_or_else(|error| error.to_string(), |place| place.to_string());
        assert!(named.starts_with(expected) && !named.contains("secret"), "{text}: {named}");
    };
    check("sqlite:///x/aethon.db", "/x/aethon.db");
    check("sqlite:x.db", "x.db");
    check("a/b.jsonl", "a/b.jsonl");
    check(&home.path().display().to_string(), &home.path().join("aethon.db").display().to_string());
    check("postgres://ada:secret@db/x", "the PostgreSQL server");
    check("env:DB", "the PostgreSQL server");
    check("env:NONE", "the variable NONE is not set");
    check("mysql://ada:secret@db/x", "a storage is named as");
    check("", "a storage is named as");
}
