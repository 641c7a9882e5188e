//! `current_time`: date and time, here or elsewhere. A tool, because the system prompt must stay constant.

use std::sync::Arc;

use aethon_core::clock::Clock;
use aethon_core::tool::{ArgumentRole, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use aethon_core::turn::Trust;
use async_trait::async_trait;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// Tells the time.
pub(super) struct CurrentTime {
    spec: ToolSpec,
    clock: Arc<dyn Clock>,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// IANA name of the time zone, such as Europe/Berlin. Leave it out for the zone of this machine.
    timezone: Option<String>,
}

impl CurrentTime {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        let spec = ToolSpec::of::<Arguments>(
            "current_time",
            "Tells the current date, weekday and time with the offset from UTC.",
        )
        .with_role("timezone", ArgumentRole::Text)
        .reading_only()
        .open_to(Trust::Guest);
        Self { spec, clock }
    }
}

#[async_trait]
impl Tool for CurrentTime {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, _context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = self.spec.parse(input)?;
        let zone = match arguments.timezone.as_deref().map(str::trim) {
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
