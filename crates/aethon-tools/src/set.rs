//! Which tools exist, in the order in which models see them. A tool of a single file is below this one; `docs/how-to` says
//! how to add one.

mod current_time;

use std::sync::Arc;

use aethon_core::clock::Clock;
use aethon_core::history::History;
use aethon_core::tool::Tool;

use self::current_time::CurrentTime;
use crate::files::{FileRead, Workspace};
use crate::history::SearchHistory;
use crate::options::Options;
use crate::shell::Shell;
use crate::web::web_tools;

/// All tools. The order is fixed, so that the prefix of the requests stays the same.
pub fn tools(options: &Options, clock: Arc<dyn Clock>, history: Arc<dyn History>) -> Vec<Arc<dyn Tool>> {
    let workspace = Arc::new(Workspace::new(options));
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(CurrentTime::new(clock)),
        Arc::new(SearchHistory::new(history)),
        Arc::new(FileRead::new(workspace.clone())),
        Arc::new(Shell::new(options, workspace)),
    ];
    tools.extend(web_tools(options).into_tools());
    tools
}
