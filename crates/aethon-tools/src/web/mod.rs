//! The web: what tools fetch, search and call there, and the one way in which they get out.
//!
//! Every request goes through `client`: its address is read by `target`, its host looked up and every address judged by
//! `rules` where the connection is made (`connect`), its answer read within bounds (`body`). `fetch`, `search`, `jsonrpc` and
//! `github` are the tools. What they return is a stranger's text, and marked as such by their descriptions.

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
mod page;
mod pdf;
mod refusal;
mod rules;
mod search;
mod target;
#[cfg(test)]
mod tests;
mod web_tools;

pub use self::options::{GitHubOptions, Names, SearchOptions, SearchService, WebOptions};
pub(crate) use self::web_tools::web_tools;
use self::web_tools::{call_timeout, with_query};
