//! `github`: GitHub's GraphQL API with the owner's token. Queries run at once; mutations need a person's approval.

mod document;
mod tool;

pub(crate) use tool::GitHub;
