//! Generates the first `config.toml`: the keys that most people change, each with a comment; the rest is left to defaults.

use std::fmt::Write;

use crate::schema::Provider;

/// The choices for the first file.
#[derive(Clone, Debug, Default)]
pub struct Starter {
    /// The provider of the model.
    pub provider: Provider,
    /// The model, or empty for the provider's default.
    pub model_id: String,
    /// The API key, as a reference such as `${credential:openai}`, because keys are better kept out of the file. Empty for the
    /// provider's usual environment variable.
    pub api_key: String,
    /// The base address, or empty for the provider's own.
    pub host: String,
    /// The dashboard's token as a reference. Empty for none, which only a loopback bind permits.
    pub auth_token: String,
    /// Whether running commands and changing files needs approval.
    pub asks_first: bool,
}

/// Returns the text of the first file.
pub fn starter(choice: &Starter) -> String {
    let provider = choice.provider;
    let mut text = String::from(
        "# Configuration of the Aethon assistant. What is left out has its default; `aethon-cli config schema` lists\n\
         # every key. In any string, ${NAME} is an environment variable, ${NAME:-value} one with a fallback,\n\
         # ${credential:NAME} the file credentials/NAME, and $$ a literal $.\n\n\
         [model]\n",
    );
    text.push_str(&format!("# {}; the last two need no network\n", Provider::names().join(", ")));
    line(&mut text, "provider", provider.name(), true);
    line(
        &mut text,
        "model_id",
        non_empty(&choice.model_id, provider.default_model()),
        !choice.model_id.is_empty(),
    );
    if let Some(variable) = provider.key_variable() {
        text.push_str(&format!("# Left out: the environment variable {variable}.\n"));
    }
    line(
        &mut text,
        "api_key",
        non_empty(&choice.api_key, &format!("${{credential:{provider}}}")),
        !choice.api_key.is_empty(),
    );
    text.push_str("# Another server that speaks the same dialect.\n");
    line(&mut text, "host", non_empty(&choice.host, "http://127.0.0.1:8080/v1"), !choice.host.is_empty());
    text.push_str(
        "\n[channels.webchat]\n\
         # host = \"127.0.0.1\"  # anything but loopback needs dashboard.auth_token\n\
         # port = 18790\n\n\
         [dashboard]\n\
         # The token that opens every page and socket. Empty: no sign-in, on this machine only.\n",
    );
    line(
        &mut text,
        "auth_token",
        non_empty(&choice.auth_token, "${credential:dashboard}"),
        !choice.auth_token.is_empty(),
    );
    text.push_str(
        "\n[webhook]\n\
         # With a secret, every request must be signed with it.\n\
         # secret = \"${credential:webhook}\"\n\n\
         [approval]\n\
         # Ask before shell commands, file changes and new tools.\n",
    );
    text.push_str(if choice.asks_first { "enabled = true\n" } else { "# enabled = true\n" });
    text.push_str(
        "\n\
         [budget]\n\
         # The most to spend on models in a day, in USD; 0 is no limit.\n\
         # daily_usd = 5\n",
    );
    text
}

fn non_empty<'t>(text: &'t str, otherwise: &'t str) -> &'t str {
    if text.is_empty() { otherwise } else { text }
}

/// Writes one key, commented out if it only shows what could be set.
fn line(text: &mut String, key: &str, value: &str, is_set: bool) {
    let comment = if is_set { "" } else { "# " };
    // toml_edit quotes the value as needed. Writing to a string cannot fail.
    let _ = writeln!(text, "{comment}{key} = {}", toml_edit::Value::from(value));
}
