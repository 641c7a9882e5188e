//! `jsonrpc`: calls a method over HTTP with JSON-RPC 2.0.

use std::sync::Arc;

use aethon_core::ids::unique;
use aethon_core::tool::{ArgumentRole, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::call_timeout;
use super::client::WebClient;
use super::json::{JsonRequest, pretty};
use super::target::Target;

/// Calls methods.
pub(crate) struct JsonRpc {
    spec: ToolSpec,
    client: Arc<WebClient>,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The address of the endpoint, beginning with https:// or http://.
    url: String,
    /// The name of the method.
    method: String,
    /// The parameters by name. For parameters by position use the positions as names, from "0" on. Leave it out for a method
    /// without parameters.
    #[serde(default)]
    #[schemars(with = "Option<Map<String, Value>>")]
    params: Value,
}

impl JsonRpc {
    pub(super) fn new(client: Arc<WebClient>) -> Self {
        let spec = ToolSpec::of::<Arguments>(
            "jsonrpc",
            "Calls a method of a JSON-RPC 2.0 service over HTTP and returns its result. The call may change something there: \
             know the service before you use it.",
        )
        .with_role("url", ArgumentRole::Url)
        .with_untrusted_output()
        .with_timeout(call_timeout(&client));
        Self { spec, client }
    }
}

#[async_trait]
impl Tool for JsonRpc {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = self.spec.parse(input)?;
        let target =
            Target::parse(&arguments.url).map_err(|refusal| ToolError::denied(refusal.to_string()))?;
        if arguments.method.trim().is_empty() {
            return Err(ToolError::failed("`method` is empty; name the method to call"));
        }
        let id = unique();
        let mut call = json!({"jsonrpc": "2.0", "id": id, "method": arguments.method});
        if let Some(params) = params(arguments.params)? {
            call["params"] = params;
        }
        let request = JsonRequest::post(target, &call);
        let (status, answer) = request.send(&self.client, context.trust()).await?;
        outcome(answer, &id, status)
    }
}

/// Converts the parameters to the form in which they are sent.
fn params(given: Value) -> Result<Option<Value>, ToolError> {
    match given {
        Value::Null => Ok(None),
        Value::Array(_) => Ok(Some(given)),
        Value::Object(fields) => {
            let positions: Option<Vec<Value>> =
                (0..fields.len()).map(|place| fields.get(&place.to_string()).cloned()).collect();
            Ok(Some(match positions {
                Some(positions) if !positions.is_empty() => Value::Array(positions),
                _ => Value::Object(fields),
            }))
        }
        _ => Err(ToolError::failed("`params` must be an object or a list")),
    }
}

/// Returns the result of the service's answer.
fn outcome(answer: Value, id: &str, status: u16) -> Result<ToolOutput, ToolError> {
    let Value::Object(mut answer) = answer else {
        return Err(ToolError::failed("the service answered something that is no JSON-RPC response"));
    };
    if let Some(error) = answer.remove("error").filter(|error| !error.is_null()) {
        return Err(ToolError::failed(describe_error(&error)));
    }
    let is_ours = answer.get("id").and_then(Value::as_str) == Some(id);
    match answer.remove("result") {
        Some(result) if is_ours => Ok(ToolOutput::text(pretty(&result))),
        Some(_) => {
            Err(ToolError::failed("the service answered another call than this one (its `id` differs)"))
        }
        None => Err(ToolError::failed(format!(
            "the service answered without a result and without an error (HTTP {status}):\n{}",
            pretty(&Value::Object(answer))
        ))),
    }
}

fn describe_error(error: &Value) -> String {
    let code = error.get("code").map(Value::to_string).unwrap_or_default();
    let message = error.get("message").and_then(Value::as_str).unwrap_or("no message");
    let data = error.get("data").map(|data| format!("\n{}", pretty(data))).unwrap_or_default();
    format!("the method failed with error {code}: {message}{data}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_go_by_name_or_by_position() {
        let check = |given: Value, expected: Option<Value>| assert_eq!(params(given).unwrap(), expected);
        check(Value::Null, None);
        check(json!({"a": 1}), Some(json!({"a": 1})));
        check(json!([1, 2]), Some(json!([1, 2])));
        check(json!({"1": "b", "0": "a"}), Some(json!(["a", "b"])));
        check(json!({"0": "a", "2": "b"}), Some(json!({"0": "a", "2": "b"})));
        check(json!({}), Some(json!({})));
        assert!(params(json!("a")).is_err());
    }

    #[test]
    fn an_answer_is_a_result_or_an_error_of_this_call() {
        let check = |answer: Value, expected: Result<&str, &str>| match (outcome(answer, "7", 200), expected)
        {
            (Ok(output), Ok(text)) => assert_eq!(output.to_text(), text),
            (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
            (got, expected) => panic!("{got:?}, not {expected:?}"),
        };
        check(json!({"jsonrpc": "2.0", "id": "7", "result": 19}), Ok("19"));
        check(json!({"jsonrpc": "2.0", "id": "7", "result": null}), Ok("null"));
        check(json!({"jsonrpc": "2.0", "id": "8", "result": 19}), Err("`id` differs"));
        let error = json!({"code": -32601, "message": "Method not found", "data": {"hint": "sum"}});
        check(json!({"jsonrpc": "2.0", "id": "7", "error": error}), Err("-32601: Method not found\n{"));
        check(
            json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "x"}}),
            Err("-32700"),
        );
        check(json!({"jsonrpc": "2.0", "id": "7"}), Err("without a result"));
        check(json!([1]), Err("no JSON-RPC"));
    }
}
