//! Documents about undelivered messages, for the API and the terminal.

use aethon_core::channel::{DeliveryPage, DeliveryRecord};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// How much of a text is shown, in characters.
const MAX_TEXT: usize = 500;

/// A list of deliveries.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Outbox")]
pub struct Deliveries {
    deliveries: Vec<ListedDelivery>,
    /// How many there are, including those not listed.
    count: u64,
}

/// One delivery.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Delivery")]
struct ListedDelivery {
    id: String,
    channel: String,
    recipient: Option<String>,
    #[schemars(with = "aethon_core::channel::DeliveryState")]
    state: &'static str,
    error: Option<String>,
    attempts: u32,
    session_id: String,
    text: String,
    #[serde(serialize_with = "aethon_core::time::serialize")]
    created_at: Timestamp,
    #[serde(serialize_with = "aethon_core::time::serialize")]
    expires_at: Timestamp,
    #[serde(serialize_with = "optional")]
    due_at: Option<Timestamp>,
}

impl Deliveries {
    /// Builds the list from these pages, newest first.
    pub fn of(pages: impl IntoIterator<Item = DeliveryPage>, limit: usize) -> Self {
        let (mut deliveries, mut count) = (Vec::new(), 0);
        for page in pages {
            deliveries.extend(page.deliveries);
            count += page.count;
        }
        deliveries.sort_by_key(|record| std::cmp::Reverse(record.delivery.id));
        deliveries.truncate(limit);
        Self { deliveries: deliveries.into_iter().map(ListedDelivery::of).collect(), count }
    }
}

impl ListedDelivery {
    fn of(record: DeliveryRecord) -> Self {
        let DeliveryRecord { delivery, state, error, created_at, due_at, .. } = record;
        let content = delivery.content;
        let text = match content.text.char_indices().nth(MAX_TEXT) {
            None => content.text,
            Some((end, _)) => format!("{}…", &content.text[..end]),
        };
        Self {
            id: delivery.id.to_string(),
            channel: content.channel,
            recipient: content.recipient,
            state: state.as_str(),
            error,
            attempts: delivery.attempts,
            session_id: delivery.session.as_str().to_owned(),
            text,
            created_at,
            expires_at: content.expires_at,
            due_at,
        }
    }
}

fn optional<S: Serializer>(moment: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match moment {
        Some(moment) => aethon_core::time::serialize(moment, serializer),
        None => serializer.serialize_none(),
    }
}
