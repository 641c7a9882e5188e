//! The tools of a request in the form that its service accepts.
//!
//! A tool of another program has any name, and a schema of any draft and quality. Services refuse a whole request for one
//! of them, so each tool is fitted before it is sent: `references` draws local references in, `fold` makes one object of
//! combinations at the top, `reduce` keeps the keywords that the service documents, and `names` replaces the names of
//! properties that it does not accept. `fitted` does this for all tools of a request, and converts the calls of the
//! conversation to the names that are sent and those of an answer back; `service_tools` chooses which tools a service gets at all. Arguments are still checked against the original
//! schema, by the engine.

mod fitted;
mod fold;
mod names;
mod reduce;
mod references;
mod service_tools;
#[cfg(test)]
mod strict;
#[cfg(test)]
mod tests;

pub(crate) use fitted::FittedTools;
pub(crate) use service_tools::ServiceTools;
pub use service_tools::documented_limit;
