//! All commands in the background, by conversation: their limits, their ends, and what clients see of them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use aethon_core::audit::{AuditEntry, AuditLog, NoAudit};
use aethon_core::background::{BackgroundCommand, BackgroundCommands, StopOutcome, missing};
use aethon_core::clock::Clock;
use aethon_core::ids::SessionId;
use aethon_core::live::Live;
use aethon_guard::redact::Redactor;
use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::record::Record;

/// How many commands may run in a conversation, and in all.
const MAX_IN_CONVERSATION: usize = 4;
const MAX_RUNNING: usize = 16;
/// How many conversations a refusal names.
const MAX_NAMED: usize = 4;
/// How many that have ended are kept for reading, in all.
const MAX_ENDED: usize = 8;
/// How long a killed command may take to be gone.
const MAX_STOP: Duration = Duration::from_secs(5);
/// How long all of them may take when the program ends.
const MAX_CLOSE: Duration = Duration::from_secs(2);
/// How long storing a row of the audit may take.
const MAX_AUDIT: Duration = Duration::from_secs(5);

/// Finds commands at the other instances of the same storage.
#[async_trait]
pub trait CommandsElsewhere: Send + Sync {
    /// Returns the name of the instance that has this command.
    async fn holder(&self, session: &SessionId, number: u32) -> Option<String>;
}

/// The commands in the background of all conversations. Cheap to clone; clones share them.
#[derive(Clone)]
pub struct CommandRegistry(Arc<Shared>);

struct Shared {
    all: Mutex<All>,
    tasks: Mutex<JoinSet<()>>,
    changes: watch::Sender<u64>,
    elsewhere: OnceLock<Arc<dyn CommandsElsewhere>>,
    clock: Arc<dyn Clock>,
    redactor: Live<Redactor>,
    audit: Arc<dyn AuditLog>,
}

#[derive(Default)]
struct All {
    sessions: BTreeMap<SessionId, Commands>,
    /// Whether no more may be started.
    is_closed: bool,
}

/// The commands of a conversation, oldest first.
#[derive(Default)]
struct Commands {
    /// The number of the last one.
    last: u32,
    revision: u64,
    records: Vec<Arc<Record>>,
}

impl CommandRegistry {
    /// Creates a registry that masks secrets with this redactor and notes starts and ends in this log.
    pub fn new(clock: Arc<dyn Clock>, redactor: Live<Redactor>, audit: Arc<dyn AuditLog>) -> Self {
        Self(Arc::new(Shared {
            all: Mutex::default(),
            tasks: Mutex::default(),
            changes: watch::channel(0).0,
            elsewhere: OnceLock::new(),
            clock,
            redactor,
            audit,
        }))
    }

    /// Creates one without an audit log.
    pub(crate) fn alone(clock: Arc<dyn Clock>, redactor: Live<Redactor>) -> Self {
        Self::new(clock, redactor, Arc::new(NoAudit))
    }

    /// Sets who finds the commands of other instances, once.
    pub fn found_by(&self, elsewhere: Arc<dyn CommandsElsewhere>) {
        // A second one would be the same.
        let _ = self.0.elsewhere.set(elsewhere);
    }

    /// Returns the conversations that have commands.
    pub fn sessions(&self) -> Vec<SessionId> {
        self.lock().sessions.keys().cloned().collect()
    }

    /// Returns whether any command runs.
    pub fn has_running(&self) -> bool {
        self.lock().sessions.values().any(|commands| commands.running() > 0)
    }

    /// Stops the commands of a conversation that is over, and forgets them.
    pub fn end_session(&self, session: &SessionId) {
        let Some(gone) = self.lock().sessions.remove(session) else { return };
        gone.records.iter().for_each(|record| record.stop("the end of its conversation"));
        self.changed(session);
    }

