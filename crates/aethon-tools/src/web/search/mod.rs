//! `web_search`: finds pages by words, using a service that the owner has chosen. Each service is a file: how to query
//! it, and how to read its response.

mod brave;
mod engine;
mod engines;
mod searxng;
mod tavily;
mod tool;

pub(crate) use tool::WebSearch;
