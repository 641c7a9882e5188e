//! Tools with which a model searches and changes its own conversation.

mod manage_messages;
mod search_history;

pub(crate) use manage_messages::ManageMessages;
pub(crate) use search_history::SearchHistory;
