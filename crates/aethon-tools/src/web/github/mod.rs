//! `github`: GitHub's GraphQL interface with the owner's token. Reading just runs; what changes something waits for a person.

mod document;
mod tool;

pub(crate) use tool::GitHub;
