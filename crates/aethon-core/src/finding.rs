//! Finding texts by words and by meaning, as far as it needs no database: what counts as a word, its stem, how well a text
//! matches, and which part of it shows why. All storages share it, so that they find the same.
//!
//! `typed` has the words that a person looks for in messages; `query` ranks the messages of one conversation for a model, and
//! `snippet` cuts out the part that shows why. `words` (with `stem` and `stop_words`) are those of long-term memory, and
//! `encoded_vectors` writes vectors as bytes.

mod encoded_vectors;
mod query;
mod snippet;
mod stem;
mod stop_words;
mod typed;
mod words;

pub use encoded_vectors::{bytes as vector_bytes, numbers as vector_numbers};
pub use query::{Excerpt, Query, Text};
pub use snippet::around as snippet_around;
pub use typed::{Words, bare, is_whole_word, runs, searchable, spread};
pub use words::{Term, Word, is_telling, terms, words as memory_words};
