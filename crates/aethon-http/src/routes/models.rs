//! `/api/models`: the models that a conversation or a message may choose, and the set-up of the first one.

use std::sync::Arc;

use aethon_core::model::Readiness;
use aethon_core::model_choice::OfferedModel;
use aethon_core::model_setup::{ModelSetup, ModelSetupRefusal, ModelWish};
use aethon_core::secret::Secret;
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::About;
use crate::auth::TokenCheck;
use crate::deps::{Chat, Setup};
use crate::error::Problem;
use crate::request::Request;
use crate::response::{self, HandlerResult};
use crate::typed::Limit;

/// The models that may be chosen.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ModelList")]
pub(super) struct Offer {
    models: Vec<OfferedModel>,
    /// The id of the configured model.
    current: String,
}

/// Which models are listed.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Listing {
    limit: Limit<200, 2_000>,
    /// Only those whose id or name contains all of these words.
    q: Option<String>,
}

/// The first model.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ModelWish")]
pub(super) struct Wish {
    /// The service, as in `model.provider`.
    #[schemars(length(min = 1))]
    provider: String,
    /// Its address, where it has none of its own.
    host: Option<String>,
    /// Its region, where it has some.
    region: Option<String>,
    /// The model.
    model_id: Option<String>,
    /// The key.
    key: Option<String>,
}

/// `GET /api/models?q&limit`: those whose id or name contains all words of `q`, in any case.
pub(super) async fn list(chat: Chat, request: Request) -> HandlerResult {
    let Listing { limit, q } = request.queried()?;
    let wanted = q.unwrap_or_default().to_lowercase();
    let words: Vec<&str> = wanted.split_whitespace().collect();
    let is_meant = |model: &OfferedModel| {
        let names =
            format!("{} {} {} {}", model.id, model.name, model.model_id, model.provider).to_lowercase();
        words.iter().all(|word| names.contains(word))
    };
    let offered = chat.choices.offered().await;
    let models = offered.into_iter().filter(is_meant).take(limit.get()).collect();
    response::json(&Offer { models, current: chat.choices.current() })
}

/// The models that a service offers.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ModelsOffered")]
pub(super) struct Listed {
    models: Vec<String>,
}

/// The model that is in force now.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ModelSetUp")]
pub(super) struct SetUp {
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
    let wish: Wish = request.sent().await?;
    let text = |text: Option<String>| text.unwrap_or_default().trim().to_owned();
    Ok(ModelWish {
        provider: wish.provider,
        host: text(wish.host),
        region: text(wish.region),
        model_id: text(wish.model_id),
        key: Secret::new(text(wish.key)),
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
