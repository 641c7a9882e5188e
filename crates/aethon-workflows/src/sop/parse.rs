//! Parses a SOP: Markdown with a title, an overview, parameters and numbered steps, in the form of the public Agent SOPs.
//!
//! All faults are reported at once, each with its line. What has no meaning to the program, although it looks as if it
//! should have, is a remark: the model reads the whole text in any case.

mod lines;
mod parameters;

use std::sync::Arc;

use aethon_core::sop::{Sop, SopFault, SopName, SopOrigin, SopStep, StepSchema};

use self::lines::{Kind, Line, Marks};
use self::parameters::Parameters;
use super::schemas;

/// The largest file that is read.
pub const MAX_BYTES: usize = 256 * 1024;

/// The syntax of a step.
const STEP_FORM: &str = "a step is written `### 1. Title`, numbered from 1";

/// The sections that the format knows beside those that the program reads.
const KNOWN: [&str; 4] = ["example", "examples", "troubleshooting", "notes"];

/// Parses a SOP.
pub fn parse(name: SopName, origin: SopOrigin, content: &str) -> Result<Sop, Vec<SopFault>> {
    Reading::of(name, origin, content).outcome
}

/// What was found in a text.
#[derive(Debug)]
pub struct Reading {
    /// The SOP, or its faults in order.
    pub outcome: Result<Sop, Vec<SopFault>>,
    /// What was not understood, in order.
    pub remarks: Vec<SopFault>,
}

impl Reading {
    /// Reads a text.
    pub fn of(name: SopName, origin: SopOrigin, content: &str) -> Self {
        if content.len() > MAX_BYTES {
            let message =
                format!("the file is larger than {} KiB; a SOP must fit into a prompt", MAX_BYTES / 1024);
            return Self::failed(vec![SopFault { line: 1, message }]);
        }
        let mut reader = SopReader::default();
        for line in lines::lines(content, &mut reader.remarks) {
            reader.line(line);
        }
        let (mut faults, mut remarks) = reader.found(content);
        faults.sort_by_key(|fault| fault.line);
        remarks.sort_by_key(|remark| remark.line);
        let outcome = if faults.is_empty() { Ok(reader.finish(name, origin, content)) } else { Err(faults) };
        Self { outcome, remarks }
    }

    /// A text that could not be read.
    pub(super) fn failed(faults: Vec<SopFault>) -> Self {
        Self { outcome: Err(faults), remarks: Vec::new() }
    }
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
    /// The level of the headings of sections: that of the first one that is known.
    level: Option<usize>,
    /// The level of the headings of steps.
    step_level: Option<usize>,
    title: Option<String>,
    has_empty_title: bool,
    /// The line where the section begins, and its text.
    overview: Option<(usize, String)>,
    steps_at: Option<usize>,
    parameters: Parameters,
    steps: Vec<SopStep>,
    faults: Vec<SopFault>,
    remarks: Vec<SopFault>,
}

impl SopReader {
    fn line(&mut self, line: Line<'_>) {
        match line.kind {
            Kind::Heading { level, text, marks } => {
                if self.heading(line, (level, marks), text) {
                    return;
                }
                match marks {
                    Marks::Hashes => self.text(line),
                    // A schema or a parameter above a rule is one all the same.
                    Marks::Underline => self.line(Line { kind: Kind::Text, ..line }),
                }
            }
            Kind::Text if self.section == Section::Steps => {
                if let Some(named) = schemas::named(line.text) {
                    self.schema(line.number, named);
                }
                self.text(line);
            }
            Kind::Text | Kind::Verbatim => self.text(line),
        }
    }

    /// Reads a heading. `false` if it is part of the text of its section.
    fn heading(&mut self, line: Line<'_>, (level, marks): (usize, Marks), text: &str) -> bool {
        let word = section_word(text);
        let is_section = matches!(word.as_str(), "overview" | "parameters" | "steps");
        let section_level = self.level.unwrap_or(if is_section && self.title.is_some() { level } else { 2 });
        let number = numbered(text);
        match self.section {
            // A row of `=` within a text is part of it.
            Section::Overview | Section::Steps
                if (level, marks) == (1, Marks::Underline) && self.title.is_some() && !is_known(&word) =>
            {
                return false;
            }
            // A text above a rule, such as the end of a list, is no section and no step, unless its word says so.
            _ if (level, marks) == (2, Marks::Underline)
                && !is_known(&word)
                && !(number.is_some()
                    && self.section == Section::Steps
                    && self.step_level.is_none_or(|known| known == level)) =>
            {
                if self.section == Section::Steps {
                    let message = format!("{text:?} above a row of dashes is read as part of the step");
                    self.remark(line.number, message);
                }
                return false;
            }
            Section::Steps if number.is_some() && self.step_level.is_none_or(|known| known == level) => {
                self.step_level = Some(level);
                self.step(line.number, number);
            }
            Section::Steps
                if level == section_level + 1 && self.step_level.is_none_or(|known| known == level) =>
            {
                // Sub-steps such as `2.1` belong to their step.
                if text.starts_with(|c: char| c.is_ascii_digit()) && !self.steps.is_empty() {
                    return false;
                }
                self.step(line.number, None);
            }
            _ if level == 1 && self.level != Some(1) && !(is_section && self.title.is_some()) => {
                self.title(line.number, text);
            }
            _ if level <= section_level => {
                if is_section {
                    self.level.get_or_insert(level);
                }
                self.section(line.number, text, &word);
            }
            Section::Parameters => {
                self.parameters.label(text);
                return false;
            }
            _ => return false,
        }
        true
    }

