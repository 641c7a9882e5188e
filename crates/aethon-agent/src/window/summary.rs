//! A structured summary of the messages that left the window, under fixed headings.
//!
//! Models receive this form and often keep to it. Any answer is accepted: an unknown heading keeps its own name, and
//! plain text stays plain text. Each pass over further messages answers with the whole summary again; facts that it
//! dropped are restored while there is room, because a weak model drops facts that are not confirmed again. A summary
//! that is too long loses its longest items first, so that most facts survive.

use std::collections::BTreeSet;

use super::shorten::in_chars;

/// The headings, what each is for, and words by which a differently worded heading is recognised.
const HEADINGS: [(&str, &str, &[&str]); 7] = [
    ("In short", "what the conversation is about and where it stands", &["short", "overview"]),
    ("Decisions", "what was decided, and why", &["decision", "decided"]),
    ("Names", "people, places, products, and who or what they are", &["names", "people"]),
    (
        "Numbers, dates and paths",
        "numbers, dates, amounts, paths, addresses, commands, exactly as they stand",
        &["number", "dates", "paths"],
    ),
    ("Preferences", "what the person likes, wants always or never", &["preference"]),
    ("Open ends", "what is asked, promised or begun and not done", &["open"]),
    (
        "Findings",
        "what tools and texts from outside say, each with its source",
        &["finding", "tool", "found"],
    ),
];

/// Headings whose items stay until something contradicts them; items under the others may become obsolete.
const LASTING: [&str; 5] = ["Decisions", "Names", "Numbers, dates and paths", "Preferences", "Findings"];

/// An item counts as forgotten when the newer summary has fewer than this percentage of its words.
const STILL_THERE: usize = 40;

/// A summary of fewer different telling words is too short to be judged by its words.
const FEW_WORDS: usize = 8;

/// The longest an item may be when room is short.
const MAX_ITEM: usize = 240;

/// The facts known from older messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Text under no heading.
    plain: String,
    sections: Vec<Section>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Section {
    heading: String,
    items: Vec<String>,
}

impl Summary {
    /// Returns the form for a model to fill in.
    pub(crate) fn form() -> String {
        HEADINGS.iter().map(|(heading, what, _)| format!("## {heading}\n- {what}\n")).collect()
    }

    /// Parses whatever a model answered.
    pub(crate) fn parse(text: &str) -> Self {
        let mut summary = Self::default();
        for line in text.lines() {
            if let Some(heading) = heading(line) {
                summary.section(heading);
                continue;
            }
            match summary.sections.last_mut() {
                Some(section) => section.add(line),
                None => {
                    summary.plain.push_str(line);
                    summary.plain.push('\n');
                }
            }
        }
        summary.plain = summary.plain.trim().to_owned();
        summary.sections.retain(|section| !section.items.is_empty());
        summary
    }

    /// Returns whether there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.sections.is_empty()
    }

    /// Returns whether it may be a summary of these texts: a longer one that shares no word with them is not.
    pub(crate) fn is_about(&self, texts: &[&str]) -> bool {
        let items = self.sections.iter().flat_map(|section| &section.items).map(String::as_str);
        let own: String =
            std::iter::once(self.plain.as_str()).chain(items).collect::<Vec<_>>().join("\n").to_lowercase();
        let words: BTreeSet<&str> =
            own.split(|c: char| !c.is_alphanumeric()).filter(|word| is_telling(word)).collect();
        if words.len() < FEW_WORDS {
            return true;
        }
        let texts: Vec<String> = texts.iter().map(|text| text.to_lowercase()).collect();
        words.iter().any(|word| texts.iter().any(|text| text.contains(stem(word))))
    }

    /// Merges in the result of another pass. Plain text replaces plain text, but facts under lasting headings are not
    /// lost.
    #[must_use]
    pub(crate) fn refined_by(self, mut newer: Self) -> Self {
        if newer.sections.is_empty() {
            return Self { plain: newer.plain, sections: self.sections };
        }
        let text = newer.render().to_lowercase();
        for section in self.sections.into_iter().filter(|section| LASTING.contains(&section.heading.as_str()))
        {
            let forgotten: Vec<String> =
                section.items.into_iter().filter(|item| !is_still_in(item, &text)).collect();
            if !forgotten.is_empty() {
                let place = newer.section(section.heading);
                place.items.splice(0..0, forgotten);
            }
        }
        newer
    }

    /// Shrinks the summary to at most `bytes` bytes.
    #[must_use]
    pub(crate) fn bounded(mut self, bytes: usize) -> Self {
        if self.length() <= bytes {
            return self;
        }
        for item in self.sections.iter_mut().flat_map(|section| &mut section.items) {
            if item.len() > MAX_ITEM {
                item.truncate(item.floor_char_boundary(MAX_ITEM));
                item.push('…');
            }
        }
        let share = if self.sections.is_empty() { bytes } else { bytes / 4 };
        if self.plain.len() > share {
            self.plain = shorter(&self.plain, share);
        }
        while self.length() > bytes && self.drop_one() {}
        self
    }

    /// Renders the summary as Markdown.
    pub(crate) fn render(&self) -> String {
        let mut text = self.plain.clone();
        for section in &self.sections {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&format!("## {}\n", section.heading));
            for item in &section.items {
                text.push_str(&format!("- {item}\n"));
            }
        }
        text.trim_end().to_owned()
    }

    fn length(&self) -> usize {
        self.render().len()
    }

    /// Returns the section with this heading, creating it at the end if it is new.
    fn section(&mut self, heading: String) -> &mut Section {
        let known = self.sections.iter().position(|section| section.heading == heading);
        let place = known.unwrap_or_else(|| {
            self.sections.push(Section { heading, items: Vec::new() });
            self.sections.len() - 1
        });
        // Lines are added to the last section, so a heading that reappears moves there.
        let section = self.sections.remove(place);
        self.sections.push(section);
        let last = self.sections.len() - 1;
        &mut self.sections[last]
    }

    /// Removes the longest item of the longest section. Returns `false` if there is none.
    fn drop_one(&mut self) -> bool {
        let size = |section: &Section| section.items.iter().map(String::len).sum::<usize>();
        let Some(section) = self.sections.iter_mut().max_by_key(|section| size(section)) else {
            return false;
        };
        let longest = section.items.iter().enumerate().max_by_key(|(_, item)| item.len()).map(|(n, _)| n);
        if let Some(longest) = longest {
            section.items.remove(longest);
        }
        self.sections.retain(|section| !section.items.is_empty());
        true
    }
}

