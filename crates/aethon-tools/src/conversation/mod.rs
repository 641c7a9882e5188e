//! What a model can look up in the conversation that it is in.

mod search_history;

pub(crate) use search_history::SearchHistory;