    /// Stops all commands and accepts no more.
    pub async fn close(&self) {
        for record in self.close_door() {
            record.stop("the end of the program");
        }
        let mut tasks = std::mem::take(&mut *self.tasks());
        let ended = async { while tasks.join_next().await.is_some() {} };
        if timeout(MAX_CLOSE, ended).await.is_err() {
            tracing::warn!("some commands in the background were not noted as ended");
        }
        // Dropping the rest of the tasks kills the processes that they hold.
    }

    /// The same at once, for a program that cannot wait.
    pub fn abandon(&self) {
        drop(self.close_door());
        self.tasks().abort_all();
    }

    fn close_door(&self) -> Vec<Arc<Record>> {
        let mut all = self.lock();
        all.is_closed = true;
        all.sessions.values().flat_map(|commands| commands.records.iter().cloned()).collect()
    }

    /// Makes room for a command, which counts as running from now on. The error is a sentence.
    pub(super) fn reserve(&self, session: &SessionId, command: &str) -> Result<Arc<Record>, String> {
        let record = {
            let mut all = self.lock();
            all.check_room(session)?;
            let commands = all.sessions.entry(session.clone()).or_default();
            commands.last += 1;
            let record = Arc::new(Record::new(commands.last, command, self.0.clock.now()));
            commands.records.push(record.clone());
            record
        };
        self.changed(session);
        Ok(record)
    }

    /// Forgets a command that could not be started.
    pub(super) fn withdraw(&self, session: &SessionId, record: &Record) {
        if let Some(commands) = self.lock().sessions.get_mut(session) {
            commands.records.retain(|known| known.number != record.number);
        }
        self.changed(session);
    }

    /// Runs the life of a command.
    pub(super) fn spawn(&self, life: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(life);
    }

    /// Returns a command, or says that there is none.
    pub(super) async fn find(&self, session: &SessionId, number: u32) -> Result<Arc<Record>, String> {
        let known = self.records(session).into_iter().find(|record| record.number == number);
        match known {
            Some(record) => Ok(record),
            None => Err(self.missing(session, number).await),
        }
    }

    /// Returns the commands of a conversation, oldest first.
    pub(super) fn records(&self, session: &SessionId) -> Vec<Arc<Record>> {
        self.lock().sessions.get(session).map(|commands| commands.records.clone()).unwrap_or_default()
    }

    /// Stops a command, and waits until it is gone.
    pub(super) async fn stop_record(&self, record: &Record, by: &str) {
        record.stop(by);
        record.ended(MAX_STOP).await;
    }

    /// Describes a command for viewers.
    pub(super) fn shown(&self, record: &Record) -> BackgroundCommand {
        record.shown(&self.0.redactor.get())
    }

    pub(super) fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// Notes that the list of a conversation has changed, and drops what is no longer kept.
    pub(super) fn changed(&self, session: &SessionId) {
        let mut all = self.lock();
        all.drop_old();
        self.0.changes.send_modify(|revision| {
            *revision += 1;
            if let Some(commands) = all.sessions.get_mut(session) {
                commands.revision = *revision;
            }
        });
    }

