//! The section of the parameters: bullets or a table, and constraints on how they are acquired.

use aethon_core::sop::{SopFault, SopParameter};

use super::lines::remark;

/// The syntax of a parameter.
const PARAMETER_FORM: &str = "a parameter is written `- **name** (required): what it means`, or with \
(optional) or (optional, default: \"x\")";

/// The words of RFC 2119 that make a bullet a constraint, as they are written in one.
const REQUIREMENTS: [&str; 8] =
    ["MUST", "SHALL", "SHOULD", "MAY", "REQUIRED", "RECOMMENDED", "OPTIONAL", "NEVER"];

/// The parameters that were found so far.
#[derive(Default)]
pub(super) struct Parameters {
    pub(super) found: Vec<SopParameter>,
    pub(super) faults: Vec<SopFault>,
    pub(super) remarks: Vec<SopFault>,
    group: Group,
    /// The indentation of the bullets that are parameters; deeper ones belong to them.
    indent: Option<usize>,
    /// Whether the last line continues the preceding parameter.
    is_open: bool,
    table: Table,
}

/// What the bullets below a label are.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Group {
    #[default]
    Parameters,
    /// Below a bold line such as `**Required:**`: those that are written like parameters.
    Labelled,
    /// Below a bold line about constraints.
    Constraints,
}

/// The table that the last line belongs to.
#[derive(Default, Clone, PartialEq, Eq)]
enum Table {
    #[default]
    None,
    Columns(Columns),
    /// A table that is not about parameters.
    Foreign,
}

/// The meaning of the columns, by their index.
#[derive(Clone, PartialEq, Eq)]
struct Columns {
    name: usize,
    required: Option<usize>,
    /// Whether the column says what is optional.
    is_inverted: bool,
    default: Option<usize>,
    description: Option<usize>,
}

impl Parameters {
    /// A section begins.
    pub(super) fn begin_section(&mut self) {
        self.group = Group::Parameters;
        self.indent = None;
        self.is_open = false;
        self.table = Table::None;
    }

    /// Reads a label: a bold line or a heading above bullets.
    pub(super) fn label(&mut self, text: &str) {
        self.begin_section();
        let is_about_constraints = text.to_lowercase().contains("constraint");
        self.group = if is_about_constraints { Group::Constraints } else { Group::Labelled };
    }

    /// Reads a line of the section.
    pub(super) fn line(&mut self, number: usize, line: &str) {
        let text = line.trim();
        let indent = line.len() - line.trim_start().len();
        if text.is_empty() {
            (self.is_open, self.table) = (false, Table::None);
        } else if let Some(bullet) = bullet(text) {
            self.table = Table::None;
            self.bullet(number, bullet, indent);
        } else if text.starts_with('|') || (text.contains('|') && self.may_be_row(text)) {
            self.row(number, text);
        } else if let Some(label) = label(text).filter(|_| indent < 2) {
            self.label(label);
        } else if self.is_open || (indent > 0 && self.group != Group::Constraints) {
            // Indented text, and text right below a parameter, belongs to it.
            self.continued(text);
        }
    }

    /// Returns whether a line is a row of a table without a bar at its beginning.
    fn may_be_row(&self, text: &str) -> bool {
        self.table != Table::None || (!self.is_open && Columns::of(&cells(text)).is_some())
    }

    fn continued(&mut self, more: &str) {
        if let Some(last) = self.found.last_mut().filter(|_| self.indent.is_some()) {
            last.description.push(' ');
            last.description.push_str(more);
        }
    }

    fn bullet(&mut self, number: usize, text: &str, indent: usize) {
        if self.indent.is_some_and(|outer| indent >= outer + 2) {
            return match self.group {
                Group::Constraints => {}
                Group::Parameters | Group::Labelled => self.continued(&format!("- {text}")),
            };
        }
        self.is_open = false;
        let read = parameter(text);
        if self.group == Group::Constraints {
            if read.is_ok() {
                let message = "this is read as a constraint; put parameters before the constraints";
                self.remarks.push(remark(number, message));
            }
            return;
        }
        if let Some(label) = label(text).filter(|label| read.is_err() && is_group(label)) {
            return self.label(label);
        }
        match read {
            Ok((parameter, odd)) => {
                self.indent = Some(indent);
                self.is_open = true;
                if let Some(odd) = odd {
                    let message = format!(
                        "{odd:?} has no meaning here; write (required) or (optional, default: \"x\")"
                    );
                    self.remarks.push(remark(number, message));
                }
                self.add(number, parameter);
            }
            Err(_) if is_none(text) => {}
            Err(_) if !is_stated(text) && is_requirement(text) => {
                let message = "this bullet is read as a constraint, because it is no parameter";
                self.remarks.push(remark(number, message));
            }
            Err(_) if !is_stated(text) && self.group == Group::Labelled => {
                let message = "this bullet is no parameter and has no meaning to the program";
                self.remarks.push(remark(number, message));
            }
            Err(why) => self.faults.push(SopFault { line: number, message: why }),
        }
    }

