//! Goes through the pages of a PDF.

use std::time::{Duration, Instant};

use hayro_interpret::hayro_syntax::object::Dict;
use hayro_interpret::hayro_syntax::page::Page;
use hayro_interpret::hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use hayro_interpret::kurbo::{Affine, Rect};
use hayro_interpret::{Context, InterpreterCache, InterpreterSettings, RenderContent, interpret_page};

use super::canvas::Canvas;
use super::collections::Collections;
use super::{fields, lines};
use crate::error::Error;
use crate::output::Output;

/// The most pages that are read.
const MAX_PAGES: usize = 20_000;
/// After this time no further page is begun.
const PAGE_TIMEOUT: Duration = Duration::from_secs(12);

pub(crate) fn read(bytes: Vec<u8>, out: &mut Output<'_>) -> Result<(), Error> {
    let pdf = Pdf::new(bytes).map_err(refusal)?;
    let pages = pdf.pages();
    if pages.is_empty() {
        return Err(Error::new("it has no pages, or they cannot be found"));
    }
    let until = Instant::now() + PAGE_TIMEOUT;
    let mut seen = Seen::default();
    let collections = Collections::default();
    for (number, page) in pages.iter().enumerate().take(MAX_PAGES) {
        if out.is_full() || Instant::now() > until {
            break;
        }
        seen.pages += 1;
        if pages.len() > 1 {
            out.gap();
            out.push(&format!("--- page {} ---\n\n", number + 1));
        }
        read_page(&pdf, page, &collections, &mut seen, out);
        out.flush();
    }
    if pdf.xref().get::<Dict<'_>>(pdf.xref().root_id()).is_some_and(|root| fields::is_xfa(&root)) {
        out.note("It is a form of Adobe's own (XFA), whose fields may be missing here.");
    }
    seen.note(pages.len(), out);
    Ok(())
}

fn refusal(fault: LoadPdfError) -> Error {
    match fault {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => Error::needs_password(),
        LoadPdfError::Decryption(DecryptionError::UnsupportedAlgorithm) => {
            Error::new("it is encrypted in a way that cannot be read, such as for a certificate")
        }
        LoadPdfError::Decryption(_) => Error::new("its encryption is damaged"),
        LoadPdfError::Invalid => Error::new("it is damaged, or no PDF"),
    }
}

fn read_page<'a>(
    pdf: &'a Pdf,
    page: &'a Page<'a>,
    collections: &Collections,
    seen: &mut Seen,
    out: &mut Output<'_>,
) {
    let mut canvas = Canvas::new(collections.fonts_of(page));
    let settings =
        InterpreterSettings { render_content: RenderContent::PAGE, ..InterpreterSettings::default() };
    // Each page has a cache of its own: what all fonts of a large document take is not bounded otherwise.
    let cache = InterpreterCache::new();
    let box_ = page.intersected_crop_box();
    let area = Rect::new(box_.x0, box_.y0, box_.x1, box_.y1);
    let transform = page.initial_transform(true);
    let transform = Affine::new(transform.as_coeffs());
    let mut context = Context::new(transform, area, &cache, pdf.xref(), settings);
    interpret_page(page, &mut context, &mut canvas);
    let text = lines::text(&canvas.characters);
    let fields = fields::of_page(page.raw());
    seen.unknown += canvas.unknown;
    seen.cut |= canvas.is_full;
    if text.trim().is_empty() && canvas.unknown == 0 {
        seen.without_text += usize::from(fields.is_empty());
        seen.pictures_only += usize::from(canvas.has_pictures && fields.is_empty());
    }
    out.push(&text);
    if !fields.is_empty() {
        out.gap();
        fields.iter().for_each(|field| out.push(&format!("{field}\n")));
    }
}

/// Counts of the parts that are not text.
#[derive(Default)]
struct Seen {
    pages: usize,
    without_text: usize,
    pictures_only: usize,
    unknown: usize,
    cut: bool,
}

impl Seen {
    fn note(&self, pages: usize, out: &mut Output<'_>) {
        if self.pages < pages {
            out.note(format!("Only the first {} of {pages} pages were read.", self.pages));
        }
        let are = |count: usize| if count == 1 { "page has" } else { "pages have" };
        if self.pictures_only > 0 {
            let count = self.pictures_only;
            out.note(format!("{count} of {pages} {} pictures only and no text.", are(count)));
        }
        let blank = self.without_text - self.pictures_only;
        if blank > 0 {
            out.note(format!("{blank} of {pages} {} no text.", are(blank)));
        }
        match self.unknown {
            0 => {}
            1 => out.note("1 character has no known meaning and is shown as \u{fffd}."),
            many => out.note(format!("{many} characters have no known meaning and are shown as \u{fffd}.")),
        }
        if self.cut {
            out.note("A page has more text than is read of one page.");
        }
    }
}
