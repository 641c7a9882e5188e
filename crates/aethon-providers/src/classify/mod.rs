//! Classifies failures of a service and describes each for a person.
//!
//! `report` extracts a service's account of a failure, in any of the common formats; `kind` decides the class;
//! `sentence` describes it with a remedy and the service's own words; `wait` reads how long the service asks to wait; `hint` reads what a
//! refusal reveals about the model, `refusal` what it teaches about the request, and `tool_refusal` which tool it names. The key never appears in any of it.

mod classification;
pub(crate) mod hint;
mod kind;
mod refusal;
mod report;
mod sentence;
#[cfg(test)]
mod tests;
pub(crate) mod tool_refusal;
mod wait;

pub(crate) use classification::{
    body_failure, failure, gave_up, malformed, reported, status, tools_need_responses, window_full,
};
pub(crate) use refusal::restrictions;
pub(crate) use report::Report;
