//! The in-memory values of channels.

use async_trait::async_trait;
use jiff::Timestamp;

use super::rows::Value;
use super::store::MemoryStore;
use crate::channel::ChannelRecords;
use crate::error::Result;

#[async_trait]
impl ChannelRecords for MemoryStore {
    async fn get(&self, channel: &str, name: &str) -> Result<Option<String>> {
        let (tables, now) = (self.enter("get")?, self.clock.now());
        let value = tables.channel_records.get(&(channel.to_owned(), name.to_owned()));
        Ok(value.filter(|value| counts(value, now)).map(|(value, _)| value.clone()))
    }

    async fn put(&self, channel: &str, name: &str, value: &str, until: Option<Timestamp>) -> Result<()> {
        let key = (channel.to_owned(), name.to_owned());
        self.enter("put")?.channel_records.insert(key, (value.to_owned(), until));
        Ok(())
    }

    async fn claim(&self, channel: &str, name: &str, value: &str, until: Option<Timestamp>) -> Result<bool> {
        let (mut tables, now) = (self.enter("claim")?, self.clock.now());
        let key = (channel.to_owned(), name.to_owned());
        if tables.channel_records.get(&key).is_some_and(|value| counts(value, now)) {
            return Ok(false);
        }
        tables.channel_records.insert(key, (value.to_owned(), until));
        Ok(true)
    }

    async fn take(&self, channel: &str, name: &str) -> Result<Option<String>> {
        let (mut tables, now) = (self.enter("take")?, self.clock.now());
        let value = tables.channel_records.remove(&(channel.to_owned(), name.to_owned()));
        Ok(value.filter(|value| counts(value, now)).map(|(value, _)| value))
    }

    async fn list(&self, channel: &str, prefix: &str, limit: usize) -> Result<Vec<(String, String)>> {
        let (tables, now) = (self.enter("list")?, self.clock.now());
        let all = tables.channel_records.iter();
        let named = all.filter(|((of, name), _)| of == channel && name.starts_with(prefix));
        let counting = named.filter(|(_, value)| counts(value, now));
        Ok(counting.take(limit).map(|((_, name), (value, _))| (name.clone(), value.clone())).collect())
    }
}

fn counts((_, until): &Value, now: Timestamp) -> bool {
    until.is_none_or(|until| until > now)
}
