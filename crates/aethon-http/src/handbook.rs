//! The handbook and the reference behind it, as pages: the same Markdown files as in the repository, rendered when somebody
//! reads them. Links between them work in both places; where a link leads to a file that is not embedded, its words remain.

use std::fmt::Write as _;
use std::io::Read as _;
use std::sync::Arc;

use aethon_web::Document;
use flate2::read::GzDecoder;
use flate2::{Compression, Crc};
use http::header::HeaderMap;

use crate::assets::{self, Caching};
use crate::base_path::BasePath;
use crate::error::Problem;
use crate::markdown;
use crate::markdown::page::{self as document_page, Page, Picture};
use crate::page_set::{File, PageSet, gzip};
use crate::request::Request;
use crate::response::HandlerResult;

/// The page that lists the others.
const INDEX: &str = "handbook/README.md";

/// The other pages of the program, with their names.
const WAYS: [(&str, &str); 3] = [("/", "Chat"), ("/dashboard", "Dashboard"), ("/docs", "API")];

/// `GET /docs/handbook`.
pub(crate) fn index(parts: (Arc<PageSet>, BasePath), request: &Request) -> HandlerResult {
    show(INDEX, &parts, &request.head.headers)
}

/// `GET /docs/handbook/{page}`.
pub(crate) fn page(parts: (Arc<PageSet>, BasePath), request: &Request) -> HandlerResult {
    show(&format!("handbook/{}.md", named(request)), &parts, &request.head.headers)
}

/// `GET /docs/reference/{page}`.
pub(crate) fn reference(parts: (Arc<PageSet>, BasePath), request: &Request) -> HandlerResult {
    let name = named(request);
    // A name with a slash would lead into the handbook.
    let name = if name.contains('/') { String::new() } else { name };
    show(&format!("{name}.md"), &parts, &request.head.headers)
}

fn named(request: &Request) -> String {
    request.params.get("page").unwrap_or_default()
}

fn show(name: &str, (pages, base): &(Arc<PageSet>, BasePath), headers: &HeaderMap) -> HandlerResult {
    let Some(document) = aethon_web::document(name) else {
        return Err(Problem::not_found("the handbook has no such page; /docs/handbook lists them all"));
    };
    Ok(assets::respond(&file(document, &pages.handbook, base)?, headers, Caching::Revalidate))
}

/// Puts the page together.
fn file(document: &Document, frame: &File, base: &BasePath) -> Result<File, Problem> {
    let text = text(document)?;
    let list = text_of(INDEX)?;
    let title = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or("Handbook").replace('`', "");
    let address = |target: &str| address(base, document.name, target);
    let picture = |target: &str| picture(base, document.name, target);
    let body = String::from_utf8_lossy(&frame.body)
        .replace("[[title]]", &markdown::escaped(&title))
        .replace("[[home]]", &base.address("/docs/handbook"))
        .replace("[[ways]]", &ways(base))
        .replace("[[pages]]", &list_of_pages(&list, document.name, base))
        // Last, because it may hold anything.
        .replacen(
            "[[text]]",
            &markdown::render_page(&text, Page { address: &address, picture: &picture }),
            1,
        );
    let mut sum = Crc::new();
    sum.update(body.as_bytes());
    let etag = format!("W/\"{:08x}{:x}\"", sum.sum(), body.len());
    let gzip = gzip(body.as_bytes(), Compression::fast());
    Ok(File { content_type: frame.content_type, etag, body: body.into(), gzip })
}

fn text_of(name: &str) -> Result<String, Problem> {
    aethon_web::document(name).map_or_else(|| Ok(String::new()), text)
}

fn text(document: &Document) -> Result<String, Problem> {
    let mut text = String::new();
    let read = GzDecoder::new(document.gzip()).read_to_string(&mut text);
    read.map_err(|error| {
        tracing::error!(%error, name = document.name, "a page of the handbook cannot be unpacked");
        Problem::internal()
    })?;
    Ok(text)
}

fn ways(base: &BasePath) -> String {
    WAYS.iter().fold(String::new(), |mut html, (path, words)| {
        let _ = write!(html, "<a href=\"{}\">{words}</a>", base.address(path));
        html
    })
}

/// Lists the pages that the index names, in its order.
fn list_of_pages(index: &str, current: &str, base: &BasePath) -> String {
    let mut html = String::new();
    for section in document_page::sections(index) {
        let _ = write!(html, "<h2>{}</h2><ul role=\"list\">", markdown::escaped(&section.title));
        for (words, target) in section.links {
            let Some(address) = address(base, INDEX, &target) else { continue };
            let here = if document_of(INDEX, &target).as_deref() == Some(current) {
                " aria-current=\"page\""
            } else {
                ""
            };
            let words = markdown::escaped(&words);
            let _ = write!(html, "<li><a href=\"{}\"{here}>{words}</a></li>", markdown::escaped(&address));
        }
        html.push_str("</ul>");
    }
    html
}

/// Returns the address of what a link in a document names, if it is shown here.
fn address(base: &BasePath, from: &str, target: &str) -> Option<String> {
    let anchor = target.find('#').and_then(|at| target.get(at..)).unwrap_or_default();
    if target.starts_with('#') {
        return Some(anchor.to_owned());
    }
    let name = document_of(from, target)?;
    let stem = name.trim_end_matches(".md");
    let path = match stem.strip_prefix("handbook/") {
        Some("README") => "/docs/handbook".to_owned(),
        Some(page) => format!("/docs/handbook/{page}"),
        None => format!("/docs/reference/{stem}"),
    };
    Some(base.address(&path) + anchor)
}

