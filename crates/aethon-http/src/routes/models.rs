//! `/api/models`: the models that a conversation or a message may choose, and the set-up of the first one.

use std::sync::Arc;

use aethon_core::model::Readiness;
use aethon_core::model_choice::OfferedModel;
use aethon_core::model_setup::{ModelSetup, ModelSetupRefusal, ModelWish};
use aethon_core::secret::Secret;
use http::StatusCode;
use serde::Serialize;

use crate::app::About;
use crate::auth::TokenCheck;
use crate::deps::{Chat, Setup};
use crate::error::Problem;
use crate::fields::Fields;
use crate::request::Request;
use crate::response::{self, HandlerResult};

#[derive(Serialize)]
struct Offer {
    models: Vec<OfferedModel>,
    /// The id of the configured model.
    current: String,
}

/// `GET /api/models?q&limit`: those whose id or name contains all words of `q`, in any case.
pub(super) async fn list(chat: Chat, request: Request) -> HandlerResult {
    let limit = request.number("limit", 200, 1..=2_000)?;
    let wanted = request.query("q").unwrap_or_default().to_lowercase();
    let words: Vec<&str> = wanted.split_whitespace().collect();
    let is_meant = |model: &OfferedModel| {
        let names =
            format!("{} {} {} {}", model.id, model.name, model.model_id, model.provider).to_lowercase();
        words.iter().all(|word| names.contains(word))
    };
    let offered = chat.choices.offered().await;
    let models = offered.into_iter().filter(is_meant).take(limit).collect();
    response::json(&Offer { models, current: chat.choices.current() })
}

#[derive(Serialize)]
struct Listed {
    models: Vec<String>,
}

#[derive(Serialize)]
struct SetUp {
    provider: String,
    model: String,
    first_token_ms: Option<u64>,
    warnings: Vec<String>,
}

/// `POST /api/models/offered {provider, host?, region?, key?}`: the models of a service that is not set up yet.
pub(super) async fn offered((setup, about): (Setup, About), mut request: Request) -> HandlerResult {
    let first_model = open(&setup, about, &request)?;
    let wish = wish(&mut request).await?;
    response::json(&Listed { models: first_model.models(&wish).await.map_err(refused)? })
}

/// `POST /api/models/setup {provider, host?, region?, model_id?, key?}`: tries the first model, and puts it in force if it
/// answers.
pub(super) async fn set_up((setup, about): (Setup, About), mut request: Request) -> HandlerResult {
    let first_model = open(&setup, about, &request)?;
    let wish = wish(&mut request).await?;
    let by = format!("the set-up of the first model, from {}", request.client.shown());
    // A person who closes the page must not leave a key without its configuration.
    let done = tokio::spawn(async move { first_model.set_up(&wish, &by).await }).await;
    let done = done.map_err(|_| Problem::internal())?.map_err(refused)?;
    response::json(&SetUp {
        provider: done.provider,
        model: done.model,
        first_token_ms: done.first_token.and_then(|time| time.as_millis().try_into().ok()),
        warnings: done.warnings,
    })
}

/// Returns what sets up a model, if there is none and this client may do it. Where no token says who the owner is, only
/// this machine may; once a model is there, its key is never sent anywhere else from here.
fn open(setup: &Setup, about: About, request: &Request) -> Result<Arc<dyn ModelSetup>, Problem> {
    let is_ready = !about.is_demo && setup.provider.readiness() == Readiness::Ready;
    let Some(first_model) = setup.first_model.clone().filter(|_| !is_ready) else {
        let why = "a model is set up already: change model.provider and its keys in the configuration";
        return Err(Problem::new(StatusCode::CONFLICT, "model_ready", why));
    };
    if request.token == TokenCheck::Open && !request.client.is_local() {
        let why = "without an access token (dashboard.auth_token) only this machine may set up the model: \
                   use the terminal, `aethon-cli init`";
        return Err(Problem::new(StatusCode::FORBIDDEN, "terminal_only", why));
    }
    Ok(first_model)
}

async fn wish(request: &mut Request) -> Result<ModelWish, Problem> {
    let mut fields = Fields::parse(&request.read().await?)?;
    let provider = fields.required_text("provider")?;
    let mut text = |name| Ok::<_, Problem>(fields.text(name)?.unwrap_or_default().trim().to_owned());
    Ok(ModelWish {
        provider,
        host: text("host")?,
        region: text("region")?,
        model_id: text("model_id")?,
        key: Secret::new(text("key")?),
    })
}

fn refused(refusal: ModelSetupRefusal) -> Problem {
    match refusal {
        ModelSetupRefusal::Field(field, why) => Problem::invalid(field, why),
        ModelSetupRefusal::Failed(error) if error.is_changed_elsewhere() => Problem::new(
            StatusCode::CONFLICT,
            "changed_elsewhere",
            "the configuration was changed meanwhile; try again",
        ),
        ModelSetupRefusal::Failed(error) => error.into(),
    }
}
