//! Chores that try to prove the promises wrong: `sim`, `io-faults`, `torture`, `backups`, `steady`, `soak`, `chaos`, `swaps`
//! and `fuzz`. Each runs tests of the workspace for longer than the normal run, or with inputs of the caller's choice.
//! `shots` runs those that make pictures for a person to look at.

use crate::process;
use crate::test::FEATURES;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Which simulated runs.
#[derive(clap::Args)]
pub(crate) struct SimOptions {
    /// How many seeds
    #[arg(long, default_value_t = 10_000)]
    seeds: u64,
    /// The first of them
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Run this one alone, with all its steps
    #[arg(long, conflicts_with_all = ["seeds", "from"])]
    seed: Option<u64>,
}

/// Which damaged inputs.
#[derive(clap::Args)]
pub(crate) struct FuzzOptions {
    /// Only targets whose name contains this, such as `fuzz_markdown`
    #[arg(default_value = "fuzz_")]
    target: String,
    /// Minutes for each target
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// The seed of the inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// How much torture.
#[derive(clap::Args)]
pub(crate) struct TortureOptions {
    /// Kills of the server; with 0, only the tests after them
    #[arg(long, default_value_t = 1_000)]
    kills: u64,
    /// The seed of their order
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Instead: three instances on one PostgreSQL server, with so many kills, crashes of the server and cut connections
    #[arg(long)]
    instances: Option<u64>,
}

/// How many backups.
#[derive(clap::Args)]
pub(crate) struct BackupsOptions {
    /// Backups of a home in use, each of which is restored
    #[arg(long, default_value_t = 50)]
    rounds: u64,
}

/// The duration of the load.
#[derive(clap::Args)]
pub(crate) struct SteadyOptions {
    /// Minutes
    #[arg(long, default_value_t = 60)]
    minutes: u64,
}

/// How long conversations go on, and how long nothing happens after them.
#[derive(clap::Args)]
pub(crate) struct SoakOptions {
    /// Minutes of turns
    #[arg(long, default_value_t = 34)]
    minutes: u64,
    /// Minutes of silence; memory of conversations is due back after 12
    #[arg(long, default_value_t = 12)]
    silence: u64,
}

/// How many turns while files are swapped.
#[derive(clap::Args)]
pub(crate) struct SwapsOptions {
    /// Turns
    #[arg(long, default_value_t = 10_000)]
    turns: u64,
}

/// How much chaos.
#[derive(clap::Args)]
pub(crate) struct ChaosOptions {
    /// Messages of people
    #[arg(long, default_value_t = 500)]
    messages: u64,
    /// The seed of kills and broken connections
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// How long outages last.
#[derive(clap::Args)]
pub(crate) struct OutageOptions {
    /// The seconds of each outage
    #[arg(long, default_value_t = 30)]
    seconds: u64,
    /// The deliveries that wait on each messenger
    #[arg(long, default_value_t = 500)]
    deliveries: u64,
}

/// Where the screenshots go.
#[derive(clap::Args)]
pub(crate) struct ShotsOptions {
    /// The folder of the screenshots; it is created
    #[arg(required_unless_present = "docs")]
    folder: Option<PathBuf>,
    /// Renew the pictures of the README and of the tutorial, in docs
    #[arg(long, conflicts_with = "folder")]
    docs: bool,
}

/// The packages and tests that contain the targets of `fuzz`.
const TARGETS: [&[&str]; 8] = [
    &["-p", "aethon-documents", "--test", "fuzz"],
    &["-p", "aethon-providers", "--lib"],
    &["-p", "aethon-http", "--lib"],
    &["-p", "aethon-http", "--test", "heads"],
    &["-p", "aethon-recorder", "--lib"],
    &["-p", "aethon-config", "--lib"],
    &["-p", "aethon-guard", "--test", "shell"],
    &["-p", "aethon-workflows", "--test", "fuzz"],
];

/// The number of seeds run for every change.
const USUAL_SEEDS: &str = "10000";
/// The simulation test that takes its seeds from the environment.
const SEEDS_TEST: &str = "seeds_from_the_environment";

/// The ignored tests of the suite that `torture` runs beside its kills, each on a home of its own.
const TORTURE_TESTS: [&str; 3] = [
    "clock_leaps_lose_no_message_and_stop_no_job",
    "destroyed_database_pages_never_corrupt_answers",
    "killed_upgrades_under_load_lose_nothing",
];

/// Runs the usual seeds with the same build as the tests of the workspace.
pub(crate) fn simulation(root: &Path) -> Result<()> {
    let test = [&["--workspace"], &FEATURES[..], &["--test", "sim"]].concat();
    long(root, &test, SEEDS_TEST, &[("AETHON_SIM_SEEDS", USUAL_SEEDS)])
}

/// Runs simulated seeds.
pub(crate) fn sim(root: &Path, options: &SimOptions) -> Result<()> {
    let (seeds, from) = (options.seeds.to_string(), options.from.to_string());
    let seed = options.seed.map(|seed| seed.to_string());
    let mut variables = vec![("AETHON_SIM_SEEDS", seeds.as_str()), ("AETHON_SIM_FROM", from.as_str())];
    variables.extend(seed.as_deref().map(|seed| ("AETHON_SIM_SEED", seed)));
    let test = ["-p", "aethon", "--test", "sim"];
    long(root, &test, SEEDS_TEST, &variables)
}

/// Makes every disk operation under the store fail once.
pub(crate) fn io_faults(root: &Path) -> Result<()> {
    let test = ["-p", "aethon-store", "--test", "faults"];
    long(root, &test, "every_operation_fails_once", &[])
}

/// Kills the built server under clients of every surface; then the troubles that each need a home of their own.
pub(crate) fn torture(root: &Path, options: &TortureOptions) -> Result<()> {
    let (kills, seed) = (options.instances.unwrap_or(options.kills).to_string(), options.seed.to_string());
    let variables = [("AETHON_TORTURE_KILLS", kills.as_str()), ("AETHON_TORTURE_SEED", seed.as_str())];
    if options.instances.is_some() {
        return on_the_built_server(root, "clients_of_three_instances_through_many_blows", &variables);
    }
    if options.kills > 0 {
        on_the_built_server(root, "clients_of_every_surface_through_many_kills", &variables)?;
    }
    TORTURE_TESTS.iter().try_for_each(|test| on_the_built_server(root, test, &variables))
}

/// Writes screenshots of the pages to a folder, and prints the screens of the terminal.
pub(crate) fn shots(root: &Path, options: &ShotsOptions) -> Result<()> {
    let folder = match &options.folder {
        Some(folder) => std::path::absolute(folder)?,
        None => root.join("docs"),
    };
    let folder = folder.to_str().context("the folder's path is text")?;
    process::run(root, "cargo", &["build", "--locked", "--bins"])?;
    let browser = ["-p", "aethon-tests", "--test", "browser"];
    if options.docs {
        return long(root, &browser, "screenshots_of_documentation_", &[("AETHON_SHOTS", folder)]);
    }
    long(root, &browser, "screenshots_of_", &[("AETHON_SHOTS", folder)])?;
    long(root, &["-p", "aethon-tests", "--test", "suite"], "print_terminal_screens", &[])
}

/// Backs the home of a built server up under load and restores it.
pub(crate) fn backups(root: &Path, options: &BackupsOptions) -> Result<()> {
    let rounds = options.rounds.to_string();
    on_the_built_server(root, "many_backups_under_load", &[("AETHON_BACKUP_ROUNDS", rounds.as_str())])
}

/// Runs clients of every surface against the built server, and checks whether its resources grow.
pub(crate) fn steady(root: &Path, options: &SteadyOptions) -> Result<()> {
    let minutes = options.minutes.to_string();
    on_the_built_server(root, "stays_flat_for_long", &[("AETHON_STEADY_MINUTES", minutes.as_str())])
}

/// Runs many turns in many sessions on the built server, and looks at the memory that it gives back.
pub(crate) fn soak(root: &Path, options: &SoakOptions) -> Result<()> {
    let (minutes, silence) = (options.minutes.to_string(), options.silence.to_string());
    let variables = [("AETHON_SOAK_MINUTES", minutes.as_str()), ("AETHON_SOAK_SILENCE", silence.as_str())];
    on_the_built_server(root, "memory_of_idle_conversations_is_released", &variables)
}

/// Begins turns on the built server while a command swaps everything that it reads in the workspace.
pub(crate) fn swaps(root: &Path, options: &SwapsOptions) -> Result<()> {
    let turns = options.turns.to_string();
    on_the_built_server(
        root,
        "many_turns_work_while_files_are_swapped",
        &[("AETHON_SWAPS_TURNS", turns.as_str())],
    )
}

/// Kills the built server and breaks its connections while people write on three messengers.
pub(crate) fn chaos(root: &Path, options: &ChaosOptions) -> Result<()> {
    let (messages, seed) = (options.messages.to_string(), options.seed.to_string());
    let variables = [("AETHON_CHAOS_MESSAGES", messages.as_str()), ("AETHON_CHAOS_SEED", seed.as_str())];
    on_the_built_server(root, "many_messages_of_three_messengers_through_kills_and_cuts", &variables)
}

/// Cuts each messenger off from the built server while deliveries wait for it.
pub(crate) fn outages(root: &Path, options: &OutageOptions) -> Result<()> {
    let (seconds, deliveries) = (options.seconds.to_string(), options.deliveries.to_string());
    let variables =
        [("AETHON_OUTAGE_SECONDS", seconds.as_str()), ("AETHON_OUTAGE_DELIVERIES", deliveries.as_str())];
    on_the_built_server(root, "long_outage_costs_no_delivery_of_any_messenger", &variables)
}

/// Builds the programs, and runs an ignored test against them.
fn on_the_built_server(root: &Path, name: &str, variables: &[(&str, &str)]) -> Result<()> {
    process::run(root, "cargo", &["build", "--locked", "--bins"])?;
    long(root, &["-p", "aethon-tests", "--test", "suite"], name, variables)
}

/// Runs an ignored test.
fn long(root: &Path, test: &[&str], name: &str, variables: &[(&str, &str)]) -> Result<()> {
    let arguments = [&["test", "--locked"], test, &["--", name, "--ignored", "--nocapture"]].concat();
    process::run_with(root, "cargo", &arguments, variables)
}

/// Runs the targets one after another.
pub(crate) fn fuzz(root: &Path, options: &FuzzOptions) -> Result<()> {
    let (seconds, seed) = ((options.minutes * 60).to_string(), options.seed.to_string());
    let variables = [("AETHON_FUZZ_SECONDS", seconds.as_str()), ("AETHON_FUZZ_SEED", seed.as_str())];
    for target in TARGETS {
        let filter = ["--", options.target.as_str(), "--ignored", "--nocapture", "--test-threads=1"];
        let arguments = [&["test", "--locked"], target, &filter].concat();
        process::run_with(root, "cargo", &arguments, &variables)?;
    }
    Ok(())
}
