//! Diagnoses an installation and says how to fix it.
//!
//! Every check yields a finding, even if all is well, so the reader sees every check. Nothing is changed.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use aethon_agent::Learned;
use aethon_config::schema::Unpriced;
use aethon_core::feature::FeatureState;
use aethon_core::model::{ModelProvider, Readiness};
use aethon_core::sandbox::Sandbox;
use aethon_tools::{Protection, PullPolicy};

use crate::builder::Builder;
pub use crate::finding::{Finding, Health};
use crate::postgres::{self, CLOCK_FIX, Checked};
use crate::prepared::Prepared;
use crate::quota::Quota;
use crate::wiring;
use crate::wiring::model::AgentModels;
use crate::wiring::store_check::Trouble;

/// The remedy for a problem that prevents a start.
const REFUSED_START: &str = "change the keys named above; aethon-server does not start until then";

/// What the configuration says of a file that belongs to another account.
const UNREADABLE: &str = "that this account may not read";

/// The remedy for default limits that take effect soon.
const SET_LIMITS: &str = "set session.oneshot_keep, session.oneshot_max_mb and storage.max_mb";

/// How long a model service may take to answer the reachability probe.
const MODEL_TIMEOUT: Duration = Duration::from_secs(10);

/// A smaller window leaves hardly any room for the conversation beside the system prompt and the tools.
const SMALL_WINDOW: u64 = 8_192;

/// Points to the thorough test, which costs a little and is therefore never run here.
const DEEPER: &str = "; `aethon-cli model test` tests chat, streaming, tools and images";

/// The state that the running server reports about itself. It knows best whether its storage works, and its database is left to
/// it.
#[derive(Debug, Clone)]
pub struct RunningServer {
    /// Its address.
    pub address: String,
    /// Why it takes no messages, or why it could not be reached.
    pub trouble: Option<String>,
    /// The effect of limits that came with an upgrade and do not hold yet.
    pub outlook: Option<String>,
}

/// Checks everything that a start needs. `server` is the report of a server that is already running.
pub async fn examine(builder: Builder, server: Option<RunningServer>) -> Vec<Finding> {
    let prepared = match builder.load() {
        Ok(prepared) => prepared,
        Err(error) => {
            let message = error.to_string();
            let fix = match message.contains(UNREADABLE) {
                true => {
                    "run it as the account that owns this home, or choose another one with --home or AETHON_HOME"
                }
                false => "correct the keys named above; `aethon-cli config schema` describes all keys",
            };
            return vec![Finding::broken("config", message, fix)];
        }
    };
    let mut findings = configuration(&prepared);
    // The sandbox has an area of its own below.
    let problems = prepared.problems().await;
    if !problems.is_empty() {
        findings.push(Finding::broken("start", problems.join("\n"), REFUSED_START));
    }
    let short = crate::preflight::short_secrets(&prepared.config);
    findings.extend(short.into_iter().map(|message| {
        Finding::warning(
            "secrets",
            message,
            "`aethon-cli secrets set NAME` stores a longer one; refer to it as ${credential:NAME}",
        )
    }));
    findings.extend(
        wiring::workflows::channel_warning(&prepared.config, &prepared.source.parts.channels)
            .map(|message| Finding::warning("scheduler", message, "correct scheduler.default_channel")),
    );
    findings.extend(home(&prepared));
    findings.extend(prepared.reach().iter().map(|reach| match reach.is_open {
        true => Finding::note("reach", format!("open: {}", reach.sentence())),
        false => Finding::ok("reach", reach.sentence()),
    }));
    let database = database(&prepared, server.as_ref()).await;
    let is_stored = database.iter().all(|finding| finding.health != Health::Broken);
    findings.extend(database);
    findings.push(crate::backup::finding(&prepared));
    findings.push(port(&prepared));
    let others = crate::other_accounts::warning(&prepared.config);
    findings.extend(others.map(|message| Finding::warning("accounts", message, crate::other_accounts::FIX)));
    findings.push(model(&prepared).await);
    findings.extend(models(&prepared).await);
    findings.extend(embedding(&prepared).await);
    findings.extend(transcription(&prepared));
    findings.push(memory(&prepared, is_stored && server.is_none()).await);
    findings.push(budget(&prepared).await);
    findings.push(self_protection());
    findings.extend(crate::places::findings(&prepared));
    findings.extend(sandbox(&prepared).await);
    findings.extend(crate::mcp::findings(&prepared).await);
    findings.extend(crate::messengers::findings(&prepared.config));
    findings.extend(features(&prepared).await);
    findings
}

