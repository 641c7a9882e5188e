//! `current_time`: the date and time, here or elsewhere. A tool, because the system prompt must not change by itself.

use std::sync::Arc;

use aethon_core::clock::Clock;
use aethon_core::tool::{ArgumentRole, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use async_trait::async_trait;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

/// Tells the time.
pub(crate) struct CurrentTime {
    spec: ToolSpec,
    clock: Arc<dyn Clock>,
}

impl CurrentTime {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let spec = ToolSpec {
            name: "current_time".into(),
            description: "The current date, weekday and time with the UTC offset.".into(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "timezone": {
                        "type": "string",
                        "description": "IANA name such as Europe/Berlin; the machine's own zone when absent"
                    }
                },
                "additionalProperties": false
            }),
            roles: [("timezone".to_owned(), ArgumentRole::Text)].into(),
            untrusted_output: false,
            timeout: None,
        };
        Self { spec, clock }
    }
}

#[async_trait]
impl Tool for CurrentTime {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, _context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let zone = match input.get("timezone").and_then(Value::as_str).map(str::trim) {
            None | Some("") => TimeZone::system(),
            Some(name) => TimeZone::get(name).map_err(|_| {
                ToolError::failed(format!(
                    "{name:?} is no known time zone; use an IANA name such as Europe/Berlin"
                ))
            })?,
        };
        let now = self.clock.now().to_zoned(zone);
        let name = now.time_zone().iana_name().unwrap_or("local time");
        let told = now.strftime("%A, %Y-%m-%d, %H:%M:%S");
        let offset = now.strftime("%:z");
        Ok(ToolOutput::text(format!("{told} ({name}, UTC{offset})")))
    }
}
