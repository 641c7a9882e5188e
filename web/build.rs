//! Packs `assets/` and `pages/` for embedding, so that the program does nothing at startup and needs no front-end build.
//!
//! The style sheets and the modules of a page are joined into one file each. Every file gets an ETag and, if worthwhile, a
//! gzip variant; one hash over all of them (the tree hash) represents the whole folder, so that relative addresses work below
//! one immutable URL. The result is a flat folder of numbered files in `OUT_DIR` and the table that names them.
//!
//! Pages are templates. `{{tree}}` becomes the hash, `{{styles FILE...}}` the joined style sheet, and
//! `{{script FILE LATER...}}` the script of that module; `LATER` lists modules that are loaded on demand; a `*` matches
//! the name of any folder.
//!
//! The handbook and the reference (`docs/handbook/*.md`, `docs/*.md`) are packed too, compressed only: they are rendered when
//! somebody reads them. The pictures of the handbook (`docs/handbook/pictures`) are assets like others.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use join::Modules;

#[path = "build/join.rs"]
mod join;

/// A file as it will be served.
struct Source {
    name: String,
    body: Vec<u8>,
}

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=assets");
    println!("cargo::rerun-if-changed=pages");
    // Not `env!`: a build script that was compiled in another checkout would pack the pages of that one.
    let root = folder("CARGO_MANIFEST_DIR");
    let out = folder("OUT_DIR");

    let written = read_tree(&root.join("assets"))?;
    let mut pages = read_tree(&root.join("pages"))?;
    let mut joined = Joined { written: &written, made: Vec::new(), held: Vec::new() };
    for page in &mut pages {
        let stem = page.name.trim_end_matches(".html");
        page.body = joined.fill(stem, &text(page)?).map_err(io::Error::other)?.into_bytes();
    }
    let Joined { made, held, .. } = joined;
    let mut assets: Vec<Source> = written.into_iter().filter(|source| !held.contains(&source.name)).collect();
    assets.extend(made);
    assets.extend(pictures(&root.join("../docs/handbook/pictures"))?);
    assets.sort_by(|one, other| one.name.cmp(&other.name));
    let tree = tree_hash(&assets);
    for page in &mut pages {
        page.body = text(page)?.replace("{{tree}}", &tree).into_bytes();
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
    packer.manual(&manual(&root.join("../docs"))?, &mut table)?;
    // Not into the old file: a copied target folder may share it by a hard link with that of another checkout.
    let fresh = out.join("table.new");
    fs::write(&fresh, table)?;
    fs::rename(fresh, out.join("table.rs"))
}

/// A folder that cargo passes.
#[expect(clippy::disallowed_methods, reason = "cargo passes a build script its folders in the environment")]
fn folder(variable: &str) -> PathBuf {
    PathBuf::from(std::env::var_os(variable).unwrap_or_default())
}

/// Reads the pictures of the handbook, under the names that its pages have for them.
fn pictures(folder: &Path) -> io::Result<Vec<Source>> {
    let mut pictures = read_tree(folder)?;
    for picture in &mut pictures {
        picture.name.insert_str(0, "handbook/pictures/");
    }
    Ok(pictures)
}

/// Reads the documents that a running server shows.
fn manual(docs: &Path) -> io::Result<Vec<Source>> {
    println!("cargo::rerun-if-changed=../docs/handbook");
    let mut sources = Vec::new();
    for (folder, prefix) in [(docs.to_path_buf(), ""), (docs.join("handbook"), "handbook/")] {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if path.extension().is_some_and(|extension| extension == "md") {
                println!("cargo::rerun-if-changed={}", path.display());
                sources.push(Source { name: format!("{prefix}{name}"), body: fs::read(&path)? });
            }
        }
    }
    sources.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(sources)
}

/// The joined files that the pages need.
struct Joined<'a> {
    written: &'a [Source],
    made: Vec<Source>,
    /// The names of files that are part of a joined one and not served on their own.
    held: Vec<String>,
}

