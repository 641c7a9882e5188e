//! Every secret of a configuration, for those who must keep them out of logs, recordings and tool output.

use aethon_core::secret::Secret;

use crate::schema::{Config, Fallback, Model};

impl Config {
    /// Every secret that is set, wherever it stands.
    pub fn secrets(&self) -> Vec<&Secret> {
        let channels = &self.channels;
        let mut all = vec![
            &self.dashboard.auth_token,
            &self.webhook.secret,
            &channels.telegram.token,
            &channels.discord.token,
            &channels.slack.bot_token,
            &channels.slack.app_token,
            &channels.whatsapp.token,
            &channels.whatsapp.secret,
            &channels.whatsapp.verify_token,
            &channels.matrix.token,
            &channels.email.password,
            &self.memory.embedding.api_key,
            &self.memory.embedding.environment_key,
        ];
        all.extend(self.model.keys());
        for fallback in &self.model.fallbacks {
            if let Fallback::Model(model) = fallback {
                all.extend(model.keys());
            }
        }
        for server in self.mcp.servers.values() {
            all.extend(server.env.values().chain(server.headers.values()));
        }
        all.extend(&self.embedded);
        all.retain(|secret| !secret.is_empty());
        all
    }
}

impl Model {
    fn keys(&self) -> [&Secret; 2] {
        [&self.api_key, &self.environment_key]
    }
}
