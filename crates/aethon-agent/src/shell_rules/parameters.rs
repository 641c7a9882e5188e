//! Parameter expansion: what `$NAME` and `${NAME…}` stand for.

use super::arithmetic;
use super::escapes::unescape;
use super::expand::{Alternatives, Part};
use super::judge::Judge;
use super::marks::{UNKNOWN, is_known, made_from};
use super::patterns::fits;
use super::refusal::Refusal;
use super::state::{Texts, Value};
use super::word::{Change, Parameter, Piece, Word};

/// A parameter's elements, and whether they are a list.
struct Found {
    elements: Vec<Vec<String>>,
    is_list: bool,
    /// `"$*"`, which is one text.
    is_joined: bool,
}

impl Judge<'_> {
    /// Returns what a parameter may expand to.
    pub(super) fn parameter(
        &mut self,
        parameter: &Parameter,
        is_quoted: bool,
    ) -> Result<Alternatives, Refusal> {
        let found = self.found(parameter)?;
        let mut alternatives = Vec::new();
        for elements in found.elements {
            self.meter.steps(1 + elements.len())?;
            let is_empty = elements.iter().all(String::is_empty);
            let may_be_empty = is_empty || elements.iter().any(|text| !is_known(text));
            match &parameter.change {
                Change::Default { word, assigns } => {
                    if may_be_empty {
                        alternatives.extend(self.instead(word, is_quoted)?);
                        if *assigns {
                            let mut values: Vec<Value> =
                                self.texts(word)?.into_iter().map(Value::text).collect();
                            if self.state.is_set(&parameter.name) {
                                values.extend(self.state.get(&parameter.name, "").iter().cloned());
                            }
                            self.state.set(&parameter.name, values, &mut self.meter)?;
                        }
                    }
                    if !is_empty || self.state.is_set(&parameter.name) {
                        alternatives.push(self.parts(elements, &found.is_joined, found.is_list, is_quoted));
                    }
                    continue;
                }
                Change::Alternative(word) => {
                    if !is_empty || self.state.is_set(&parameter.name) {
                        alternatives.extend(self.instead(word, is_quoted)?);
                    }
                    if may_be_empty {
                        alternatives.push(if is_quoted {
                            vec![Part::Text(String::new())]
                        } else {
                            Vec::new()
                        });
                    }
                    continue;
                }
                _ => {}
            }
            for changed in self.changed(elements, &parameter.change, found.is_list)? {
                alternatives.push(self.parts(changed, &found.is_joined, found.is_list, is_quoted));
            }
        }
        Ok(alternatives)
    }

    /// The parts of a list or of a single value.
    fn parts(&self, elements: Vec<String>, is_joined: &bool, is_list: bool, is_quoted: bool) -> Vec<Part> {
        if *is_joined && is_quoted {
            let separators = self.state.get("IFS", "");
            let first =
                if self.state.is_set("IFS") { separators[0].get("0").chars().next() } else { Some(' ') };
            return vec![Part::Text(elements.join(&first.map(String::from).unwrap_or_default()))];
        }
        if !is_list {
            let text = elements.into_iter().next().unwrap_or_default();
            return vec![if is_quoted { Part::Text(text) } else { Part::Split(text) }];
        }
        let mut parts = Vec::new();
        for (at, element) in elements.into_iter().enumerate() {
            if at > 0 {
                parts.push(Part::Break);
            }
            parts.push(if is_quoted { Part::Text(element) } else { Part::Split(element) });
        }
        parts
    }

    /// What a word that replaces a value may expand to; its unquoted text is split as a value is.
    fn instead(&mut self, word: &Word, is_quoted: bool) -> Result<Alternatives, Refusal> {
        if word.is_empty() {
            return Ok(vec![if is_quoted { vec![Part::Text(String::new())] } else { Vec::new() }]);
        }
        let mut alternatives: Alternatives = vec![Vec::new()];
        for piece in word {
            let each = match piece {
                Piece::Text { text, is_quoted: own } => {
                    let together = *own || is_quoted;
                    vec![vec![if together { Part::Text(text.clone()) } else { Part::Split(text.clone()) }]]
                }
                piece => self.piece(piece)?,
            };
            alternatives = self.crossed(alternatives, &each)?;
        }
        Ok(alternatives)
    }

    /// The elements referred to, before any change is applied.
    fn found(&mut self, parameter: &Parameter) -> Result<Found, Refusal> {
        let name = parameter.name.as_str();
        let is_all = matches!(name, "@" | "*");
        let key = if name.chars().all(|c| c.is_ascii_digit()) && name != "0" && !name.is_empty() {
            name
        } else {
            ""
        };
        let home = self.home().to_owned();
        if name == "#" {
            let counts = self.state.get("@", &home);
            let elements = counts.iter().map(|value| vec![value.0.len().to_string()]).collect();
            return Ok(Found { elements, is_list: false, is_joined: false });
        }
        let values = self.state.get(if is_all || !key.is_empty() { "@" } else { name }, &home);
        // Charged before copying: a word may ask for a long text many times.
        self.meter.bytes(values.iter().map(Value::size).sum())?;
        let mut found = Found { elements: Vec::new(), is_list: is_all, is_joined: name == "*" };
        let indexes = match &parameter.index {
            None => vec![if key.is_empty() { "0".to_owned() } else { key.to_owned() }],
            Some(word) => self.texts(word)?,
        };
        for value in values.iter() {
            for index in &indexes {
                if is_all || matches!(index.as_str(), "@" | "*") {
                    found.is_list = true;
                    found.is_joined |= index == "*";
                    let keys = parameter.is_indirect && !is_all;
                    let elements =
                        value.0.iter().map(|(key, text)| if keys { key.clone() } else { text.clone() });
                    let elements: Vec<String> = elements.collect();
                    if elements.len() == 1 && elements[0].is_empty() {
                        // An unset variable has no elements at all.
                        found.elements.push(Vec::new());
                        if !self.state.is_set(name) {
                            continue;
                        }
                    }
                    found.elements.push(elements);
                    continue;
                }
                self.computed_text(index)?;
                found.elements.extend(element(value, index).into_iter().map(|text| vec![text]));
            }
        }
        if parameter.is_indirect && !found.is_list {
            if matches!(parameter.change, Change::Other | Change::Replace { how: '?', .. }) {
                found.elements = vec![vec![UNKNOWN.to_string()]];
            } else {
                self.followed(&mut found)?;
            }
        }
        found.elements.sort();
        found.elements.dedup();
        Ok(found)
    }

    /// Resolves indirection: the values of the variables that are named.
    fn followed(&mut self, found: &mut Found) -> Result<(), Refusal> {
        let home = self.home().to_owned();
        for name in std::mem::take(&mut found.elements).into_iter().flatten() {
            self.meter.steps(1)?;
            self.computed_text(&name)?;
            let (base, index) = match name.split_once('[') {
                Some((base, index)) => (base.to_owned(), index.trim_end_matches(']').to_owned()),
                None if name.chars().all(|c| c.is_ascii_digit()) && name != "0" => ("@".to_owned(), name),
                None => (name, "0".to_owned()),
            };
            if !is_known(&base) {
                found.elements.push(vec![UNKNOWN.to_string()]);
                continue;
            }
            for value in self.state.get(if base == "*" { "@" } else { &base }, &home).iter() {
                if matches!(index.as_str(), "@" | "*") || matches!(base.as_str(), "@" | "*") && index == "0" {
                    found.is_list = true;
                    found.elements.push(value.0.iter().map(|(_, text)| text.clone()).collect());
                } else {
                    found.elements.extend(element(value, &index).into_iter().map(|text| vec![text]));
                }
            }
        }
        Ok(())
    }

    /// The elements after the change.
    fn changed(
        &mut self,
        elements: Vec<String>,
        change: &Change,
        is_list: bool,
    ) -> Result<Vec<Vec<String>>, Refusal> {
        let made = |text: &dyn Fn(&str) -> String| {
            vec![elements.iter().map(|element| text(element)).collect::<Vec<_>>()]
        };
        Ok(match change {
            Change::Nothing | Change::Default { .. } | Change::Alternative(_) => vec![elements],
            Change::Required => {
                made(&|text| if text.is_empty() { UNKNOWN.to_string() } else { text.to_owned() })
            }
            Change::Length if is_list => vec![vec![elements.len().to_string()]],
            Change::Length => {
                made(&|text| if is_known(text) { text.chars().count().to_string() } else { UNKNOWN.into() })
            }
            Change::Case { is_upper, is_all } => made(&|text| cased(text, *is_upper, *is_all)),
            Change::Other => {
                for element in &elements {
                    self.computed_text(element)?;
                }
                let forms: [&dyn Fn(&str) -> String; 4] =
                    [&str::to_owned, &|text| text.to_uppercase(), &|text| text.to_lowercase(), &unescape];
                let mut changed: Vec<Vec<String>> = forms.iter().flat_map(|form| made(form)).collect();
                changed.push(vec![made_from(&elements)]);
                changed.sort();
                changed.dedup();
                changed
            }
            Change::Slice { offset, length } => self.sliced(elements, offset, length.as_ref(), is_list)?,
            Change::Cut { pattern, from_end, is_longest } => {
                let patterns = self.texts(pattern)?;
                self.each_pattern(&elements, &patterns, |text, pattern| {
                    cut(text, pattern, *from_end, *is_longest)
                })?
            }
            Change::Replace { pattern, with, how } => {
                let patterns = self.texts(pattern)?;
                if *how == '?' {
                    return Ok(vec![vec![made_from(&elements)]]);
                }
                let mut changed = Vec::new();
                for with in self.texts(with)? {
                    self.meter.bytes(elements.iter().map(|text| text.len() * with.len()).sum())?;
                    changed.extend(self.each_pattern(&elements, &patterns, |text, pattern| {
                        replaced(text, pattern, &with, *how)
                    })?);
                }
                changed
            }
        })
    }

    fn each_pattern(
        &mut self,
        elements: &[String],
        patterns: &Texts,
        change: impl Fn(&[char], &[char]) -> String,
    ) -> Result<Vec<Vec<String>>, Refusal> {
        let mut changed = Vec::new();
        for pattern in patterns {
            let own: Vec<char> = pattern.chars().collect();
            let mut list = Vec::new();
            for element in elements {
                if !is_known(element) || !is_known(pattern) {
                    list.push(made_from([element]));
                    continue;
                }
                let text: Vec<char> = element.chars().collect();
                // Each start is tried with each end, and each try scans text and pattern.
                let work = text.len().saturating_mul(text.len() + 1).saturating_mul(own.len() + 1);
                self.meter.steps(work / 64)?;
                list.push(change(&text, &own));
            }
            changed.push(list);
        }
        Ok(changed)
    }

    fn sliced(
        &mut self,
        elements: Vec<String>,
        offset: &Word,
        length: Option<&Word>,
        is_list: bool,
    ) -> Result<Vec<Vec<String>>, Refusal> {
        let offsets = self.computed(offset)?;
        let lengths = match length {
            Some(word) => self.computed(word)?.into_iter().map(Some).collect(),
            None => vec![None],
        };
        let mut changed = Vec::new();
        for offset in &offsets {
            for length in &lengths {
                let from: Option<i64> = offset.parse().ok();
                let count: Option<Option<i64>> = match length {
                    None => Some(None),
                    Some(length) => length.parse().ok().map(Some),
                };
                let (Some(from), Some(count)) = (from, count) else {
                    changed.push(vec![made_from(&elements)]);
                    continue;
                };
                if is_list {
                    // Arguments start with the program at index 0, arrays with their first element.
                    changed.push(range(&elements, from, count));
                    if from > 0 {
                        changed.push(range(&elements, from - 1, count));
                    }
                    continue;
                }
                let slice = |text: &String| {
                    if !is_known(text) {
                        return made_from([text]);
                    }
                    range(&text.chars().collect::<Vec<_>>(), from, count).into_iter().collect()
                };
                changed.push(elements.iter().map(slice).collect());
            }
        }
        Ok(changed)
    }
}

