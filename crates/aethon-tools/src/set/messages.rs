//! The tool that sends to channels, if there are any.

use super::inputs::ToolInputs;
use super::tool_set::ToolSet;
use crate::messages::SendMessage;

pub(super) fn set(inputs: &ToolInputs<'_>) -> ToolSet {
    let set = ToolSet::new("messages", "Messages to channels");
    let needs = inputs.needs;
    match &needs.courier {
        Some(courier) => {
            set.with(SendMessage::new(courier.clone(), needs.transcripts.clone(), needs.clock.clone()))
        }
        None => set.lacking(&["send_message"], "nothing delivers messages in this program"),
    }
}
