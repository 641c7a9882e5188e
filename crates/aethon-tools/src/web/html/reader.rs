//! Processes the tokens of a page and tracks the open elements.

use html5gum::{DefaultEmitter, Token, Tokenizer};
use url::Url;

use super::Readable;
use super::elements::{Region, Role, ends_before, is_void, region_of, role_of};
use super::visibility::{HidingRules, Visibility, by_style};
use super::writer::Writer;

/// Maximum number of open elements tracked; deeper ones are read as text of the deepest.
const MAX_DEPTH: usize = 512;
/// Maximum characters of a title.
const MAX_TITLE: usize = 300;

type Tag = html5gum::StartTag<()>;

/// Converts a page to Markdown; links are resolved against its URL.
pub(crate) fn read(html: &str, address: &Url) -> Readable {
    let mut reader = Reader::at(address, HidingRules::of(html));
    let mut emitter = DefaultEmitter::default();
    // Without a tree builder, this is what makes the tokenizer treat scripts and styles as raw text.
    emitter.naively_switch_states(true);
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => reader.start(&tag),
            Token::EndTag(tag) => reader.end(&tag.name),
            Token::String(text) => reader.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
        if reader.writer.is_cut {
            break;
        }
    }
    reader.close_all();
    let is_cut = reader.writer.is_cut;
    let title = reader.title.split_whitespace().collect::<Vec<_>>().join(" ");
    let title = title.chars().take(MAX_TITLE).collect();
    Readable { title, text: reader.writer.finish(), is_cut }
}

/// What stands before text that a person may not see, and behind it.
const NOT_SHOWN: (&str, &str) = ("[perhaps not shown on the page: ", "]");

struct Reader {
    base: Url,
    hiding: HidingRules,
    open: Vec<Open>,
    writer: Writer,
    title: String,
    has_title: bool,
}

/// An element that is still open.
struct Open {
    name: Vec<u8>,
    role: Role,
    /// The region and visibility of its content.
    region: Region,
    is_hidden: bool,
    /// Whether its text is noted as perhaps not shown.
    is_doubtful: bool,
    /// In a numbered list, the number of the next item.
    number: usize,
    /// The target of a link.
    link: Option<String>,
}

impl Reader {
    fn at(address: &Url, hiding: HidingRules) -> Self {
        let (open, writer) = (Vec::new(), Writer::default());
        Self { base: address.clone(), hiding, open, writer, title: String::new(), has_title: false }
    }

    fn start(&mut self, tag: &Tag) {
        let name: &[u8] = &tag.name;
        if is_void(name) {
            return self.void(name, tag);
        }
        // A link ends where the next one begins.
        if name == b"a" {
            self.end(name);
        }
        while self.open.last().is_some_and(|open| ends_before(&open.name, name)) {
            self.close_last();
        }
        if self.open.len() >= MAX_DEPTH || (tag.self_closing && name == b"svg") {
            return;
        }
        let (region, was_hidden) =
            self.open.last().map_or((Region::Other, false), |open| (open.region, open.is_hidden));
        let is_in_main = region == Region::Main;
        let opened = region_of(name, attribute(tag, b"role").unwrap_or_default(), is_in_main);
        // Inside a frame everything belongs to the frame, whatever it calls itself.
        let region = if region == Region::Frame { region } else { opened.unwrap_or(region) };
        let role = role_of(name);
        let is_page = matches!(name, b"html" | b"body");
        let visibility = if is_page { Visibility::Shown } else { self.visibility(name, tag) };
        let is_hidden = was_hidden || role == Role::Hidden || visibility == Visibility::Hidden;
        let is_doubtful = !is_hidden
            && visibility == Visibility::Doubtful
            && !matches!(role, Role::Row | Role::Title)
            && !self.open.iter().any(|open| open.is_doubtful);
        let open = Open { name: name.to_vec(), role, region, is_hidden, is_doubtful, number: 1, link: None };
        if !is_hidden {
            self.writer.enter(region);
        } else if !was_hidden && !matches!(role, Role::Inline | Role::Hidden | Role::Code | Role::Link) {
            self.writer.break_line(1);
        }
        self.open.push(open);
        if !is_hidden {
            self.begin(role, tag);
        }
        if is_doubtful {
            self.writer.text(NOT_SHOWN.0);
        }
    }

    /// Returns how far a person sees an element.
    fn visibility(&self, name: &[u8], tag: &Tag) -> Visibility {
        if hides_itself(tag) {
            return Visibility::Hidden;
        }
        let word = |name: &[u8]| attribute(tag, name).map(String::from_utf8_lossy).unwrap_or_default();
        let is_folded = name == b"details" && attribute(tag, b"open").is_none();
        let is_covered = self.hiding.cover(&word(b"class"), &word(b"id"));
        if is_folded || is_covered || by_style(&word(b"style")) == Visibility::Doubtful {
            Visibility::Doubtful
        } else {
            Visibility::Shown
        }
    }

