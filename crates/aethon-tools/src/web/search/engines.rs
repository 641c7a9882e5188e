//! The supported services.

use super::engine::SearchEngine;
use super::{brave, searxng, tavily};
use crate::web::options::SearchService;

/// Returns the engine for a service.
pub(super) fn engine(service: SearchService) -> Box<dyn SearchEngine> {
    match service {
        SearchService::SearXng => Box::new(searxng::SearXng),
        SearchService::Brave => Box::new(brave::Brave),
        SearchService::Tavily => Box::new(tavily::Tavily),
    }
}
