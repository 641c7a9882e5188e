//! XML as a sequence of tags and text. No entities are expanded but the five that XML knows, and no tree is built, so a
//! bomb of either kind costs nothing.

use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};

use crate::error::Error;

/// A piece of a document.
pub(crate) enum Node<'x> {
    Start(Tag<'x>),
    End(&'x str),
    Text(&'x str),
}

/// A start tag.
pub(crate) struct Tag<'x>(&'x BytesStart<'x>);

impl Tag<'_> {
    /// Returns its name without the prefix.
    pub(crate) fn name(&self) -> &str {
        local(self.0.name().0)
    }

    pub(crate) fn is(&self, name: &str) -> bool {
        self.name() == name
    }

    /// Returns the prefix of its name.
    pub(crate) fn prefix(&self) -> &str {
        self.0.name().0.rsplit_once(':').map_or("", |(prefix, _)| prefix)
    }

    /// Returns an attribute by its name without the prefix.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        let mut attributes = self.0.attributes();
        let mut whole = attributes.with_checks(false).filter_map(Result::ok);
        let found = whole.find(|attribute| local(attribute.key.0) == name)?;
        Some(unescape(&found.value).map_or_else(|_| found.value.to_string(), |value| value.into_owned()))
    }

    /// Returns an attribute by its whole name.
    pub(crate) fn prefixed(&self, name: &str) -> Option<String> {
        let mut attributes = self.0.attributes();
        let mut whole = attributes.with_checks(false).filter_map(Result::ok);
        let found = whole.find(|attribute| attribute.key.0 == name)?;
        Some(found.value.to_string())
    }
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

/// Hands each piece to `take`, which returns whether to go on. An element without content is a start and an end.
pub(crate) fn walk(text: &str, take: &mut dyn FnMut(Node<'_>) -> bool) -> Result<(), Error> {
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    loop {
        let event = reader.read_event().map_err(|fault| Error::damaged("its XML", fault))?;
        let goes_on = match &event {
            Event::Start(tag) => take(Node::Start(Tag(tag))),
            Event::Empty(tag) => take(Node::Start(Tag(tag))) && take(Node::End(local(tag.name().0))),
            Event::End(tag) => take(Node::End(local(tag.name().0))),
            Event::Text(text) => take(Node::Text(text)),
            Event::CData(text) => take(Node::Text(text)),
            Event::GeneralRef(entity) => match entity.resolve_char_ref() {
                Ok(Some(character)) => take(Node::Text(character.encode_utf8(&mut [0; 4]))),
                _ => take(Node::Text(named(entity))),
            },
            Event::Eof => return Ok(()),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => true,
        };
        if !goes_on {
            return Ok(());
        }
    }
}

fn named(entity: &str) -> &'static str {
    match entity {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "quot" => "\"",
        "apos" => "'",
        "nbsp" => "\u{a0}",
        // Entities of the document's own are what bombs are made of.
        _ => "",
    }
}
