//! E-books (EPUB): the chapters in reading order.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::output::Output;
use crate::package::{Package, beside};
use crate::xml::{self, Node};
use crate::{encoding, page};

/// The most chapters that are read.
const MAX_CHAPTERS: usize = 5_000;

pub(crate) fn read(package: &mut Package<'_>, out: &mut Output<'_>) -> Result<(), Error> {
    let root = root(package)?;
    let (folder, _) = root.rsplit_once('/').unwrap_or(("", &root));
    let text = package.text(&root)?.ok_or_else(|| Error::new("its list of chapters is missing"))?;
    let book = Contents::read(&text)?;
    let locked = package.text("META-INF/encryption.xml")?.unwrap_or_default();
    if !book.title.is_empty() {
        out.push(&format!("Title: {}\n", book.title.trim()));
    }
    if !book.author.is_empty() {
        out.push(&format!("Author: {}\n", book.author.trim()));
    }
    let (mut missing, mut protected) = (0, 0);
    for (number, chapter) in book.chapters.iter().take(MAX_CHAPTERS).enumerate() {
        if out.is_full() {
            break;
        }
        let path = beside(folder, &percent_decoded(chapter));
        if locked.contains(&path) {
            protected += 1;
            continue;
        }
        let Some(bytes) = package.bytes(&path)? else {
            missing += 1;
            continue;
        };
        out.gap();
        out.push(&format!("[section {}]\n\n", number + 1));
        page::read(&encoding::page(&bytes), out);
        out.flush();
    }
    if protected > 0 && protected == book.chapters.len() {
        return Err(Error::new("it is protected against copying"));
    }
    for (count, why) in [(missing, "are missing"), (protected, "are protected against copying")] {
        if count > 0 {
            out.note(format!("{count} of {} sections {why}.", book.chapters.len()));
        }
    }
    Ok(())
}

fn root(package: &mut Package<'_>) -> Result<String, Error> {
    let container = package.text("META-INF/container.xml")?.unwrap_or_default();
    let mut root = None;
    xml::walk(&container, &mut |node| {
        if let Node::Start(tag) = node
            && tag.is("rootfile")
        {
            root = tag.attribute("full-path");
        }
        root.is_none()
    })?;
    root.ok_or_else(|| Error::new("its list of chapters is missing"))
}

/// The metadata of a book.
#[derive(Default)]
struct Contents {
    title: String,
    author: String,
    /// The paths of its chapters.
    chapters: Vec<String>,
}

impl Contents {
    fn read(text: &str) -> Result<Self, Error> {
        let mut book = Self::default();
        let (mut items, mut order) = (BTreeMap::new(), Vec::new());
        let mut inside = String::new();
        xml::walk(text, &mut |node| {
            match node {
                Node::Start(tag) => {
                    tag.name().clone_into(&mut inside);
                    match tag.name() {
                        "item" => {
                            if let (Some(id), Some(path)) = (tag.attribute("id"), tag.attribute("href")) {
                                items.insert(id, path);
                            }
                        }
                        "itemref" => order.extend(tag.attribute("idref")),
                        _ => {}
                    }
                }
                Node::End(_) => inside.clear(),
                Node::Text(text) => match inside.as_str() {
                    "title" if book.title.len() < 500 => book.title.push_str(text),
                    "creator" if book.author.len() < 500 => book.author.push_str(text),
                    _ => {}
                },
            }
            true
        })?;
        book.chapters = order.iter().filter_map(|id| items.get(id).cloned()).collect();
        Ok(book)
    }
}

/// Decodes `%20` and the like in a path, and drops what points into a chapter.
fn percent_decoded(path: &str) -> String {
    let path = path.split('#').next().unwrap_or_default().as_bytes();
    let mut decoded = Vec::with_capacity(path.len());
    let mut at = 0;
    while let Some(byte) = path.get(at) {
        let digits = path.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *byte == b'%') {
            Some(value) => {
                decoded.push(value);
                at += 3;
            }
            None => {
                decoded.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
