//! What in the workspace shapes the assistant in later turns. Turns that the owner's own words did not begin change none of it,
//! by file tools or by commands.

/// The page that says who the assistant is.
pub const SOUL: &str = "SOUL.md";
/// The page about the tools of this machine.
pub const TOOLS: &str = "TOOLS.md";
/// The page about current matters.
pub const CONTEXT: &str = "CONTEXT.md";
/// The page of lessons about working for the owner.
pub const LEARNINGS: &str = "LEARNINGS.md";

/// The pages, which go along with the prompt.
pub const PAGES: [&str; 4] = [SOUL, TOOLS, CONTEXT, LEARNINGS];

/// The folder of procedures.
pub const SOPS: &str = "sops";
/// The folder of specialists.
pub const AGENTS: &str = "agents";

/// The folder of prompts that the owner sends as their own words.
pub const PROMPTS: &str = "prompts";

/// The folders: procedures, specialists, skills, saved prompts.
pub const FOLDERS: [&str; 4] = [SOPS, AGENTS, "skills", PROMPTS];
