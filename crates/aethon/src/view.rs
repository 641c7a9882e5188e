//! The configuration as the HTTP application and the terminal may show it.

use aethon_config::Config;
use aethon_core::live::Live;
use aethon_core::service::ConfigView;
use serde_json::Value;

/// A loaded configuration behind its mask.
pub(crate) struct MaskedConfig(pub(crate) Live<Config>);

impl ConfigView for MaskedConfig {
    fn dump(&self) -> Value {
        aethon_config::dump(&self.0.get())
    }

    fn schema(&self) -> Value {
        aethon_config::schema()
    }
}
