//! Damaged documents for the readers of our own: each is read or refused, in bounded time. PDFs and spreadsheets are read
//! by libraries, whose faults cost the child that reads and are left out here.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    unreachable_pub,
    reason = "tests, and the functions that they share"
)]

mod common;

use aethon_core::document::DocumentKind;
use aethon_core::fuzz_targets;
use common::packages::{book, line, open_document, paragraph, slides, word};

const RICH_TEXTS: [&[u8]; 2] = [
    b"{\\rtf1\\ansi\\ansicpg1252{\\fonttbl{\\f0\\fcharset0 A;}{\\f1\\fcharset204 B;}}\\f1 \\'cf\\uc1\\u20320?\\par}",
    b"{\\rtf1\\trowd\\cellx1\\pard\\intbl a\\cell b\\cell\\row\\pard{\\*\\x{\\bin3 }}}\\page\\u-10179?\\u-9187?}",
];
const PAGES: [&[u8]; 2] = [
    b"<title>t</title><h1>a<ul><li>b<ol><li>c</ol></ul><table><tr><td>d<td>e</table><pre>f</pre><a href='https://x/'>g</a>",
    b"<meta charset=utf-16><p style='display:none'>a</p><img alt=b><script></script><svg><p>c",
];
const TABLES: [&[u8]; 3] = [b"a;b\n1,5;\"x\ny\"\n", b"sep=|\na|b", b"\xff\xfea\0,\0b\0"];

fuzz_targets! {
    fuzz_rich_text: RICH_TEXTS => |input| drop(common::read_as(DocumentKind::RichText, input));
    fuzz_pages: PAGES => |input| drop(common::read_as(DocumentKind::Page, input));
    fuzz_tables: TABLES => |input| drop(common::read_as(DocumentKind::Table, input));
    fuzz_packages: packages() => |input| drop(common::read_as(DocumentKind::Package, input));
}

/// Packages whose parts are read by our own readers. They are stored as they are, so that damage reaches them.
fn packages() -> Vec<Vec<u8>> {
    let table = format!("<w:tbl><w:tr><w:tc>{}</w:tc></w:tr></w:tbl>", paragraph("a"));
    vec![
        word(&(paragraph("a &amp; b") + &table)),
        slides(&[(&line("a"), "b"), (&line("c"), "")]),
        open_document("text", "<office:text><text:h>a</text:h><text:p>b<text:s/></text:p></office:text>"),
        book(&[("a.xhtml", "<p>a</p>")]),
    ]
}
