//! `/mcp` in a chat: lists the prompts of MCP servers, and has one of them followed.
//!
//! A prompt is the server's text, so its turn counts as begun by somebody outside, although the owner chose it: what such
//! turns may not do without a question, it may not do either. Only an owner uses the command.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::error::Result;
use aethon_core::ids::TurnId;
use aethon_core::message::{Handling, Inbound, Intent};
use aethon_core::surface::Unattended;
use aethon_core::tool::{Tool, ToolContext, ToolSource};
use aethon_core::turn::TurnContext;
use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use crate::commands::{Answered, Claim, CommandHandler};

/// The command.
const COMMAND: &str = "/mcp";

/// How the tools end by which servers list their prompts and give one.
const LIST: &str = "__list_prompts";
const GET: &str = "__get_prompt";

/// How long a server may take.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);

/// How much of a prompt is taken, in characters.
const MAX_PROMPT: usize = 32_000;

const USAGE: &str = "`/mcp SERVER` lists the prompts of a server, `/mcp SERVER PROMPT NAME=VALUE ...` follows one; a value \
                     with spaces stands in double quotes.";
const NOT_YOURS: &str = "Only an owner can use the prompts of MCP servers here.";

/// Answers the command. Cheap to clone.
#[derive(Clone)]
pub struct McpCommand {
    servers: Arc<dyn ToolSource>,
}

/// What becomes of a message.
enum Outcome {
    /// The program answers it.
    Answer(String),
    /// A model follows this prompt.
    Prompt(String),
}

impl McpCommand {
    /// The command for the prompts of these servers.
    pub fn new(servers: Arc<dyn ToolSource>) -> Self {
        Self { servers }
    }

    /// Returns what follows the command; `None` for any other message.
    fn arguments(inbound: &Inbound) -> Option<Vec<String>> {
        let is_plain = inbound.intent == Intent::Say
            && inbound.handling == Handling::Model
            && !inbound.is_from_outside();
        let rest = inbound.text.trim().strip_prefix(COMMAND).filter(|_| is_plain)?;
        (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| words(rest))
    }

    /// Returns a server's tool with this ending.
    fn tool(&self, server: &str, ending: &str) -> Option<Arc<dyn Tool>> {
        let tools = self.servers.tools().tools;
        let is_it = |tool: &&Arc<dyn Tool>| tool.spec().name.strip_suffix(ending) == Some(server);
        tools.iter().find(is_it).cloned()
    }

    /// Returns the servers that have prompts.
    fn servers(&self) -> Vec<String> {
        let tools = self.servers.tools().tools;
        tools.iter().filter_map(|tool| Some(tool.spec().name.strip_suffix(GET)?.to_owned())).collect()
    }

    async fn outcome(&self, inbound: &Inbound, arguments: &[String]) -> Outcome {
        // Right after the start they may not be there yet; later this waits for nothing.
        let _ = timeout(COMMAND_TIMEOUT, self.servers.ready()).await;
        let Some((server, rest)) = arguments.split_first() else {
            return Outcome::Answer(match self.servers().as_slice() {
                [] => "No connected MCP server has prompts.".to_owned(),
                servers => format!("These MCP servers have prompts: `{}`.\n\n{USAGE}", servers.join("`, `")),
            });
        };
        let (Some(list), Some(get)) = (self.tool(server, LIST), self.tool(server, GET)) else {
            let all = self.servers();
            let known = if all.is_empty() {
                String::new()
            } else {
                format!(" Those with prompts: `{}`.", all.join("`, `"))
            };
            return Outcome::Answer(format!(
                "There is no connected MCP server `{server}` with prompts.{known}"
            ));
        };
        let Some((prompt, rest)) = rest.split_first() else {
            let listed = called(&*list, inbound, json!({})).await.unwrap_or_else(|why| why);
            return Outcome::Answer(format!("{}\n\n{USAGE}", listed.trim()));
        };
        let filled = match fields(rest) {
            Ok(filled) => filled,
            Err(odd) => return Outcome::Answer(format!("`{odd}` is not of the form NAME=VALUE. {USAGE}")),
        };
        match called(&*get, inbound, json!({"name": prompt, "arguments": filled})).await {
            Ok(text) if text.trim().is_empty() => Outcome::Answer(format!("The prompt `{prompt}` is empty.")),
            Ok(text) => Outcome::Prompt(text.chars().take(MAX_PROMPT).collect()),
            Err(why) => Outcome::Answer(why),
        }
    }
}

/// Calls a tool; the error is a sentence for the person.
async fn called(tool: &dyn Tool, inbound: &Inbound, input: Value) -> Result<String, String> {
    let turn = TurnContext::of(TurnId::fresh(), inbound);
    let context = ToolContext::of(&turn, Arc::new(Unattended), MAX_PROMPT);
    match timeout(COMMAND_TIMEOUT, tool.call(&context, input)).await {
        Ok(Ok(output)) => Ok(output.to_text()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("The server did not answer within {} s.", COMMAND_TIMEOUT.as_secs())),
    }
}

