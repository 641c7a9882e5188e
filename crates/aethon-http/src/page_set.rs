//! The HTML pages as they are sent: those of the program, with addresses below the path at which a proxy offers them.

use std::io::Write as _;

use aethon_web::Asset;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::base_path::BasePath;

/// A file that is sent whole, with its compressed form if that is smaller.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) content_type: &'static str,
    pub(crate) etag: String,
    pub(crate) body: Bytes,
    pub(crate) gzip: Option<Bytes>,
}

impl From<&'static Asset> for File {
    fn from(asset: &'static Asset) -> Self {
        Self {
            content_type: asset.content_type,
            etag: asset.etag.to_owned(),
            body: Bytes::from_static(asset.body()),
            gzip: asset.gzip().map(Bytes::from_static),
        }
    }
}

/// All pages.
#[derive(Debug, Clone)]
pub(crate) struct PageSet {
    pub(crate) chat: File,
    pub(crate) dashboard: File,
    pub(crate) docs: File,
    /// The frame of the pages of the handbook.
    pub(crate) handbook: File,
    pub(crate) sign_in: File,
}

impl PageSet {
    /// Prepares the pages for this path.
    pub(crate) fn new(base: &BasePath) -> Self {
        Self {
            chat: page(aethon_web::chat_page(), base),
            dashboard: page(aethon_web::dashboard_page(), base),
            docs: page(aethon_web::docs_page(), base),
            handbook: page(aethon_web::handbook_page(), base),
            sign_in: page(aethon_web::sign_in_page(), base),
        }
    }
}

fn page(asset: &'static Asset, base: &BasePath) -> File {
    let plain = File::from(asset);
    if base.is_empty() {
        return plain;
    }
    let text = String::from_utf8_lossy(&plain.body);
    let text = text.replace("\"/dashboard/static/", &format!("\"{}", base.address("/dashboard/static/")));
    let tag = plain.etag.trim_end_matches('"');
    let etag = format!("{tag}-{}\"", base.cookie_path().trim_start_matches('/'));
    let gzip = gzip(text.as_bytes(), Compression::best());
    File { content_type: plain.content_type, etag, body: text.into_bytes().into(), gzip }
}

/// Compresses, unless that fails or gains nothing.
pub(crate) fn gzip(plain: &[u8], level: Compression) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(plain.len() / 4), level);
    encoder.write_all(plain).ok()?;
    let packed = encoder.finish().ok()?;
    (packed.len() < plain.len()).then(|| packed.into())
}