impl Section {
    /// Adds a line, either as a new item or as a continuation of the last one.
    fn add(&mut self, line: &str) {
        let text = line.trim();
        if text.is_empty() || text.chars().all(|c| matches!(c, '-' | '*' | '_' | '=')) {
            return;
        }
        let item = item(text);
        let is_indented = line.starts_with([' ', '\t']);
        match (item, self.items.last_mut()) {
            (None, Some(last)) if is_indented => {
                last.push(' ');
                last.push_str(text);
            }
            (item, _) => self.items.push(item.unwrap_or(text).to_owned()),
        }
    }
}

/// Cuts a text to at most `bytes` bytes: its beginning and, if there is room, its end.
fn shorter(text: &str, bytes: usize) -> String {
    let both = in_chars(text, bytes.saturating_sub(80));
    if bytes > 400 && both.len() <= bytes {
        return both.into_owned();
    }
    let beginning = &text[..text.floor_char_boundary(bytes.saturating_sub('…'.len_utf8()))];
    format!("{}…", beginning.trim_end())
}

/// Returns the heading in a line, if it is one.
fn heading(line: &str) -> Option<String> {
    let line = line.trim();
    let hashes = line.trim_start_matches('#');
    let bold = line.strip_prefix("**").and_then(|rest| rest.trim_end_matches(':').strip_suffix("**"));
    let (text, is_sure) = match bold {
        _ if hashes.len() < line.len() && hashes.starts_with(' ') => (hashes, true),
        Some(bold) => (bold, false),
        None => (line.strip_suffix(':')?, false),
    };
    let text = text.trim().trim_matches('*').trim_end_matches(':').trim();
    let is_item = item(line).is_some() && !line.starts_with('#') && bold.is_none();
    if text.is_empty() || is_item || text.split_whitespace().count() > 6 {
        return None;
    }
    let lower = text.to_lowercase();
    let is_meant = |(heading, _, words): &&(&str, &str, &[&str])| {
        heading.eq_ignore_ascii_case(text) || words.iter().any(|word| lower.contains(word))
    };
    match HEADINGS.iter().find(is_meant) {
        Some((heading, ..)) => Some((*heading).to_owned()),
        None => is_sure.then(|| text.to_owned()),
    }
}