/// The element of a value with this index, or all elements if the index is unknown.
fn element(value: &Value, index: &str) -> Texts {
    if !is_known(index) {
        let mut all: Texts = value.0.iter().map(|(_, text)| text.clone()).collect();
        all.push(String::new());
        return all;
    }
    if value.0.len() > 1 && value.0.iter().any(|(_, text)| !is_known(text)) {
        // An unknown element may be several or none, which would shift the others.
        return vec![value.get(index).to_owned(), UNKNOWN.to_string()];
    }
    if value.0.iter().any(|(key, _)| key == index) {
        return vec![value.get(index).to_owned()];
    }
    match arithmetic::value(index) {
        Some(number) if number < 0 => {
            let place = value.0.len() as i64 + number;
            let known = usize::try_from(place).ok().and_then(|place| value.0.get(place));
            vec![known.map_or_else(String::new, |(_, text)| text.clone())]
        }
        Some(number) => vec![value.get(&number.to_string()).to_owned()],
        None if value.0.len() > 1 => {
            value.0.iter().map(|(_, text)| text.clone()).chain([String::new()]).collect()
        }
        // A name that evaluates to zero, or the key of something else.
        None => vec![value.get("0").to_owned(), String::new()],
    }
}

fn range<T: Clone>(all: &[T], from: i64, count: Option<i64>) -> Vec<T> {
    let total = all.len() as i64;
    let start = if from < 0 { total + from } else { from };
    if start < 0 || start > total {
        return Vec::new();
    }
    let end = match count {
        None => total,
        Some(count) if count < 0 => total + count,
        Some(count) => total.min(start.saturating_add(count)),
    };
    if end <= start {
        return Vec::new();
    }
    all[start as usize..end as usize].to_vec()
}

