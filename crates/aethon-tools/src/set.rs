//! Which tools exist, in the order in which models see them.

use std::sync::Arc;

use aethon_core::clock::Clock;
use aethon_core::tool::Tool;

use crate::files::{FileRead, Workspace};
use crate::options::Options;
use crate::shell::Shell;
use crate::time::CurrentTime;

/// All tools. The order is fixed, so that the prefix of the requests stays the same.
pub fn tools(options: &Options, clock: Arc<dyn Clock>) -> Vec<Arc<dyn Tool>> {
    let workspace = Arc::new(Workspace::new(options));
    vec![
        Arc::new(CurrentTime::new(clock)),
        Arc::new(FileRead::new(workspace.clone())),
        Arc::new(Shell::new(options, workspace)),
    ]
}
