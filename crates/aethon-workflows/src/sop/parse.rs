//! Parses a SOP: Markdown with a title, an overview, parameters and numbered steps. All faults are reported at once,
//! each with its line.

use std::sync::Arc;

use aethon_core::sop::{Sop, SopFault, SopName, SopOrigin, SopParameter, SopStep, StepSchema};

use super::schemas;

/// The largest file that is read.
pub const MAX_BYTES: usize = 256 * 1024;

/// The syntax of a parameter.
const PARAMETER_FORM: &str = "a parameter is written `- **name** (required): what it means`, or with \
(optional) or (optional, default: \"x\")";

/// The syntax of a step.
const STEP_FORM: &str = "a step is written `### 1. Title`, numbered from 1";

/// Parses a SOP.
pub fn parse(name: SopName, origin: SopOrigin, content: &str) -> Result<Sop, Vec<SopFault>> {
    if content.len() > MAX_BYTES {
        let message =
            format!("the file is larger than {} KiB; a SOP must fit into a prompt", MAX_BYTES / 1024);
        return Err(vec![SopFault { line: 1, message }]);
    }
    let mut reader = SopReader::default();
    let mut is_code = false;
    for (index, line) in content.lines().enumerate() {
        let is_fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        is_code ^= is_fence;
        match is_code || is_fence {
            true => reader.text(index + 1, line),
            false => reader.line(index + 1, line),
        }
    }
    reader.finish(name, origin, content)
}

/// The section that a line belongs to.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Section {
    #[default]
    Before,
    Overview,
    Parameters,
    Steps,
    Other,
}

/// The parts that were parsed so far.
#[derive(Default)]
struct SopReader {
    section: Section,
    title: Option<String>,
    /// The line where the section begins, and its text.
    overview: Option<(usize, String)>,
    steps_at: Option<usize>,
    parameters: Vec<SopParameter>,
    steps: Vec<SopStep>,
    faults: Vec<SopFault>,
}

impl SopReader {
    fn line(&mut self, number: usize, line: &str) {
        if let Some(title) = line.strip_prefix("# ") {
            self.title(number, title.trim());
        } else if let Some(heading) = line.strip_prefix("## ") {
            self.section(number, heading.trim());
        } else if self.section == Section::Steps && line.starts_with("### ") {
            self.step(number, line.trim_start_matches('#').trim());
        } else if self.section == Section::Steps
            && let Some(named) = schemas::named(line)
        {
            self.schema(number, named);
            self.text(number, line);
        } else {
            self.text(number, line);
        }
    }

    fn title(&mut self, number: usize, title: &str) {
        if self.title.is_some() {
            self.fault(number, "there is a second title; a SOP has one line that begins with `# `");
        } else if title.is_empty() {
            self.fault(number, "the title is empty");
        } else {
            self.title = Some(title.to_owned());
        }
    }

    fn section(&mut self, number: usize, heading: &str) {
        let word = heading.trim_end_matches(':').to_ascii_lowercase();
        self.section = match word.as_str() {
            "overview" if self.overview.is_some() => {
                self.fault(number, "there is a second `## Overview`");
                Section::Other
            }
            "overview" => {
                self.overview = Some((number, String::new()));
                Section::Overview
            }
            "parameters" => Section::Parameters,
            "steps" if self.steps_at.is_some() => {
                self.fault(number, "there is a second `## Steps`");
                Section::Other
            }
            "steps" => {
                self.steps_at = Some(number);
                Section::Steps
            }
            _ => Section::Other,
        };
    }

    fn text(&mut self, number: usize, line: &str) {
        match self.section {
            Section::Overview => {
                if let Some((_, text)) = &mut self.overview {
                    text.push_str(line);
                    text.push('\n');
                }
            }
            Section::Parameters => self.parameter(number, line),
            Section::Steps => {
                if let Some(step) = self.steps.last_mut() {
                    step.text.push_str(line);
                    step.text.push('\n');
                }
            }
            Section::Before | Section::Other => {}
        }
    }

    fn parameter(&mut self, number: usize, line: &str) {
        let is_item = line.starts_with("- ") || line.starts_with("* ");
        if !is_item {
            // Indented text, and text between parameters, belongs to the preceding parameter.
            if let (Some(last), true) = (self.parameters.last_mut(), line.starts_with(char::is_whitespace)) {
                let more = line.trim();
                if !more.is_empty() {
                    last.description.push(' ');
                    last.description.push_str(more);
                }
            }
            return;
        }
        match parameter(line[2..].trim()) {
            Err(why) => self.fault(number, why),
            Ok(parameter) if self.parameters.iter().any(|known| known.name == parameter.name) => {
                self.fault(number, format!("there is a second parameter {:?}", parameter.name));
            }
            Ok(parameter) => self.parameters.push(parameter),
        }
    }