fn cased(text: &str, is_upper: bool, is_all: bool) -> String {
    let change = |text: &str| if is_upper { text.to_uppercase() } else { text.to_lowercase() };
    if is_all {
        return change(text);
    }
    let first = text.chars().next().map_or(0, char::len_utf8);
    format!("{}{}", change(&text[..first]), &text[first..])
}

fn cut(text: &[char], pattern: &[char], from_end: bool, is_longest: bool) -> String {
    let total = text.len();
    let lengths: Box<dyn Iterator<Item = usize>> =
        if is_longest { Box::new((0..=total).rev()) } else { Box::new(0..=total) };
    for length in lengths {
        let (part, rest) = if from_end {
            (&text[total - length..], &text[..total - length])
        } else {
            (&text[..length], &text[length..])
        };
        if fits(pattern, part) {
            return rest.iter().collect();
        }
    }
    text.iter().collect()
}

fn replaced(text: &[char], pattern: &[char], with: &str, how: char) -> String {
    let mut made = String::new();
    let mut at = 0;
    while at <= text.len() {
        let lengths = (0..=text.len() - at).rev();
        let allowed = |length: &usize| match how {
            '#' => at == 0,
            '%' => at + length == text.len(),
            _ => *length > 0,
        };
        let found = lengths.into_iter().filter(allowed).find(|length| fits(pattern, &text[at..at + length]));
        if let (Some(length), false) = (found, pattern.is_empty()) {
            made.push_str(with);
            at += length;
            if how != '/' {
                made.extend(&text[at..]);
                return made;
            }
            if length > 0 {
                continue;
            }
        }
        made.extend(text.get(at));
        at += 1;
    }
    made
}
