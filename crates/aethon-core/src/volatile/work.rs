//! What agents have done, and work, in memory.

use async_trait::async_trait;

use super::store::MemoryStore;
use crate::agents::{AgentHistory, AgentRun};
use crate::error::Result;
use crate::work::{Work, WorkCommand, WorkStore};

#[async_trait]
impl AgentHistory for MemoryStore {
    async fn add(&self, run: AgentRun) -> Result<()> {
        self.tables().work.agent_runs.push(run);
        Ok(())
    }

    async fn newest(&self, limit: usize) -> Result<Vec<AgentRun>> {
        Ok(self.tables().work.agent_runs.iter().rev().take(limit).cloned().collect())
    }
}

#[async_trait]
impl WorkStore for MemoryStore {
    async fn add(&self, work: &Work) -> Result<()> {
        self.enter("add_work")?.work.works.push(work.clone());
        Ok(())
    }

    async fn save(&self, work: &Work) -> Result<bool> {
        let mut tables = self.enter("save_work")?;
        let Some(known) = tables.work.works.iter_mut().find(|known| known.work_id == work.work_id) else {
            return Ok(false);
        };
        *known = Work { command: known.command, ..work.clone() };
        Ok(true)
    }

    async fn work(&self, id: &str) -> Result<Option<Work>> {
        Ok(self.enter("work")?.work.works.iter().find(|work| work.work_id == id).cloned())
    }

    async fn works(&self, open: bool, limit: usize) -> Result<Vec<Work>> {
        let tables = self.enter("works")?;
        let works = tables.work.works.iter();
        Ok(if open {
            works.filter(|work| !work.state.is_over()).take(limit).cloned().collect()
        } else {
            works.rev().take(limit).cloned().collect()
        })
    }

    async fn set_command(&self, id: &str, command: Option<WorkCommand>) -> Result<bool> {
        let mut tables = self.enter("set_command")?;
        let work = tables.work.works.iter_mut().find(|work| work.work_id == id && !work.state.is_over());
        Ok(work.map(|work| work.command = command).is_some())
    }

    async fn switch(&self, name: &str) -> Result<bool> {
        Ok(self.enter("switch")?.work.switches.contains(name))
    }

    async fn set_switch(&self, name: &str, on: bool) -> Result<()> {
        let mut tables = self.enter("set_switch")?;
        if on {
            tables.work.switches.insert(name.to_owned());
        } else {
            tables.work.switches.remove(name);
        }
        Ok(())
    }
}
