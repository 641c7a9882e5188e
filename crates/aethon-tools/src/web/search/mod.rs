//! `web_search`: pages that match words, found by a service that the owner has chosen. Each service is a file: how it is asked,
//! and what its answer means.

mod brave;
mod engine;
mod engines;
mod searxng;
mod tavily;
mod tool;

pub(crate) use tool::WebSearch;
