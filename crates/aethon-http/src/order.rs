//! The order that a request wants of a list: `?sort=FIELD&order=asc|desc`.
//!
//! The fields have the names that they have in the list. A list has an order of its own, which applies without `sort`.

use aethon_core::error::Error;
use aethon_core::order::{Order, SortField};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::Problem;

/// The parameters that say how a list is sorted.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(default, bound = "Field: DeserializeOwned")]
pub(crate) struct Sorting<Field> {
    /// The field that decides.
    sort: Option<Field>,
    /// Whether the smallest value comes first, or the largest.
    order: Option<Direction>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Direction {
    Asc,
    Desc,
}

impl<Field> Default for Sorting<Field> {
    fn default() -> Self {
        Self { sort: None, order: None }
    }
}

impl<Field: SortField> Sorting<Field> {
    /// Returns the wanted order, or what the list does without one.
    pub(crate) fn or(self, usual: Order<Field>) -> Order<Field> {
        let is_descending = self.order.map(|order| order == Direction::Desc);
        match self.sort {
            None => Order { is_descending: is_descending.unwrap_or(usual.is_descending), ..usual },
            Some(by) => Order { by, is_descending: is_descending.unwrap_or(false) },
        }
    }
}

/// Blames an invalid request on its cursor, if it has one.
pub(crate) fn about_cursor(error: Error, cursor: Option<&str>) -> Problem {
    match cursor {
        Some(_) if error.is_invalid() => {
            Problem::invalid("cursor", "is not one that this listing gave out in this order")
        }
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aethon_core::testkit::MemoryStore;
    use serde_json::{Value, json};

    use crate::service::tests::TestApp;

    const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

    #[tokio::test]
    async fn a_list_is_sorted_as_wanted_over_all_pages() {
        let app = TestApp::remembering(Arc::new(MemoryStore::default()));
        for (content, category) in [("pears", "b"), ("Apples", "c"), ("bread", "a")] {
            let memory = json!({"content": content, "category": category}).to_string();
            assert_eq!(app.send("POST", "/api/memory", &JSON, &memory).await.status, 201);
        }
        let check = async |query: &str, expected: [&str; 3]| {
            let (mut seen, mut cursor) = (Vec::new(), String::new());
            loop {
                let page = app.get(&format!("/api/memory?limit=2&{query}{cursor}"), &[]).await.json();
                let entries = page["entries"].as_array().unwrap_or_else(|| panic!("{query}: {page}"));
                seen.extend(entries.iter().map(|entry| entry["content"].as_str().unwrap().to_owned()));
                assert_eq!(page["count"], 3);
                let Value::String(next) = &page["next_cursor"] else { break };
                cursor = format!("&cursor={next}");
            }
            assert_eq!(seen, expected, "{query}");
        };
        check("sort=content", ["Apples", "bread", "pears"]).await;
        check("sort=content&order=desc", ["pears", "bread", "Apples"]).await;
        check("sort=category", ["bread", "pears", "Apples"]).await;
        check("sort=created_at&order=asc", ["pears", "Apples", "bread"]).await;
        check("order=asc", ["pears", "Apples", "bread"]).await;
        check("", ["bread", "Apples", "pears"]).await;
    }

    #[tokio::test]
    async fn an_unknown_order_is_refused_with_what_is_known() {
        let app = TestApp::remembering(Arc::new(MemoryStore::default()));
        let check = async |target: &str, field: &str, words: &[&str]| {
            let seen = app.get(target, &[]).await;
            assert_eq!(seen.status, 422, "{target}");
            let problem = seen.json();
            assert_eq!(problem["errors"][0]["field"], field, "{target}: {problem}");
            for word in words {
                assert!(problem["detail"].as_str().unwrap().contains(word), "{target}: {problem}");
            }
        };
        check("/api/sessions?sort=colour", "sort", &["updated_at", "title", "message_count"]).await;
        check("/api/memory?sort=score", "sort", &["content", "category"]).await;
        check("/api/scheduler/jobs?sort=cron", "sort", &["job_id", "next_run"]).await;
        check("/api/sessions/recordings?sort=x", "sort", &["started_at", "size"]).await;
        check("/api/sop-runs?sort=x", "sort", &["sop_name", "cost_usd"]).await;
        check("/api/sop-runs?state=asleep", "state", &["running", "failed"]).await;
        check("/api/memory?order=up", "order", &["asc or desc"]).await;
        check("/api/scheduler?enabled=perhaps", "enabled", &["true or false"]).await;
        for list in ["memory", "sop-runs"] {
            check(&format!("/api/{list}?sort=updated_at&cursor=7b"), "cursor", &["this order"]).await;
        }
    }
}
