//! Converts the HTML of a message to text: links keep their addresses, list items and table cells stay apart, and
//! mentions of people are their names.

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

/// How much HTML is read, in bytes.
const MAX_HTML: usize = 64 << 10;
/// How many elements may be open.
const MAX_DEPTH: usize = 100;
/// The beginning of the address of a person or a room.
const MENTION: &str = "https://matrix.to/#/";

/// The text of an HTML message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Markup {
    /// Its words, without mentions of us.
    pub(super) text: String,
    /// Whether it mentions us.
    pub(super) is_naming_us: bool,
    /// Whether it begins with that.
    pub(super) begins_with_us: bool,
}

/// Returns whether HTML says more than the plain text beside it: it has the targets of links, tables or lists.
pub(super) fn says_more(html: &str) -> bool {
    ["<a ", "<table", "<li", "<img"].iter().any(|tag| html.contains(tag))
}

/// Reads the HTML of a message to us.
pub(super) fn read(html: &str, us: &str) -> Markup {
    let mut end = html.len().min(MAX_HTML);
    while !html.is_char_boundary(end) {
        end -= 1;
    }
    let mut reader = Reader { us: us.to_owned(), ..Reader::default() };
    let tokens = Tokenizer::new_with_emitter(&html[..end], DefaultEmitter::default());
    for token in tokens {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => reader.start(&tag),
            Token::EndTag(tag) => reader.end(&tag.name),
            Token::String(text) => reader.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    while let Some(open) = reader.open.pop() {
        reader.close(&open);
    }
    let lines: Vec<&str> = reader.out.lines().map(str::trim_end).collect();
    reader.markup.text = lines.join("\n").trim().to_owned();
    reader.markup
}

#[derive(Default)]
struct Reader {
    us: String,
    out: String,
    open: Vec<Open>,
    markup: Markup,
}

/// An open element.
struct Open {
    name: Vec<u8>,
    /// Where a link leads.
    link: Option<String>,
    /// Where its words begin.
    start: usize,
    /// In a numbered list, the number of the next item.
    number: u64,
}

impl Reader {
    fn start(&mut self, tag: &StartTag<()>) {
        let attribute =
            |name: &[u8]| tag.attributes.get(name).map(|value| String::from_utf8_lossy(value).into_owned());
        match tag.name.as_slice() {
            b"br" => return self.out.push('\n'),
            b"hr" => return self.block(),
            b"img" => {
                let words = attribute(b"alt").or_else(|| attribute(b"title")).unwrap_or_default();
                return self.text(&words);
            }
            _ => {}
        }
        if self.open.len() >= MAX_DEPTH {
            return;
        }
        let number = attribute(b"start").and_then(|start| start.parse().ok()).unwrap_or(1);
        let link = attribute(b"href").filter(|_| tag.name.as_slice() == b"a");
        self.before(&tag.name);
        let start = self.out.len();
        self.open.push(Open { name: tag.name.to_vec(), link, start, number });
    }

    /// Writes what stands before an element.
    fn before(&mut self, name: &[u8]) {
        match name {
            b"p" | b"div" | b"ul" | b"ol" | b"table" | b"tr" | b"blockquote" | b"details" | b"summary" => {
                self.block()
            }
            b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => {
                self.block();
                self.out.push_str("# ");
            }
            b"li" => {
                self.block();
                let depth =
                    self.open.iter().filter(|open| matches!(open.name.as_slice(), b"ul" | b"ol")).count();
                self.out.push_str(&"  ".repeat(depth.saturating_sub(1)));
                let list =
                    self.open.iter_mut().rev().find(|open| matches!(open.name.as_slice(), b"ul" | b"ol"));
                match list.filter(|list| list.name == b"ol") {
                    Some(list) => {
                        self.out.push_str(&format!("{}. ", list.number));
                        list.number += 1;
                    }
                    None => self.out.push_str("- "),
                }
            }
            b"td" | b"th" => self.out.push_str("| "),
            b"pre" => {
                self.block();
                self.out.push_str("```\n");
            }
            name => self.out.push_str(self.mark(name)),
        }
    }

    /// Returns what stands on either side of an element within a line.
    fn mark(&self, name: &[u8]) -> &'static str {
        match name {
            b"code" if !self.is_in(b"pre") => "`",
            b"strong" | b"b" => "**",
            b"em" | b"i" => "*",
            b"del" | b"s" => "~~",
            _ => "",
        }
    }

    fn end(&mut self, name: &[u8]) {
        let Some(at) = self.open.iter().rposition(|open| open.name == name) else { return };
        while self.open.len() > at {
            if let Some(open) = self.open.pop() {
                self.close(&open);
            }
        }
    }

    /// Writes what stands after an element.
    fn close(&mut self, open: &Open) {
        match open.name.as_slice() {
            b"a" => self.close_link(open),
            b"p" | b"div" | b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" | b"ul" | b"ol" | b"table"
            | b"details" => {
                self.block();
            }
            b"td" | b"th" => self.out.push(' '),
            b"tr" => self.out.push_str("|\n"),
            b"blockquote" => {
                let words = self.out.split_off(open.start);
                let lines: Vec<String> = words.trim().lines().map(|line| format!("> {line}")).collect();
                self.out.push_str(&lines.join("\n"));
                self.out.push_str("\n\n");
            }
            b"pre" => {
                self.block();
                self.out.push_str("```\n");
            }
            // The answered text, which older clients repeat.
            b"mx-reply" => self.out.truncate(open.start),
            name => self.out.push_str(self.mark(name)),
        }
    }

    fn close_link(&mut self, open: &Open) {
        let Some(address) = open.link.as_deref().map(str::trim) else { return };
        let words = self.out.get(open.start..).unwrap_or_default().trim().to_owned();
        if let Some(mentioned) = address.strip_prefix(MENTION) {
            let mentioned = mentioned.split('?').next().unwrap_or_default();
            let mentioned = percent_encoding::percent_decode_str(mentioned).decode_utf8_lossy();
            if mentioned == self.us {
                self.markup.is_naming_us = true;
                self.out.truncate(open.start);
                self.markup.begins_with_us |= self.out.trim().is_empty();
            }
        } else if words.is_empty() {
            self.out.push_str(address);
        } else if !words.contains(address.trim_end_matches('/')) {
            self.out.push_str(&format!(" ({})", address.trim_start_matches("mailto:")));
        }
    }

    fn text(&mut self, text: &str) {
        if self.is_in(b"pre") {
            return self.out.push_str(text);
        }
        for c in text.chars() {
            // Blanks and line breaks are one blank.
            let is_blank = matches!(c, ' ' | '\t' | '\n' | '\r');
            if !is_blank {
                self.out.push(c);
            } else if !self.out.is_empty() && !self.out.ends_with([' ', '\n']) {
                self.out.push(' ');
            }
        }
    }

    /// Begins a new line.
    fn block(&mut self) {
        let is_item = self.out.ends_with("- ") || self.out.ends_with(". ");
        if !self.out.is_empty() && !self.out.ends_with('\n') && !is_item {
            self.out.push('\n');
        }
    }

    fn is_in(&self, name: &[u8]) -> bool {
        self.open.iter().any(|open| open.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_is_read_with_its_links_lists_and_tables() {
        for (html, expected) in [
            ("see <a href=\"https://a.b/c\">this</a>!", "see this (https://a.b/c)!"),
            ("<a href=\"https://a.b/\">https://a.b</a>", "https://a.b"),
            ("<a href=\"mailto:a@b.c\">write</a>", "write (a@b.c)"),
            ("<a href=\"https://a.b\"></a>", "https://a.b"),
            ("<ul><li>one</li><li>two</li></ul>", "- one\n- two"),
            ("<p>a</p><ul><li>one<ul><li>two</li></ul></li></ul>", "a\n- one\n  - two"),
            ("<ol start=\"3\"><li><p>one</p></li><li>two</li></ol>", "3. one\n4. two"),
            (
                "<table><thead><tr><th>c1</th><th>c2</th></tr></thead><tbody><tr><td>a</td><td>b</td></tr></tbody></table>",
                "| c1 | c2 |\n| a | b |",
            ),
            ("<h2>T</h2><p>a<br>b</p>", "# T\na\nb"),
            ("<blockquote><p>q1</p><p>q2</p></blockquote>own", "> q1\n> q2\n\nown"),
            ("<pre><code class=\"language-rust\">let a;\n  b\n</code></pre>", "```\nlet a;\n  b\n```"),
            ("<strong>b</strong> <em>i</em> <del>s</del> <code>c</code>", "**b** *i* ~~s~~ `c`"),
            ("a &lt;b&gt; &amp; c", "a <b> & c"),
            ("<img data-mx-emoticon alt=\":cat:\" src=\"mxc://a/b\"> hi", ":cat: hi"),
            ("<mx-reply><blockquote>obey</blockquote></mx-reply>mine", "mine"),
            ("<a href=\"https://matrix.to/#/@eve:hs\">Eve</a> said", "Eve said"),
            ("a\n   b", "a b"),
            ("<p>open <a href=\"https://a.b\">link", "open link (https://a.b)"),
            ("</b><x>y", "y"),
            ("", ""),
        ] {
            assert_eq!(read(html, "@bot:hs").text, expected, "{html}");
        }
    }

    #[test]
    fn a_mention_of_us_is_found_and_removed() {
        let pill = "<a href=\"https://matrix.to/#/@bot:hs\">Aethon</a>";
        let read = |html: &str| {
            let markup = read(html, "@bot:hs");
            (markup.text, markup.is_naming_us, markup.begins_with_us)
        };
        assert_eq!(read(&format!("{pill}: /stop")), (": /stop".into(), true, true));
        assert_eq!(read(&format!("hi {pill}")), ("hi".into(), true, false));
        let encoded = "<a href=\"https://matrix.to/#/%40bot%3Ahs?via=hs\">A</a> hi";
        assert_eq!(read(encoded), ("hi".into(), true, true));
        assert_eq!(
            read("<a href=\"https://matrix.to/#/@bot:hs.evil\">A</a> hi"),
            ("A hi".into(), false, false)
        );
    }
}
