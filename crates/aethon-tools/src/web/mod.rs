//! The web: what tools fetch, search and call there, through one exit.
//!
//! Every request goes through `client`: `target` validates its URL, `connect` resolves the host and has every address
//! judged by `rules` before it connects, `body` reads the response within limits. `fetch`, `search`, `jsonrpc` and
//! `github` are the tools, and `outside` is the exit for other parts of the program. The tools' results are untrusted text, and their descriptions mark it as such.

mod address;
mod body;
mod charset;
mod client;
mod connect;
mod failure;
mod fetch;
mod github;
mod html;
mod json;
mod jsonrpc;
mod options;
mod outside;
mod page;
mod refusal;
mod rules;
mod search;
mod target;
#[cfg(test)]
mod tests;
mod web_tools;

pub use self::options::{GitHubOptions, Names, SearchOptions, SearchService, WebOptions};
pub use self::outside::outside;
pub(crate) use self::web_tools::web_tools;
use self::web_tools::{call_timeout, with_query};
