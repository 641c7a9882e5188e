//! Gathers the content of a mail from its parts: its words in their order, files, and attached mails.

use std::collections::HashSet;

use super::head::Head;
use super::lines::{self, Line, Mark, has_words, one_line};
use super::mime::Part;
use super::{cards, encoded_words, head, page};

/// Inline pictures smaller than this are part of a signature.
const MIN_PICTURE: usize = 10 << 10;
/// How deep mails may be attached to attached mails.
const MAX_MAILS: usize = 4;
/// Parts that programs add for other programs.
const NOT_FOR_PEOPLE: [&str; 6] = [
    "application/pgp-signature",
    "application/pkcs7-signature",
    "application/x-pkcs7-signature",
    "application/pgp-keys",
    "application/pgp-encrypted",
    "text/x-amp-html",
];

/// A file attached to a mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) mime: String,
    pub(super) bytes: Vec<u8>,
    /// Whether it came with an attached mail, whose author is someone else.
    pub(super) is_quoted: bool,
}

/// The content of a mail.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// Its words.
    pub(super) lines: Vec<Line>,
    pub(super) files: Vec<File>,
    /// The texts of attached mails.
    pub(super) mails: Vec<String>,
}

/// Where a part stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It is the whole mail.
    Alone,
    Mixed,
    Related,
    Alternative,
}

impl Content {
    /// Gathers the content of a mail.
    pub(super) fn of(mail: &[u8]) -> Self {
        Self::within(mail, 0)
    }

    fn within(mail: &[u8], depth: usize) -> Self {
        let (root, mut content) = (Part::of_mail(mail), Self::default());
        content.add(&root, Place::Alone, depth);
        if !content.has_words() && content.files.is_empty() && content.mails.is_empty() {
            // Words above the parts, which only very old programs would show.
            let text = root.text();
            let above: Vec<&str> = text.lines().take_while(|line| !line.starts_with("--")).collect();
            let above = above.join("\n");
            if !root.children.is_empty() && !above.contains("MIME") {
                content.lines = lines::of_text(&above, None);
            }
        }
        content
    }

    /// Returns whether any line can be read.
    fn has_words(&self) -> bool {
        self.lines.iter().any(|line| has_words(&line.text))
    }

    fn add(&mut self, part: &Part<'_>, place: Place, depth: usize) {
        match part.kind.as_str() {
            "multipart/alternative" => return self.add_best(part, depth),
            "multipart/related" => {
                for (number, child) in part.children.iter().enumerate() {
                    self.add(child, if number == 0 { Place::Mixed } else { Place::Related }, depth);
                }
                return;
            }
            kind if kind.starts_with("multipart/") => {
                for child in &part.children {
                    self.add(child, Place::Mixed, depth);
                }
                return;
            }
            kind if NOT_FOR_PEOPLE.contains(&kind) => return,
            _ => {}
        }
        if is_mail(part) {
            return self.add_mail(part, depth);
        }
        if matches!(
            part.kind.as_str(),
            "message/delivery-status" | "message/disposition-notification" | "text/rfc822-headers"
        ) {
            return self.mails.push(part.text().trim().to_owned());
        }
        if let Some(lines) = words(part, place) {
            self.lines.push(Line::mark(Mark::Part));
            return self.lines.extend(lines);
        }
        self.files.extend(file(part, place).filter(|file| !self.files.contains(file)));
    }

    /// Adds the alternative that says the most, and the files of all.
    fn add_best(&mut self, part: &Part<'_>, depth: usize) {
        let mut alternatives: Vec<Self> = Vec::new();
        for child in &part.children {
            let mut alternative = Self::default();
            alternative.add(child, Place::Alternative, depth);
            alternatives.push(alternative);
        }
        for alternative in &mut alternatives {
            let new =
                std::mem::take(&mut alternative.files).into_iter().filter(|file| !self.files.contains(file));
            let new: Vec<File> = new.collect();
            self.files.extend(new);
            self.mails.append(&mut alternative.mails);
        }
        alternatives.retain(Self::has_words);
        let rich = if alternatives.len() > 1 { alternatives.pop() } else { None };
        let plain = alternatives.into_iter().next();
        let best = match (plain, rich) {
            (Some(plain), Some(rich)) if says_more(&rich.lines, &plain.lines) => Some(rich),
            (plain, rich) => plain.or(rich),
        };
        self.lines.extend(best.into_iter().flat_map(|best| best.lines));
    }