    fn begin(&mut self, role: Role, tag: &Tag) {
        let writer = &mut self.writer;
        match role {
            Role::Inline | Role::Title | Role::Hidden => {}
            Role::Block | Role::Row => writer.break_line(1),
            Role::Paragraph => writer.break_line(2),
            Role::Heading(level) => {
                writer.break_line(2);
                writer.begin_line_with("#".repeat(level.into()) + " ");
            }
            Role::List { .. } => {
                writer.break_line(if writer.indent == 0 { 2 } else { 1 });
                writer.indent += 1;
            }
            Role::Item => {
                let list = self.open.iter_mut().rev().find_map(|open| match open.role {
                    Role::List { is_numbered } => Some((is_numbered, open)),
                    _ => None,
                });
                let bullet = match list {
                    Some((true, list)) => {
                        list.number += 1;
                        format!("{}. ", list.number - 1)
                    }
                    _ => "- ".to_owned(),
                };
                writer.break_line(1);
                writer.begin_line_with(bullet);
            }
            Role::Cell => {
                writer.mark("|");
                writer.text(" ");
            }
            Role::Preformatted => {
                writer.break_line(2);
                writer.mark("```");
                writer.break_line(1);
                writer.is_preformatted = true;
            }
            Role::Quote => {
                writer.break_line(2);
                writer.quotes += 1;
            }
            Role::Code if !writer.is_preformatted => writer.mark("`"),
            Role::Code => {}
            Role::Link => {
                let leads = attribute(tag, b"href").and_then(|href| whole(&self.base, href));
                writer.begin_link(leads.is_some());
                if let Some(open) = self.open.last_mut() {
                    open.link = leads;
                }
            }
        }
    }

    fn end(&mut self, name: &[u8]) {
        if name == b"br" {
            return self.writer.break_line(1);
        }
        let Some(place) = self.open.iter().rposition(|open| open.name == name) else { return };
        while self.open.len() > place {
            self.close_last();
        }
    }

    fn close_all(&mut self) {
        while !self.open.is_empty() {
            self.close_last();
        }
    }

    fn close_last(&mut self) {
        let Some(open) = self.open.pop() else { return };
        if open.role == Role::Title && !self.title.trim().is_empty() {
            self.has_title = true;
        }
        if open.is_doubtful {
            self.writer.text(NOT_SHOWN.1);
        }
        if !open.is_hidden {
            self.finish(&open);
        }
        match self.open.last() {
            None => self.writer.enter(Region::Other),
            Some(outer) if !outer.is_hidden => self.writer.enter(outer.region),
            Some(_) => {}
        }
    }

    fn finish(&mut self, open: &Open) {
        let writer = &mut self.writer;
        match open.role {
            Role::Inline | Role::Title | Role::Hidden => {}
            Role::Block | Role::Item => writer.break_line(1),
            Role::Paragraph | Role::Heading(_) => writer.break_line(2),
            Role::List { .. } => {
                writer.indent = writer.indent.saturating_sub(1);
                writer.break_line(if writer.indent == 0 { 2 } else { 1 });
            }
            Role::Row => {
                writer.mark("|");
                writer.break_line(1);
            }
            Role::Cell => writer.text(" "),
            Role::Preformatted => {
                writer.is_preformatted = false;
                writer.break_line(1);
                writer.mark("```");
                writer.break_line(2);
            }
            Role::Quote => {
                writer.quotes = writer.quotes.saturating_sub(1);
                writer.break_line(2);
            }
            Role::Code if !writer.is_preformatted => writer.close("`"),
            Role::Code => {}
            Role::Link => {
                if let Some(leads) = &open.link {
                    writer.end_link(leads);
                }
            }
        }
    }

    fn void(&mut self, name: &[u8], tag: &Tag) {
        if self.open.last().is_some_and(|open| open.is_hidden) {
            return;
        }
        match name {
            b"br" => self.writer.break_line(1),
            b"hr" => {
                self.writer.break_line(2);
                self.writer.mark("---");
                self.writer.break_line(2);
            }
            b"img" if !hides_itself(tag) => {
                let says = attribute(tag, b"alt").map(|alt| String::from_utf8_lossy(alt).into_owned());
                let says = says.as_deref().map(str::trim).filter(|says| !says.is_empty());
                if let Some(says) = says {
                    self.writer.text(&format!("[image: {says}]"));
                }
            }
            b"base" => {
                if let Some(base) = attribute(tag, b"href").and_then(|href| whole(&self.base, href)) {
                    self.base = Url::parse(&base).unwrap_or_else(|_| self.base.clone());
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        match self.open.last() {
            Some(open) if open.role == Role::Title && !open.is_hidden => {
                if !self.has_title && self.title.len() < 4 * MAX_TITLE {
                    self.title.push_str(text);
                }
            }
            Some(open) if open.is_hidden => {}
            _ => self.writer.text(text),
        }
    }
}

fn attribute<'t>(tag: &'t Tag, name: &[u8]) -> Option<&'t [u8]> {
    let found = tag.attributes.iter().find(|(key, _)| key.0 == name);
    found.map(|(_, value)| value.value.0.as_slice())
}

/// Returns whether an element takes itself off the page.
fn hides_itself(tag: &Tag) -> bool {
    let style = attribute(tag, b"style").map(String::from_utf8_lossy).unwrap_or_default();
    attribute(tag, b"hidden").is_some()
        || attribute(tag, b"aria-hidden") == Some(b"true")
        || by_style(&style) == Visibility::Hidden
}

/// Resolves the target of a link to a page or mail address; `None` for fragments, scripts and the like.
fn whole(base: &Url, href: &[u8]) -> Option<String> {
    let href = std::str::from_utf8(href).ok()?.trim();
    if href.is_empty() || href.starts_with('#') {
        return None;
    }
    let url = base.join(href).ok()?;
    matches!(url.scheme(), "http" | "https" | "mailto").then(|| url.into())
}
