//! Collects every secret of a configuration, so that they can be kept out of logs, recordings and tool output.

use aethon_core::secret::Secret;

use crate::path::KeyPath;
use crate::schema::{Config, MESSENGERS};

impl Config {
    /// Every secret that is set, wherever it is.
    pub fn secrets(&self) -> Vec<&Secret> {
        let named = self.named_secrets().into_iter().map(|(_, secret)| secret);
        let tables = self.model.tables();
        let tables = tables.into_iter().map(|(_, model)| &model.environment_key);
        let unused = [
            &self.model.environment_key,
            &self.memory.embedding.environment_key,
            &self.transcription.environment_key,
        ];
        let unused = unused.into_iter().chain(tables);
        named.chain(unused).chain(&self.embedded).filter(|secret| !secret.is_empty()).collect()
    }

    /// The secrets with a key of their own, set or not. A model's secret is the effective one, whatever its source.
    pub(crate) fn named_secrets(&self) -> Vec<(String, &Secret)> {
        let fixed = [
            ("dashboard.auth_token", &self.dashboard.auth_token),
            ("webhook.secret", &self.webhook.secret),
            ("memory.embedding.api_key", self.memory.embedding.key()),
            ("transcription.api_key", self.transcription.key()),
            ("model.api_key", self.model.key()),
            ("tools.web_search.api_key", &self.tools.web_search.api_key),
            ("tools.github.token", &self.tools.github.token),
            ("storage.url", &self.storage.url),
        ];
        let mut all: Vec<_> = fixed.into_iter().map(|(name, secret)| (name.to_owned(), secret)).collect();
        for messenger in MESSENGERS {
            let section = KeyPath::of(["channels", messenger.name]);
            let secrets = messenger.secrets(&self.channels).into_iter();
            all.extend(secrets.map(|(known, secret)| (section.key(known.key).to_string(), secret)));
        }
        for (section, model) in self.model.tables() {
            all.push((section.key("api_key").to_string(), model.key()));
        }
        for (name, secret) in &self.telemetry.otlp_headers {
            all.push((KeyPath::of(["telemetry", "otlp_headers", name]).to_string(), secret));
        }
        for (name, server) in &self.mcp.servers {
            let key = |section: &str, entry: &str| {
                KeyPath::of(["mcp", "servers", name, section, entry]).to_string()
            };
            all.extend(server.env.iter().map(|(entry, secret)| (key("env", entry), secret)));
            all.extend(server.headers.iter().map(|(entry, secret)| (key("headers", entry), secret)));
            all.push((key("oauth", "client_secret"), &server.oauth.client_secret));
        }
        for (name, server) in &self.lsp.servers {
            let key = |entry: &str| KeyPath::of(["lsp", "servers", name, "env", entry]).to_string();
            all.extend(server.env.iter().map(|(entry, secret)| (key(entry), secret)));
        }
        all
    }
}