/// Reports which sandbox commands use, proved by a trial, and which one this machine could offer.
async fn sandbox(prepared: &Prepared) -> Vec<Finding> {
    let mut findings = Vec::new();
    let concerns = match wiring::sandbox::proof(prepared, PullPolicy::Never).await {
        Ok(proof) => {
            findings.push(match (prepared.config.security.sandbox, proof.proved) {
                (Sandbox::None, _) | (_, None) => Finding::note("sandbox", recommended(prepared).await),
                (Sandbox::Kernel, Some(proved)) => {
                    Finding::ok("sandbox", format!("commands run in the kernel sandbox, and {proved}"))
                }
                (Sandbox::Docker, Some(proved)) => {
                    let message = "commands run in Docker, with one container per conversation";
                    Finding::ok("sandbox", format!("{message}: {proved}"))
                }
            });
            proof.concerns
        }
        Err(problem) => {
            findings.push(Finding::broken("sandbox", problem, REFUSED_START));
            Vec::new()
        }
    };
    let concerns = concerns.into_iter().chain(crate::sandbox_reach::warnings(&prepared.config).await);
    let fix = "see docs/sandboxes.md";
    findings.extend(concerns.map(|concern| Finding::warning("sandbox", concern, fix)));
    findings
}

/// Names a sandbox that this machine could offer to commands that have none.
async fn recommended(prepared: &Prepared) -> String {
    let docker = wiring::sandbox::docker_at(&prepared.config, &prepared.flags, &prepared.home);
    match wiring::sandbox::kernel(prepared).await {
        Ok(_) => {
            "commands run on this machine without a sandbox; recommended, and available here: security.sandbox = \"kernel\"".to_owned()
        }
        Err(_) if wiring::sandbox::docker_survey(&docker).await.is_ok() => {
            "commands run on this machine without a sandbox; recommended, and available here: security.sandbox = \"docker\"".to_owned()
        }
        Err(why) => format!(
            "commands run on this machine without a sandbox; one is recommended, but the kernel sandbox does not work here ({why})"
        ),
    }
}

/// Reports what would run with this configuration on this machine. Only `/api/features` knows what shows at run time.
async fn features(prepared: &Prepared) -> Vec<Finding> {
    let facts = crate::features::MachineFacts::of(prepared).await;
    let rows = crate::features::configured(&prepared.config, &facts);
    let told = rows.into_iter().map(|row| {
        let message = format!("{}: {}, {} ({})", row.title, row.state.as_str(), row.detail, row.config_key);
        match row.state {
            FeatureState::Degraded => {
                Finding::warning("feature", message, format!("look at {}", row.config_key))
            }
            _ => Finding::ok("feature", message),
        }
    });
    told.collect()
}

/// Reports what protects the assistant from its own commands.
fn self_protection() -> Finding {
    let protection = Protection::of_this_machine();
    let message = protection.describe();
    if protection.missing().is_empty() && !protection.is_root {
        return Finding::ok("self-protection", message);
    }
    if protection.is_root {
        return Finding::warning(
            "self-protection",
            message,
            "run Aethon as a user of its own, and not as root",
        );
    }
    let fix = "run a kernel with Landlock enabled (`lsm=landlock,...`), in a container that permits it";
    Finding::warning("self-protection", message, fix)
}

/// Reports whether the budget can be enforced, that is, whether the models' prices are known.
async fn budget(prepared: &Prepared) -> Finding {
    let (budget, unpriced) = (&prepared.config.budget, wiring::unpriced::models(prepared).await);
    let message = crate::preflight::budget(budget, &unpriced);
    let keys: Vec<String> = unpriced.iter().map(|model| aethon_agent::pricing_key(model)).collect();
    let fix = format!("set {} to its price in USD per million tokens", keys.join(" and "));
    match budget.unpriced {
        _ if unpriced.is_empty() => Finding::ok("budget", message),
        Unpriced::Refuse => Finding::broken("budget", message, fix),
        Unpriced::Allow => Finding::warning("budget", message, fix),
    }
}

