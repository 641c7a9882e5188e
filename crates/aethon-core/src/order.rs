//! The order of a list, and the place in it where a page ended.
//!
//! A list is sorted where all of it is known, which is behind the page that a client has. A page begins after a place (a
//! value and a key), not at an offset, so that a row that moves makes no other appear twice or get lost. The cursor that
//! names the place is opaque to clients, and belongs to the order that it came from.

use std::cmp::Ordering;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::words::words;

/// How many characters of a text count for its place.
pub const SORTED_CHARACTERS: usize = 100;

/// A field that a list can be sorted by.
pub trait SortField: Copy + PartialEq + 'static {
    /// All of them.
    const FIELDS: &'static [Self];

    /// Its name, which is the name of the field in the list.
    fn name(self) -> &'static str;
}

/// Defines the fields of a list.
macro_rules! sort_fields {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$each:meta])* $value:ident = $word:literal,)+ }) => {
        words! { $(#[$about])* pub enum $name { $($(#[$each])* $value = $word,)+ } }

        impl SortField for $name {
            const FIELDS: &'static [Self] = &Self::ALL;

            fn name(self) -> &'static str {
                self.as_str()
            }
        }
    };
}

sort_fields! {
    /// What sessions can be sorted by.
    pub enum SessionField {
        /// Their last use.
        Updated = "updated_at",
        /// Their beginning.
        Created = "created_at",
        /// Their titles; the id of one without a title.
        Title = "title",
        /// Their channels.
        Channel = "channel",
        /// How many messages they have.
        Messages = "message_count",
    }
}

sort_fields! {
    /// What memories can be sorted by.
    pub enum MemoryField {
        /// Their last change.
        Updated = "updated_at",
        /// When they were first stored.
        Created = "created_at",
        /// Their texts.
        Content = "content",
        /// Their categories.
        Category = "category",
        /// Where they came from.
        Source = "source",
    }
}

sort_fields! {
    /// What jobs can be sorted by.
    pub enum JobField {
        /// Their names.
        Id = "job_id",
        /// Their next runs; paused jobs have none.
        NextRun = "next_run",
        /// Their last runs.
        LastRun = "last_run",
        /// How their last runs ended.
        LastStatus = "last_status",
        /// The channels that they answer in.
        Channel = "channel",
    }
}

sort_fields! {
    /// What recordings can be sorted by.
    pub enum RecordingField {
        /// When they began.
        Started = "started_at",
        /// When they ended.
        Ended = "ended_at",
        /// How long they took.
        Duration = "duration",
        /// How many events they have.
        Events = "events_count",
        /// How many snapshots they have.
        Snapshots = "snapshots_count",
        /// Their sizes.
        Size = "size",
        /// Their sessions.
        Session = "session_id",
    }
}

sort_fields! {
    /// What runs of SOPs can be sorted by.
    pub enum SopRunField {
        /// When they began.
        Started = "started_at",
        /// When they last changed.
        Updated = "updated_at",
        /// The names of their SOPs.
        Sop = "sop_name",
        /// Their states.
        State = "state",
        /// How many of their steps are done.
        StepsDone = "steps_done",
        /// What they cost.
        Cost = "cost_usd",
    }
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order<Field> {
    /// The field that decides.
    pub by: Field,
    /// Whether the largest value comes first.
    pub is_descending: bool,
}

/// The value of a field, as lists are sorted by it. Numbers come before texts, but a field has one kind of values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SortValue {
    /// A time, a count or an amount.
    Number(i64),
    /// A text: its first characters, the letters of ASCII in lower case, compared by their numbers in Unicode. Every storage
    /// can do that alike.
    Text(String),
}

impl SortValue {
    /// Returns the value of a text.
    pub fn text(text: &str) -> Self {
        Self::Text(text.chars().take(SORTED_CHARACTERS).collect::<String>().to_ascii_lowercase())
    }

    /// Returns the value of a time.
    pub fn time(time: jiff::Timestamp) -> Self {
        Self::Number(time.as_millisecond())
    }

    /// Returns the value of an amount in USD, to the billionth.
    #[expect(clippy::cast_possible_truncation, reason = "as casts of floats saturate")]
    pub fn amount(usd: f64) -> Self {
        Self::Number((usd * 1e9).round() as i64)
    }

    /// Returns the value of a count.
    pub fn count(count: impl TryInto<i64>) -> Self {
        Self::Number(count.try_into().unwrap_or(i64::MAX))
    }
}

/// A place in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place<Key> {
    /// The value; rows without one come last in both directions.
    pub value: Option<SortValue>,
    /// What distinguishes rows with the same value.
    pub key: Key,
}

/// A page of a list that is sorted in memory.
#[derive(Debug)]
pub struct SortedPage<Row> {
    /// The rows.
    pub rows: Vec<Row>,
    /// How many there are on all pages.
    pub count: usize,
    /// Where the next page begins, if there is one.
    pub next_cursor: Option<String>,
}

impl<Field: SortField> Order<Field> {
    /// The smallest value first.
    pub const fn ascending(by: Field) -> Self {
        Self { by, is_descending: false }
    }

    /// The largest value first.
    pub const fn descending(by: Field) -> Self {
        Self { by, is_descending: true }
    }