    fn add(&mut self, number: usize, parameter: SopParameter) {
        if self.found.iter().any(|known| known.name == parameter.name) {
            let message = format!("there is a second parameter {:?}", parameter.name);
            self.faults.push(SopFault { line: number, message });
        } else {
            self.found.push(parameter);
        }
    }

    fn row(&mut self, number: usize, row: &str) {
        self.is_open = false;
        if self.group == Group::Constraints {
            return;
        }
        let cells = cells(row);
        match &self.table {
            Table::None => {
                self.table = match Columns::of(&cells) {
                    Some(columns) => Table::Columns(columns),
                    None => {
                        let message = "the table is not read: no column is called Name or Parameter";
                        self.remarks.push(remark(number, message));
                        Table::Foreign
                    }
                }
            }
            Table::Foreign => {}
            Table::Columns(_) if is_delimiter(&cells) => {}
            Table::Columns(columns) => match columns.parameter(&cells) {
                Ok((parameter, odd)) => {
                    if let Some(odd) = odd {
                        self.remarks.push(remark(number, odd));
                    }
                    self.add(number, parameter);
                }
                Err(why) => self.remarks.push(remark(number, format!("this row is no parameter: {why}"))),
            },
        }
    }
}

impl Columns {
    /// Returns the columns of a table of parameters by its header.
    fn of(header: &[String]) -> Option<Self> {
        let words: Vec<String> = header.iter().map(|cell| plain(cell).to_lowercase()).collect();
        let find = |wanted: &[&str]| {
            words.iter().position(|word| {
                wanted
                    .iter()
                    .any(|wanted| word.split(|c: char| !c.is_alphanumeric()).any(|one| one == *wanted))
            })
        };
        let name = find(&["name", "parameter", "parameters", "argument", "param"])?;
        let required = find(&["required", "mandatory", "status", "necessity", "requirement"]);
        let optional = find(&["optional"]);
        Some(Self {
            name,
            required: required.or(optional),
            is_inverted: required.is_none() && optional.is_some(),
            default: find(&["default", "defaults"]),
            description: find(&["description", "meaning", "purpose", "notes", "explanation"]),
        })
    }

    /// Returns the parameter of a row, and what is odd about it.
    fn parameter(&self, cells: &[String]) -> Result<(SopParameter, Option<String>), String> {
        let cell = |index: Option<usize>| index.and_then(|index| cells.get(index)).map_or("", String::as_str);
        let name = valid_name(plain(cell(Some(self.name))))?;
        let description = cell(self.description).to_owned();
        let default = unquoted(unquoted(cell(self.default)));
        let mut default = (!is_blank(default)).then(|| default.to_owned());
        let mark = plain(cell(self.required)).to_lowercase();
        let stated = match mark.as_str() {
            "yes" | "y" | "true" | "x" | "✓" | "✔" | "✅" => Some(!self.is_inverted),
            "required" | "mandatory" => Some(true),
            "optional" => Some(false),
            "no" | "n" | "false" | "✗" | "✘" | "❌" => Some(self.is_inverted),
            mark if is_blank(mark) && self.required.is_some() => Some(self.is_inverted),
            // As in the parentheses of a bullet: `optional, default: x`.
            _ => {
                let terms = Terms::of(cell(self.required).trim_matches(['(', ')']));
                default = default.or(terms.default);
                terms.required
            }
        };
        let (required, odd) = match (stated, &default) {
            (Some(true), Some(_)) => {
                (false, Some(format!("{name:?} is required and has a default, so it counts as optional")))
            }
            (Some(required), _) => (required, None),
            (None, Some(_)) => (false, None),
            (None, None) => {
                let is_optional = description.to_lowercase().contains("optional");
                let odd = "the row does not say whether the parameter is required, so it is".to_owned();
                (!is_optional, (!is_optional).then_some(odd))
            }
        };
        Ok((SopParameter { name: name.to_owned(), required, default, description }, odd))
    }
}

