//! Failures of a service, put into classes and into one sentence for a person.
//!
//! `report` reads what a service says about a failure, in whichever of the common shapes; `kind` decides the class;
//! `sentence` says what happened and what to do; `wait` reads how long the service asks to be left alone; `hint` reads
//! what a refusal gives away about the model. The key is in none of it.

pub(crate) mod hint;
mod kind;
mod report;
mod sentence;
#[cfg(test)]
mod tests;
mod verdict;
mod wait;

pub(crate) use report::Report;
pub(crate) use verdict::{body_failure, failure, malformed, reported, status};
