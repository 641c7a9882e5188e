//! Which tools exist, in the order in which models see them. A tool of a single file is below this one; `docs/how-to` says
//! how to add one.

mod current_time;

use std::sync::Arc;

use aethon_core::clock::Clock;
use aethon_core::history::History;
use aethon_core::memory::Memory;
use aethon_core::tool::Tool;

use self::current_time::CurrentTime;
use crate::files::{FileRead, Workspace};
use crate::history::SearchHistory;
use crate::memory::ManageMemory;
use crate::options::Options;
use crate::pages::{Pages, RecordLearning, UpdateContext};
use crate::shell::Shell;

/// All tools. The order is fixed, so that the prefix of the requests stays the same.
pub fn tools(options: &Options, clock: Arc<dyn Clock>, history: Arc<dyn History>) -> Vec<Arc<dyn Tool>> {
    let workspace = Arc::new(Workspace::new(options));
    vec![
        Arc::new(CurrentTime::new(clock)),
        Arc::new(SearchHistory::new(history)),
        Arc::new(FileRead::new(workspace.clone())),
        Arc::new(Shell::new(options, workspace)),
    ]
}

/// The tools by which the assistant keeps something for later conversations: the pages of the workspace, and the memory
/// where there is one.
pub fn memory_tools(
    options: &Options,
    clock: Arc<dyn Clock>,
    memory: Option<Arc<dyn Memory>>,
) -> Vec<Arc<dyn Tool>> {
    let pages = Arc::new(Pages::new(&options.workspace));
    let memory = memory.map(|memory| Arc::new(ManageMemory::new(memory)) as Arc<dyn Tool>);
    let pages: [Arc<dyn Tool>; 2] =
        [Arc::new(UpdateContext::new(pages.clone())), Arc::new(RecordLearning::new(pages, clock))];
    memory.into_iter().chain(pages).collect()
}
