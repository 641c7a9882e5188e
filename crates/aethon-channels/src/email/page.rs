//! Reads the HTML of a mail as lines: links keep their addresses, cells and items stay apart, quotes are marked with `>`,
//! and what mail programs hide or mark as another mail is recognised.

use html5gum::{DefaultEmitter, Token, Tokenizer};

use super::lines::{Line, Mark, has_words};
use super::marks::{self, Role, Tag, attribute};

/// How many open elements are tracked; deeper ones are read as text of the deepest.
const MAX_DEPTH: usize = 256;
/// The deepest quote that is marked as such.
const MAX_QUOTES: usize = 8;
/// Longer addresses of links are left out; they serve tracking.
const MAX_LINK: usize = 1000;

/// Returns the lines of a page. If all of it is hidden, hidden text counts.
pub(super) fn lines(html: &str) -> Vec<Line> {
    let shown = read(html, true);
    let is_readable = |lines: &[Line]| lines.iter().any(|line| has_words(&line.text));
    if is_readable(&shown) { shown } else { read(html, false) }
}

fn read(html: &str, hides: bool) -> Vec<Line> {
    let mut reader = Reader { hides, ..Reader::default() };
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
    }
    while !reader.open.is_empty() {
        reader.close_last();
    }
    reader.break_line();
    reader.lines
}

/// An element that is still open.
struct Open {
    name: Vec<u8>,
    role: Role,
    is_hidden: bool,
    /// The target of a link, and the length of the line where it began.
    link: Option<(String, usize)>,
    /// In a list, the number of the next item, if they are numbered.
    number: Option<usize>,
    /// Where a container of another mail began, and whether it has a quote of its own.
    container: Option<Container>,
}

struct Container {
    at: usize,
    has_quote: bool,
}

#[derive(Default)]
struct Reader {
    hides: bool,
    open: Vec<Open>,
    lines: Vec<Line>,
    line: String,
    /// Whether a blank is due before the next word.
    is_spaced: bool,
    /// Whether a cell has ended on this line.
    is_after_cell: bool,
    /// Whether an empty line is due before the next one.
    is_apart: bool,
}

impl Reader {
    fn start(&mut self, tag: &Tag) {
        let name: &[u8] = &tag.name;
        match name {
            b"br" => return self.line_end(),
            b"hr" => {
                self.break_line();
                if marks::of(name, tag) == Role::Rest {
                    return self.push_mark(Mark::Begin);
                }
                return self.paragraph();
            }
            b"img" => return self.picture(tag),
            b"input" | b"meta" | b"link" | b"base" | b"col" | b"wbr" | b"area" | b"source" | b"track"
            | b"embed" => {
                return;
            }
            _ => {}
        }
        while self.open.last().is_some_and(|open| ends_before(&open.name, name)) {
            self.close_last();
        }
        if self.open.len() >= MAX_DEPTH || tag.self_closing {
            return;
        }
        let role = marks::of(name, tag);
        let was_hidden = self.is_hidden();
        let is_hidden = was_hidden || role == Role::Unread || (self.hides && role == Role::Hidden);
        let mut open =
            Open { name: name.to_vec(), role, is_hidden, link: None, number: None, container: None };
        if !is_hidden {
            self.begin(tag, &mut open);
        }
        self.open.push(open);
    }

