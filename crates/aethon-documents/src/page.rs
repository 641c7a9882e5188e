//! The readable text of an HTML page. A tokenizer is enough for that, and makes deep nesting harmless.

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

use crate::flow::Flow;
use crate::output::Output;

/// The most open elements that are tracked.
const MAX_DEPTH: usize = 512;

pub(crate) fn read(html: &str, out: &mut Output<'_>) {
    let mut reader =
        Page { flow: Flow::new(out), open: Vec::new(), hidden: 0, preformatted: 0, items: Vec::new() };
    let mut emitter = DefaultEmitter::default();
    // Without a tree builder, this makes the tokenizer treat scripts and styles as raw text.
    emitter.naively_switch_states(true);
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => reader.start(&tag),
            Token::EndTag(tag) => reader.end(&tag.name),
            Token::String(text) => reader.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
        if reader.flow.is_full() {
            break;
        }
    }
    while let Some(open) = reader.open.pop() {
        reader.close(&open);
    }
    reader.flow.finish();
}

/// An element that is open.
struct Open {
    name: Vec<u8>,
    is_hidden: bool,
    link: Option<String>,
}

struct Page<'o, 's> {
    flow: Flow<'o, 's>,
    open: Vec<Open>,
    /// How many of them are hidden.
    hidden: usize,
    preformatted: usize,
    /// The lists that are open: the number of the next item, if they are numbered.
    items: Vec<Option<usize>>,
}

impl Page<'_, '_> {
    fn start(&mut self, tag: &StartTag<()>) {
        let name: &[u8] = &tag.name;
        match name {
            b"br" => {
                return if self.hidden == 0 {
                    self.flow.break_line()
                };
            }
            b"hr" => {
                return if self.hidden == 0 {
                    self.flow.end_paragraph()
                };
            }
            b"img" | b"image" => {
                let alt = attribute(tag, b"alt").filter(|alt| !alt.trim().is_empty());
                return if let Some(alt) = alt.filter(|_| self.hidden == 0) {
                    self.flow.text(&format!("[image: {}]", alt.trim()));
                };
            }
            b"area" | b"base" | b"col" | b"embed" | b"input" | b"link" | b"meta" | b"param" | b"source"
            | b"track" | b"wbr" => return,
            _ => {}
        }
        while self.open.last().is_some_and(|open| ends_before(&open.name, name)) {
            if let Some(open) = self.open.pop() {
                self.close(&open);
            }
        }
        if self.open.len() >= MAX_DEPTH || tag.self_closing && !matches!(name, b"p" | b"div" | b"span") {
            return;
        }
        let is_hidden = is_invisible(tag);
        self.hidden += usize::from(is_hidden);
        let link =
            attribute(tag, b"href").filter(|href| href.starts_with("http") || href.starts_with("mailto:"));
        let link = link.filter(|_| name == b"a");
        self.open.push(Open { name: name.to_vec(), is_hidden, link });
        if self.hidden == 0 {
            self.begin(name);
        }
    }

    fn begin(&mut self, name: &[u8]) {
        match name {
            b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => {
                self.flow.end_paragraph();
                self.flow.text(&("#".repeat(usize::from(name[1] - b'0')) + " "));
            }
            b"ul" | b"ol" => {
                self.flow.end_line();
                self.items.push((name == b"ol").then_some(1));
            }
            b"li" => {
                self.flow.end_line();
                let indent = "  ".repeat(self.items.len().saturating_sub(1).min(20));
                let bullet = match self.items.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "- ".to_owned(),
                };
                self.flow.text(&(indent + &bullet));
            }
            b"table" => self.flow.begin_table(),
            b"td" | b"th" => self.flow.begin_cell(),
            b"pre" => {
                self.flow.end_paragraph();
                self.preformatted += 1;
            }
            b"title" => self.flow.text("Title: "),
            _ if is_block(name) => self.flow.end_line(),
            _ => {}
        }
    }

    fn end(&mut self, name: &[u8]) {
        let Some(place) = self.open.iter().rposition(|open| open.name == name) else { return };
        while self.open.len() > place {
            if let Some(open) = self.open.pop() {
                self.close(&open);
            }
        }
    }

    fn close(&mut self, open: &Open) {
        let was_hidden = self.hidden > 0;
        self.hidden -= usize::from(open.is_hidden);
        if was_hidden {
            return;
        }
        match open.name.as_slice() {
            b"ul" | b"ol" => {
                self.items.pop();
                if self.items.is_empty() {
                    self.flow.end_paragraph();
                }
            }
            b"li" => self.flow.end_line(),
            b"td" | b"th" => self.flow.end_cell(),
            b"tr" => self.flow.end_row(),
            b"table" => self.flow.end_table(),
            b"pre" => {
                self.preformatted = self.preformatted.saturating_sub(1);
                self.flow.end_paragraph();
            }
            b"a" => {
                if let Some(link) = &open.link {
                    self.flow.text(&format!(" <{link}>"));
                }
            }
            b"dt" | b"dd" => self.flow.end_line(),
            name if is_block(name) => self.flow.end_paragraph(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.hidden > 0 {
            return;
        }
        if self.preformatted > 0 {
            return self.flow.text(text);
        }
        self.flow.prose(text);
    }
}

fn attribute(tag: &StartTag<()>, name: &[u8]) -> Option<String> {
    tag.attributes.get(name).map(|value| String::from_utf8_lossy(value).into_owned())
}

fn is_invisible(tag: &StartTag<()>) -> bool {
    let name: &[u8] = &tag.name;
    let style = attribute(tag, b"style").unwrap_or_default().to_ascii_lowercase().replace(' ', "");
    matches!(
        name,
        b"script"
            | b"style"
            | b"noscript"
            | b"template"
            | b"svg"
            | b"iframe"
            | b"object"
            | b"canvas"
            | b"audio"
            | b"video"
            | b"datalist"
            | b"dialog"
            | b"noframes"
    ) || tag.attributes.contains_key(b"hidden".as_slice())
        || style.contains("display:none")
        || style.contains("visibility:hidden")
}

fn is_block(name: &[u8]) -> bool {
    matches!(
        name,
        b"p" | b"div"
            | b"h1"
            | b"h2"
            | b"h3"
            | b"h4"
            | b"h5"
            | b"h6"
            | b"blockquote"
            | b"article"
            | b"section"
            | b"main"
            | b"nav"
            | b"aside"
            | b"header"
            | b"footer"
            | b"form"
            | b"fieldset"
            | b"figure"
            | b"figcaption"
            | b"dl"
            | b"dt"
            | b"dd"
            | b"address"
            | b"body"
            | b"head"
            | b"title"
            | b"center"
            | b"details"
            | b"summary"
            | b"caption"
    )
}

/// Returns whether the start of `next` ends an open element.
fn ends_before(open: &[u8], next: &[u8]) -> bool {
    match open {
        b"p" => is_block(next) || matches!(next, b"ul" | b"ol" | b"table" | b"pre"),
        b"li" => next == b"li",
        b"td" | b"th" => matches!(next, b"td" | b"th" | b"tr" | b"tbody" | b"thead" | b"tfoot"),
        b"tr" => matches!(next, b"tr" | b"tbody" | b"thead" | b"tfoot"),
        b"dt" | b"dd" => matches!(next, b"dt" | b"dd"),
        b"option" => next == b"option",
        _ => false,
    }
}
