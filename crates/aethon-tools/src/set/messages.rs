//! The tool that sends to channels, if there are any.

use super::ground::Ground;
use super::tool_set::ToolSet;
use crate::messages::SendMessage;

pub(super) fn set(ground: &Ground<'_>) -> ToolSet {
    let set = ToolSet::new("messages", "Messages to channels");
    let needs = ground.needs;
    match &needs.courier {
        Some(courier) => {
            set.with(SendMessage::new(courier.clone(), needs.transcripts.clone(), needs.clock.clone()))
        }
        None => set.lacking(&["send_message"], "nothing delivers messages in this program"),
    }
}