    fn title(&mut self, number: usize, title: &str) {
        let is_over = self.section == Section::Other;
        if self.title.is_some() && is_over {
            self.remark(number, "this is a second title; what follows has no meaning to the program");
        } else if self.title.is_some() {
            self.fault(number, "there is a second title; a SOP has one line that begins with `# `");
        } else if title.is_empty() {
            self.has_empty_title = true;
            self.fault(number, "the title is empty");
        } else {
            self.title = Some(title.to_owned());
        }
    }

    fn section(&mut self, number: usize, heading: &str, word: &str) {
        self.section = match word {
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
            word => {
                if !is_known(word) {
                    let message =
                        format!("the section {heading:?} has no meaning to the program; the model reads it");
                    self.remark(number, message);
                }
                Section::Other
            }
        };
        self.parameters.begin_section();
    }

    fn text(&mut self, line: Line<'_>) {
        match self.section {
            Section::Overview => {
                if let Some((_, text)) = &mut self.overview {
                    text.push_str(line.text);
                    text.push('\n');
                }
            }
            Section::Parameters if line.kind == Kind::Text => self.parameters.line(line.number, line.text),
            Section::Steps => {
                if let Some(step) = self.steps.last_mut() {
                    step.text.push_str(line.text);
                    step.text.push('\n');
                }
            }
            Section::Parameters | Section::Before | Section::Other => {}
        }
    }

    fn step(&mut self, line: usize, numbered: Option<(usize, &str)>) {
        let expected = self.steps.len() + 1;
        let Some((found, title)) = numbered else { return self.fault(line, STEP_FORM) };
        if found != expected {
            self.fault(line, format!("this is step {expected}, but its number is {found}"));
        }
        if title.is_empty() {
            self.fault(line, "the step has no title");
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

    fn remark(&mut self, line: usize, message: impl Into<String>) {
        self.remarks.push(lines::remark(line, message));
    }

    /// Takes the faults and remarks, with those of the whole.
    fn found(&mut self, content: &str) -> (Vec<SopFault>, Vec<SopFault>) {
        let last = content.lines().count().max(1);
        if self.title.is_none() && !self.has_empty_title {
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
        self.faults.append(&mut self.parameters.faults);
        self.remarks.append(&mut self.parameters.remarks);
        (std::mem::take(&mut self.faults), std::mem::take(&mut self.remarks))
    }

    fn finish(mut self, name: SopName, origin: SopOrigin, content: &str) -> Sop {
        let overview = self.overview.map(|(_, text)| text).unwrap_or_default();
        for step in &mut self.steps {
            step.text = step.text.trim().to_owned();
        }
        Sop {
            name,
            title: self.title.unwrap_or_default(),
            description: first_paragraph(&overview),
            parameters: self.parameters.found,
            steps: self.steps,
            origin,
            content: Arc::from(content),
        }
    }
}

/// Returns the word of a section's heading: `## 2. **Parameters**:` is `parameters`.
fn section_word(heading: &str) -> String {
    let text = heading.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ')' | ' '));
    text.trim_matches(|c: char| matches!(c, '*' | '_' | '`' | ':') || c.is_whitespace()).to_lowercase()
}

fn is_known(word: &str) -> bool {
    matches!(word, "overview" | "parameters" | "steps") || KNOWN.contains(&word)
}

/// The number and the title of a step: `1. Title`, `1) Title` or `Step 1: Title`. `1.2 Title` is no step.
fn numbered(heading: &str) -> Option<(usize, &str)> {
    let text = heading.trim_start_matches(['*', '_']);
    let text = text.strip_prefix("Step ").unwrap_or(text).trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..end].parse().ok()?;
    let rest = &text[end..];
    if rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        return None;
    }
    let marks = [".", ")", ":", " - ", " – ", " — "];
    let title = marks.iter().find_map(|mark| rest.strip_prefix(mark));
    let title = title.or_else(|| rest.is_empty().then_some(""))?;
    Some((number, title.trim().trim_end_matches(['*', '_'])))
}

fn first_paragraph(text: &str) -> String {
    let lines = text.trim().lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
    lines.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