/// Splits at blanks outside of double quotes, which are left out.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted, mut has_begun) = (Vec::new(), String::new(), false, false);
    for c in text.chars() {
        match c {
            '"' => (is_quoted, has_begun) = (!is_quoted, true),
            c if c.is_whitespace() && !is_quoted => {
                if std::mem::take(&mut has_begun) {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => {
                word.push(c);
                has_begun = true;
            }
        }
    }
    words.extend(has_begun.then_some(word));
    words
}

/// Reads `NAME=VALUE`s; the error is the first word that is none.
fn fields(words: &[String]) -> Result<Map<String, Value>, String> {
    let field = |word: &String| match word.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.into())),
        _ => Err(word.clone()),
    };
    words.iter().map(field).collect()
}

#[async_trait]
impl CommandHandler for McpCommand {
    async fn claim(&self, inbound: &mut Inbound) -> Result<Option<Box<dyn Claim>>> {
        let Some(arguments) = Self::arguments(inbound) else { return Ok(None) };
        let outcome = match inbound.trust().is_owner() {
            true => self.outcome(inbound, &arguments).await,
            false => Outcome::Answer(NOT_YOURS.to_owned()),
        };
        match outcome {
            Outcome::Answer(answer) => inbound.handling = Handling::Program { answer },
            Outcome::Prompt(prompt) => {
                inbound.text = format!("{}\n\n{}", inbound.text.trim(), prompt.trim());
                inbound.behalf.outside = true;
            }
        }
        Ok(Some(Box::new(Answered)))
    }
}

#[cfg(test)]
mod tests {
    use aethon_core::ids::SessionId;
    use aethon_core::tool::{FixedTools, ToolError, ToolOutput, ToolSpec};

    use super::*;

    /// A tool of a server with one prompt.
    struct Prompts(ToolSpec);

    impl Prompts {
        fn named(name: &str) -> Arc<dyn Tool> {
            Arc::new(Self(ToolSpec::new(name, "Prompts.", json!({"type": "object"}))))
        }
    }

    #[async_trait]
    impl Tool for Prompts {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        async fn call(&self, _context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
            match input["name"].as_str() {
                None => Ok(ToolOutput::text("- review: reviews; of=...\n")),
                Some("review") => Ok(ToolOutput::text(format!("Review {} well.", input["arguments"]["of"]))),
                Some(_) => Err(ToolError::failed("there is no such prompt")),
            }
        }
    }

    async fn claimed(message: Inbound) -> Option<Inbound> {
        let tools = ["far__list_prompts", "far__get_prompt", "near__echo"].map(Prompts::named);
        let command = McpCommand::new(Arc::new(FixedTools::new("mcp", tools.to_vec())));
        let mut inbound = message;
        command.claim(&mut inbound).await.unwrap().map(|_| inbound)
    }

    fn said(text: &str) -> Inbound {
        Inbound::say(SessionId::of("webchat", "a").unwrap(), text)
    }

    #[tokio::test]
    async fn prompts_are_listed_and_followed_as_text_from_outside() {
        let check = async |text: &str, expected: &str| {
            let inbound = claimed(said(text)).await.unwrap();
            let Handling::Program { answer } = &inbound.handling else { panic!("{text}: {inbound:?}") };
            assert!(answer.contains(expected), "{text}: {answer}");
        };
        check("/mcp", "`far`").await;
        check("/mcp far", "- review").await;
        check("/mcp near", "no connected MCP server `near` with prompts").await;
        check("/mcp far review Rust", "`Rust` is not of the form").await;
        check("/mcp far gone", "there is no such prompt").await;
        let inbound = claimed(said("/mcp far review of=\"my own code\"")).await.unwrap();
        assert_eq!(inbound.handling, Handling::Model);
        assert!(inbound.text.ends_with("\n\nReview \"my own code\" well."), "{}", inbound.text);
        assert!(inbound.is_from_outside(), "the server wrote it");
    }

    #[tokio::test]
    async fn other_messages_and_people_are_left_alone() {
        for text in ["/mcpx", "about /mcp", "hello"] {
            assert!(claimed(said(text)).await.is_none(), "{text}");
        }
        assert!(claimed(said("/mcp").with_outside(true)).await.is_none());
        let ben = aethon_core::person::Person::member("ben").unwrap();
        let inbound = claimed(said("/mcp").for_person(ben)).await.unwrap();
        assert_eq!(inbound.handling, Handling::Program { answer: NOT_YOURS.into() });
    }

    #[test]
    fn arguments_are_words_or_quoted() {
        assert_eq!(words(" a  b=\"c d\"e \"\" f"), ["a", "b=c de", "", "f"]);
        assert_eq!(words("\"open end"), ["open end"]);
    }
}