fn configuration(prepared: &Prepared) -> Vec<Finding> {
    let warning = |text: &String| Finding::warning("config", text.clone(), "correct or remove the key");
    let mut findings: Vec<Finding> = prepared.warnings.iter().map(warning).collect();
    let file = prepared.home.config();
    if findings.is_empty() {
        let from = if file.exists() { file.display().to_string() } else { "built-in defaults".into() };
        findings.push(Finding::ok("config", format!("the configuration is valid ({from})")));
    }
    findings
}

fn home(prepared: &Prepared) -> Vec<Finding> {
    let home = &prepared.home;
    if !home.path().exists() {
        let message = format!("{} does not exist yet", home.path().display());
        if let Err(error) = can_be_made(home.path()) {
            let fix = "choose another home with --home or AETHON_HOME, or let this user write there";
            return vec![Finding::broken("home", format!("{message}, and cannot be created: {error}"), fix)];
        }
        return vec![Finding::ok("home", format!("{message}; the first start creates it"))];
    }
    let mut findings: Vec<Finding> = crate::disk_finding::cannot_store(home.path()).into_iter().collect();
    for path in [
        home.path().to_owned(),
        home.credentials(),
        home.database(),
        home.config(),
        home.logs(),
        home.recordings(),
    ] {
        findings.extend(exposed(&path));
    }
    if let Ok(secrets) = std::fs::read_dir(home.credentials()) {
        findings.extend(secrets.flatten().filter_map(|entry| exposed(&entry.path())));
    }
    if findings.is_empty() {
        findings.push(Finding::ok("home", format!("{} exists and is private", home.path().display())));
    }
    findings
}

/// Returns why a folder cannot be made: this user cannot write to the nearest one above it that exists.
fn can_be_made(folder: &Path) -> std::io::Result<()> {
    let above = folder.ancestors().skip(1).find(|above| above.exists());
    above.map_or(Ok(()), |above| Ok(rustix::fs::access(above, rustix::fs::Access::WRITE_OK)?))
}

fn exposed(path: &Path) -> Option<Finding> {
    let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then(|| {
        let fix = format!("chmod go= {}", path.display());
        Finding::warning(
            "home",
            format!("{} is readable by other users (mode {mode:o})", path.display()),
            fix,
        )
    })
}

/// Reports whether the database is intact and current, and what upgrades have left and will do.
async fn database(prepared: &Prepared, server: Option<&RunningServer>) -> Vec<Finding> {
    if let Some(RunningServer { address, trouble, outlook }) = server {
        let finding = match (trouble, outlook) {
            (None, None) => Finding::ok("database", format!("aethon-server at {address} accepts messages")),
            (None, Some(outlook)) => Finding::warning("database", outlook.clone(), SET_LIMITS),
            (Some(why), _) => Finding::broken(
                "database",
                format!("aethon-server at {address} accepts no messages: {why}"),
                "follow the server's message; GET /api/ready answers 200 once it accepts messages again",
            ),
        };
        return std::iter::once(finding).chain(crate::upgrade::copies_finding(&prepared.home)).collect();
    }
    if prepared.config.storage.is_on_server() {
        return match postgres::check(prepared).await {
            Ok(Checked { words, clock: Some(clock), .. }) => {
                vec![Finding::warning("database", format!("{words}; {clock}"), CLOCK_FIX)]
            }
            Ok(Checked { words, .. }) => vec![Finding::ok("database", words)],
            Err(error) => {
                vec![Finding::broken(
                    "database",
                    error.to_string(),
                    "repair the server, or change storage.url",
                )]
            }
        };
    }
    let path = prepared.home.database();
    if !path.exists() {
        return vec![Finding::ok("database", "none yet; the first start creates it")];
    }
    let finding = match crate::upgrade::finding(&prepared.home) {
        Ok(Some(due)) => due,
        Ok(None) => intact_database(prepared, &path).await,
        Err(error) => broken_database(Trouble::of(&error)),
    };
    std::iter::once(finding).chain(crate::upgrade::copies_finding(&prepared.home)).collect()
}

