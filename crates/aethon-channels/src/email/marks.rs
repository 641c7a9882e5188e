//! Classifies the elements of a mail's HTML by the names that mail programs give them and by their style.

pub(super) type Tag = html5gum::StartTag<()>;

/// The role of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Nothing in particular.
    None,
    /// Its content is not text.
    Unread,
    /// A reader does not see it.
    Hidden,
    /// A quote of the mail that is answered.
    Cite,
    /// A quote of anything.
    Quote,
    /// The lines that say whom the quote below quotes.
    Attribution,
    /// It contains another mail, unless it has a quote for it.
    Container,
    /// It contains a forwarded mail.
    Forwarded,
    /// Another mail begins here and does not end.
    Rest,
}

/// Names of containers: Gmail, Yahoo, Proton, Zoho, Zimbra, Outlook for phones and the Mac, NetEase, GMX, Tutanota.
const CONTAINERS: [&str; 10] = [
    "gmail_quote",
    "yahoo_quoted",
    "protonmail_quote",
    "zmail_extra",
    "tutanota_quote",
    "mailru-blockquote",
    "mail-editor-reference-message-container",
    "olk_src_body_section",
    "isreplycontent",
    "isforwardcontent",
];
/// Names of elements with which the rest of the page is another mail: Outlook, Hotmail.
const RESTS: [&str; 4] = ["divrplyfwdmsg", "appendonsend", "stopspelling", "outlookmessageheader"];
const FORWARDED: [&str; 1] = ["moz-forward-container"];
const ATTRIBUTIONS: [&str; 3] = ["gmail_attr", "moz-cite-prefix", "gmail_quote_attribution"];

/// Returns the role of an element.
pub(super) fn of(name: &[u8], tag: &Tag) -> Role {
    if matches!(
        name,
        b"head"
            | b"title"
            | b"style"
            | b"script"
            | b"template"
            | b"noscript"
            | b"svg"
            | b"object"
            | b"select"
            | b"map"
    ) {
        return Role::Unread;
    }
    let style: String = attribute(tag, b"style")
        .unwrap_or_default()
        .chars()
        .filter(|c| !c.is_whitespace())
        .collect::<String>()
        .to_ascii_lowercase();
    if attribute(tag, b"hidden").is_some() || is_hiding(&style) {
        return Role::Hidden;
    }
    let words = names(tag);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    if name == b"blockquote" {
        let is_cite = attribute(tag, b"type").is_some_and(|kind| kind.eq_ignore_ascii_case("cite"))
            || words
                .iter()
                .any(|word| word.contains("quote") || word.contains("cite") || word == "isreplycontent");
        // Gmail and Apple Mail indent a paragraph by a quote without a bar.
        let is_indent = style.contains("border:none") || style.contains("border-width:0");
        return match (is_cite, is_indent) {
            (true, _) => Role::Cite,
            (false, true) => Role::None,
            (false, false) => Role::Quote,
        };
    }
    match () {
        () if has(&FORWARDED) => Role::Forwarded,
        () if has(&RESTS) => Role::Rest,
        () if has(&ATTRIBUTIONS) => Role::Attribution,
        () if has(&CONTAINERS) => Role::Container,
        () if name == b"div" && words.iter().any(|word| word == "quote" || word == "__quoted_text__") => {
            Role::Container
        }
        () => Role::None,
    }
}

/// Returns the names of an element, in lower case and without the prefix that Outlook adds.
fn names(tag: &Tag) -> Vec<String> {
    let all = [b"class".as_slice(), b"id", b"name", b"data-marker"];
    let values = all.iter().filter_map(|name| attribute(tag, name));
    let words = values.flat_map(|value| {
        value.split_ascii_whitespace().take(20).map(str::to_ascii_lowercase).collect::<Vec<_>>()
    });
    words.map(|word| word.strip_prefix("x_").map(str::to_owned).unwrap_or(word)).collect()
}

/// Returns whether a style without blanks, in lower case, hides its element.
fn is_hiding(style: &str) -> bool {
    style.split(';').any(|rule| {
        let Some((name, value)) = rule.split_once(':') else { return false };
        let value = value.trim_end_matches("!important");
        let is_zero = || matches!(value, "0" | "0px" | "0pt" | "0em" | "0%" | "0.0" | "0rem");
        match name {
            "display" => value == "none",
            "visibility" => value == "hidden",
            "mso-hide" => value == "all",
            "font-size" | "opacity" | "max-height" => is_zero(),
            _ => false,
        }
    })
}

/// Returns the value of an attribute.
pub(super) fn attribute(tag: &Tag, name: &[u8]) -> Option<String> {
    let value = tag.attributes.get(name)?;
    Some(String::from_utf8_lossy(value).into_owned())
}
