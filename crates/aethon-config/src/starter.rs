//! The first `config.toml`: what most people change, each key with a word, everything else left to the defaults.

use std::fmt::Write;

use crate::schema::Provider;

/// What the first file says.
#[derive(Clone, Debug, Default)]
pub struct Starter {
    /// Who serves the model.
    pub provider: Provider,
    /// The model. Empty: the provider's usual one.
    pub model_id: String,
    /// Where the key is, as a reference such as `${credential:openai}`; the key itself is better kept out of the file.
    /// Empty: the provider's usual environment variable.
    pub api_key: String,
    /// The base address. Empty: the provider's own.
    pub host: String,
    /// The dashboard's token, as a reference. Empty: none, which only a loopback bind permits.
    pub auth_token: String,
    /// Whether the assistant asks before it runs commands and changes files.
    pub asks_first: bool,
}

/// The text of the first file.
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

/// One key; commented out where it only shows what could be set.
fn line(text: &mut String, key: &str, value: &str, is_set: bool) {
    let comment = if is_set { "" } else { "# " };
    // toml_edit quotes the value, whatever is in it. Writing to a string cannot fail.
    let _ = writeln!(text, "{comment}{key} = {}", toml_edit::Value::from(value));
}
