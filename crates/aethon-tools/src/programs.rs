//! Programs that run beside the assistant and are talked to over pipes, such as servers of tools.
//!
//! They are started as commands are: inside the walls, in a session of their own, with a watcher that ends all of it when
//! this program ends, however that comes about. Their environment is `PATH`, `HOME` and the locale, and what their owner
//! gives them.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use aethon_core::program::{Program, ProgramLife, Programs, RunningProgram};
use async_trait::async_trait;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::oneshot;

use crate::confine::Confinement;
use crate::options::{Options, USUAL_PATH};
use crate::shell::{Ended, Group, Launch, Running, Streams, program, start};

/// Starts programs inside the walls.
pub struct ConfinedPrograms {
    directory: PathBuf,
    environment: Vec<(String, String)>,
    setsid: Option<PathBuf>,
    confinement: Arc<Confinement>,
}

impl ConfinedPrograms {
    /// Programs with the walls of these options. `locale` has the variables of the language, `LANG` aside.
    pub fn new(options: &Options, locale: &[(String, String)]) -> Self {
        let shell = &options.shell;
        let path = shell.path.clone().unwrap_or_else(|| USUAL_PATH.to_owned());
        let home = shell.home.as_ref().and_then(|home| home.to_str()).map(str::to_owned);
        let own = [("PATH", Some(path.clone())), ("HOME", home), ("LANG", shell.lang.clone())];
        let own = own.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Self {
            directory: options.workspace.clone(),
            environment: own.chain(locale.iter().cloned()).collect(),
            setsid: program("setsid", &format!("{path}:{USUAL_PATH}")),
            confinement: Arc::new(Confinement::new(options)),
        }
    }
}

#[async_trait]
impl Programs for ConfinedPrograms {
    async fn start(&self, program: &Program) -> io::Result<RunningProgram> {
        let given = program.environment.iter().map(|(name, value)| (name.clone(), value.expose().to_owned()));
        let words = std::iter::once(&program.command).chain(&program.args);
        let running = start(Launch {
            streams: Streams::Conversation,
            shell: words.map(Into::into).collect(),
            directory: self.directory.clone(),
            // Of two variables of one name the later counts.
            environment: self.environment.iter().cloned().chain(given).collect(),
            setsid: self.setsid.clone(),
            confinement: self.confinement.clone(),
            is_sandboxed: false,
        });
        let Running { group, input, output, errors, ended } = running.await?;
        let missing = || io::Error::other("the program has no pipes");
        let (input, errors) = (input.ok_or_else(missing)?, errors.ok_or_else(missing)?);
        Ok(RunningProgram {
            input: Box::new(Sender::from_owned_fd(input.into())?),
            output: Box::new(Receiver::from_owned_fd(output.into())?),
            errors: Box::new(Receiver::from_owned_fd(errors.into())?),
            life: Box::new(Life { _group: group, ended, how: None }),
        })
    }
}

/// The processes of a program.
struct Life {
    _group: Group,
    ended: oneshot::Receiver<Ended>,
    /// How it ended, once that is known.
    how: Option<String>,
}

#[async_trait]
impl ProgramLife for Life {
    async fn ended(&mut self) -> String {
        if let Some(how) = &self.how {
            return how.clone();
        }
        let how = match (&mut self.ended).await {
            Ok(Ended::Status(status)) => format!("with exit status {status}"),
            Ok(Ended::Signal(signal)) => format!("by signal {signal}"),
            Ok(Ended::Unknown) | Err(_) => "for a reason that is not known".to_owned(),
        };
        self.how.insert(how).clone()
    }
}