    fn step(&mut self, number: usize, heading: &str) {
        let expected = self.steps.len() + 1;
        let Some((found, title)) = numbered(heading) else { return self.fault(number, STEP_FORM) };
        if found != expected {
            self.fault(number, format!("this is step {expected}, but its number is {found}"));
        }
        if title.is_empty() {
            self.fault(number, "the step has no title");
        }
        self.steps.push(SopStep { title: title.to_owned(), text: String::new(), schema: None });
    }

    fn schema(&mut self, number: usize, named: Result<String, String>) {
        let file = match named {
            Ok(file) => file,
            Err(why) => return self.fault(number, why),
        };
        match self.steps.last_mut().map(|step| &mut step.schema) {
            Some(Some(_)) => self.fault(number, "there is a second schema for this step"),
            Some(schema) => {
                let content = Err("it was not read".to_owned());
                *schema = Some(StepSchema { file, line: number, content });
            }
            None => self.fault(number, "a schema belongs to a step"),
        }
    }

    fn fault(&mut self, line: usize, message: impl Into<String>) {
        self.faults.push(SopFault { line, message: message.into() });
    }

    fn finish(mut self, name: SopName, origin: SopOrigin, content: &str) -> Result<Sop, Vec<SopFault>> {
        let last = content.lines().count().max(1);
        if self.title.is_none() && !self.faults.iter().any(|fault| fault.message.contains("title is empty")) {
            self.fault(1, "the title is missing: begin with a line such as `# Release notes`");
        }
        match &self.overview {
            None => self.fault(last, "the section `## Overview` is missing"),
            Some((line, text)) if text.trim().is_empty() => {
                let line = *line;
                self.fault(line, "the overview is empty; say in a paragraph what the SOP does");
            }
            Some(_) => {}
        }
        match self.steps_at {
            None => self.fault(last, "the section `## Steps` is missing"),
            Some(line) if self.steps.is_empty() => self.fault(line, format!("there is no step; {STEP_FORM}")),
            Some(_) => {}
        }
        if !self.faults.is_empty() {
            self.faults.sort_by_key(|fault| fault.line);
            return Err(self.faults);
        }
        let overview = self.overview.map(|(_, text)| text).unwrap_or_default();
        for step in &mut self.steps {
            step.text = step.text.trim().to_owned();
        }
        Ok(Sop {
            name,
            title: self.title.unwrap_or_default(),
            description: first_paragraph(&overview),
            parameters: self.parameters,
            steps: self.steps,
            origin,
            content: Arc::from(content),
        })
    }
}

/// A parameter, parsed from the text after the bullet.
fn parameter(text: &str) -> Result<SopParameter, String> {
    let wrong = || PARAMETER_FORM.to_owned();
    let (name, rest) = text.strip_prefix("**").and_then(|text| text.split_once("**")).ok_or_else(wrong)?;
    let name = name.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        return Err(format!("the parameter name {name:?} is not valid: use letters, digits, `_` and `-`"));
    }
    let rest = rest.trim_start().strip_prefix('(').ok_or_else(wrong)?;
    let (terms, description) = closing(rest).ok_or_else(wrong)?;
    let (kind, default) = match terms.split_once(',') {
        None => (terms.trim(), None),
        Some((kind, default)) => {
            let value = default.trim().strip_prefix("default").ok_or_else(wrong)?;
            let value = value.trim_start().trim_start_matches([':', '=']).trim();
            (kind.trim(), Some(unquoted(value).to_owned()))
        }
    };
    let required = match kind.to_ascii_lowercase().as_str() {
        "required" => true,
        "optional" => false,
        other => return Err(format!("the parameter {name:?} is {other:?}; say required or optional")),
    };
    if required && default.is_some() {
        return Err(format!("the parameter {name:?} is required and has a default; make it optional"));
    }
    let description = description.trim_start().trim_start_matches(':').trim().to_owned();
    Ok(SopParameter { name: name.to_owned(), required, default, description })
}

/// The text before the closing parenthesis and after it. One within quotation marks closes nothing.
fn closing(text: &str) -> Option<(&str, &str)> {
    let mut is_quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            ')' if !is_quoted => return Some((&text[..at], &text[at + 1..])),
            _ => {}
        }
    }
    text.split_once(')')
}

