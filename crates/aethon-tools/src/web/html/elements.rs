//! What an element means for the text.

/// What an element does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Nothing: its content stands in the line.
    Inline,
    /// Its content stands on lines of its own.
    Block,
    /// As a block, with an empty line round it.
    Paragraph,
    /// A heading of this level.
    Heading(u8),
    /// A list, numbered or not.
    List { is_numbered: bool },
    /// An item of a list.
    Item,
    /// A row of a table.
    Row,
    /// A cell of a row.
    Cell,
    /// Text whose blanks count.
    Preformatted,
    /// Said by somebody else.
    Quote,
    /// Code in the line.
    Code,
    /// A link.
    Link,
    /// The title of the page.
    Title,
    /// Nobody reads it.
    Hidden,
}

/// Which part of a page an element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Region {
    /// What the page is about.
    Main,
    /// What stands on every page of the site.
    Frame,
    /// What may be either.
    Other,
}

/// The role of an element.
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

/// The region that an element opens, by its name or what it says of itself.
pub(super) fn region_of(name: &[u8], says: &[u8], is_in_main: bool) -> Option<Region> {
    match (name, says) {
        (b"main" | b"article", _) | (_, b"main" | b"article") => Some(Region::Main),
        (b"nav" | b"aside" | b"footer", _) => Some(Region::Frame),
        (_, b"navigation" | b"banner" | b"contentinfo" | b"complementary" | b"search") => Some(Region::Frame),
        // Within the content it holds the heading.
        (b"header", _) if !is_in_main => Some(Region::Frame),
        _ => None,
    }
}

/// Whether an element has no content and no end.
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

/// Whether an open element ends where this one begins, although nobody closed it.
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