/// Returns a picture that a document names, if it is embedded.
fn picture(base: &BasePath, from: &str, target: &str) -> Option<Picture> {
    let asset = aethon_web::asset(&name_of(from, target)?)?;
    let path = format!("/dashboard/static/{}/{}", aethon_web::tree_hash(), asset.name);
    Some(Picture { address: base.address(&path), size: png_size(asset.body())? })
}

/// Returns the width and the height of a picture in PNG, which its first chunk begins with.
fn png_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    bytes.starts_with(b"\x89PNG").then_some(())?;
    Some((number(16)?, number(20)?))
}

/// Returns the name of the embedded document that a relative link names.
fn document_of(from: &str, target: &str) -> Option<String> {
    aethon_web::document(&name_of(from, target)?).map(|document| document.name.to_owned())
}

/// Returns the name below `docs/` that a relative link names.
fn name_of(from: &str, target: &str) -> Option<String> {
    let path = target.split('#').next()?;
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: &str, base: &str) -> String {
        let base = BasePath::new(base);
        let pages = PageSet::new(&base);
        let document = aethon_web::document(name).unwrap();
        let file = file(document, &pages.handbook, &base).unwrap();
        String::from_utf8(file.body.to_vec()).unwrap()
    }

    #[test]
    fn links_lead_to_the_pages_of_the_server_and_keep_their_headings() {
        let base = BasePath::new("/aethon");
        let check = |from: &str, target: &str, expected: Option<&str>| {
            assert_eq!(address(&base, from, target).as_deref(), expected, "{target} in {from}");
        };
        check("handbook/first-hour.md", "ollama.md", Some("/aethon/docs/handbook/ollama"));
        check("handbook/first-hour.md", "README.md#begin", Some("/aethon/docs/handbook#begin"));
        check("handbook/first-hour.md", "../approvals.md", Some("/aethon/docs/reference/approvals"));
        check("handbook/first-hour.md", "#3-chat", Some("#3-chat"));
        check("approvals.md", "handbook/security.md", Some("/aethon/docs/handbook/security"));
        check(
            "approvals.md",
            "./household.md#who-approves",
            Some("/aethon/docs/reference/household#who-approves"),
        );
        check("handbook/first-hour.md", "../../README.md#install", None);
        check("approvals.md", "../../../etc/passwd", None);
        check("approvals.md", "decisions/README.md", None);
    }

    #[test]
    fn every_document_is_a_whole_page_whose_links_lead_somewhere() {
        for document in aethon_web::documents() {
            let html = shown(document.name, "");
            assert!(!html.contains("[[") || !html.contains("]]</"), "{}: an unfilled place", document.name);
            assert_eq!(html.matches("<h1").count(), 1, "{} has one title", document.name);
            assert!(!html.contains("!-- not run:"), "{} shows a comment", document.name);
            for target in html.split("href=\"/docs/").skip(1).filter_map(|rest| rest.split(['"', '#']).next())
            {
                let name = match target.strip_prefix("reference/") {
                    Some(name) => format!("{name}.md"),
                    None if target == "handbook" => INDEX.to_owned(),
                    None => format!("{target}.md"),
                };
                assert!(aethon_web::document(&name).is_some(), "{} leads to {target}", document.name);
            }
        }
    }

    #[test]
    fn pictures_are_embedded_shown_and_few() {
        let all: String =
            aethon_web::documents().iter().map(|document| shown(document.name, "/aethon")).collect();
        let pictures: Vec<_> =
            aethon_web::assets().iter().filter(|asset| asset.name.starts_with("handbook/")).collect();
        assert!(pictures.len() >= 4, "the tutorial has pictures");
        for picture in &pictures {
            let source = format!(
                "<img src=\"/aethon/dashboard/static/{}/{}\" alt=\"",
                aethon_web::tree_hash(),
                picture.name
            );
            assert!(all.contains(&source), "{} is shown nowhere", picture.name);
            assert!(picture.body().len() <= 60_000, "{} is large", picture.name);
        }
        assert_eq!(all.matches("<img").count(), pictures.len(), "each once");
        assert!(!all.contains("alt=\"image\""), "each with a description");
        let bytes: usize = pictures.iter().map(|picture| picture.body().len()).sum();
        assert!(bytes < 300_000, "{bytes} bytes are too many for the program");
    }

    #[test]
    fn the_list_names_every_page_and_marks_the_present_one() {
        let html = shown("handbook/ollama.md", "/aethon");
        let (_, list) = html.split_once("<nav class=\"book-pages\"").unwrap();
        for document in aethon_web::documents().iter().filter(|document| document.name != INDEX) {
            let Some(page) = document.name.strip_prefix("handbook/") else { continue };
            let link = format!("href=\"/aethon/docs/handbook/{}\"", page.trim_end_matches(".md"));
            assert!(list.contains(&link), "{page} is not listed");
        }
        assert_eq!(list.matches("aria-current=\"page\"").count(), 1);
        assert!(list.contains("/ollama\" aria-current=\"page\""), "{list}");
        assert!(html.contains("\"/aethon/dashboard/static/"), "assets lie below the path");
    }
}
