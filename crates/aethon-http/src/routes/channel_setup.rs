//! `/api/channels/{name}/test` and `/setup`: a messenger is tried and set up from the page.
//!
//! Turning a messenger on opens a way in, so it takes the token once more, as in `/api/config`. Without a token only this machine may
//! ask a platform, and the set-up itself belongs in the terminal.

use std::collections::BTreeMap;

use aethon_core::channel_setup::{ChannelCheck, ChannelSetupRefusal, ChannelWish};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::config::{Confirming, confirm};
use crate::auth::TokenCheck;
use crate::deps::Setup;
use crate::error::Problem;
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// The longest value of a setting.
const MAX_VALUE: usize = 4096;

/// How many people can be let in at once.
const MAX_PEOPLE: usize = 100;

/// What a person has typed for a messenger.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ChannelWish")]
pub(super) struct Wish {
    /// Keys of its section of the configuration with their texts, secrets among them. An empty one stays as it is.
    settings: Option<Map<String, Value>>,
    /// Ids of people who may write, besides those who may already.
    allowed: Option<Vec<String>>,
}

/// What the platform said.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ChannelTested")]
pub(super) struct Tested<'a> {
    name: &'a str,
    ok: bool,
    checks: Vec<ChannelCheck>,
    /// How a set-up is confirmed here.
    #[schemars(extend("enum" = ["token", "terminal"]))]
    saved_by: &'static str,
}

/// The messenger that was set up.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ChannelSetUp")]
pub(super) struct Done<'a> {
    name: &'a str,
    /// What the platform said.
    checks: Vec<ChannelCheck>,
    /// Keys that count after a restart.
    needs_restart: Vec<String>,
    /// Things worth knowing.
    warnings: Vec<String>,
}

/// `POST /api/channels/{name}/test {settings?}`.
pub(super) async fn test(setup: Setup, mut request: Request) -> HandlerResult {
    let is_open = request.token == TokenCheck::Open;
    if is_open && !request.client.is_local() {
        let why = "without an access token (dashboard.auth_token) only this machine may try a messenger: use the terminal, \
                   `aethon-cli channels test`";
        return Err(Problem::new(StatusCode::FORBIDDEN, "terminal_only", why));
    }
    let wish = wish(&mut request).await?;
    let checks = setup.channel_setup.test(&wish).await.map_err(refused)?;
    response::json(&Tested {
        name: &wish.name,
        ok: checks.iter().all(|check| check.ok),
        checks,
        saved_by: if is_open { "terminal" } else { "token" },
    })
}

/// `POST /api/channels/{name}/setup {settings?, allowed?}`.
pub(super) async fn set_up((setup, confirming): (Setup, Confirming), mut request: Request) -> HandlerResult {
    let wish = wish(&mut request).await?;
    confirm(&confirming, &request, &keys(&wish), None)?;
    let by = format!("the set-up of {}, from {}", wish.name, request.client.shown());
    let (asked, parts) = (wish.clone(), setup.channel_setup.clone());
    // A person who closes the page must not leave a secret without its configuration.
    let done = tokio::spawn(async move { parts.set_up(&asked, &by).await }).await;
    let done = done.map_err(|_| Problem::internal())?.map_err(refused)?;
    response::json(&Done {
        name: &wish.name,
        checks: done.checks,
        needs_restart: done.needs_restart,
        warnings: done.warnings,
    })
}

/// The keys of the configuration that a set-up changes.
fn keys(wish: &ChannelWish) -> Vec<String> {
    let section = format!("channels.{}", wish.name);
    let settings = wish.settings.keys().map(|key| format!("{section}.{key}"));
    let people = (!wish.allowed.is_empty()).then(|| format!("security.allowed_senders.{}", wish.name));
    settings.chain(people).chain([format!("{section}.enabled")]).collect()
}

async fn wish(request: &mut Request) -> Result<ChannelWish, Problem> {
    let name: String = request.params.get("name").unwrap_or_default();
    let Wish { settings: given, allowed } = request.sent().await?;
    let mut settings = BTreeMap::new();
    for (key, value) in given.into_iter().flatten() {
        let Some(text) = value.as_str().map(str::trim) else {
            return Err(Problem::invalid(key, "must be text"));
        };
        if text.len() > MAX_VALUE {
            return Err(Problem::invalid(key, format!("must be at most {MAX_VALUE} bytes")));
        }
        // What is left empty stays as it is.
        if !text.is_empty() {
            settings.insert(key, json!(text));
        }
    }
    Ok(ChannelWish { name, settings, allowed: people(&allowed.unwrap_or_default())? })
}

fn people(given: &[String]) -> Result<Vec<String>, Problem> {
    if given.len() > MAX_PEOPLE {
        return Err(Problem::invalid("allowed", format!("must be a list of at most {MAX_PEOPLE} ids")));
    }
    let ids = given.iter().map(|id| id.trim().to_owned());
    Ok(ids.filter(|id| !id.is_empty() && id.len() <= MAX_VALUE).collect())
}

fn refused(refusal: ChannelSetupRefusal) -> Problem {
    match refusal {
        ChannelSetupRefusal::Unknown => Problem::not_found("there is no messenger of this name"),
        ChannelSetupRefusal::Field(field, why) => Problem::invalid(field, why),
        ChannelSetupRefusal::Checks(checks) => {
            let first = checks.iter().find(|check| !check.ok).map(|check| check.detail.clone());
            let why = first.unwrap_or_else(|| "the platform refuses it".to_owned());
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "channel_refused", why)
                .with_member("checks", json!(checks))
        }
        ChannelSetupRefusal::Failed(error) if error.is_changed_elsewhere() => Problem::new(
            StatusCode::CONFLICT,
            "changed_elsewhere",
            "the configuration was changed meanwhile; try again",
        ),
        ChannelSetupRefusal::Failed(error) => error.into(),
    }
}
