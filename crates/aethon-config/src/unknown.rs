//! Unknown keys: a slip that loses a convenience is a warning, one that may leave a protection off refuses the configuration.
//!
//! `[dashbord] auth_token = "..."` would start without a token if it were ignored. So where the nearest known key lies in a
//! section that protects the owner or their money, or where the unknown key stands in such a section itself, it is a problem
//! like a wrong value. So is any unknown key in a setting of an embedding program, where nobody reads a warning. A word that
//! resembles no key is no slip. The same goes for an environment variable that lacks the second underscore after its section: it
//! looks like a key and sets none.

use crate::hint;
use crate::json_schema::known_keys;
use crate::layers::{Layers, Origin, PREFIX, SEPARATOR};
use crate::path::{KeyPath, Step};
use crate::problem::{Problem, Warning};

/// The sections in which a key that is ignored may leave something unprotected.
const PROTECTING: [&str; 6] = ["approval", "budget", "dashboard", "household", "security", "webhook"];

/// The findings about the unknown keys of a configuration.
#[derive(Default)]
pub(crate) struct UnknownKeys {
    /// Those that refuse it.
    pub(crate) problems: Vec<Problem>,
    /// Those that are ignored.
    pub(crate) warnings: Vec<Warning>,
}

impl UnknownKeys {
    /// Judges the unknown keys among these layers.
    pub(crate) fn of(layers: &Layers, unknown: &[KeyPath]) -> Self {
        let mut found = Self::default();
        if unknown.is_empty() && layers.incomplete_variables().is_empty() {
            return found;
        }
        let known = known_names();
        for key in unknown {
            found.judge_key(layers, key, &known);
        }
        for name in layers.incomplete_variables() {
            found.judge_variable(name, &known);
        }
        found
    }

    fn judge_key(&mut self, layers: &Layers, key: &KeyPath, known: &[String]) {
        let nearest = hint::nearest(key, known).unwrap_or_default();
        let place = layers.place(key);
        let is_a_slip = protects(&nearest) && hint::is_near(key, &nearest);
        let is_of_program = matches!(layers.origin_of(key), Some(Origin::Program(_)));
        if is_a_slip || is_of_program || protects(&key.to_string()) {
            self.problems.push(refused(place, key, &nearest, ""));
        } else {
            let message = format!("unknown key, ignored; the nearest known key is {nearest}");
            self.warnings.push(Warning { place, key: key.shown(), message });
        }
    }

    /// Judges a variable such as `AETHON_DASHBOARD_AUTH_TOKEN`, if it begins with the name of a section.
    fn judge_variable(&mut self, name: &str, known: &[String]) {
        let rest = name[PREFIX.len()..].to_ascii_lowercase();
        let sections = known.iter().map(|key| key.split('.').next().unwrap_or_default());
        let is_begun = |section: &&str| rest.strip_prefix(section).is_some_and(|rest| rest.starts_with('_'));
        let Some(section) = sections.filter(is_begun).max_by_key(|section| section.len()) else { return };
        let meant = KeyPath::of([section, &rest[section.len() + 1..]]);
        let nearest = hint::nearest(&meant, known).unwrap_or_default();
        let variable = format!("{PREFIX}{}", nearest.to_ascii_uppercase().replace('.', SEPARATOR));
        let place = format!("environment variable {name}");
        if protects(section) || protects(&nearest) {
            self.problems.push(Problem {
                place,
                key: String::new(),
                found: "a name that sets no key, because a section ends in two underscores".to_owned(),
                allowed: format!("{variable}, for example, or no such variable"),
            });
        } else {
            let message = format!("ignored, because a section ends in two underscores, as in {variable}");
            self.warnings.push(Warning { place, key: meant.shown(), message });
        }
    }
}

/// Reports a key at or below `path` as a problem if it is unknown, whatever section it is in.
pub(crate) fn refuse_at(path: &KeyPath, layers: &Layers, unknown: &[KeyPath]) -> Vec<Problem> {
    let at_path: Vec<&KeyPath> =
        unknown.iter().filter(|key| key.is_within(path) || path.is_within(key)).collect();
    if at_path.is_empty() {
        return Vec::new();
    }
    let known = known_names();
    let problem = |key: &&KeyPath| {
        let nearest = hint::nearest(key, &known).unwrap_or_default();
        refused(layers.place(key), key, &nearest, "; --force writes it anyway")
    };
    at_path.iter().map(problem).collect()
}

fn refused(place: String, key: &KeyPath, nearest: &str, more: &str) -> Problem {
    let allowed = format!("a known key; the nearest is {nearest}: correct the name, or remove it{more}");
    Problem { place, key: key.shown(), found: "an unknown key".to_owned(), allowed }
}

fn known_names() -> Vec<String> {
    known_keys().into_iter().map(|key| key.name).collect()
}

/// Returns whether a key, or the section that it names, is one of those that protect.
fn protects(key: &str) -> bool {
    let first = KeyPath::parse(key).and_then(|path| match path.steps().first() {
        Some(Step::Key(section)) => Some(section.clone()),
        _ => None,
    });
    first.is_some_and(|section| PROTECTING.contains(&section.as_str()))
}