impl Joined<'_> {
    /// Replaces the page's `{{styles}}` and `{{script}}` by tags, and creates the files that these name.
    fn fill(&mut self, page: &str, template: &str) -> Result<String, String> {
        let mut filled = String::with_capacity(template.len());
        let mut rest = template;
        while let Some((before, after)) = rest.split_once("{{") {
            let (directive, after) = after.split_once("}}").ok_or("a placeholder of a page does not end")?;
            let words: Vec<&str> = directive.split(' ').collect();
            filled.push_str(before);
            match words.as_slice() {
                ["tree"] => filled.push_str("{{tree}}"),
                ["styles", names @ ..] => filled.push_str(&self.styles(page, names)?),
                ["script", entry, later @ ..] => filled.push_str(&self.script(entry, later)?),
                _ => return Err(format!("{page}: unknown placeholder {directive}")),
            }
            rest = after;
        }
        Ok(filled + rest)
    }

    fn styles(&mut self, page: &str, names: &[&str]) -> Result<String, String> {
        let name = format!("css/page-{page}.css");
        let mut body = Vec::new();
        for wanted in names {
            let sheet = self.written.iter().find(|source| source.name == *wanted);
            body.extend_from_slice(&sheet.ok_or_else(|| format!("style sheet {wanted} not found"))?.body);
            self.held.push((*wanted).to_owned());
        }
        let tag = format!("<link rel=\"stylesheet\" href=\"/dashboard/static/{{{{tree}}}}/{name}\">");
        self.made.push(Source { name, body });
        Ok(tag)
    }

    fn script(&mut self, entry: &str, later: &[&str]) -> Result<String, String> {
        let texts = self
            .written
            .iter()
            .filter_map(|source| Some((source.name.as_str(), std::str::from_utf8(&source.body).ok()?)));
        let names = self.written.iter().map(|source| &source.name);
        let later: Vec<String> =
            names.filter(|name| later.iter().any(|pattern| matches(pattern, name))).cloned().collect();
        for script in Modules::new(texts).join(entry, &later)? {
            self.held.extend(script.holds);
            self.made.push(Source { name: script.name, body: script.body.into_bytes() });
        }
        Ok(format!("<script type=\"module\" src=\"/dashboard/static/{{{{tree}}}}/{entry}\"></script>"))
    }
}

/// Whether `pattern`, in which a `*` matches the name of any folder, describes `name`.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return pattern == name };
    let folder = name.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
    folder.is_some_and(|folder| !folder.contains('/'))
}

fn text(source: &Source) -> io::Result<String> {
    String::from_utf8(source.body.clone()).map_err(io::Error::other)
}

/// Writes numbered files in the order in which `include_dir` will list them.
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

    fn manual(&mut self, sources: &[Source], table: &mut String) -> io::Result<()> {
        let _ = writeln!(table, "pub(crate) static MANUAL: [Document; {}] = [", sources.len());
        for source in sources {
            let gzip = self.write(&gzip(&source.body)?)?;
            let _ = writeln!(table, "    Document {{ name: {:?}, gzip: {gzip} }},", source.name);
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

/// Reads all files below `folder`, sorted by name because the table is searched by bisection. Type declarations only serve
/// the type check and are not sent to browsers.
fn read_tree(folder: &Path) -> io::Result<Vec<Source>> {
    let mut sources = Vec::new();
    let mut folders = vec![(folder.to_path_buf(), String::new())];
    while let Some((path, prefix)) = folders.pop() {
        for entry in fs::read_dir(&path)? {
            let entry = entry?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                folders.push((entry.path(), format!("{name}/")));
            } else if !name.ends_with(".d.ts") {
                sources.push(Source { name, body: fs::read(entry.path())? });
            }
        }
    }
    sources.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(sources)
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

/// FNV-1a in 128 bits. It distinguishes versions of our own files and need not resist forgery.
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
        "json" => "application/json",
        "webmanifest" => "application/manifest+json",
        _ => "text/plain; charset=utf-8",
    }
}
