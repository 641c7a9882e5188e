//! The problem documents that have further members, as the OpenAPI document describes them.
//!
//! The members are added where the problem arises (`Problem::with_member`), so these types are never made.

use aethon_core::service::ConfigEdited;
use schemars::JsonSchema;
use serde_json::Value;

use crate::error::Document;

/// A failure of a change that was meant for another version.
#[derive(JsonSchema)]
#[schemars(rename = "ChangedProblem")]
#[allow(dead_code, reason = "it has a schema only")]
pub(crate) struct Changed {
    #[serde(flatten)]
    problem: Document<'static>,
    /// What is there now, as its own address shows it; null if it is gone.
    current: Option<Value>,
}

/// A refusal of a change that loosens protection, until it is confirmed.
#[derive(JsonSchema)]
#[schemars(rename = "UnconfirmedProblem")]
#[allow(dead_code, reason = "it has a schema only")]
pub(crate) struct Unconfirmed {
    #[serde(flatten)]
    problem: Document<'static>,
    /// The keys that loosen it.
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<Vec<String>>,
    /// What would change, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<ConfigEdited>,
}
