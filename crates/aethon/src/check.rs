//! What `--check` finds: everything that prevents a start, and a summary of what would run.

use aethon_agent::Learned;
use aethon_core::model::Readiness;
use aethon_core::sandbox::Sandbox;
use aethon_tools::{Protection, PullPolicy};

use crate::error::{Error, Result};
use crate::prepared::Prepared;
use crate::reach::Reach;
use crate::wiring;
use crate::wiring::model::AgentModels;
use crate::wiring::sandbox::Proof;

impl Prepared {
    /// Checks everything that prevents a start, and reports all problems at once. Starts no container.
    pub async fn preflight(&self) -> Result<()> {
        let mut problems = self.problems().await;
        problems.extend(wiring::sandbox::problem(self).await);
        refused_for(&problems)
    }

    /// Returns what is allowed and yet hardly meant, a sentence each: secrets that can be guessed, and a channel for the results of
    /// jobs that is not set up.
    pub fn concerns(&self) -> Vec<String> {
        let mut concerns = crate::preflight::short_secrets(&self.config);
        concerns.extend(wiring::workflows::channel_warning(&self.config, &self.source.parts.channels));
        concerns
    }

    /// Like [`Prepared::preflight`], and tries the sandbox of commands as far as that changes nothing: with docker, by one
    /// container that is removed again, but without pulling an image. Returns the findings, one line each.
    pub async fn try_out(&self) -> Result<Vec<String>> {
        let mut problems = self.problems().await;
        let proof = match wiring::sandbox::proof(self, PullPolicy::Never).await {
            Ok(proof) => proof,
            Err(problem) => {
                problems.push(problem);
                Proof::default()
            }
        };
        refused_for(&problems)?;
        let proved = proof.proved.filter(|_| self.config.security.sandbox == Sandbox::Docker);
        let proved = proved.map(|proved| format!("sandbox   docker: {proved}"));
        let reach = crate::sandbox_reach::warnings(&self.config).await.into_iter().chain(self.concerns());
        let warning = |concern| format!("warning   {concern}");
        Ok(reach.map(warning).chain(proved).chain(proof.concerns.into_iter().map(warning)).collect())
    }

    /// Every reason not to start but for the sandbox of commands.
    pub(crate) async fn problems(&self) -> Vec<String> {
        let mut problems = crate::preflight::problems(&self.config, &self.flags).await;
        problems.extend(wiring::http::socket_problem(self));
        problems
    }

    /// The port and the socket that would be served.
    fn addresses(&self, host: &str) -> String {
        let port = self.config.channels.webchat.tcp_port().map(|port| format!("http://{host}:{port}"));
        let socket = wiring::http::socket(&self.config, &self.home);
        let socket = socket.map(|path| format!("unix:{}", path.display()));
        port.into_iter().chain(socket).collect::<Vec<String>>().join(" and ")
    }

    /// Describes the database, for `--check`: its format, and the upgrade at the next start.
    fn database_lines(&self) -> String {
        if self.config.storage.is_on_server() {
            return "\ndatabase  the PostgreSQL server of storage.url, which `aethon-cli doctor` asks"
                .to_owned();
        }
        let copies = crate::upgrade::copies_sentence(&self.home);
        let copies = copies.map_or_else(String::new, |sentence| format!("\ncopies    {sentence}"));
        copies
            + &match crate::upgrade::plan(&self.home) {
                Ok(None) => format!("\ndatabase  format {}", crate::backup::DATABASE_FORMAT),
                Ok(Some(plan)) => {
                    let served = plan
                        .is_served
                        .then(|| "an older aethon-server is running on it: stop it first".to_owned());
                    plan.lines().into_iter().chain(served).map(|line| format!("\nupgrade   {line}")).collect()
                }
                Err(error) => format!("\nwarning   {error}"),
            }
    }

    /// Describes what would run, for `--check`.
    pub async fn summary(&self) -> String {
        let (config, webchat) = (&self.config, &self.config.channels.webchat);
        let models = AgentModels::of(self, Learned::default()).models;
        let model = models.capabilities();
        // An IPv6 address needs brackets before a port.
        let is_bare = webchat.host.contains(':') && !webchat.host.starts_with('[');
        let host = if is_bare { format!("[{}]", webchat.host) } else { webchat.host.clone() };
        let listener = if webchat.enabled { self.addresses(&host) } else { "none".into() };
        let is_near = matches!(aethon_http::is_loopback_host(&webchat.host).await, Ok(true));
        let has_webhooks = webchat.enabled && wiring::http::webhooks(config).exist(is_near);
        let access =
            if config.dashboard.auth_token.is_empty() { "open (no token)" } else { "with the token" };
        let readiness = match models.readiness() {
            Readiness::Ready if self.is_demo => "a demonstration: no model is configured".to_owned(),
            Readiness::Ready => "ready".to_owned(),
            Readiness::NotConfigured(hint) => format!("not set up: {hint}"),
        };
        format!(
            "the configuration is fine\nprogram   aethon {}\nhome      {}\nlistener  {listener}\naccess    {access}\nmodel     {} by {}, {readiness}\nbudget    {}\nwebhooks  {}\ndashboard {}\nmemory    {}\ncommands  {}",
            crate::version::long(),
            self.home.path().display(),
            model.model,
            model.provider,
            crate::preflight::budget(&self.config.budget, &wiring::unpriced::models(self).await),
            on(has_webhooks),
            on(webchat.enabled && config.dashboard.enabled),
            wiring::memory::sentence(self),
            Protection::of_this_machine().describe(),
        ) + &self.database_lines()
            + &self.reach().iter().map(reach_line).collect::<String>()
            + &crate::messengers::summary(&self.config)
            + &self.model_concerns().await
    }

    /// Concerns about the configured models, one line each.
    async fn model_concerns(&self) -> String {
        let concerns = wiring::model::concerns(self).await;
        concerns.iter().map(|concern| format!("\nwarning   {}; {}", concern.message, concern.fix)).collect()
    }
}

/// The line of `--check` for one ability.
fn reach_line(reach: &Reach) -> String {
    let word = if reach.is_open { "open      " } else { "reach     " };
    format!("\n{word}{}", reach.sentence())
}

fn on(enabled: bool) -> &'static str {
    if enabled { "on" } else { "off" }
}

/// Refuses the start if there are problems.
fn refused_for(problems: &[String]) -> Result<()> {
    if problems.is_empty() { Ok(()) } else { Err(Error::refused(problems.join("\n"))) }
}
