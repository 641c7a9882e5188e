//! Packs `assets/` and `pages/` for embedding, so that the program does nothing at start-up and needs no front-end build.
//!
//! Every asset gets an ETag and, where it pays, a gzip variant; one hash over all assets (the tree hash) stands for the
//! whole folder, so that relative imports between modules work below one immutable URL. Pages are templates in which
//! `{{tree}}` becomes that hash and `{{modules DIR...}}` one `modulepreload` line a module, which saves the browser the
//! walk from import to import. The result is a flat folder of numbered files in `OUT_DIR` and the table that names them.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A file as it will be served.
struct Source {
    name: String,
    body: Vec<u8>,
}

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=assets");
    println!("cargo::rerun-if-changed=pages");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    #[expect(clippy::disallowed_methods, reason = "cargo tells a build script its folder in the environment")]
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());

    let assets = read_tree(&root.join("assets"))?;
    let tree = tree_hash(&assets);
    let mut pages = read_tree(&root.join("pages"))?;
    for page in &mut pages {
        page.body = stamp(&String::from_utf8_lossy(&page.body), &tree, &assets).into_bytes();
    }

    let site = out.join("site");
    if site.exists() {
        fs::remove_dir_all(&site)?;
    }
    fs::create_dir_all(&site)?;
    let mut packer = Packer { site, next: 0 };
    let mut table = format!("pub(crate) const TREE_HASH: &str = \"{tree}\";\n");
    packer.table("ASSETS", &assets, &mut table)?;
    packer.table("PAGES", &pages, &mut table)?;
    fs::write(out.join("table.rs"), table)
}

/// Writes numbered files, in the order in which `include_dir` will list them.
struct Packer {
    site: PathBuf,
    next: usize,
}

impl Packer {
    fn table(&mut self, constant: &str, sources: &[Source], table: &mut String) -> io::Result<()> {
        let _ = writeln!(table, "pub(crate) static {constant}: [Asset; {}] = [", sources.len());
        for source in sources {
            let body = self.write(&source.body)?;
            let squeezed = gzip(&source.body)?;
            let worth_it = squeezed.len() + 64 < source.body.len();
            let gzip = if worth_it { format!("Some({})", self.write(&squeezed)?) } else { "None".into() };
            let (name, etag, content_type) =
                (&source.name, hash(&[&source.body]), content_type(&source.name));
            let _ = writeln!(
                table,
                "    Asset {{ name: {name:?}, content_type: {content_type:?}, etag: \"W/\\\"{etag}\\\"\", \
                 body: {body}, gzip: {gzip} }},"
            );
        }
        table.push_str("];\n");
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let number = self.next;
        fs::write(self.site.join(format!("{number:05}")), bytes)?;
        self.next += 1;
        Ok(number)
    }
}

/// All files below `folder`, sorted by name, because the table is searched by halving.
fn read_tree(folder: &Path) -> io::Result<Vec<Source>> {
    let mut sources = Vec::new();
    let mut folders = vec![(folder.to_path_buf(), String::new())];
    while let Some((path, prefix)) = folders.pop() {
        for entry in fs::read_dir(&path)? {
            let entry = entry?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                folders.push((entry.path(), format!("{name}/")));
            } else {
                sources.push(Source { name, body: fs::read(entry.path())? });
            }
        }
    }
    sources.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(sources)
}

/// Fills the two placeholders of a page.
fn stamp(template: &str, tree: &str, assets: &[Source]) -> String {
    let mut page = String::with_capacity(template.len() * 2);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{modules ") {
        let (folders, after) = after.split_once("}}").unwrap_or((after, ""));
        page.push_str(before);
        for source in assets {
            let folder = source.name.rsplit_once('/').map_or("", |(folder, _)| folder);
            if source.name.ends_with(".js") && folders.split(' ').any(|wanted| wanted == folder) {
                let _ = writeln!(
                    page,
                    "<link rel=\"modulepreload\" href=\"/dashboard/static/{{{{tree}}}}/{}\">",
                    source.name
                );
            }
        }
        rest = after;
    }
    page.push_str(rest);
    page.replace("{{tree}}", tree)
}

fn gzip(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(body)?;
    encoder.finish()
}

fn tree_hash(assets: &[Source]) -> String {
    let parts: Vec<&[u8]> =
        assets.iter().flat_map(|asset| [asset.name.as_bytes(), asset.body.as_slice()]).collect();
    hash(&parts)
}

/// FNV-1a in 128 bits: tells versions of our own files apart; nothing here defends against a forger.
fn hash(parts: &[&[u8]]) -> String {
    let mut state: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for part in parts {
        for byte in part.iter().chain(&(part.len() as u64).to_le_bytes()) {
            state = (state ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
    format!("{:016x}", (state >> 64) as u64 ^ state as u64)
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "woff2" => "font/woff2",
        "json" | "webmanifest" => "application/json",
        _ => "text/plain; charset=utf-8",
    }
}