fn unquoted(text: &str) -> &str {
    let marks = [('"', '"'), ('`', '`'), ('\'', '\''), ('“', '”')];
    let inner = marks.iter().find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close));
    inner.unwrap_or(text)
}

/// The number and the title of a step: `1. Title`, `1) Title` or `Step 1: Title`.
fn numbered(heading: &str) -> Option<(usize, &str)> {
    let text = heading.strip_prefix("Step ").unwrap_or(heading).trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..end].parse().ok()?;
    let rest = &text[end..];
    let title = rest.strip_prefix(['.', ')', ':']).or_else(|| rest.is_empty().then_some(""))?;
    Some((number, title.trim()))
}

fn first_paragraph(text: &str) -> String {
    let lines = text.trim().lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
    lines.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# Release notes\n\n## Overview\n\nWrites the notes\nof a release.\n\nMore.\n\n## Parameters\n\n\
        - **tag** (required): The tag\n  of the release\n- **style** (optional, default: \"short (and sweet)\"): How\n\
        - **to** (optional): Where\n\n## Steps\n\n### 1. Look\n\nLook at it.\n\n```sh\n# no title\n### 7. no step\n```\n\n\
        **Constraints:**\n- You MUST look\n\n### 2. Write\n\nWrite.\n\n## Examples\n\n### 9. anything\n";

    fn read(content: &str) -> Result<Sop, Vec<SopFault>> {
        parse(SopName::parse("x").unwrap(), SopOrigin::BuiltIn, content)
    }

    #[test]
    fn a_sop_has_a_title_an_overview_parameters_and_steps() {
        let sop = read(GOOD).unwrap();
        assert_eq!(
            (sop.title.as_str(), sop.description.as_str()),
            ("Release notes", "Writes the notes of a release.")
        );
        let parameters: Vec<_> = sop
            .parameters
            .iter()
            .map(|one| (one.name.as_str(), one.required, one.default.as_deref(), one.description.as_str()))
            .collect();
        let expected = [
            ("tag", true, None, "The tag of the release"),
            ("style", false, Some("short (and sweet)"), "How"),
            ("to", false, None, "Where"),
        ];
        assert_eq!(parameters, expected);
        let titles: Vec<&str> = sop.steps.iter().map(|step| step.title.as_str()).collect();
        assert_eq!(titles, ["Look", "Write"]);
        assert!(sop.steps[0].text.contains("# no title") && sop.steps[0].text.ends_with("- You MUST look"));
    }

    #[test]
    fn parse_errors_carry_their_line() {
        let check = |content: &str, expected: &[(usize, &str)]| {
            let faults = read(content).unwrap_err();
            let found: Vec<_> = faults.iter().map(|fault| (fault.line, fault.message.as_str())).collect();
            assert_eq!(found.len(), expected.len(), "{content:?}: {found:?}");
            for ((line, message), (expected_line, words)) in found.iter().zip(expected) {
                assert!(line == expected_line && message.contains(words), "{content:?}: {found:?}");
            }
        };
        check("", &[(1, "title is missing"), (1, "## Overview"), (1, "## Steps")]);
        check("# T\n## Overview\n\n## Steps\n", &[(2, "overview is empty"), (4, "no step")]);
        check("# T\n## Overview\nx\n## Steps\n### One\n", &[(4, "no step"), (5, "### 1. Title")]);
        check(
            "# T\n# U\n## Overview\nx\n## Steps\n### 1. a\n### 3. b\n",
            &[(2, "second title"), (7, "step 2")],
        );
        check(
            "# T\n## Overview\nx\n## Steps\n### 1. a\n**Schema:** a.txt\n### 2. b\n**Schema:** b.json\n**Schema:** c.json\n",
            &[(6, "names a file in the folder sops/"), (9, "second schema")],
        );
        let head = "# T\n## Overview\nx\n## Parameters\n";
        let tail = "\n## Steps\n### 1. a\n";
        let check = |line: &str, words: &str| check(&format!("{head}{line}{tail}"), &[(5, words)]);
        check("- tag: the tag", "a parameter is written");
        check("- **tag**: the tag", "a parameter is written");
        check("- **tag** (wanted): the tag", "say required or optional");
        check("- **a tag** (required): the tag", "not valid");
        check("- **tag** (required, default: x): the tag", "make it optional");
        check("- **tag** (required: the tag", "a parameter is written");
    }

    #[test]
    fn oversized_sop_is_refused() {
        assert_eq!(read(&"x".repeat(MAX_BYTES + 1)).unwrap_err().len(), 1);
    }
}
