//! What the configuration asks for and this program was built without. Each is a refusal to start, not a part that is silently missing.

use aethon_config::Config;
use aethon_providers::is_built;

use crate::wiring::messengers;

/// Describes everything that is missing, a line each; `None` if nothing is. With `has_own_model`, the embedding program has brought
/// the model, and those of the configuration are not used.
pub(crate) fn problem(config: &Config, has_own_model: bool) -> Option<String> {
    let mut lines = Vec::new();
    let mut add = |key: &str, feature: &str| {
        lines.push(format!(
            "{key}: this program was built without `{feature}`; choose another, or build it with the feature `{feature}` of the crate aethon"
        ));
    };
    if !has_own_model {
        for model in config.model.all().iter().filter(|model| !is_built(model.provider)) {
            add(&format!("{}.provider", model.section()), model.provider.name());
        }
    }
    for name in messengers::enabled(config).filter(|name| !messengers::is_built(name)) {
        add(&format!("channels.{name}.enabled"), name);
    }
    if config.storage.is_on_server() && !cfg!(feature = "postgres") {
        add("storage.url", "postgres");
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_missing_from_a_build_with_everything() {
        let mut config = Config::default();
        config.channels.email.enabled = true;
        config.channels.telegram.enabled = true;
        let has_all = cfg!(feature = "email") && is_built(config.model.provider);
        assert_eq!(problem(&config, false).is_none(), has_all, "{:?}", problem(&config, false));
        assert_eq!(problem(&config, true).is_none(), cfg!(feature = "email"));
    }
}
