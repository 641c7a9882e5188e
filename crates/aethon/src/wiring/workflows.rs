//! Builds SOPs, scheduled jobs and their tools from `[scheduler]` and the workspace's `sops/`.

use std::sync::Arc;

use aethon_config::Config;
use aethon_core::agents::AgentBoard;
use aethon_core::assistant::Assistant;
use aethon_core::channel::Channel;
use aethon_core::instructions::Instructions;
use aethon_core::person::Person;
use aethon_core::schedule::{Cron, Job, JobId, Missed, Origin, Task, Timing, zone, zone_name};
use aethon_core::sop::SopName;
use aethon_core::storage::Storage;
use aethon_core::tool::Tool;
use aethon_workflows::schedule::{BookOptions, BookParts, JobBook, StrangerJobs};
use aethon_workflows::sop::{SopFolder, SopHistory, SopParts, SopRouter, Sops};
use aethon_workflows::specialists::{ManageSpecialists, SpecialistFolder};
use aethon_workflows::work::{Tasks, WorkCommands, WorkLimits, Works};
use aethon_workflows::{Commands, McpCommand, ModelCommand};

use super::messengers::{enabled, home};
use crate::prepared::Prepared;

/// SOPs and jobs before the engine exists.
#[derive(Clone)]
pub(crate) struct WorkflowParts {
    pub(crate) sops: Sops,
    pub(crate) book: JobBook,
    /// The board of what each agent is doing.
    pub(crate) board: AgentBoard,
    /// The folder of specialists created at run time.
    pub(crate) specialists: Option<Arc<SpecialistFolder>>,
    /// The files of SOPs and specialists, as instructions whose changes are reported to the owner.
    pub(crate) instructions: Vec<Arc<dyn Instructions>>,
    /// Multi-turn work.
    pub(crate) works: Works,
    /// Ends multi-turn work in the middle of a turn.
    pub(crate) limits: WorkLimits,
}

/// SOPs and jobs of a running assistant.
#[derive(Clone)]
pub(crate) struct Workflows {
    pub(crate) parts: WorkflowParts,
    /// Resumes runs of SOPs.
    pub(crate) sops: Arc<SopRouter>,
    /// The engine behind all commands; messages enter here.
    pub(crate) entry: Arc<dyn Assistant>,
}

impl WorkflowParts {
    pub(crate) fn of(prepared: &Prepared, storage: &Storage) -> Self {
        let folder = prepared.home.sops();
        let catalog = Arc::new(SopFolder::with_history(
            folder,
            SopHistory::new(prepared.home.sop_history(), prepared.home.run(), prepared.clock()),
            prepared.shared.redactor.clone(),
        ));
        let instructions: Arc<dyn Instructions> = catalog.clone();
        let (bus, clock) = (prepared.shared.bus.clone(), prepared.clock());
        let scheduler = &prepared.config.scheduler;
        let options = BookOptions {
            is_enabled: scheduler.enabled,
            default_channel: scheduler.default_channel.clone(),
            channels: channels(&prepared.config, &prepared.source.parts.channels),
            without_home: without_home(&prepared.config),
        };
        let board = AgentBoard::new(bus.clone(), clock.clone(), storage.workflows.agent_runs.clone());
        let sops = Sops::new(SopParts {
            catalog: catalog.clone(),
            runs: storage.workflows.sop_runs.clone(),
            turns: storage.turns.clone(),
            board: board.clone(),
            bus: bus.clone(),
            clock: clock.clone(),
        });
        let works = super::work::works(&prepared.config.work, storage, clock.clone());
        let limits = WorkLimits::new(board.clone(), works.clone());
        let strangers = StrangerJobs::new(storage.channel_records.clone(), scheduler.max_stranger_jobs);
        let book = BookParts {
            jobs: storage.workflows.jobs.clone(),
            runs: storage.workflows.job_runs.clone(),
            sops: catalog,
            options,
            clock,
            bus,
        };
        let book = JobBook::new(book).with_stranger_limit(strangers);
        let specialists = super::specialists::folder(prepared);
        let files = specialists.clone().map(|folder| folder as Arc<dyn Instructions>);
        let instructions = files.into_iter().chain([instructions]).collect();
        Self { sops, book, board, specialists, instructions, works, limits }
    }

