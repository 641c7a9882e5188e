//! Generates the first `config.toml`: the keys that most people change, each with a comment; the rest is left to defaults.

use std::fmt::Write;

use crate::schema::Provider;

/// How much the assistant asks before it acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Caution {
    /// Nothing, as the specification has it.
    #[default]
    Open,
    /// Before it runs a command, changes a file or makes a tool.
    Ask,
    /// Also before anything leaves the machine.
    Guarded,
}

impl Caution {
    /// All of them, from the least cautious.
    pub const ALL: [Self; 3] = [Self::Open, Self::Ask, Self::Guarded];

    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Ask => "ask",
            Self::Guarded => "guarded",
        }
    }

    /// Returns the one with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|caution| caution.name() == name)
    }

    /// Describes it.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Open => {
                "It asks nothing. A web page or a mail that it reads can make it do things in your name."
            }
            Self::Ask => "It asks before it runs a command, changes a file or makes a tool.",
            Self::Guarded => {
                "It also asks before anything leaves this machine: web pages, messages, scheduled jobs."
            }
        }
    }
}

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
    /// What needs approval.
    pub caution: Caution,
}

/// Returns the text of the first file.
pub fn starter(choice: &Starter) -> String {
    let provider = choice.provider;
    let mut text = String::from(
        "# Configuration of the Aethon assistant. What is left out has its default; `aethon-cli config schema` lists\n\
         # every key. In any string, ${NAME} is an environment variable, ${NAME:-value} one with a fallback,\n\
         # ${credential:NAME} the file credentials/NAME, ${file:/PATH} any file, and $$ a literal $.\n\n\
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
    if provider.key_variable().is_some() || !choice.api_key.is_empty() {
        line(
            &mut text,
            "api_key",
            non_empty(&choice.api_key, &format!("${{credential:{provider}}}")),
            !choice.api_key.is_empty(),
        );
    }
    let (remark, example) = example_host(provider);
    if !example.is_empty() || !choice.host.is_empty() {
        text.push_str(remark);
        line(&mut text, "host", non_empty(&choice.host, example), !choice.host.is_empty());
    }
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
    text.push_str(approval(choice.caution));
    text.push_str(
        "\n\
         [budget]\n\
         # The most to spend on models in a day, in USD; 0 is no limit.\n\
         # daily_usd = 5\n",
    );
    text
}

/// Returns a remark on `model.host`, and an address that the provider could have.
fn example_host(provider: Provider) -> (&'static str, &'static str) {
    match provider {
        Provider::Ollama => ("# Ollama at another address.\n", "http://127.0.0.1:11434"),
        Provider::LiteLlm => ("# The address of the proxy.\n", "http://127.0.0.1:4000"),
        Provider::OpenAi => (
            "# Another server that speaks like OpenAI's: llama.cpp, vLLM, LM Studio.\n",
            "http://127.0.0.1:8080/v1",
        ),
        _ => ("# The service at another address.\n", ""),
    }
}

fn approval(caution: Caution) -> &'static str {
    match caution {
        Caution::Open => {
            "# enabled = true\n\
             # Ask also before anything leaves this machine.\n\
             # requires_approval = [\"shell\", \"file_write\", \"manage_tools\", \"manage_specialists\", \"outbound\"]\n"
        }
        Caution::Ask => {
            "enabled = true\n\
             # Ask also before anything leaves this machine.\n\
             # requires_approval = [\"shell\", \"file_write\", \"manage_tools\", \"manage_specialists\", \"outbound\"]\n"
        }
        Caution::Guarded => {
            "enabled = true\n\
             # `outbound` is everything that leaves this machine.\n\
             requires_approval = [\"shell\", \"file_write\", \"manage_tools\", \"manage_specialists\", \"outbound\"]\n"
        }
    }
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