    fn begin(&mut self, tag: &Tag, open: &mut Open) {
        match open.name.as_slice() {
            b"p" | b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" | b"pre" | b"blockquote" => self.paragraph(),
            b"li" => {
                self.break_line();
                let number = self.open.last_mut().and_then(|list| list.number.as_mut());
                let mark = number.map_or_else(
                    || "- ".to_owned(),
                    |number| {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    },
                );
                self.line.push_str(&mark);
            }
            b"td" | b"th" => self.cell(),
            b"a" => {
                let target = attribute(tag, b"href").unwrap_or_default();
                open.link = Some((target, self.line.len()));
            }
            name if is_block(name) => self.break_line(),
            _ => {}
        }
        if open.name == b"ol" {
            open.number = Some(attribute(tag, b"start").and_then(|start| start.parse().ok()).unwrap_or(1));
        }
        match open.role {
            Role::Rest => self.push_mark(Mark::Begin),
            Role::Forwarded => self.push_mark(Mark::BeginForwarded),
            Role::Container => {
                self.break_line();
                open.container = Some(Container { at: self.lines.len(), has_quote: false });
            }
            Role::Cite | Role::Quote => {
                let containers = self.open.iter_mut().filter_map(|open| open.container.as_mut());
                containers.for_each(|container| container.has_quote = true);
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &[u8]) {
        if name == b"p" && !self.open.iter().any(|open| open.name == b"p") {
            return self.break_line();
        }
        if !self.open.iter().any(|open| open.name == name) {
            return;
        }
        while let Some(open) = self.open.last() {
            let is_it = open.name == name;
            self.close_last();
            if is_it {
                return;
            }
        }
    }

    fn close_last(&mut self) {
        let Some(open) = self.open.last() else { return };
        if open.is_hidden {
            self.open.pop();
            return;
        }
        match open.name.as_slice() {
            b"p" | b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" | b"pre" | b"blockquote" => self.paragraph(),
            b"td" | b"th" => self.cell(),
            name if is_block(name) || !matches!(open.role, Role::None | Role::Hidden) => self.break_line(),
            _ => {}
        }
        let Some(open) = self.open.pop() else { return };
        if let Some((target, from)) = open.link {
            self.link(&target, from);
        }
        match open.role {
            Role::Forwarded => self.push_mark(Mark::End),
            Role::Container => {
                // With a quote of its own, what stands beside the quote may be the sender's.
                if let Some(Container { at, has_quote: false }) = open.container {
                    self.lines.insert(at.min(self.lines.len()), Line::mark(Mark::Begin));
                    self.push_mark(Mark::End);
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.is_hidden() {
            return;
        }
        let is_kept = self.open.iter().any(|open| open.name == b"pre");
        for c in text.chars() {
            match c {
                '\n' if is_kept => self.line_end(),
                '\t' | ' ' if is_kept => self.line.push(c),
                '\r' | '\0' => self.is_spaced = true,
                ' ' | '\n' | '\t' | '\u{c}' => self.is_spaced = true,
                _ => {
                    self.space();
                    self.line.push(c);
                }
            }
        }
    }

    /// Writes the blank or the bar that is due before a word.
    fn space(&mut self) {
        if std::mem::take(&mut self.is_after_cell) && !self.line.trim().is_empty() {
            self.line.truncate(self.line.trim_end().len());
            self.line.push_str(" | ");
            self.is_spaced = false;
        }
        if std::mem::take(&mut self.is_spaced) && !self.line.is_empty() && !self.line.ends_with(' ') {
            self.line.push(' ');
        }
    }

    fn cell(&mut self) {
        self.is_after_cell = !self.line.trim().is_empty();
    }

    fn picture(&mut self, tag: &Tag) {
        if self.is_hidden() || marks::of(b"img", tag) == Role::Hidden {
            return;
        }
        let words = attribute(tag, b"alt").unwrap_or_default();
        let is_linked = self.open.iter().any(|open| open.link.is_some());
        // Some programs send emoji as pictures. The names of other pictures say little.
        let is_emoji = !words.is_ascii() && words.chars().count() <= 8;
        if is_linked || is_emoji {
            self.text(&words);
        }
    }

    /// Adds the address of a link behind its words, unless they say it.
    fn link(&mut self, target: &str, from: usize) {
        let target = target.trim();
        let is_address = ["http://", "https://", "mailto:", "tel:"]
            .iter()
            .any(|scheme| target.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
        if !is_address || target.len() > MAX_LINK || target.contains(char::is_whitespace) {
            return;
        }
        let bare = |text: &str| {
            let text = text.trim().to_lowercase();
            let text = ["https://", "http://", "mailto:", "tel:", "www."]
                .iter()
                .fold(text.as_str(), |text, start| text.strip_prefix(start).unwrap_or(text))
                .to_owned();
            text.trim_end_matches('/').to_owned()
        };
        let words = self.line.get(from..).unwrap_or_default();
        if bare(words) == bare(target) {
            return;
        }
        let after = if words.trim().is_empty() { target.to_owned() } else { format!("({target})") };
        if !self.line.is_empty() && !self.line.ends_with(' ') {
            self.line.push(' ');
        }
        self.line.push_str(&after);
    }

    fn is_hidden(&self) -> bool {
        self.open.last().is_some_and(|open| open.is_hidden)
    }

    /// Ends the line unless it is empty.
    fn break_line(&mut self) {
        if !self.line.trim().is_empty() {
            self.line_end();
        }
        self.line.clear();
        self.is_spaced = false;
        self.is_after_cell = false;
    }

    /// Ends the line, and sees to an empty one before the next.
    fn paragraph(&mut self) {
        self.break_line();
        self.is_apart = true;
    }

    fn line_end(&mut self) {
        if self.is_hidden() {
            return;
        }
        let text = std::mem::take(&mut self.line);
        // The mark of a signature consists of two dashes and a blank.
        let is_signature = text.trim_end() == "--" && (self.is_spaced || text.ends_with([' ', '\u{a0}']));
        let text = if is_signature { "-- " } else { text.trim_end() };
        self.is_spaced = false;
        self.is_after_cell = false;
        let quotes = self.open.iter().filter(|open| matches!(open.role, Role::Cite | Role::Quote)).count();
        let is_cited = self.open.iter().any(|open| open.role == Role::Cite);
        let is_attribution = self.open.iter().any(|open| open.role == Role::Attribution);
        let mark = match (quotes, is_cited) {
            (0, _) if is_attribution && !text.is_empty() => Mark::Attribution,
            (0, _) | (_, true) => Mark::None,
            _ => Mark::Quoted,
        };
        let prefix = ">".repeat(quotes.min(MAX_QUOTES));
        if std::mem::take(&mut self.is_apart) {
            let last = self.lines.last();
            if last.is_some_and(|last| !last.text.trim_matches(['>', ' ']).is_empty()) {
                let depth = last.map_or(0, |last| last.text.bytes().take_while(|byte| *byte == b'>').count());
                self.lines.push(Line { text: ">".repeat(depth.min(prefix.len())), mark: Mark::None });
            }
        }
        let text = if quotes == 0 { text.to_owned() } else { format!("{prefix} {text}") };
        self.lines.push(Line { text, mark });
    }

    fn push_mark(&mut self, mark: Mark) {
        self.break_line();
        self.lines.push(Line::mark(mark));
    }
}

/// Returns whether an open element ends where another one begins.
fn ends_before(open: &[u8], next: &[u8]) -> bool {
    match open {
        b"p" => is_block(next),
        b"li" => next == b"li",
        b"td" | b"th" => matches!(next, b"td" | b"th" | b"tr"),
        b"tr" => next == b"tr",
        b"a" => next == b"a",
        b"head" => next == b"body",
        _ => false,
    }
}

fn is_block(name: &[u8]) -> bool {
    const BLOCKS: [&[u8]; 33] = [
        b"address",
        b"article",
        b"aside",
        b"blockquote",
        b"body",
        b"center",
        b"dd",
        b"details",
        b"dir",
        b"div",
        b"dl",
        b"dt",
        b"fieldset",
        b"figure",
        b"footer",
        b"form",
        b"h1",
        b"h2",
        b"h3",
        b"h4",
        b"h5",
        b"h6",
        b"header",
        b"li",
        b"main",
        b"nav",
        b"ol",
        b"p",
        b"pre",
        b"section",
        b"table",
        b"tr",
        b"ul",
    ];
    BLOCKS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(html: &str) -> String {
        let lines = lines(html);
        let lines: Vec<String> = lines
            .iter()
            .map(|line| match line.mark {
                Mark::None => line.text.clone(),
                mark => format!("{mark:?}:{}", line.text),
            })
            .collect();
        lines.join("\n").trim().to_owned()
    }

    #[test]
    fn a_page_is_read_as_its_reader_sees_it() {
        for (html, expected) in [
            ("<p>Yes &amp; no</p><p>more</p>", "Yes & no\n\nmore"),
            ("a<br>b<br><br>c", "a\nb\n\nc"),
            ("<div>a</div><div>b</div>", "a\nb"),
            ("one\n two<span> three</span>", "one two three"),
            (
                "<table><tr><td>c1</td><td>c2</td></tr><tr><td>d1</td><td>d2</td></tr></table>",
                "c1 | c2\nd1 | d2",
            ),
            ("<table><tr><th>a<th>b<tr><td>1<td>2</table>", "a | b\n1 | 2"),
            ("<table><tr><td><p>layout</p></td><td><p>only</p></td></tr></table>", "layout\n\nonly"),
            ("<ul><li>l1</li><li>l2</li></ul>", "- l1\n- l2"),
            ("<ol start=3><li>l1<li>l2</ol>", "3. l1\n4. l2"),
            ("<a href=\"https://a.example/x\">here</a>!", "here (https://a.example/x)!"),
            ("<a href=\"https://a.example/\">a.example</a>", "a.example"),
            ("<a href=\"mailto:a@b.example\">a@b.example</a>", "a@b.example"),
            ("<a href=\"https://a.example/x\"><img src=x alt=\"Pay\"></a>", "Pay (https://a.example/x)"),
            ("<a href=\"https://a.example/x\"><img src=x></a>", "https://a.example/x"),
            ("<a href=\"javascript:x()\">no</a><a name=x>anchor</a>", "noanchor"),
            ("<style>p{}</style><script>x</script><title>t</title><p>a<!-- c --></p>", "a"),
            ("<div style=\"display:none;\">pre</div>a", "a"),
            ("<span style='FONT-SIZE: 0px'>pre</span>a", "a"),
            ("<div style=\"mso-hide: all\">pre<div>header</div></div><p>a", "a"),
            ("<div style=\"max-height:0;overflow:hidden\">pre</div>a", "a"),
            ("<p hidden>pre</p>a", "a"),
            ("<div style=\"display:none\">all there is</div>", "all there is"),
            ("<!--[if mso]><p>outlook</p><![endif]--><![if !mso]><p>rest</p><![endif]>", "rest"),
            ("<img alt=\"😀\" src=x> hi <img alt=\"Logo\" src=y>", "😀 hi"),
            ("<pre>a\n  b</pre>", "a\n  b"),
            ("&nbsp;a&eacute;&#8364;&#x4f60;", "\u{a0}aé€你"),
            ("<div>-- <br></div>Ada", "-- \nAda"),
            ("<div>--</div>Ada", "--\nAda"),
            ("<head><title>x</title><body>never closed <b>bold", "never closed bold"),
        ] {
            assert_eq!(text(html), expected.trim(), "{html}");
        }
    }

    #[test]
    fn marks_of_mail_programs_are_recognised() {
        for (html, expected) in [
            ("a<blockquote type=cite><p>old</p></blockquote>b", "a\n> old\nb"),
            ("a<blockquote>old</blockquote>b", "a\nQuoted:> old\nb"),
            (
                "<blockquote type=\"cite\">1<blockquote type=\"cite\">2</blockquote></blockquote>",
                "> 1\n>\n>> 2",
            ),
            ("<blockquote style=\"margin:0 0 0 40px; border:none; padding:0px\">mine</blockquote>", "mine"),
            (
                "a<div class=\"gmail_quote\"><div class=\"gmail_attr\">On x<br></div><blockquote class=\"gmail_quote\">old</blockquote></div>b",
                "a\nAttribution:On x\n> old\nb",
            ),
            ("a<div class=\"gmail_quote\">fwd</div>b", "a\nBegin:\nfwd\nEnd:\nb"),
            ("a<div class=\"x_gmail_quote\">fwd</div>b", "a\nBegin:\nfwd\nEnd:\nb"),
            ("a<hr><div id=\"divRplyFwdMsg\">From: x</div>old", "a\n\nBegin:\nFrom: x\nold"),
            ("a<div class=\"moz-forward-container\">x</div>", "a\nBeginForwarded:\nx\nEnd:"),
            (
                "a<div class=\"moz-cite-prefix\">On x</div><blockquote type=cite>old</blockquote>",
                "a\nAttribution:On x\n\n> old",
            ),
            ("a<div class=\"yahoo_quoted\" id=\"y1\">old</div>", "a\nBegin:\nold\nEnd:"),
            (
                "a<div class=\"protonmail_quote\">On x<blockquote class=\"protonmail_quote\">old</blockquote></div>",
                "a\nOn x\n\n> old",
            ),
        ] {
            let found = text(html).replace("\n\n", "\n");
            assert_eq!(found, expected.replace("\n\n", "\n"), "{html}");
        }
    }

    #[test]
    fn hostile_pages_are_read_in_time() {
        let deep = "<div><blockquote>".repeat(100_000);
        assert!(lines(&format!("{deep}end")).iter().any(|line| line.text.ends_with("end")));
        let _ = lines(&"<table><tr><td>".repeat(50_000));
        let _ = lines(&"</p></div><a href=https://x>".repeat(50_000));
        let _ = lines("<a href=\"https://");
    }
}
