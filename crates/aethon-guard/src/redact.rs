//! Removes secrets from text before it is logged, recorded or shown.
//!
//! It works in two ways at once: by the values that the program knows, and by the shapes of common keys for those that
//! it does not. A value is found verbatim, reversed, in base64 at any offset, in hexadecimal digits with or without
//! separators, URL-encoded or escaped, and broken across lines. It is a tripwire: an attacker who smuggles a secret out
//! can still write it in an unforeseen way. The only way to keep a secret is not to hand it out.

mod forms;
mod labelled;
mod shapes;
#[cfg(test)]
mod tests;
mod view;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use aethon_core::secret::{MASK, Secret};
use forms::Forms;
use view::View;

/// Returns the first key in a well-known provider's format, regardless of known values.
pub(crate) fn key_format(text: &str) -> Option<&'static str> {
    let mut is_there = false;
    shapes::find(text.as_bytes(), |_| is_there = true);
    is_there.then_some("the key of a service")
}

/// The shortest value that is searched for; shorter ones would punch holes into ordinary words. A secret known by its shape
/// or its label is longer.
const MIN_VALUE: usize = 6;

/// How many characters behind a cut are searched as well, and at least how many before the end of what was searched are not
/// kept: no secret is longer, so none is kept in part.
const MARGIN: usize = 16_384;

/// Finds and masks secrets. Cheap to clone.
#[derive(Clone)]
pub struct Redactor {
    known: Arc<Known>,
}

impl Default for Redactor {
    /// Knows only the common shapes.
    fn default() -> Self {
        Self::new([])
    }
}

/// What counts as a secret.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Known values and the shapes of keys.
    Certain,
    /// Also text that is merely labelled as a secret.
    Labelled,
}

struct Known {
    text: Forms,
    digits: Forms,
    /// Those that stay.
    fixed: Vec<Secret>,
    /// Those that are replaced while the program runs, by what they are for.
    changing: BTreeMap<String, Vec<Secret>>,
}

impl Redactor {
    /// Knows these values besides the common shapes.
    pub fn new(values: impl IntoIterator<Item = Secret>) -> Self {
        Self { known: Arc::new(Known::of(values.into_iter().collect(), BTreeMap::new())) }
    }

    /// Returns a redactor that also knows these values, in the place of those that it knew under this name: for tokens that are
    /// renewed while the program runs.
    #[must_use]
    pub fn with_changing(&self, name: &str, values: Vec<Secret>) -> Self {
        let mut changing = self.known.changing.clone();
        changing.insert(name.to_owned(), values);
        Self { known: Arc::new(Known::of(self.known.fixed.clone(), changing)) }
    }

    /// Returns a redactor that also knows the changing values of another one.
    #[must_use]
    pub fn with_changing_of(&self, other: &Self) -> Self {
        Self { known: Arc::new(Known::of(self.known.fixed.clone(), other.known.changing.clone())) }
    }