    fn add_mail(&mut self, part: &Part<'_>, depth: usize) {
        let mail = part.bytes();
        if depth >= MAX_MAILS {
            return;
        }
        let fields = Head::read(&mail);
        let heading = ["from", "date", "to", "subject"].iter().filter_map(|name| {
            fields.all(name).next()?;
            let value = one_line(&encoded_words::decoded(&head::raw(&mail, name)?));
            let mut letters = name.chars();
            let title = letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters);
            Some(format!("{}: {value}", title.collect::<String>()))
        });
        let heading: Vec<String> = heading.collect();
        let inner = Self::within(&mail, depth + 1);
        let text: Vec<&str> = inner.lines.iter().map(|line| line.text.as_str()).collect();
        let text = format!("{}\n\n{}", heading.join("\n"), text.join("\n").trim());
        self.mails.push(text.trim().to_owned());
        self.mails.extend(inner.mails);
        self.files.extend(inner.files.into_iter().map(|file| File { is_quoted: true, ..file }));
    }
}

fn is_mail(part: &Part<'_>) -> bool {
    let is_named_so = || part.name.as_deref().is_some_and(|name| name.to_lowercase().ends_with(".eml"));
    matches!(part.kind.as_str(), "message/rfc822" | "message/global" | "message/news") || is_named_so()
}

/// Returns the lines of a part that is to be read in place.
fn words(part: &Part<'_>, place: Place) -> Option<Vec<Line>> {
    let is_file =
        part.is_attachment || (part.name.is_some() && matches!(place, Place::Mixed | Place::Related));
    if is_file && place != Place::Alone {
        return None;
    }
    match part.kind.as_str() {
        "text/html" | "application/xhtml+xml" => Some(page::lines(&part.text())),
        "text/plain" | "text/enriched" | "text/richtext" | "text/markdown" | "text/x-markdown" => {
            Some(lines::of_text(&part.text(), part.flow))
        }
        _ => None,
    }
}

fn file(part: &Part<'_>, place: Place) -> Option<File> {
    let bytes = part.bytes();
    let is_decoration = part.kind.starts_with("image/")
        && place == Place::Related
        && part.has_id
        && bytes.len() < MIN_PICTURE;
    if is_decoration || bytes.trim_ascii().is_empty() && part.name.is_none() {
        return None;
    }
    let name = part.name.as_deref().map(one_line).filter(|name| !name.is_empty());
    let (mime, bytes, usual) = match card(part, name.as_deref()) {
        Some(card) => {
            let text = part.text();
            let (read, usual) = match card {
                Card::Calendar => (cards::calendar(&text), "calendar.ics"),
                Card::Contacts => (cards::contacts(&text), "contact.vcf"),
            };
            ("text/plain".to_owned(), read.unwrap_or(text).into_bytes(), usual)
        }
        None => (part.kind.clone(), bytes.into_owned(), "attachment"),
    };
    Some(File { name: name.unwrap_or_else(|| usual.to_owned()), mime, bytes, is_quoted: false })
}

/// Files that are read as short texts.
enum Card {
    Calendar,
    Contacts,
}

fn card(part: &Part<'_>, name: Option<&str>) -> Option<Card> {
    let ending = name.and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending.to_lowercase());
    match (part.kind.as_str(), ending.as_deref()) {
        ("text/calendar" | "application/ics" | "text/x-vcalendar", _)
        | (_, Some("ics" | "ical" | "vcs" | "ifb")) => Some(Card::Calendar),
        ("text/vcard" | "text/x-vcard" | "text/directory" | "application/vcard", _)
        | (_, Some("vcf" | "vcard")) => Some(Card::Contacts),
        _ => None,
    }
}

/// Returns whether the richer of two alternatives says more than the plain one: programs leave the plain one blank, put
/// a note into it, or leave out addresses.
fn says_more(rich: &[Line], plain: &[Line]) -> bool {
    let (rich, plain) = (text_of(rich), text_of(plain));
    if rich.contains("://") && !plain.contains("://") && !plain.to_lowercase().contains("www.") {
        return true;
    }
    let (rich, plain) = (tokens(&rich), tokens(&plain));
    let known: HashSet<&str> = rich.iter().copied().collect();
    let shared = plain.iter().filter(|word| known.contains(**word)).count();
    shared * 2 < plain.len() || plain.len() * 10 < rich.len() * 6
}

fn text_of(lines: &[Line]) -> String {
    lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n")
}

fn tokens(text: &str) -> Vec<&str> {
    let words = text.split_whitespace().filter(|word| !word.contains("://"));
    words
        .flat_map(|word| word.split(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .collect()
}
