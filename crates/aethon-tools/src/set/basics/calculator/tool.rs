//! `calculator` as a model sees it.

use aethon_core::tool::{ArgumentRole, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use aethon_core::turn::Trust;
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::expression::evaluate;

/// Evaluates expressions.
pub(crate) struct Calculator(ToolSpec);

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The sum, such as (1299 - 15%) * 1.19 or sqrt(2) + 2^10. It knows + - * / % ^ ! and parentheses, pi, e, and the functions
    /// abs, ceil, cos, exp, floor, ln, log, max, min, round, sin, sqrt and tan.
    expression: String,
}

impl Calculator {
    pub(crate) fn new() -> Self {
        let spec = ToolSpec::of::<Arguments>(
            "calculator",
            "Works out a sum. It is exact for whole numbers, decimals and fractions, and says so where it is not.",
        )
        .with_role("expression", ArgumentRole::Text)
        .reading_only()
        .open_to(Trust::Guest);
        Self(spec)
    }
}

#[async_trait]
impl Tool for Calculator {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, _context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let Arguments { expression } = self.0.parse(input)?;
        evaluate(&expression).map(|number| ToolOutput::text(number.to_string())).map_err(ToolError::failed)
    }
}