async fn intact_database(prepared: &Prepared, path: &Path) -> Finding {
    let quota = Quota::of(&prepared.config, &prepared.home, prepared.shared.limits_set);
    match wiring::store_check::check(path, &quota).await {
        Ok((report, Some(outlook))) => {
            Finding::warning("database", format!("{report}; {outlook}"), SET_LIMITS)
        }
        Ok((report, None)) => match quota.database_warning() {
            Some(warning) => {
                Finding::warning("database", format!("{report}; {warning}"), "set storage.max_mb")
            }
            None => Finding::ok("database", report),
        },
        Err(trouble) => broken_database(trouble),
    }
}

fn broken_database(Trouble { problem, remedy }: Trouble) -> Finding {
    let fix = remedy.unwrap_or_else(|| "see the log of aethon-server".to_owned());
    Finding::broken("database", problem, fix)
}

fn port(prepared: &Prepared) -> Finding {
    if let Some(address) = prepared.home.running_daemon() {
        return Finding::ok("port", format!("aethon-server is running at {address}"));
    }
    let webchat = &prepared.config.channels.webchat;
    if !webchat.enabled {
        return Finding::ok("port", "channels.webchat.enabled is false: nothing listens");
    }
    let Some(port) = webchat.tcp_port() else {
        let path = wiring::http::socket(&prepared.config, &prepared.home).unwrap_or_default();
        return Finding::ok("port", format!("no port: only the socket {} is served", path.display()));
    };
    let host = webchat.host.trim_matches(['[', ']']);
    let host = if host == "localhost" { "127.0.0.1" } else { host };
    let Ok(address) = host.parse().map(|host| SocketAddr::new(host, port)) else {
        return Finding::ok("port", format!("{}:{port} is bound when the server starts", webchat.host));
    };
    match std::net::TcpListener::bind(address) {
        Ok(_) => Finding::ok("port", format!("{address} is free")),
        Err(error) => Finding::broken(
            "port",
            format!("{address} cannot be bound: {error}"),
            "stop the program that uses it, or set channels.webchat.port to another port",
        ),
    }
}

async fn model(prepared: &Prepared) -> Finding {
    let models = AgentModels::of(prepared, Learned::default()).models;
    let capabilities = models.capabilities();
    let name = format!("{} by {}", capabilities.model, capabilities.provider);
    if let Readiness::NotConfigured(hint) = models.readiness() {
        return Finding::broken("model", format!("{name} is not set up"), hint);
    }
    match tokio::time::timeout(MODEL_TIMEOUT, models.probe()).await {
        Ok(Ok(answer)) => match crate::listed_models::unlisted(prepared).await {
            Some(why) => {
                Finding::warning("model", format!("{name}: {answer}; {why}"), "correct model.model_id")
            }
            None => able(prepared, &**models.leading(), &format!("{name}: {answer}")).await,
        },
        Ok(Err(error)) => Finding::broken("model", format!("{name} cannot be used"), error.to_string()),
        Err(_) => Finding::broken(
            "model",
            format!("{name} did not answer within {} s", MODEL_TIMEOUT.as_secs()),
            "check model.host and the network",
        ),
    }
}

/// Checks `models.json`, and reports the known facts about the configured models.
async fn models(prepared: &Prepared) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(fault) = &prepared.catalog_fault {
        let fix = "correct or remove the file, or install a table with `aethon-cli model update FILE`";
        findings.push(Finding::warning("models", fault.clone(), fix));
    }
    let concerns = wiring::model::concerns(prepared).await.into_iter();
    findings.extend(concerns.map(|concern| Finding::warning("models", concern.message, concern.fix)));
    let today = prepared.clock().now().to_zoned(jiff::tz::TimeZone::UTC).date();
    let tables = crate::models::tables(&prepared.catalog, today);
    findings.push(Finding::ok(
        "models",
        format!("{tables}; `aethon-cli model update` says how to get a newer one"),
    ));
    findings
}