    /// Returns the text with every secret replaced by `***`.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        masked(text, self.places(text, Reach::Certain))
    }

    /// Returns the beginning of the text, at most so many characters and `…`, with every secret replaced by `***`. The one way
    /// to shorten a text that may hold secrets: cut first, it would keep most of a secret that stands at the cut. It looks at no
    /// more of a long text than it has to.
    pub fn redact_beginning(&self, text: &str, most: usize) -> String {
        beginning(text, most, |text| self.redact(text))
    }

    /// The same as [`redact_beginning`](Self::redact_beginning) in the way of [`redact_kept`](Self::redact_kept).
    pub fn redact_kept_beginning(&self, text: &str, most: usize) -> String {
        beginning(text, most, |text| self.redact_kept(text))
    }

    /// The same for a text that is stored and not processed any further, such as a recording: anything merely labelled
    /// as a secret (`password=…`) is removed as well.
    pub fn redact_kept<'t>(&self, text: &'t str) -> Cow<'t, str> {
        masked(text, self.places(text, Reach::Labelled))
    }

    /// Returns whether an object key names a secret, so that its value is one.
    pub fn names_secret(key: &str) -> bool {
        labelled::is_label(key)
    }

    /// Returns whether the text contains something that looks like a secret.
    pub fn finds_secret(&self, text: &str) -> bool {
        !self.places(text, Reach::Certain).is_empty()
    }

    /// The ranges of all secrets, sorted and disjoint.
    fn places(&self, text: &str, reach: Reach) -> Vec<Range<usize>> {
        let mut places: Vec<Range<usize>> = Vec::new();
        if text.len() < MIN_VALUE {
            return places;
        }
        self.search(text, reach, |place| places.push(place));
        // Invisible characters inside a secret would hide it, and are dropped before a model sees the text.
        if let Some(view) = View::visible(text)
            && let Ok(visible) = std::str::from_utf8(&view.bytes)
        {
            self.search(visible, reach, |place| places.push(view.source(&place)));
        }
        if places.is_empty() { places } else { apart(text, places) }
    }

    /// Calls back with the range of every secret, in any order.
    fn search(&self, text: &str, reach: Reach, mut found: impl FnMut(Range<usize>)) {
        let known = &self.known;
        known.text.find(text.as_bytes(), &mut found);
        if !known.text.is_empty()
            && let Some(view) = View::decoded(text)
        {
            known.text.find(&view.bytes, |place| found(view.source(&place)));
        }
        known.digits.find_digits(text.as_bytes(), &mut found);
        shapes::find(text.as_bytes(), &mut found);
        if reach == Reach::Labelled {
            labelled::find(text, found);
        }
    }
}

fn beginning<'t>(text: &'t str, most: usize, redact: impl FnOnce(&'t str) -> Cow<'t, str>) -> String {
    let searched = match text.char_indices().nth(most.saturating_add(MARGIN)) {
        None => text,
        Some((end, _)) => &text[..end],
    };
    let masked = redact(searched);
    let kept = match searched.len() == text.len() {
        true => most,
        // What stands at the end may be the first half of a secret, and masks may have moved it forward.
        false => most.min(masked.chars().count().saturating_sub(MARGIN)),
    };
    match masked.char_indices().nth(kept) {
        None => masked.into_owned(),
        Some((end, _)) => format!("{}…", &masked[..end]),
    }
}

/// The text with `***` in these ranges, which are sorted and disjoint.
fn masked(text: &str, places: Vec<Range<usize>>) -> Cow<'_, str> {
    if places.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut masked = String::with_capacity(text.len());
    let mut reached = 0;
    for place in places {
        masked.push_str(&text[reached..place.start]);
        masked.push_str(MASK);
        reached = place.end;
    }
    masked.push_str(&text[reached..]);
    Cow::Owned(masked)
}

/// Makes these ranges sorted and disjoint.
fn apart(text: &str, mut places: Vec<Range<usize>>) -> Vec<Range<usize>> {
    for place in &mut places {
        // A decoded form may begin or end within a character of the text.
        place.start = text.floor_char_boundary(place.start);
        place.end = text.ceil_char_boundary(place.end);
    }
    places.sort_by_key(|place| place.start);
    let mut apart: Vec<Range<usize>> = Vec::with_capacity(places.len());
    for place in places {
        match apart.last_mut() {
            Some(last) if place.start < last.end => last.end = last.end.max(place.end),
            _ => apart.push(place),
        }
    }
    apart
}

impl Known {
    fn of(fixed: Vec<Secret>, changing: BTreeMap<String, Vec<Secret>>) -> Self {
        let mut values: Vec<Secret> = Vec::new();
        for secret in fixed.iter().chain(changing.values().flatten()) {
            let plain = secret.expose().trim();
            let is_known = values.iter().any(|known| known.expose() == plain);
            if plain.len() >= MIN_VALUE && !is_known {
                values.push(Secret::new(plain));
            }
        }
        let exposed = || values.iter().map(Secret::expose);
        let (text, digits) = (Forms::of_text(exposed()), Forms::of_digits(exposed()));
        Self { text, digits, fixed, changing }
    }
}
