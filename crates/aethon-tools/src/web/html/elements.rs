//! What HTML elements mean for the text.

/// Effect of an element on the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// None: its content stays in the line.
    Inline,
    /// Its content is on lines of its own.
    Block,
    /// A block with empty lines around it.
    Paragraph,
    /// A heading of this level.
    Heading(u8),
    /// A list, numbered or not.
    List { is_numbered: bool },
    /// A list item.
    Item,
    /// A table row.
    Row,
    /// A table cell.
    Cell,
    /// Text with significant whitespace.
    Preformatted,
    /// A quotation.
    Quote,
    /// Inline code.
    Code,
    /// A link.
    Link,
    /// The title of the page.
    Title,
    /// Invisible.
    Hidden,
}

/// The part of a page that an element belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Region {
    /// The content of the page.
    Main,
    /// Parts that are repeated on every page of the site.
    Frame,
    /// Either of them.
    Other,
}

/// Returns the role of an element.
pub(super) fn role_of(name: &[u8]) -> Role {
    match name {
        b"title" => Role::Title,
        b"script" | b"style" | b"noscript" | b"template" | b"svg" | b"iframe" | b"object" | b"canvas"
        | b"audio" | b"video" | b"select" | b"datalist" | b"button" | b"textarea" | b"noembed"
        | b"noframes" | b"map" | b"dialog" => Role::Hidden,
        b"h1" => Role::Heading(1),
        b"h2" => Role::Heading(2),
        b"h3" => Role::Heading(3),
        b"h4" => Role::Heading(4),
        b"h5" => Role::Heading(5),
        b"h6" => Role::Heading(6),
        b"ul" | b"menu" | b"dir" => Role::List { is_numbered: false },
        b"ol" => Role::List { is_numbered: true },
        b"li" => Role::Item,
        b"tr" => Role::Row,
        b"td" | b"th" => Role::Cell,
        b"pre" | b"listing" | b"xmp" | b"plaintext" => Role::Preformatted,
        b"blockquote" => Role::Quote,
        b"code" | b"kbd" | b"samp" => Role::Code,
        b"a" => Role::Link,
        b"p" | b"table" | b"dl" | b"figure" | b"article" | b"section" | b"main" | b"nav" | b"aside"
        | b"header" | b"footer" | b"form" | b"fieldset" | b"details" => Role::Paragraph,
        b"div" | b"dt" | b"dd" | b"figcaption" | b"caption" | b"summary" | b"address" | b"body" | b"html"
        | b"head" | b"center" | b"thead" | b"tbody" | b"tfoot" | b"legend" | b"hgroup" | b"search" => {
            Role::Block
        }
        _ => Role::Inline,
    }
}

/// Returns the region that an element opens, by its name or its ARIA role.
pub(super) fn region_of(name: &[u8], says: &[u8], is_in_main: bool) -> Option<Region> {
    match (name, says) {
        (b"main" | b"article", _) | (_, b"main" | b"article") => Some(Region::Main),
        (b"nav" | b"aside" | b"footer", _) => Some(Region::Frame),
        (_, b"navigation" | b"banner" | b"contentinfo" | b"complementary" | b"search") => Some(Region::Frame),
        // Inside the content it holds the heading.
        (b"header", _) if !is_in_main => Some(Region::Frame),
        _ => None,
    }
}

/// Returns whether an element has no content and no end tag.
pub(super) fn is_void(name: &[u8]) -> bool {
    matches!(
        name,
        b"area"
            | b"base"
            | b"br"
            | b"col"
            | b"embed"
            | b"hr"
            | b"img"
            | b"input"
            | b"link"
            | b"meta"
            | b"param"
            | b"source"
            | b"track"
            | b"wbr"
    )
}

/// Returns whether the start of `next` implicitly closes an open element.
pub(super) fn ends_before(open: &[u8], next: &[u8]) -> bool {
    match open {
        b"p" => {
            next == b"p" || !matches!(role_of(next), Role::Inline | Role::Code | Role::Link | Role::Hidden)
        }
        b"li" => next == b"li",
        b"td" | b"th" => matches!(next, b"td" | b"th" | b"tr" | b"tbody" | b"thead" | b"tfoot"),
        b"tr" => matches!(next, b"tr" | b"tbody" | b"thead" | b"tfoot"),
        b"dt" | b"dd" => matches!(next, b"dt" | b"dd"),
        b"option" => next == b"option",
        _ => false,
    }
}
