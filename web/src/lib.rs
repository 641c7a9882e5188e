//! The embedded pages of Aethon: the chat, the dashboard, the sign-in page, and what they load.
//!
//! It also holds the manual (the handbook and the reference of `docs/`), which `aethon-http` renders.
//!
//! The files are in `web/assets` (served below `/dashboard/static/`) and `web/pages`. The only front-end build step is the
//! build script, which joins the modules of a page into one script, hashes and compresses. This crate finds files by name;
//! `aethon-http` decides about headers.
//!
//! An asset has two addresses: `js/app.js`, to be revalidated by its ETag, and `TREE/js/app.js`, where `TREE` is
//! [`tree_hash`], which may be cached indefinitely. Names are looked up in a fixed table only, so no path, however spelled, can
//! escape it.

mod asset;

pub use asset::{
    Asset, Document, Found, asset, assets, chat_page, dashboard_page, docs_page, document, documents, find,
    handbook_page, sign_in_page, tree_hash,
};
