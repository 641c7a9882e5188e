//! A turn that begins right after the start waits for servers of tools that are starting, too.
//!
//! A question in the terminal, a job that was missed, a turn that a restart cut off and a webhook all begin with the
//! program, and would not have the tools otherwise that they were written for. The wait is bounded, and a server that has
//! failed is not waited for.

use aethon_core::surface::TurnEvent;
use aethon_core::tool::Toolbox as _;

use super::offer::Offer;
use super::outcome::OrEnd;
use super::turn::Turn;

impl Turn<'_> {
    /// Waits for the servers, and names those that are still starting then.
    pub(super) async fn wait_for_servers(&mut self) -> OrEnd {
        let toolbox = self.agent.toolbox.clone();
        let model = self.agent.agent.models.capabilities();
        if !model.tools || toolbox.starting().is_empty() {
            return Ok(());
        }
        self.control.guard(toolbox.ready()).await?;
        let late = toolbox.starting();
        if !late.is_empty() {
            let names = late.join(", ");
            let message = match late.len() {
                1 => format!("The MCP server {names} is still starting, so its tools are not there yet."),
                _ => format!("The MCP servers {names} are still starting, so their tools are not there yet."),
            };
            let notice = TurnEvent::Notice { code: "tools_starting".into(), message };
            self.job.surface.emit(&self.context.turn, notice);
        }
        let limits = self.agent.limits(&self.shared.options);
        self.offer = Offer::new(toolbox.specs_for(&self.context), &model, limits.tokens);
        Ok(())
    }
}