/// Returns the text after a bullet.
fn bullet(text: &str) -> Option<&str> {
    let plain = text.strip_prefix(['-', '*', '+', '•']).filter(|rest| rest.starts_with([' ', '\t']));
    let numbered = || {
        let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_numbered = rest.len() < text.len();
        rest.strip_prefix(['.', ')']).filter(|rest| is_numbered && rest.starts_with([' ', '\t']))
    };
    let rest = plain.or_else(numbered)?.trim();
    // A box to tick means nothing here.
    Some(rest.strip_prefix("[ ] ").or_else(|| rest.strip_prefix("[x] ")).unwrap_or(rest))
}

/// Returns the words of a label: a bold line that ends with a colon, or one that is about constraints.
fn label(text: &str) -> Option<&str> {
    let bold = ["***", "**", "__"].iter().find_map(|mark| text.strip_prefix(mark)?.split_once(mark));
    match bold {
        Some((words, rest)) => {
            let is_alone = rest.trim_matches(['*', '_', ':', ' ']).is_empty();
            let ends_so = words.trim_end().ends_with(':') || rest.trim_end().ends_with(':');
            let is_about_constraints = words.to_lowercase().contains("constraint");
            ((is_alone && ends_so) || is_about_constraints).then_some(words)
        }
        None => {
            let is_label = text.ends_with(':')
                && text.to_lowercase().starts_with("constraint")
                && text.split_whitespace().count() < 8;
            is_label.then_some(text)
        }
    }
}

/// Returns whether a label is about parameters or constraints, so that the bullets in it are not its description.
fn is_group(label: &str) -> bool {
    let label = label.to_lowercase();
    ["constraint", "required", "optional", "parameter"].iter().any(|word| label.contains(word))
}

/// Returns whether a bullet was meant as a parameter: a name with something in parentheses behind it.
fn is_stated(text: &str) -> bool {
    let is_named = name_and_rest(text).is_some_and(|(_, rest)| rest.trim_start().starts_with('('));
    let text = text.to_lowercase();
    is_named || text.contains("(required") || text.contains("(optional")
}

/// Returns whether a bullet uses a word of RFC 2119 as a requirement.
fn is_requirement(text: &str) -> bool {
    text.split(|c: char| !c.is_alphabetic()).any(|word| REQUIREMENTS.contains(&word))
}

/// Returns whether a bullet says that there are no parameters.
fn is_none(text: &str) -> bool {
    let text = text.trim_matches(['*', '_', '.', '(', ')']).to_lowercase();
    matches!(text.as_str(), "none" | "n/a" | "no parameters" | "there are none")
}

/// A parameter, parsed from the text after the bullet, and words in its parentheses that have no meaning.
fn parameter(text: &str) -> Result<(SopParameter, Option<String>), String> {
    let wrong = || PARAMETER_FORM.to_owned();
    let (name, rest) = name_and_rest(text).ok_or_else(wrong)?;
    let name = valid_name(name)?;
    let rest = rest.trim_start().strip_prefix('(').ok_or_else(wrong)?;
    let (terms, description) = closing(rest).ok_or_else(wrong)?;
    let Terms { required, default, odd } = Terms::of(terms);
    let required = match (required, &default) {
        (Some(true), Some(_)) => {
            return Err(format!("the parameter {name:?} is required and has a default; make it optional"));
        }
        (Some(required), _) => required,
        (None, Some(_)) => false,
        (None, None) => {
            return Err(format!("the parameter {name:?} is {:?}; say required or optional", terms.trim()));
        }
    };
    let description = description.trim_start().trim_start_matches([':', '-', '–', '—']).trim().to_owned();
    Ok((SopParameter { name: name.to_owned(), required, default, description }, odd))
}

