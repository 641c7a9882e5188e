//! `GET /api/models`: the models that a conversation or a message may choose.

use aethon_core::model_choice::OfferedModel;
use serde::Serialize;

use crate::deps::Chat;
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