    /// Compares two places.
    pub fn compare<Key: Ord>(&self, one: &Place<Key>, other: &Place<Key>) -> Ordering {
        let turned = |order: Ordering| if self.is_descending { order.reverse() } else { order };
        let by_value = match (&one.value, &other.value) {
            (Some(one), Some(other)) => turned(one.cmp(other)),
            (one, other) => one.is_none().cmp(&other.is_none()),
        };
        by_value.then_with(|| turned(one.key.cmp(&other.key)))
    }

    /// Returns the cursor of a place.
    pub fn cursor<Key: Serialize>(&self, place: &Place<Key>) -> String {
        let parts = (self.by.name(), self.is_descending, &place.value, &place.key);
        let json = serde_json::to_vec(&parts).unwrap_or_default();
        json.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the place that a cursor names. One of another order is refused.
    pub fn place<Key: DeserializeOwned>(&self, cursor: &str) -> Result<Place<Key>> {
        let parts = bytes(cursor)
            .and_then(|json| serde_json::from_slice::<(String, bool, Option<SortValue>, Key)>(&json).ok());
        match parts {
            Some((name, is_descending, value, key))
                if name == self.by.name() && is_descending == self.is_descending =>
            {
                Ok(Place { value, key })
            }
            _ => Err(invalid_cursor()),
        }
    }

    /// Returns the value and the key that a cursor names, for a field with values of one kind in all rows.
    pub fn place_of(&self, cursor: &str, is_text: bool) -> Result<(SortValue, i64)> {
        match self.place(cursor)? {
            Place { value: Some(value), key } if matches!(value, SortValue::Text(_)) == is_text => {
                Ok((value, key))
            }
            _ => Err(invalid_cursor()),
        }
    }

    /// Sorts rows, and returns those of the page after the cursor.
    pub fn page<Row, Key: Ord + Clone + Serialize + DeserializeOwned>(
        &self,
        rows: Vec<Row>,
        place: impl Fn(&Row) -> Place<Key>,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<SortedPage<Row>> {
        let from = cursor.map(|cursor| self.place::<Key>(cursor)).transpose()?;
        let count = rows.len();
        let mut placed: Vec<_> = rows.into_iter().map(|row| (place(&row), row)).collect();
        if let Some(from) = from {
            placed.retain(|(place, _)| self.compare(place, &from).is_gt());
        }
        placed.sort_by(|(one, _), (other, _)| self.compare(one, other));
        let is_last = placed.len() <= limit;
        placed.truncate(limit);
        let next_cursor = placed.last().filter(|_| !is_last).map(|(place, _)| self.cursor(place));
        Ok(SortedPage { rows: placed.into_iter().map(|(_, row)| row).collect(), count, next_cursor })
    }
}

fn invalid_cursor() -> Error {
    Error::invalid(
        "the cursor is not valid: use the `next_cursor` of the page before, unchanged and in the same order",
    )
}

/// Reads pairs of hexadecimal digits.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then_some(())?;
    pairs.iter().map(|&[high, low]| Some((digit(high)? << 4) | digit(low)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [(&str, Option<i64>); 5] =
        [("a", Some(2)), ("b", None), ("c", Some(1)), ("d", Some(2)), ("e", None)];

    /// Reads all pages of two rows.
    fn read(order: Order<JobField>) -> String {
        let (mut seen, mut cursor) = (String::new(), None);
        loop {
            let place = |row: &(&str, Option<i64>)| Place {
                value: row.1.map(SortValue::Number),
                key: row.0.to_owned(),
            };
            let page = order.page(ROWS.to_vec(), place, cursor.as_deref(), 2).unwrap();
            assert_eq!(page.count, 5);
            seen.extend(page.rows.iter().map(|row| row.0));
            cursor = page.next_cursor;
            if cursor.is_none() {
                return seen;
            }
        }
    }

    #[test]
    fn pages_follow_each_other_and_rows_without_a_value_come_last() {
        assert_eq!(read(Order::ascending(JobField::NextRun)), "cadbe");
        assert_eq!(read(Order::descending(JobField::NextRun)), "daceb");
    }

    #[test]
    fn a_cursor_belongs_to_its_order() {
        let order = Order::ascending(SessionField::Title);
        let place = Place { value: Some(SortValue::text("Ärger & Zank")), key: 7_i64 };
        let cursor = order.cursor(&place);
        assert_eq!(order.place::<i64>(&cursor).unwrap(), place);
        let mut refused =
            vec![cursor.clone() + "0", cursor.clone() + "00", "zz".into(), "é1".into(), String::new()];
        refused.push(Order::descending(SessionField::Title).cursor(&place));
        refused.push(Order::ascending(SessionField::Channel).cursor(&place));
        for other in refused {
            assert!(order.place::<i64>(&other).unwrap_err().is_invalid(), "{other:?}");
        }
    }

    #[test]
    fn a_text_is_sorted_by_its_beginning_in_lower_case() {
        assert_eq!(SortValue::text("ABC Ä"), SortValue::Text("abc Ä".into()));
        assert_eq!(SortValue::text(&"ü".repeat(300)), SortValue::Text("ü".repeat(100)));
    }
}
