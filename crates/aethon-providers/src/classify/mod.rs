//! Failures of a service, put into classes and into one sentence for a person.
//!
//! `report` reads what a service says about a failure, in whichever of the common shapes; `kind` decides the class;
//! `sentence` says what happened and what to do; `wait` reads how long the service asks to be left alone; `hint` reads
//! what a refusal gives away about the model, `refusal` what it teaches about the request. The key is in none of it.

mod classification;
pub(crate) mod hint;
mod kind;
mod refusal;
mod report;
mod sentence;
#[cfg(test)]
mod tests;
mod wait;

pub(crate) use classification::{body_failure, failure, malformed, reported, status};
pub(crate) use refusal::lessons;
pub(crate) use report::Report;
