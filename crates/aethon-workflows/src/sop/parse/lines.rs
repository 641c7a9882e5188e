//! The lines of a SOP by their meaning in Markdown: headings in both notations, text, and what is taken verbatim.

use aethon_core::sop::SopFault;

/// The longest text above a row of dashes that counts as a heading. A longer one is a paragraph above a rule.
const MAX_UNDERLINED: usize = 80;

/// How many lines front matter may have.
const MAX_FRONT_MATTER: usize = 200;

/// A line with its number, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'t> {
    pub(super) number: usize,
    /// The line as written.
    pub(super) text: &'t str,
    pub(super) kind: Kind<'t>,
}

/// The meaning of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind<'t> {
    /// A heading of this level, without its marks.
    Heading { level: usize, text: &'t str, marks: Marks },
    /// Any other line that is Markdown.
    Text,
    /// A line of a code block or a comment, which has no meaning to the program.
    Verbatim,
}

/// How a heading is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marks {
    /// With `#` before it.
    Hashes,
    /// With a row of `=` or `-` below it.
    Underline,
}

/// Splits a text into lines. What stands out is added to the remarks.
pub(super) fn lines<'t>(content: &'t str, remarks: &mut Vec<SopFault>) -> Vec<Line<'t>> {
    let content = content.strip_prefix('\u{feff}').unwrap_or(content);
    let texts: Vec<&str> = content.lines().collect();
    let mut lines = Vec::with_capacity(texts.len());
    let mut index = front_matter(&texts);
    if index > 0 {
        remarks.push(remark(1, "the front matter has no meaning here; the model reads it as it is"));
    }
    let mut open: Option<Block> = None;
    while let Some(&text) = texts.get(index) {
        let number = index + 1;
        index += 1;
        if let Some(block) = &open {
            lines.push(Line { number, text, kind: Kind::Verbatim });
            if block.ends_with(text) {
                open = None;
            }
            continue;
        }
        if let Some(block) = Block::begun(number, text) {
            lines.push(Line { number, text, kind: Kind::Verbatim });
            open = (!block.is_over_at_once(text)).then_some(block);
            continue;
        }
        let is_after_text =
            lines.last().is_some_and(|before| before.kind == Kind::Text && !before.text.trim().is_empty());
        let underlined = texts.get(index).and_then(|next| underlined(text, next)).filter(|_| !is_after_text);
        let kind = match (heading(text), underlined) {
            (Some((level, text)), _) => Kind::Heading { level, text, marks: Marks::Hashes },
            (None, Some(level)) => {
                // The row below the text is part of the heading.
                index += 1;
                Kind::Heading { level, text: text.trim(), marks: Marks::Underline }
            }
            (None, None) => Kind::Text,
        };
        lines.push(Line { number, text, kind });
    }
    if let Some(block) = open {
        remarks.push(remark(block.line, block.unclosed()));
    }
    lines
}

pub(super) fn remark(line: usize, message: impl Into<String>) -> SopFault {
    SopFault { line, message: message.into() }
}

/// Returns how many lines of front matter the text begins with. A rule at the beginning is none.
fn front_matter(texts: &[&str]) -> usize {
    let is_rule = |text: &&str| text.trim_end() == "---";
    if !texts.first().is_some_and(is_rule) {
        return 0;
    }
    let is_key = |text: &&str| {
        let key = text.split(':').next().unwrap_or_default();
        text.contains(':')
            && !key.is_empty()
            && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
    };
    let rest = || texts.iter().skip(1);
    if !rest().find(|text| !text.trim().is_empty()).is_some_and(is_key) {
        return 0;
    }
    let end = rest().take(MAX_FRONT_MATTER).position(|text| is_rule(text) || text.trim_end() == "...");
    end.map_or(0, |end| end + 2)
}

/// A block of lines that are taken verbatim.
struct Block {
    line: usize,
    fence: Fence,
}

/// How a block began.
enum Fence {
    /// A fence of this character, this many times.
    Code(char, usize),
    Comment,
}

impl Block {
    fn begun(line: usize, text: &str) -> Option<Self> {
        let text = text.trim_start();
        if text.starts_with("<!--") {
            return Some(Self { line, fence: Fence::Comment });
        }
        let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let length = text.chars().take_while(|c| *c == mark).count();
        let info = &text[length..];
        // Three backticks with others in their line are inline code.
        let is_fence = length >= 3 && !(mark == '`' && info.contains('`'));
        is_fence.then_some(Self { line, fence: Fence::Code(mark, length) })
    }

    fn is_over_at_once(&self, text: &str) -> bool {
        matches!(self.fence, Fence::Comment) && text.contains("-->")
    }

    fn ends_with(&self, text: &str) -> bool {
        match self.fence {
            Fence::Comment => text.contains("-->"),
            Fence::Code(mark, length) => {
                let text = text.trim();
                text.len() >= length && text.chars().all(|c| c == mark)
            }
        }
    }

    fn unclosed(&self) -> &'static str {
        match self.fence {
            Fence::Comment => "the comment that begins here has no end; all that follows belongs to it",
            Fence::Code(..) => "the code block that begins here has no end; all that follows belongs to it",
        }
    }
}

/// Returns the level and the text of a heading such as `## Steps ##`.
fn heading(text: &str) -> Option<(usize, &str)> {
    let inner = text.trim_start_matches(' ');
    let level = inner.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &inner[level..];
    let is_heading = text.len() - inner.len() < 4
        && (1..=6).contains(&level)
        && (rest.is_empty() || rest.starts_with([' ', '\t']));
    if !is_heading {
        return None;
    }
    let rest = rest.trim();
    let open = rest.trim_end_matches('#');
    // Marks at the end close the heading if a blank comes before them: `C#` keeps its own.
    let is_closed = open.is_empty() || open.ends_with([' ', '\t']);
    Some((level, if is_closed { open.trim() } else { rest }))
}

/// Returns the level of a heading that consists of a text and a row of `=` or `-` below it.
fn underlined(text: &str, below: &str) -> Option<usize> {
    let row = below.trim();
    let is_row = |mark: char| row.len() >= 3 && row.chars().all(|c| c == mark);
    let level = if is_row('=') { 1 } else { is_row('-').then_some(2)? };
    let is_indented = text.starts_with("    ") || text.starts_with('\t') || below.starts_with("    ");
    let text = text.trim();
    let begins_a_block = text.starts_with(['-', '*', '+', '>', '|', '#', '<']) && !text.starts_with("**");
    let is_sentence =
        level == 2 && (text.ends_with(['.', '!', '?', ';', ',']) || text.len() > MAX_UNDERLINED);
    let is_title = !text.is_empty() && !is_indented && !begins_a_block && !is_sentence && !text.contains('|');
    is_title.then_some(level)
}
