//! The catalogue that is part of the program: `data/models.json`, made by `cargo xtask catalog`.
//!
//! It stays text. A look-up goes over the beginnings of its lines and parses the one row it wants, so that a start costs
//! nothing for the hundreds of models that nobody uses.

use super::facts::ModelFacts;
use super::line::{Row, SPEECH};
use super::query::{Fit, Query};

const TEXT: &str = include_str!("../../data/models.json");

/// Where the table came from, as `data/VERSION` says: the name and version of the package.
pub(super) const SOURCE: &str = include_str!("../../data/VERSION");

/// A row that is not parsed yet.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) vendor: &'a str,
    pub(super) name: &'a str,
    row: &'a str,
}

impl<'a> Line<'a> {
    /// `"VENDOR/NAME":{…},`; nothing for the braces around all of them.
    fn of(text: &'a str) -> Option<Self> {
        let (id, row) = text.strip_prefix('"')?.split_once("\":")?;
        let (vendor, name) = id.split_once('/')?;
        Some(Self { vendor, name, row: row.trim_end_matches(',') })
    }

    pub(super) fn facts(&self) -> Option<ModelFacts> {
        serde_json::from_str::<Row>(self.row).ok().map(|row| row.facts())
    }
}

/// Every row of a model that answers or makes vectors, in the order of their ids.
pub(super) fn lines() -> impl Iterator<Item = Line<'static>> {
    TEXT.lines().filter_map(Line::of).filter(|line| !line.row.starts_with(SPEECH))
}

/// Every row of a model that writes down speech.
fn speech() -> impl Iterator<Item = Line<'static>> {
    TEXT.lines().filter_map(Line::of).filter(|line| line.row.starts_with(SPEECH))
}

/// The row of a model that writes down speech, in its vendor's own list.
pub(super) fn find_speech(query: &Query) -> Option<(Fit, ModelFacts)> {
    let own = speech().filter_map(|line| Some((query.fit(Some(line.vendor), line.name)?, line)));
    let (fit, line) = own.min_by_key(|(fit, _)| *fit)?;
    line.facts().map(|facts| (fit, facts))
}

/// The row of a model and how well it fits.
pub(super) fn find(query: &Query) -> Option<(Fit, ModelFacts)> {
    let own = lines().filter_map(|line| Some((query.fit(Some(line.vendor), line.name)?, line)));
    let (fit, line) = own.min_by_key(|(fit, _)| *fit).or_else(|| {
        let others = lines().filter_map(|line| Some((query.distant_fit(line.name)?, line)));
        others.min_by_key(|(fit, _)| *fit)
    })?;
    line.facts().map(|facts| (fit, facts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_file_can_be_read_and_makes_sense() {
        let mut before = String::new();
        for line in lines() {
            let id = format!("{}/{}", line.vendor, line.name);
            let facts = line.facts().unwrap_or_else(|| panic!("{id}: {}", line.row));
            assert!(before < id, "{before} {id}");
            assert!(facts.max_output <= facts.context_window && facts.context_window > 0, "{id}");
            if let Some(price) = facts.price {
                assert!(
                    price.input >= 0.0 && price.cached_input.is_none_or(|usd| usd <= price.input),
                    "{id}"
                );
            }
            before = id;
        }
        for line in speech() {
            let facts = line.facts().unwrap_or_else(|| panic!("{}: {}", line.name, line.row));
            assert!(facts.price.is_some_and(|price| price.input > 0.0), "{}", line.name);
        }
        let count = lines().count() + speech().count();
        assert_eq!(count + 2, TEXT.lines().count(), "a line holds one model");
        let all: serde_json::Value = serde_json::from_str(TEXT).unwrap();
        assert_eq!(all.as_object().unwrap().len(), count);
    }

    #[test]
    fn the_file_is_small() {
        assert!(TEXT.len() < 150_000, "{} bytes", TEXT.len());
    }
}