    /// Notes something in the audit log. A row that cannot be stored stops nothing; the log has it as well.
    pub(super) async fn note(&self, entry: AuditEntry) {
        let AuditEntry { action, subject, outcome, by, .. } = &entry;
        tracing::info!(action = action.as_str(), subject, outcome, by, "noted in the audit");
        match timeout(MAX_AUDIT, self.0.audit.record(entry)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "a row of the audit could not be stored"),
            Err(_) => tracing::warn!("a row of the audit took too long to be stored and is given up"),
        }
    }

    async fn missing(&self, session: &SessionId, number: u32) -> String {
        let holder = match self.0.elsewhere.get() {
            Some(elsewhere) if !session.is_temporary() => elsewhere.holder(session, number).await,
            _ => None,
        };
        match holder {
            Some(name) => format!(
                "command {number} of this conversation is at another instance, {name}: it can be read and stopped only there"
            ),
            None => missing(number),
        }
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        // The lists are whole after every statement.
        self.0.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Commands {
    /// Counts those that run.
    fn running(&self) -> usize {
        self.records.iter().filter(|record| record.is_running()).count()
    }
}

impl All {
    /// Says why no more may be started.
    fn check_room(&self, session: &SessionId) -> Result<(), String> {
        if self.is_closed {
            return Err("the program is ending, so no command can be started in the background".to_owned());
        }
        let here = self.sessions.get(session).map(Commands::running).unwrap_or_default();
        if here >= MAX_IN_CONVERSATION {
            return Err(format!(
                "{here} commands of this conversation run in the background, which is as many as may; stop one with \
                 `background_commands`, or wait until one has ended"
            ));
        }
        let everywhere: usize = self.sessions.values().map(Commands::running).sum();
        if everywhere >= MAX_RUNNING {
            return Err(format!(
                "{everywhere} commands run in the background of all conversations, which is as many as may: {}; one of them has \
                 to end first",
                self.places()
            ));
        }
        Ok(())
    }

    /// Says in which conversations commands run, so that the owner finds them.
    fn places(&self) -> String {
        let running = self.sessions.iter().map(|(session, commands)| (session, commands.running()));
        let mut busy: Vec<_> = running.filter(|(_, count)| *count > 0).collect();
        // The order among equals stays that of their names.
        busy.sort_by_key(|(_, count)| Reverse(*count));
        let rest = busy.split_off(MAX_NAMED.min(busy.len()));
        let mut named: Vec<String> =
            busy.iter().map(|(session, count)| format!("{count} in {session}")).collect();
        if !rest.is_empty() {
            let count: usize = rest.iter().map(|(_, count)| count).sum();
            named.push(format!("{count} in {} others", rest.len()));
        }
        named.join(", ")
    }

    /// Drops the oldest of those that have ended, first those of which the model knows.
    fn drop_old(&mut self) {
        let ended = |commands: &Commands| {
            let over = commands.records.iter().filter(|record| !record.is_running());
            over.map(|record| (record.has_news(), record.ended_at(), record.number)).collect::<Vec<_>>()
        };
        loop {
            let ended: Vec<_> = self
                .sessions
                .iter()
                .flat_map(|(session, commands)| ended(commands).into_iter().map(move |key| (key, session)))
                .collect();
            if ended.len() <= MAX_ENDED {
                return;
            }
            let oldest = ended.into_iter().min().map(|((_, _, number), session)| (number, session.clone()));
            let Some((number, session)) = oldest else { return };
            if let Some(commands) = self.sessions.get_mut(&session) {
                commands.records.retain(|record| record.number != number);
            }
        }
    }
}

#[async_trait]
impl BackgroundCommands for CommandRegistry {
    fn list(&self, session: &SessionId) -> Vec<BackgroundCommand> {
        self.records(session).iter().map(|record| self.shown(record)).collect()
    }

    async fn stop(&self, session: &SessionId, number: u32, by: &str) -> StopOutcome {
        let record = match self.find(session, number).await {
            Ok(record) => record,
            Err(why) => return StopOutcome::Missing(why),
        };
        if !record.is_running() {
            return StopOutcome::HadEnded(self.shown(&record));
        }
        self.stop_record(&record, by).await;
        StopOutcome::Stopped(self.shown(&record))
    }

    fn revision(&self, session: &SessionId) -> u64 {
        self.lock().sessions.get(session).map(|commands| commands.revision).unwrap_or_default()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use aethon_core::background::CommandEnd;
    use aethon_core::clock::SystemClock;

    use super::super::record::End;
    use super::*;

    fn session(name: &str) -> SessionId {
        SessionId::of("webchat", name).unwrap()
    }

    fn registry() -> CommandRegistry {
        CommandRegistry::alone(Arc::new(SystemClock), Live::default())
    }

    fn end(registry: &CommandRegistry, session: &SessionId, record: &Record) {
        let took = Duration::from_secs(1);
        record.end(End { how: CommandEnd::Status(0), at: registry.now(), took, notes: Vec::new() });
        registry.changed(session);
    }

    #[test]
    fn conversation_and_program_have_limits_that_ends_free() {
        let registry = registry();
        let first = session("0");
        let records: Vec<_> =
            (0..MAX_IN_CONVERSATION).map(|_| registry.reserve(&first, "x").unwrap()).collect();
        let refused = registry.reserve(&first, "x").err().unwrap();
        assert!(refused.starts_with("4 commands of this conversation run"), "{refused}");
        end(&registry, &first, &records[0]);
        assert_eq!(registry.reserve(&first, "x").unwrap().number, 5, "numbers are not used again");
        for number in 1..4 {
            (0..MAX_IN_CONVERSATION).for_each(|_| {
                registry.reserve(&session(&number.to_string()), "x").unwrap();
            });
        }
        let refused = registry.reserve(&session("9"), "x").err().unwrap();
        let named = "4 in webchat:0, 4 in webchat:1, 4 in webchat:2, 4 in webchat:3; one of them";
        assert!(refused.starts_with("16 commands run in the background of all"), "{refused}");
        assert!(refused.contains(named), "the owner finds them: {refused}");
        registry.end_session(&first);
        assert!(registry.reserve(&session("9"), "x").is_ok());
        registry.end_session(&session("1"));
        for number in 10..17 {
            registry.reserve(&session(&number.to_string()), "x").unwrap();
        }
        let refused = registry.reserve(&session("20"), "x").err().unwrap();
        let named =
            "4 in webchat:2, 4 in webchat:3, 1 in webchat:10, 1 in webchat:11, 6 in 6 others; one of them";
        assert!(refused.contains(named), "{refused}");
    }

    #[test]
    fn few_of_the_ended_are_kept_and_those_with_news_longest() {
        let (registry, home) = (registry(), session("a"));
        for number in 0..MAX_ENDED + 3 {
            let record = registry.reserve(&home, &number.to_string()).unwrap();
            end(&registry, &home, &record);
            if number != 0 {
                record.end_is_known();
            }
        }
        let kept: Vec<_> = registry.list(&home).into_iter().map(|shown| shown.command).collect();
        assert_eq!(kept.len(), MAX_ENDED);
        assert_eq!((kept[0].as_str(), kept.last().unwrap().as_str()), ("0", "10"), "{kept:?}");
    }

    #[tokio::test]
    async fn revision_changes_with_the_list_of_its_conversation() {
        let (registry, here, there) = (registry(), session("a"), session("b"));
        assert_eq!(registry.revision(&here), 0);
        let mut changes = registry.changes();
        let record = registry.reserve(&here, "x").unwrap();
        let before = registry.revision(&here);
        assert!(before > 0 && changes.has_changed().unwrap());
        changes.mark_unchanged();
        registry.reserve(&there, "y").unwrap();
        assert_eq!(registry.revision(&here), before);
        registry.withdraw(&here, &record);
        assert_ne!(registry.revision(&here), before);
        assert!(registry.list(&here).is_empty());
        registry.end_session(&there);
        assert_eq!(registry.revision(&there), 0);
    }

    struct Holder;

    #[async_trait]
    impl CommandsElsewhere for Holder {
        async fn holder(&self, session: &SessionId, number: u32) -> Option<String> {
            (session.name() == "a" && number == 3).then(|| "host:/srv/two".to_owned())
        }
    }

    #[tokio::test]
    async fn missing_command_is_looked_for_at_other_instances() {
        let registry = registry();
        registry.found_by(Arc::new(Holder));
        let elsewhere = registry.find(&session("a"), 3).await.err().unwrap();
        assert!(elsewhere.contains("at another instance, host:/srv/two"), "{elsewhere}");
        let StopOutcome::Missing(nowhere) = registry.stop(&session("a"), 4, "a test").await else {
            panic!("there is none")
        };
        assert_eq!(nowhere, missing(4));
    }

    #[tokio::test]
    async fn closed_registry_starts_nothing() {
        let registry = registry();
        registry.close().await;
        let refused = registry.reserve(&session("a"), "x").err().unwrap();
        assert!(refused.contains("the program is ending"), "{refused}");
    }
}
