//! A question that a tool asks the person while it runs, such as that of an MCP server for the fields of a form.

use std::sync::Arc;

use serde_json::Value;

/// What is asked. It is shown and answered like a request for approval.
#[derive(Clone)]
pub struct Question {
    /// The question, in one line.
    pub summary: String,
    /// What the person should know to answer it.
    pub preview: Option<String>,
    /// The answer as it stands, which the person may change.
    pub input: Value,
    /// Where the answer goes.
    pub reason: String,
    /// Checks an answer that the person has changed; the error is a sentence for them.
    pub check: AnswerCheck,
}

/// Checks an answer.
pub type AnswerCheck = Arc<dyn Fn(&Value) -> Result<(), String> + Send + Sync>;

/// What came of a question.
#[derive(Debug, Clone, PartialEq)]
pub enum QuestionAnswer {
    /// The person agreed, with this answer.
    Accepted(Value),
    /// The person said no, or there is no person.
    Declined,
    /// The person did not answer in time.
    Unanswered,
}
