//! Chores of the Aethon workspace, as `cargo xtask NAME`. `cargo xtask --help` lists them.
//!
//! Everything that a person or a CI machine does to the checkout beyond plain cargo is in here, in Rust and with tests, so
//! that there is one place to look and nothing to install.

#![expect(clippy::print_stdout, reason = "a chore tells its result on the terminal")]

mod bench;
mod catalog;
mod ci;
mod dist;
mod docs;
mod howto;
mod packages;
mod process;
mod proof;
mod sandboxes;
mod test;
mod tidy;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use std::path::Path;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "Chores of the Aethon workspace")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Everything that a change has to pass, in order: formatting, lints, tidy, documents, tests
    Ci,
    /// Prove the invariants of docs/architecture.md and the limits of the house style
    Tidy(tidy::TidyOptions),
    /// Build everything and run every test: unit, integration, documentation, black-box and browser
    Test {
        /// Only tests whose name contains this
        filter: Vec<String>,
    },
    /// Run the black-box tests with the data of each home on a PostgreSQL server
    Postgres {
        /// Only tests whose name contains this
        filter: Vec<String>,
    },
    /// Follow the pages of docs/how-to in a copy of the tree: apply their diffs, count, check, test
    Howto,
    /// Build the API documentation with warnings as errors, and check the links between documents
    Docs,
    /// Check small builds of the facade, the size of the core, and that every crate can be published
    Packages,
    /// Make what people install: an archive and a Debian package with the programs, a list of parts, and sums
    Dist(dist::Options),
    /// Make the built-in catalogue of models from LiteLLM's table
    Catalog(catalog::Options),
    /// Run the engine in simulated worlds of many seeds: faults, crashes, any order of steps
    Sim(proof::SimOptions),
    /// Have every write, sync, truncation and read of a run fail once under the real store
    IoFaults,
    /// Clients of every surface through kills of the built server, and a checker over their records
    Torture(proof::TortureOptions),
    /// Back a home up while clients write, restore it, and look for all that was acknowledged before
    Backups(proof::BackupsOptions),
    /// Kill the built server and break its connections under people on three messengers
    Chaos(proof::ChaosOptions),
    /// Cuts messengers off while deliveries wait, and checks that each arrives
    Outages(proof::OutageOptions),
    /// Begin turns on the built server while everything that it reads in the workspace is swapped for links, pipes and devices
    Swaps(proof::SwapsOptions),
    /// Have clients of every surface talk for an hour, and see whether memory, files or threads grow
    Steady(proof::SteadyOptions),
    /// Hold 20 turns a second in 50 sessions, then be silent, and see what memory is given back
    Soak(proof::SoakOptions),
    /// Damaged inputs for everything that reads what strangers send
    Fuzz(proof::FuzzOptions),
    /// Write screenshots of the pages to a folder, and print the screens of the terminal
    Shots(proof::ShotsOptions),
    /// Measure speed and size of the release build against a bare hyper server
    Bench(bench::Options),
    /// The measuring process of `bench`
    #[cfg(feature = "bench")]
    #[command(hide = true)]
    Measure(bench::Options),
    /// The bare hyper server of `bench`
    #[cfg(feature = "bench")]
    #[command(hide = true)]
    Bare,
    /// The process of `bench` that has dashboards open
    #[cfg(feature = "bench")]
    #[command(hide = true)]
    Watch { address: std::net::SocketAddr, count: usize },
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the workspace")?;
    match arguments.chore {
        Chore::Ci => ci::run(root),
        Chore::Tidy(options) => tidy::run(root, &options),
        Chore::Test { filter } => test::run(root, &filter),
        Chore::Postgres { filter } => test::on_postgres(root, &filter),
        Chore::Howto => howto::run(root),
        Chore::Docs => docs::run(root),
        Chore::Packages => packages::run(root),
        Chore::Dist(options) => dist::run(root, &options),
        Chore::Catalog(options) => catalog::run(root, &options),
        Chore::Sim(options) => proof::sim(root, &options),
        Chore::IoFaults => proof::io_faults(root),
        Chore::Torture(options) => proof::torture(root, &options),
        Chore::Backups(options) => proof::backups(root, &options),
        Chore::Chaos(options) => proof::chaos(root, &options),
        Chore::Outages(options) => proof::outages(root, &options),
        Chore::Swaps(options) => proof::swaps(root, &options),
        Chore::Steady(options) => proof::steady(root, &options),
        Chore::Soak(options) => proof::soak(root, &options),
        Chore::Fuzz(options) => proof::fuzz(root, &options),
        Chore::Shots(options) => proof::shots(root, &options),
        Chore::Bench(options) => bench::run(root, &options),
        #[cfg(feature = "bench")]
        Chore::Measure(options) => bench::measure(root, &options),
        #[cfg(feature = "bench")]
        Chore::Bare => bench::bare(),
        #[cfg(feature = "bench")]
        Chore::Watch { address, count } => bench::watch(address, count),
    }
}
