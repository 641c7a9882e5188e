//! The fields of forms with their values, and the notes on a page.

use hayro_interpret::hayro_syntax::object::{Array, Dict, Name, Object, String as PdfString};

use crate::encoding;

/// The most fields and notes of a page.
const MAX_FIELDS: usize = 5_000;
/// How deeply a field may stand below others.
const MAX_DEPTH: usize = 32;
/// Bits of the flags of an annotation: hidden, and not shown.
const UNSEEN: u32 = 1 << 1 | 1 << 5;

/// Returns the fields and notes of a page, each as a line.
pub(super) fn of_page(page: &Dict<'_>) -> Vec<String> {
    let Some(annotations) = page.get::<Array<'_>>("Annots") else { return Vec::new() };
    annotations.iter::<Dict<'_>>().take(MAX_FIELDS).filter_map(|one| line(&one)).collect()
}

/// Returns whether a document is a form in XML, which stands beside its pages.
pub(super) fn is_xfa(root: &Dict<'_>) -> bool {
    root.get::<Dict<'_>>("AcroForm").is_some_and(|form| form.contains_key("XFA"))
}

fn line(annotation: &Dict<'_>) -> Option<String> {
    if annotation.get::<u32>("F").unwrap_or(0) & UNSEEN != 0 {
        return None;
    }
    let kind = annotation.get::<Name<'_>>("Subtype")?;
    match kind.as_str() {
        "Widget" => field(annotation),
        "Link" | "Popup" => None,
        _ => {
            let words = annotation.get::<PdfString<'_>>("Contents")?;
            let words = decoded(words.as_bytes());
            (!words.trim().is_empty()).then(|| format!("[note: {}]", words.trim()))
        }
    }
}

fn field(widget: &Dict<'_>) -> Option<String> {
    let value = value(widget)?;
    let name = name(widget);
    Some(if name.is_empty() { value } else { format!("{name}: {value}") })
}

/// Returns the name of a field: the one for people, or else its path from the outermost field on.
fn name(widget: &Dict<'_>) -> String {
    let mut parts = Vec::new();
    let mut at = Some(widget.clone());
    for _ in 0..MAX_DEPTH {
        let Some(field) = at else { break };
        if let Some(shown) = field.get::<PdfString<'_>>("TU") {
            return decoded(shown.as_bytes());
        }
        if let Some(part) = field.get::<PdfString<'_>>("T") {
            parts.push(decoded(part.as_bytes()));
        }
        at = field.get::<Dict<'_>>("Parent");
    }
    parts.reverse();
    parts.join(".")
}

fn value(widget: &Dict<'_>) -> Option<String> {
    let kind = inherited(widget, "FT").and_then(|kind| match kind {
        Object::Name(name) => Some(name.as_str().to_owned()),
        _ => None,
    });
    if kind.as_deref() == Some("Btn") {
        let state = widget.get::<Name<'_>>("AS")?;
        return Some(match state.as_str() {
            "Off" => "[ ]".to_owned(),
            "Yes" | "On" | "1" => "[x]".to_owned(),
            chosen => format!("[x] {chosen}"),
        });
    }
    let words = shown(&inherited(widget, "V")?, 0)?;
    (!words.trim().is_empty()).then(|| words.trim().to_owned())
}

/// Returns an entry of a field or of the ones above it.
fn inherited<'a>(widget: &Dict<'a>, key: &str) -> Option<Object<'a>> {
    let mut at = Some(widget.clone());
    for _ in 0..MAX_DEPTH {
        let field = at?;
        if let Some(found) = field.get::<Object<'a>>(key) {
            return Some(found);
        }
        at = field.get::<Dict<'a>>("Parent");
    }
    None
}

fn shown(value: &Object<'_>, depth: usize) -> Option<String> {
    match value {
        Object::String(text) => Some(decoded(text.as_bytes())),
        Object::Name(name) => Some(name.as_str().to_owned()),
        Object::Stream(stream) => stream.decoded().ok().map(|text| decoded(&text)),
        Object::Array(list) if depth < 2 => {
            let values: Vec<String> = list
                .iter::<Object<'_>>()
                .take(MAX_DEPTH)
                .filter_map(|value| shown(&value, depth + 1))
                .collect();
            Some(values.join(", "))
        }
        Object::Dict(_) => Some("(signed)".to_owned()),
        _ => None,
    }
}

/// Decodes a text of a PDF: in Unicode with its mark, or in the encoding of PDFs, which is close to that of Windows.
fn decoded(bytes: &[u8]) -> String {
    let text = encoding::text(bytes).map(|text| text.into_owned());
    text.unwrap_or_else(|_| bytes.iter().copied().filter(|byte| *byte >= 32).map(char::from).collect())
}