    /// The tools of SOPs and jobs.
    pub(crate) fn tools(&self, prepared: &Prepared) -> Vec<Arc<dyn Tool>> {
        let (sops, runs) = (self.sops.catalog(), self.sops.runs());
        let schedule = Arc::new(self.book.clone());
        let mut tools = aethon_tools::workflow_tools(sops, runs, schedule, prepared.shared.bus.clone());
        let manage = self.specialists.clone().map(ManageSpecialists::new);
        tools.extend(manage.map(|manage| Arc::new(manage) as Arc<dyn Tool>));
        if self.works.options().is_enabled {
            tools.push(Arc::new(Tasks::new(self.works.clone())));
        }
        tools
    }

    /// Completes these parts with the engine behind them.
    pub(crate) fn in_front_of(
        self,
        engine: Arc<dyn Assistant>,
        model: ModelCommand,
        mcp: McpCommand,
    ) -> Workflows {
        let sops = Arc::new(SopRouter::new(engine.clone(), self.sops.clone()));
        // The owner's commands about work never answer a SOP.
        let work = Arc::new(WorkCommands::new(self.works.clone()));
        let entry = Arc::new(Commands::new(engine, vec![work, Arc::new(model), Arc::new(mcp), sops.clone()]));
        Workflows { parts: self, sops, entry }
    }
}

/// The names of the channels that will run.
fn channels(config: &Config, brought: &[Arc<dyn Channel>]) -> Vec<String> {
    let webchat = config.channels.webchat.enabled.then(|| "webchat".to_owned());
    let messengers = enabled(config).map(str::to_owned);
    let brought = brought.iter().map(|channel| channel.name().to_owned());
    webchat.into_iter().chain(messengers).chain(brought).collect()
}

/// Says that results of jobs have no channel to go to, if `scheduler.default_channel` names none that will run.
pub(crate) fn channel_warning(config: &Config, brought: &[Arc<dyn Channel>]) -> Option<String> {
    let (wanted, known) = (&config.scheduler.default_channel, channels(config, brought));
    (config.scheduler.enabled && !known.contains(wanted)).then(|| {
        format!(
            "scheduler.default_channel: {wanted:?} is not set up, so jobs need a channel of their own; set up: {}",
            known.join(", ")
        )
    })
}

fn without_home(config: &Config) -> Vec<String> {
    enabled(config).filter(|name| home(config, name).trim().is_empty()).map(str::to_owned).collect()
}

/// The jobs in the configuration. Invalid ones were rejected before.
pub(crate) fn configured(config: &Config) -> Vec<Job> {
    let scheduler = &config.scheduler;
    let job = |(name, job): (&String, &aethon_config::schema::Job)| {
        let zone = zone(job.timezone.as_deref()).ok()?;
        let kept = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let sop_name = match kept(&job.sop_name) {
            Some(name) => Some(SopName::parse(&name).ok()?),
            None => None,
        };
        Some(Job {
            job_id: JobId::parse(name).ok()?,
            timing: Timing::Cron {
                cron: Cron::parse(&job.cron).ok()?,
                timezone: zone_name(&zone).to_owned(),
            },
            task: Task { sop_name, prompt: kept(&job.prompt) },
            channel: kept(&job.channel).unwrap_or_else(|| scheduler.default_channel.clone()),
            recipient: kept(&job.recipient),
            missed: match job.missed {
                aethon_config::schema::Missed::Skip => Missed::Skip,
                aethon_config::schema::Missed::RunOnce => Missed::RunOnce,
            },
            retries: job.retries,
            model: kept(&job.model),
            enabled: job.enabled,
            paused: false,
            origin: Origin::Config,
            person: Person::default(),
            untrusted: false,
        })
    };
    scheduler.jobs.iter().filter_map(job).collect()
}
