//! Tells the owner which places `security.allowed_paths` opens.

use std::path::{Path, PathBuf};

use super::homes::homes_of;
use super::paths::table;
use super::rule::PathRule;
use super::{is_within, lists};
use crate::options::Options;

/// The places of the tables that the owner has opened to tools and commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenedPlaces {
    /// Credentials, which can be read and written.
    pub credentials: Vec<PathBuf>,
    /// Start-up places, which can be written.
    pub start_up: Vec<PathBuf>,
    /// Names that no longer mark a file.
    pub names: Vec<String>,
}

/// Returns the places of the tables that these options open, as far as they exist.
pub fn opened_places(options: &Options) -> OpenedPlaces {
    let homes = homes_of(options);
    let allowed: Vec<PathRule> =
        options.places.allowed.iter().flat_map(|text| PathRule::parse(text, &homes)).collect();
    let is_opened = |place: &Path| {
        let mut opened = allowed.iter().filter_map(PathRule::path);
        opened.any(|allowed| is_within(place, allowed) || is_within(allowed, place))
    };
    let opened = |list: &[&str]| {
        let mut places = table(list, &homes, &options.places.variables);
        places.retain(|place| is_opened(place) && place.symlink_metadata().is_ok());
        places.sort();
        places.dedup();
        places
    };
    OpenedPlaces {
        credentials: opened(&lists::CREDENTIALS),
        start_up: opened(&lists::START_UP),
        names: allowed.iter().filter_map(PathRule::name).map(str::to_owned).collect(),
    }
}
