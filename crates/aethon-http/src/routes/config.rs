//! `/api/config`: the configuration with secrets masked, its schema, and changes of it.
//!
//! A change that loosens protection is accepted only with the token shown once more, in `X-Aethon-Confirm`, so that a page
//! left open or a copied cookie does not open the house. Without a token anybody who reaches the port could do it, so then
//! such a change belongs in the terminal.

use std::sync::Arc;
use std::time::Instant;

use aethon_core::service::{ConfigEdit, ConfigEdited, ConfigKey, ConfigRefusal, UnconfirmedChange};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::audit_notes::AuditNotes;
use crate::auth::{Confirmation, TokenAuth};
use crate::deps::Setup;
use crate::error::Problem;
use crate::limits::Attempts;
use crate::precondition::{self, Present};
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// `GET /api/config`: nested objects with every secret replaced by `***`, as they are in force, and the version of the
/// file.
pub(super) async fn dump(setup: Setup, _request: Request) -> HandlerResult {
    let version = setup.config.on_file().await?.version;
    precondition::json(&setup.config.dump(), &version)
}

/// `GET /api/config/schema`: the JSON Schema of the file.
pub(super) fn schema(setup: Setup, _request: &Request) -> HandlerResult {
    response::json(&setup.config.schema())
}

/// The keys of the configuration.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ConfigKeys")]
pub(super) struct Keys {
    keys: Vec<ConfigKey>,
}

/// `GET /api/config/origins`: each key with its value and where the value came from.
pub(super) async fn origins(setup: Setup, _request: Request) -> HandlerResult {
    response::json(&Keys { keys: setup.config.keys().await? })
}

/// `POST /api/config/reload`: reads the file again and applies what can change at run time. A file that cannot be used is 422,
/// and changes nothing.
pub(super) async fn reload(setup: Setup, _request: Request) -> HandlerResult {
    response::json(&setup.config.reload().await?)
}

/// How the configuration is changed.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Editing {
    /// Whether it is only told what would change.
    dry_run: bool,
}

/// The header that confirms a change, read by the check of the token.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it has a schema only")]
pub(super) struct Confirm {
    /// The access token once more, for a change that loosens protection.
    #[schemars(rename = "X-Aethon-Confirm")]
    token: Option<String>,
}

/// What changing the configuration needs besides the configuration.
pub(super) type Confirming = (Arc<TokenAuth>, AuditNotes, Arc<Attempts>);

/// `PATCH /api/config {KEY: VALUE, ...}`: changes keys in the file and applies what can change at run time. Null
/// removes a key. With `?dry_run=true` it only reports what would change. Secrets are refused.
pub(super) async fn edit((setup, confirming): (Setup, Confirming), mut request: Request) -> HandlerResult {
    let Editing { dry_run: is_dry_run } = request.queried()?;
    let Value::Object(changes) = crate::request::parse(&request.read().await?)? else {
        return Err(Problem::invalid("body", "must be a JSON object of keys and values"));
    };
    if changes.is_empty() {
        return Err(Problem::invalid("body", "must name at least one key"));
    }
    let by = format!("the dashboard or the API, from {}", request.client.shown());
    let expected = precondition::expected(&request.head.headers);
    let edit = ConfigEdit { changes, is_dry_run, is_confirmed: false, expected, by };
    let edited = match setup.config.edit(edit.clone()).await {
        Err(ConfigRefusal::Unconfirmed(change)) => {
            let UnconfirmedChange { keys, change } = *change;
            confirm(&confirming, &request, &keys, is_dry_run.then_some(&change))?;
            setup.config.edit(ConfigEdit { is_confirmed: true, ..edit }).await
        }
        edited => edited,
    };
    match edited {
        Ok(edited) => precondition::json(&edited, &edited.version),
        Err(ConfigRefusal::Failed(error)) if error.is_changed_elsewhere() => {
            let present = setup.config.on_file().await?;
            Err(precondition::changed_elsewhere(Present::new(&present.config, present.version)))
        }
        Err(refusal) => Err(refused(refusal)),
    }
}

/// Refuses a change of these keys unless the request confirms it. A refused dry run, which is the one with a preview, adds no row
/// to the audit log, because it was no attempt to change anything; its answer lists the changes that the request would make.
pub(super) fn confirm(
    (auth, notes, attempts): &Confirming,
    request: &Request,
    keys: &[String],
    preview: Option<&ConfigEdited>,
) -> Result<(), Problem> {
    let address = request.client.address;
    let (code, detail) = match auth.confirmation(&request.head.headers) {
        Confirmation::Given => return Ok(()),
        Confirmation::Impossible => ("terminal_only", only_in_terminal(keys)),
        Confirmation::Missing => (
            "confirm_required",
            "this loosens protection, or says where keys are sent or which programs run: show the access token once \
             more, in the header X-Aethon-Confirm"
                .to_owned(),
        ),
        Confirmation::Wrong => {
            let strike = attempts.count(address, Instant::now()).map_err(Problem::too_many_attempts)?;
            notes.wrong_token(strike, address);
            ("confirm_required", "the token in X-Aethon-Confirm is wrong".to_owned())
        }
    };
    let problem = Problem::new(StatusCode::FORBIDDEN, code, detail).with_member("keys", json!(keys));
    Err(match preview {
        Some(change) => problem.with_member("change", json!(change)),
        None => {
            notes.unconfirmed(keys, code, address);
            problem
        }
    })
}

fn only_in_terminal(keys: &[String]) -> String {
    let commands: Vec<String> =
        keys.iter().map(|key| format!("`aethon-cli config set {key} VALUE`")).collect();
    format!(
        "this loosens protection, or says where keys are sent or which programs run, and without an access token \
         (dashboard.auth_token) anybody on this machine could do it here: use the terminal, {}",
        commands.join(" and ")
    )
}

fn refused(refusal: ConfigRefusal) -> Problem {
    match refusal {
        ConfigRefusal::Keys(faults) => Problem::invalid_fields(faults),
        ConfigRefusal::Failed(error) => Problem::from(error),
        // The file has changed between the two looks at it.
        ConfigRefusal::Unconfirmed(_) => Problem::new(
            StatusCode::CONFLICT,
            "changed_elsewhere",
            "the file was changed meanwhile; try again",
        ),
    }
}