/// The name of a parameter, in bold or as code, and what follows it.
fn name_and_rest(text: &str) -> Option<(&str, &str)> {
    let between = |mark: &str| text.strip_prefix(mark)?.split_once(mark);
    let (name, rest) = between("**").or_else(|| between("__")).or_else(|| between("`"))?;
    Some((name.trim().trim_end_matches(':').trim_matches('`'), rest.trim_start_matches(':')))
}

fn valid_name(name: &str) -> Result<&str, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        return Err(format!("the parameter name {name:?} is not valid: use letters, digits, `_` and `-`"));
    }
    Ok(name)
}

/// What stands in the parentheses of a parameter.
struct Terms {
    required: Option<bool>,
    default: Option<String>,
    /// Words without a meaning, such as a type.
    odd: Option<String>,
}

impl Terms {
    fn of(text: &str) -> Self {
        let (mut terms, mut rest) = (Self { required: None, default: None, odd: None }, text);
        loop {
            let word = rest.trim_start();
            if let Some(value) = default_value(word) {
                // The default is the rest, whatever is in it, but for a word at its end that is none of it.
                let value = value.trim();
                let (value, last) = match value.rsplit_once([',', ';']) {
                    Some((value, last)) if necessity(last).is_some() => (value.trim(), necessity(last)),
                    _ => (value, None),
                };
                terms.required = terms.required.or(last);
                terms.default = Some(unquoted(value).to_owned());
                return terms;
            }
            let (term, after) = word.split_once([',', ';']).unwrap_or((word, ""));
            match necessity(term) {
                Some(required) => terms.required = terms.required.or(Some(required)),
                None if term.trim().is_empty() => {}
                None => terms.odd = terms.odd.or_else(|| Some(term.trim().to_owned())),
            }
            if after.is_empty() {
                return terms;
            }
            rest = after;
        }
    }
}

/// Returns whether a word says that a parameter is required or optional.
fn necessity(term: &str) -> Option<bool> {
    match plain(term).to_ascii_lowercase().as_str() {
        "required" | "mandatory" => Some(true),
        "optional" => Some(false),
        _ => None,
    }
}

/// Returns the value of a term such as `default: x`.
fn default_value(term: &str) -> Option<&str> {
    let start = term.get(..7).filter(|start| start.eq_ignore_ascii_case("default"))?;
    let rest = &term[start.len()..];
    let rest = rest.strip_prefix("s to ").or_else(|| rest.strip_prefix("s to:")).unwrap_or(rest);
    let rest = rest.trim_start();
    Some(rest.trim_start_matches([':', '=']))
}

/// The text before the closing parenthesis and after it. One within quotation marks closes nothing.
fn closing(text: &str) -> Option<(&str, &str)> {
    let (mut is_quoted, mut depth) = (false, 0_usize);
    for (at, c) in text.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted && depth == 0 => return Some((&text[..at], &text[at + 1..])),
            ')' if !is_quoted => depth -= 1,
            _ => {}
        }
    }
    text.split_once(')')
}

/// The cells of a table's row.
fn cells(row: &str) -> Vec<String> {
    let inner = row.strip_prefix('|').unwrap_or(row);
    let inner = inner.strip_suffix('|').filter(|rest| !rest.ends_with('\\')).unwrap_or(inner);
    let (mut cells, mut cell, mut is_escaped) = (Vec::new(), String::new(), false);
    for c in inner.chars() {
        match c {
            '|' if is_escaped => {
                cell.pop();
                cell.push('|');
            }
            '|' => cells.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    cells.push(cell);
    cells.into_iter().map(|cell| cell.trim().to_owned()).collect()
}

/// Returns whether a row separates the header from the others.
fn is_delimiter(cells: &[String]) -> bool {
    cells.iter().all(|cell| !cell.is_empty() && cell.chars().all(|c| matches!(c, '-' | ':')))
}

fn is_blank(cell: &str) -> bool {
    matches!(cell.to_lowercase().as_str(), "" | "-" | "–" | "—" | "none" | "n/a")
}

/// Returns a text without emphasis, code marks and quotation marks around it.
fn plain(text: &str) -> &str {
    text.trim_matches(|c: char| matches!(c, '*' | '`' | '"' | '\'') || c.is_whitespace())
}

fn unquoted(text: &str) -> &str {
    let marks = [('"', '"'), ('`', '`'), ('\'', '\''), ('“', '”')];
    let inner = marks.iter().find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close));
    inner.unwrap_or(text)
}
