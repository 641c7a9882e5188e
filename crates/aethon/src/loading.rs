//! Reads the configuration and checks it, which yields a [`Prepared`]. Nothing is opened or written.

use aethon_guard::redact::Redactor;
use aethon_providers::AwsEnvironment;
use aethon_tools::CommandSlots;

use crate::error::{Error, Result};
use crate::flags::Flags;
use crate::home::Home;
use crate::left_out;
use crate::prepared::{Prepared, Shared, Source};
use crate::wiring;

impl Prepared {
    /// Reads and checks the configuration.
    pub(crate) fn read(source: Source, mut shared: Shared) -> Result<Self> {
        let sources = &source.sources;
        let loaded = aethon_config::load(sources).map_err(refused)?;
        let flags = Flags::new(sources, source.insecure_bind, source.launcher.clone());
        let mut config = loaded.config;
        let is_demo = source.is_demo(loaded.names_a_model);
        if is_demo {
            config.model.stand_in();
        }
        if let Some(problem) = left_out::problem(&config, source.parts.model.is_some()) {
            return Err(Error::refused(problem));
        }
        let home = Home::at(&sources.home);
        shared.docker = wiring::sandbox::docker(&config, &flags, &home);
        shared.limits_set = loaded.limits_set;
        shared.commands = CommandSlots::of(config.tools.max_shells);
        let (catalog, catalog_fault) = crate::models::load(&home);
        let own_model = source.parts.model.is_some();
        let slips = if own_model { Vec::new() } else { crate::models::misspelt(&catalog, &config.model) };
        let aws = AwsEnvironment::from_variables(|name| sources.variable(name).map(str::to_owned));
        let mut prepared = Self {
            home,
            file: loaded.file,
            config,
            is_demo,
            warnings: loaded.warnings.iter().map(ToString::to_string).chain(slips).collect(),
            catalog,
            catalog_fault,
            flags,
            aws,
            source,
            shared,
        };
        prepared.shared.redactor.set(Redactor::new(prepared.secrets()));
        prepared.shared.lsp = wiring::lsp::servers(&prepared);
        Ok(prepared)
    }
}

/// Turns an error of the configuration into a refusal to start.
pub(crate) fn refused(error: aethon_config::Error) -> Error {
    Error::refused(error.to_string()).because(error)
}