/// Reports a reachable model and the abilities known without asking it anything.
async fn able(prepared: &Prepared, provider: &dyn ModelProvider, answers: &str) -> Finding {
    // Without an answer the assumed window stands.
    let _ = provider.learn().await;
    let capabilities = provider.capabilities();
    let window = capabilities.context_window;
    let can = |ability, name| if ability { format!(", {name}") } else { format!(", no {name}") };
    let (tools, images) = (can(capabilities.tools, "tools"), can(capabilities.images, "images"));
    let asked_for = match capabilities.window.cuts_silently {
        true => format!("; {}, sent as num_ctx", capabilities.window_in_words()),
        false => String::new(),
    };
    let message = format!("{answers}; {window} tokens{tools}{images}{asked_for}{DEEPER}");
    let is_small = window < SMALL_WINDOW && prepared.config.model.context_window.is_none();
    if is_small && capabilities.window.cuts_silently {
        let fix = match capabilities.window.longest {
            Some(longest) if longest <= window => "choose a model with a longer context",
            _ => "set model.context_window, which is sent to Ollama as num_ctx",
        };
        return Finding::warning("model", format!("{message}; that is too small for an assistant"), fix);
    }
    Finding::ok("model", message)
}

/// Reports how memories are found, and their number.
///
/// They are counted only where the database was opened and found in order: what is wrong with it is said once, and a server
/// that does not answer is not waited for again.
async fn memory(prepared: &Prepared, is_counted: bool) -> Finding {
    let sentence = wiring::memory::sentence(prepared);
    if !is_counted || !prepared.config.memory.enabled {
        return Finding::ok("memory", sentence);
    }
    if prepared.config.storage.is_on_server() {
        return match postgres::check(prepared).await {
            Ok(Checked { memories, .. }) => Finding::ok("memory", format!("{memories}; {sentence}")),
            // The finding of the database says it.
            Err(_) => Finding::ok("memory", sentence),
        };
    }
    let database = prepared.home.database();
    if !database.exists() {
        return Finding::ok("memory", sentence);
    }
    // Otherwise the finding of the database says it.
    if !matches!(crate::upgrade::plan(&prepared.home), Ok(None)) {
        return Finding::ok("memory", sentence);
    }
    match wiring::store_check::memory(&database).await {
        Ok(amount) => Finding::ok("memory", format!("{amount}; {sentence}")),
        Err(error) => Finding::broken("memory", error.to_string(), "see the finding about the database"),
    }
}

/// Checks the embedder, if one is configured. A free one embeds one word; for any other only the setup is checked,
/// because every request costs money.
async fn embedding(prepared: &Prepared) -> Option<Finding> {
    let (embedder, price) = wiring::embedding::service(prepared)?;
    let name = embedder.model();
    if let Readiness::NotConfigured(hint) = embedder.readiness() {
        return Some(Finding::broken("embedding", format!("{name} is not set up"), hint));
    }
    if price.is_none_or(|price| price.input > 0.0) {
        return Some(Finding::ok(
            "embedding",
            format!("{name} is set up; not tested, because requests cost money"),
        ));
    }
    let asked = tokio::time::timeout(MODEL_TIMEOUT, embedder.embed(&["word"])).await;
    Some(match asked {
        Ok(Ok(vectors)) => {
            let length = vectors.first().map_or(0, Vec::len);
            Finding::ok("embedding", format!("{name}: vectors of length {length}"))
        }
        Ok(Err(error)) => Finding::broken("embedding", format!("{name} cannot be used"), error.to_string()),
        Err(_) => Finding::broken(
            "embedding",
            format!("{name} did not answer within {} s", MODEL_TIMEOUT.as_secs()),
            "check memory.embedding.host and the network",
        ),
    })
}

/// Checks the setup of transcription, if configured. A real request would need a recording, so none is made.
fn transcription(prepared: &Prepared) -> Option<Finding> {
    let transcriber = wiring::transcription::service(&prepared.config)?;
    let name = transcriber.model();
    Some(match transcriber.readiness() {
        Readiness::NotConfigured(hint) => {
            Finding::broken("transcription", format!("{name} is not set up"), hint)
        }
        Readiness::Ready => Finding::ok("transcription", format!("{name} is set up; not tested")),
    })
}