/// Returns the text of a list item, if the line is one.
fn item(line: &str) -> Option<&str> {
    let bullet = ["- ", "* ", "• ", "+ "].iter().find_map(|bullet| line.strip_prefix(bullet));
    let numbered = || {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        (rest.len() < line.len())
            .then(|| rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")))
            .flatten()
    };
    bullet.or_else(numbered).map(str::trim)
}

/// Returns whether a word says something by itself: a number, or a word of some length.
fn is_telling(word: &str) -> bool {
    let letters = word.chars().count();
    let is_number = word.chars().all(|c| c.is_ascii_digit());
    // Scripts without spaces make long words of few letters' meaning; these count by their first two letters.
    letters >= 4 || (is_number && letters >= 2) || (letters >= 2 && !word.is_ascii())
}

/// Returns the beginning of a word, which its other forms share.
fn stem(word: &str) -> &str {
    let letters = if word.is_ascii() { 5 } else { 2 };
    let end = word.char_indices().nth(letters).map_or(word.len(), |(end, _)| end);
    &word[..end]
}

/// Returns whether enough of an item's words appear in a lower-case text.
fn is_still_in(item: &str, text: &str) -> bool {
    let item = item.to_lowercase();
    let words: Vec<&str> = item.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2).collect();
    let found = words.iter().filter(|word| text.contains(**word)).count();
    found * 100 >= words.len() * STILL_THERE
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn items(summary: &Summary, heading: &str) -> Vec<String> {
        let found = summary.sections.iter().find(|section| section.heading == heading);
        found.map(|section| section.items.clone()).unwrap_or_default()
    }

    #[test]
    fn any_answer_of_a_model_is_parsed() {
        let check = |text: &str, heading: &str, expected: &[&str]| {
            assert_eq!(items(&Summary::parse(text), heading), expected, "{text}");
        };
        check("## Decisions\n- Use Postgres\n- Ship in May", "Decisions", &["Use Postgres", "Ship in May"]);
        check("**Decisions:**\n* Use Postgres", "Decisions", &["Use Postgres"]);
        check("### Key decisions made\n1. Use Postgres\n2) Ship", "Decisions", &["Use Postgres", "Ship"]);
        check("Open questions:\n• call Ada", "Open ends", &["call Ada"]);
        check("## Names\nAda, a daughter\n\n---\n- Bo", "Names", &["Ada, a daughter", "Bo"]);
        check("## Names\n- Ada,\n  a daughter", "Names", &["Ada, a daughter"]);
        check("## Rezepte\n- Kuchen", "Rezepte", &["Kuchen"]);
        check("## Names\n- Ada\n## In short\n- x\n## names\n- Bo", "Names", &["Ada", "Bo"]);
        check("- **Port**: 8080", "Numbers, dates and paths", &[]);
        let plain = Summary::parse("They talked about words.\nAnd of: this");
        assert_eq!(plain.render(), "They talked about words.\nAnd of: this");
        assert!(Summary::parse(" \n").is_empty());
    }

    #[test]
    fn rendered_summary_is_parsed_back_unchanged() {
        let form = Summary::form();
        assert_eq!(Summary::parse(&form).render(), form.trim_end());
    }

    #[test]
    fn a_pass_forgets_no_fact_and_may_close_what_is_open() {
        let before = Summary::parse(
            "## Names\n- Ada is the daughter\n## Numbers, dates and paths\n- the port is 8080\n## Open ends\n- book a table",
        );
        let after = Summary::parse("## Numbers, dates and paths\n- the port is 9090 now\n## Decisions\n- go");
        let merged = before.clone().refined_by(after);
        assert_eq!(items(&merged, "Names"), ["Ada is the daughter"]);
        assert_eq!(items(&merged, "Numbers, dates and paths"), ["the port is 9090 now"]);
        assert!(items(&merged, "Open ends").is_empty());
        let plain = before.refined_by(Summary::parse("They went on."));
        assert!(plain.render().starts_with("They went on.\n## Names"), "{}", plain.render());
    }

    #[test]
    fn summary_that_shares_no_word_with_its_texts_is_not_about_them() {
        let part = "> Ada said that the budget of project Falcon is 4200 euros\n> 私は東京に住んでいます";
        let check = |summary: &str, expected| {
            assert_eq!(Summary::parse(summary).is_about(&["", part]), expected, "{summary}");
        };
        let noise = "lorem ipsum dolor amet consectetur adipiscing elit sed eiusmod tempor incididunt labore magna aliqua";
        check(noise, false);
        check(&format!("## Decisions\n- {noise}"), false);
        check(&format!("{noise} falcon"), true);
        check(&format!("{noise} 4200"), true);
        check(&format!("{noise} 東京都"), true);
        check("They talked.", true);
    }

    #[test]
    fn overlong_summary_loses_its_longest_items() {
        let long = format!("## Decisions\n- {}\n- short one\n## Names\n- Ada\n", "word ".repeat(200));
        let bounded = Summary::parse(&long).bounded(100);
        assert_eq!(bounded.render(), "## Decisions\n- short one\n## Names\n- Ada");
    }

    proptest! {
        #[test]
        fn bounded_summary_never_exceeds_its_bound(text in "(## [A-Z][a-z]{0,9}\n|- [a-zäöü東 ]{0,90}\n|[a-z:* ]{0,200}\n){0,40}", bytes in 100_usize..4_000) {
            let summary = Summary::parse(&text).bounded(bytes);
            prop_assert!(summary.render().len() <= bytes, "{} of {bytes}", summary.render().len());
            // Parsing the rendered form again changes nothing.
            prop_assert_eq!(Summary::parse(&summary.render()).render(), summary.render());
        }
    }
}
