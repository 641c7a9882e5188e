//! The tools for the person's desktop, if the machine has one.

use super::inputs::ToolInputs;
use super::tool_set::ToolSet;
use crate::desktop::{ClipboardRead, ClipboardWrite, MAC_TOOLS, Notify, Open, Programs, mac_tools};

pub(super) fn set(inputs: &ToolInputs<'_>) -> ToolSet {
    let programs = Programs::new(inputs.options);
    let set = ToolSet::new("desktop", "The desktop");
    let set = set.with_or(ClipboardRead::new(&programs), &["clipboard_read"]);
    let set = set.with_or(ClipboardWrite::new(&programs), &["clipboard_write"]);
    let set = set.with_or(Notify::new(&programs), &["notify"]);
    let set = set.with_or(Open::new(&programs, inputs.workspace.clone()), &["open"]);
    match mac_tools(&programs) {
        Ok(tools) => tools.into_iter().fold(set, ToolSet::with),
        Err(why) => set.lacking(MAC_TOOLS, why),
    }
}
