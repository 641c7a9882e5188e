//! A specialist as a file, `NAME.agent.md`: a title with its purpose, a list of settings, and its instructions.
//!
//! ```text
//! # Writes release notes
//!
//! - tools: file_read, github
//! - model: a-small-one
//!
//! You write release notes. ...
//! ```

use super::definition::{Definition, name};

/// The file name ending of a specialist.
pub(super) const ENDING: &str = ".agent.md";

/// The longest file, in bytes.
pub(super) const MAX_BYTES: usize = 32 * 1024;

/// The longest description, in characters.
const MAX_ROLE: usize = 300;

/// The tools of a specialist that names none: those that only read.
const LOOKING: [&str; 7] =
    ["file_read", "file_list", "file_search", "web_fetch", "web_search", "current_time", "calculator"];

/// Parses a specialist.
pub(super) fn parse(called: &str, text: &str) -> Result<Definition, String> {
    if text.len() > MAX_BYTES {
        return Err(format!("the file has {} bytes, and at most {MAX_BYTES} are read", text.len()));
    }
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = text.lines().skip_while(|line| line.trim().is_empty());
    let title = lines.next().unwrap_or_default();
    let role = title.strip_prefix("# ").map(str::trim).filter(|role| !role.is_empty());
    let role = role.ok_or("line 1: begin with `# ` and what the specialist is for")?;
    if role.chars().count() > MAX_ROLE {
        return Err(format!("line 1: say what it is for in at most {MAX_ROLE} characters"));
    }
    let (mut tools, mut model, mut prompt) = (None, None, String::new());
    for line in lines {
        let setting = line.strip_prefix("- ").filter(|_| prompt.trim().is_empty());
        match setting.and_then(|setting| setting.split_once(':')) {
            Some(("tools", list)) => tools = Some(listed(list)),
            Some(("model", id)) => model = Some(id.trim().to_owned()).filter(|id| !id.is_empty()),
            _ => {
                prompt.push_str(line);
                prompt.push('\n');
            }
        }
    }
    let prompt = prompt.trim().to_owned();
    if prompt.is_empty() {
        return Err("there is no text that tells the specialist what to do".to_owned());
    }
    let looking = || LOOKING.iter().map(|tool| (*tool).to_owned()).collect();
    let tools = tools.unwrap_or_else(looking);
    Ok(Definition { name: name(called)?, role: role.to_owned(), prompt, tools, model })
}

/// Writes a specialist in the form that [`parse`] reads.
pub(super) fn written(definition: &Definition) -> String {
    let mut text = format!("# {}\n\n- tools: {}\n", one_line(&definition.role), definition.tools.join(", "));
    if let Some(model) = &definition.model {
        text.push_str(&format!("- model: {}\n", one_line(model)));
    }
    text.push_str(&format!("\n{}\n", definition.prompt.trim()));
    text
}

fn listed(list: &str) -> Vec<String> {
    list.split(',').map(|tool| tool.trim().to_owned()).filter(|tool| !tool.is_empty()).collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_specialist_is_read_as_it_was_written() {
        let text =
            "# Writes release\n\n- tools: file_read , web_*\n- model: small-1\n\nYou write.\n\n- tools: no\n";
        let one = parse("notes", text).unwrap();
        assert_eq!((one.role.as_str(), one.model.as_deref()), ("Writes release", Some("small-1")));
        assert_eq!(one.tools, ["file_read", "web_*"]);
        assert_eq!(one.prompt, "You write.\n\n- tools: no");
        assert_eq!(parse("notes", &written(&one)).unwrap(), one);
        let plain = parse("notes", "# Looks\nYou look.").unwrap();
        assert!(plain.tools.iter().any(|tool| tool == "file_read") && plain.model.is_none());
    }

    #[test]
    fn invalid_specialist_file_names_the_problem() {
        let check = |called: &str, text: &str, why: &str| {
            let error = parse(called, text).unwrap_err();
            assert!(error.contains(why), "{error}");
        };
        check("notes", "no title", "line 1");
        check("notes", "# Role\n\n- tools: shell\n", "no text");
        check("Notes", "# Role\nText", "no name");
        check("main", "# Role\nText", "no name");
        check("9x", "# Role\nText", "no name");
        check("notes", &format!("# {}\nText", "x".repeat(400)), "at most 300");
        check("notes", &"x".repeat(MAX_BYTES + 1), "bytes");
    }
}
