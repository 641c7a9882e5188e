//! SOPs as prompts of the MCP server. The client's own model carries them out, so no run is recorded here.

use std::fmt::Write as _;
use std::sync::Arc;

use aethon_core::async_trait::async_trait;
use aethon_core::sop::{Sop, SopCatalog, SopName};
use aethon_mcp::server::{Prompt, PromptArgument, Prompts};

/// Offers the SOPs of a catalogue as prompts.
pub(crate) struct SopPrompts(pub(crate) Arc<dyn SopCatalog>);

#[async_trait]
impl Prompts for SopPrompts {
    async fn list(&self) -> Vec<Prompt> {
        let sops = self.0.sops().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the SOPs cannot be listed");
            Vec::new()
        });
        sops.iter().map(|sop| prompt(sop)).collect()
    }

    async fn fill(&self, name: &str, arguments: &[(String, String)]) -> Result<String, String> {
        let unknown = || format!("there is no SOP {name:?}; `prompts/list` lists them");
        let parsed = SopName::parse(name).map_err(|_| unknown())?;
        let sop = self.0.sop(&parsed).await.map_err(|error| error.to_string())?.ok_or_else(unknown)?;
        filled(&sop, arguments)
    }

    async fn complete(&self, name: &str, argument: &str, begun: &str) -> Result<Vec<String>, String> {
        let unknown = || format!("there is no SOP {name:?}; `prompts/list` lists them");
        let parsed = SopName::parse(name).map_err(|_| unknown())?;
        let sop = self.0.sop(&parsed).await.map_err(|error| error.to_string())?.ok_or_else(unknown)?;
        let parameter = sop.parameters.iter().find(|parameter| parameter.name == argument);
        let parameter = parameter.ok_or_else(|| format!("`{name}` has no argument {argument:?}"))?;
        Ok(values(parameter.default.as_deref(), &parameter.description, begun))
    }
}

/// Returns the values that a parameter's own words name: its default, and what its description quotes.
fn values(default: Option<&str>, description: &str, begun: &str) -> Vec<String> {
    let mut all: Vec<String> = default.iter().map(|&value| value.to_owned()).collect();
    for quote in ['`', '"'] {
        // Every second part is between two of them; an odd one at the end is not.
        let parts: Vec<&str> = description.split(quote).collect();
        let quoted = parts.iter().take(parts.len().saturating_sub(1)).skip(1).step_by(2);
        all.extend(quoted.map(|part| (*part).to_owned()));
    }
    let begun = begun.to_lowercase();
    let mut once: Vec<String> = Vec::new();
    for value in all {
        if !value.trim().is_empty() && value.to_lowercase().starts_with(&begun) && !once.contains(&value) {
            once.push(value);
        }
    }
    once
}

fn prompt(sop: &Sop) -> Prompt {
    let arguments = sop.parameters.iter().map(|parameter| PromptArgument {
        name: parameter.name.clone(),
        description: parameter.description.clone(),
        required: parameter.required,
    });
    Prompt {
        name: sop.name.to_string(),
        description: format!("{}: {}", sop.title, sop.description),
        arguments: arguments.collect(),
    }
}

fn filled(sop: &Sop, arguments: &[(String, String)]) -> Result<String, String> {
    let mut text = format!(
        "Work through the steps of the SOP `{}` below, in their order. MUST, SHOULD and MAY mean what they mean in RFC 2119.\n",
        sop.name
    );
    if !sop.parameters.is_empty() {
        text.push_str("\nThe parameters:\n\n");
    }
    for parameter in &sop.parameters {
        let given = arguments.iter().find(|(name, _)| *name == parameter.name).map(|(_, value)| value);
        let value = match given.or(parameter.default.as_ref()) {
            Some(value) => format!("{value:?}"),
            None if parameter.required => {
                return Err(format!("`{}` needs the argument `{}`", sop.name, parameter.name));
            }
            None => "not given".into(),
        };
        // Writing into a string cannot fail.
        let _ = writeln!(text, "- {}: {value}", parameter.name);
    }
    let _ = write!(text, "\n---\n\n{}\n", sop.content.trim());
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_from_the_words_of_a_parameter() {
        let check = |default: Option<&str>, description: &str, begun: &str, expected: &[&str]| {
            assert_eq!(values(default, description, begun), expected, "{description} {begun}");
        };
        let words = "How deep: `short`, `full` or \"everything\" (default `full`)";
        check(Some("full"), words, "", &["full", "short", "everything"]);
        check(Some("full"), words, "F", &["full"]);
        check(None, words, "sh", &["short"]);
        check(None, words, "x", &[]);
        check(None, "an odd ` mark", "", &[]);
        check(Some(""), "", "", &[]);
    }
}
