//! The table of embedded files. Bodies are borrowed from the program's own image: nothing is copied or prepared at startup.

use include_dir::{Dir, DirEntry, include_dir};

// Defines `TREE_HASH`, `ASSETS`, `PAGES` and `MANUAL`, the last three sorted by name.
include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// The numbered files that the build script packed; an [`Asset`] refers to them by number.
static SITE: Dir<'static> = include_dir!("$OUT_DIR/site");

/// One embedded file.
#[derive(Debug)]
pub struct Asset {
    /// The name below `/dashboard/static/`, with `/` between folders.
    pub name: &'static str,
    /// The value for `Content-Type`.
    pub content_type: &'static str,
    /// The value for `ETag`; weak, because the plain and the compressed body share it.
    pub etag: &'static str,
    body: usize,
    gzip: Option<usize>,
}

impl Asset {
    /// The plain body.
    pub fn body(&self) -> &'static [u8] {
        packed(self.body)
    }

    /// The gzip-compressed body, if it is smaller.
    pub fn gzip(&self) -> Option<&'static [u8]> {
        self.gzip.map(packed)
    }
}

/// One document of the manual, in Markdown.
#[derive(Debug)]
pub struct Document {
    /// Its name below `docs/`, such as `handbook/first-hour.md` or `approvals.md`.
    pub name: &'static str,
    gzip: usize,
}

impl Document {
    /// Its text, gzip-compressed.
    pub fn gzip(&self) -> &'static [u8] {
        packed(self.gzip)
    }
}

/// Finds a document of the manual by its exact name.
pub fn document(name: &str) -> Option<&'static Document> {
    let index = MANUAL.binary_search_by(|document| document.name.cmp(name)).ok()?;
    MANUAL.get(index)
}

/// All documents of the manual, by name.
pub fn documents() -> &'static [Document] {
    &MANUAL
}

/// The asset at an address below `/dashboard/static/`.
#[derive(Debug, Clone, Copy)]
pub struct Found {
    /// The file.
    pub asset: &'static Asset,
    /// Whether the address contained the tree hash, so that the response may be cached indefinitely.
    pub is_immutable: bool,
}

/// Finds the asset for the part of an address after `/dashboard/static/`, with or without the tree hash.
pub fn find(path: &str) -> Option<Found> {
    match path.strip_prefix(TREE_HASH).and_then(|rest| rest.strip_prefix('/')) {
        Some(name) => Some(Found { asset: asset(name)?, is_immutable: true }),
        None => Some(Found { asset: asset(path)?, is_immutable: false }),
    }
}

/// Finds an asset by its exact name, such as `js/chat/main.js`.
pub fn asset(name: &str) -> Option<&'static Asset> {
    let index = ASSETS.binary_search_by(|asset| asset.name.cmp(name)).ok()?;
    ASSETS.get(index)
}

/// All assets, by name.
pub fn assets() -> &'static [Asset] {
    &ASSETS
}

/// The hash over all assets, which is the first folder of their immutable addresses.
pub const fn tree_hash() -> &'static str {
    TREE_HASH
}

/// The chat, served at `/`.
pub fn chat_page() -> &'static Asset {
    page("chat.html")
}

/// The dashboard, served at `/dashboard` to those who are signed in.
pub fn dashboard_page() -> &'static Asset {
    page("dashboard.html")
}

/// The documentation of the API.
pub fn docs_page() -> &'static Asset {
    page("docs.html")
}

/// The frame of the pages of the handbook. Its places in double square brackets are filled in for each.
pub fn handbook_page() -> &'static Asset {
    page("handbook.html")
}

/// The page that `/dashboard` returns with status 401 to those who are not.
pub fn sign_in_page() -> &'static Asset {
    page("sign-in.html")
}

fn page(name: &str) -> &'static Asset {
    PAGES.iter().find(|page| page.name == name).unwrap_or(&PAGES[0])
}

fn packed(number: usize) -> &'static [u8] {
    match SITE.entries().get(number) {
        Some(DirEntry::File(file)) => file.contents(),
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_found_and_unjoined_ones_keep_their_bytes() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
        assert!(ASSETS.len() > 10);
        for entry in &ASSETS {
            let found = asset(entry.name).expect("listed, so found");
            assert_eq!(found.etag, entry.etag);
            if entry.name.ends_with(".woff2") || entry.name.starts_with("vendor/") {
                let written = std::fs::read(root.join(entry.name)).expect("readable");
                assert_eq!(found.body(), written, "{}", entry.name);
            }
        }
    }

    #[test]
    fn page_has_one_script_that_shares_modules_with_later_ones() {
        let text = |name: &str| std::str::from_utf8(asset(name).expect("there").body()).expect("UTF-8");
        let page = text("js/dashboard/main.js");
        let later: Vec<&str> = ASSETS
            .iter()
            .map(|entry| entry.name)
            .filter(|name| name.starts_with("js/dashboard/panels/"))
            .collect();
        assert_eq!(later.len(), 15, "one for each panel");
        for module in ["js/shared/dom.js", "js/components/table.js"] {
            let beginning = format!("// {module}\n");
            assert_eq!(page.matches(&beginning).count(), 1, "{module} is there, and once");
            assert!(later.iter().all(|name| !text(name).contains(&beginning)), "{module} is nowhere else");
            assert!(asset(module).is_none(), "{module} is served as a part of the page's script only");
        }
        for name in later {
            let imports = text(name).lines().filter(|line| line.starts_with("import ")).count();
            assert_eq!(imports, 1, "{name} loads nothing but the page's script");
            let mut exports = text(name).lines().filter(|line| line.starts_with("export "));
            assert!(exports.any(|line| line.contains("mount")), "{name}");
        }
        for name in ["js/dashboard/main.js", "js/chat/main.js", "js/sign-in/main.js", "js/docs/main.js"] {
            assert!(text(name).lines().all(|line| !line.starts_with("import ")), "{name}");
        }
    }

    /// The page's script waits for them, so they must not wait for it.
    #[test]
    fn words_of_a_language_are_one_file_that_needs_no_other() {
        let text = |name: &str| std::str::from_utf8(asset(name).expect("there").body()).expect("UTF-8");
        for (page, script) in [
            ("chat", "js/chat/main.js"),
            ("dashboard", "js/dashboard/main.js"),
            ("docs", "js/docs/main.js"),
            ("sign-in", "js/sign-in/main.js"),
        ] {
            let words = text(&format!("js/texts/de/page-{page}.js"));
            assert!(words.lines().all(|line| !line.starts_with("import ")), "{page}");
            assert!(words.contains("Abbrechen") && words.contains("export const { words }"), "{page}");
            assert!(!text(script).contains("Abbrechen"), "{page} in English has no German");
            assert!(text(script).contains("const js_shared_language = await (async () => {"), "{page} waits");
        }
        let loaded = ASSETS.iter().filter(|entry| entry.name.starts_with("js/texts/de/")).count();
        assert_eq!(loaded, 4, "one for each page");
    }

    #[test]
    fn the_tree_hash_in_front_makes_an_address_immutable() {
        let plain = find("js/chat/main.js").expect("there");
        let hashed = find(&format!("{}/js/chat/main.js", tree_hash())).expect("there");
        assert!(!plain.is_immutable && hashed.is_immutable);
        assert_eq!(plain.asset.name, hashed.asset.name);
    }

    #[test]
    fn no_spelling_of_a_path_leaves_the_table() {
        let hash = tree_hash();
        for path in [
            "",
            "/",
            ".",
            "..",
            "js",
            "js/",
            "/js/chat/main.js",
            "../Cargo.toml",
            "js/../js/chat/main.js",
            "js//chat/main.js",
            "js/%2e%2e/chat/main.js",
            "js%2fchat%2fmain.js",
            "js\\chat\\main.js",
            "JS/chat/main.js",
            "js/chat/main.js/",
            "js/chat/main.js\0",
            "/etc/passwd",
            "0000000000000000/js/chat/main.js",
        ] {
            assert!(find(path).is_none(), "{path:?}");
            assert!(find(&format!("{hash}/{path}")).is_none(), "{path:?} below the hash");
        }
        assert!(find(hash).is_none());
        assert!(find(&format!("{hash}/{hash}/js/chat/main.js")).is_none());
    }

    #[test]
    fn text_has_a_smaller_variant_and_fonts_have_none() {
        for entry in ASSETS.iter().filter(|entry| entry.name.ends_with(".css")) {
            let gzip = entry.gzip().map_or(usize::MAX, <[u8]>::len);
            assert!(gzip < entry.body().len() || entry.body().len() < 512, "{}", entry.name);
        }
        for entry in ASSETS.iter().filter(|entry| entry.name.ends_with(".woff2")) {
            assert!(entry.gzip().is_none(), "{}", entry.name);
        }
    }

    #[test]
    fn pages_are_stamped_and_load_only_what_exists() {
        for page in &PAGES {
            let text = std::str::from_utf8(page.body()).expect("pages are UTF-8");
            assert!(!text.contains("{{"), "{} holds an unfilled placeholder", page.name);
            let prefix = format!("/dashboard/static/{}/", tree_hash());
            let mut loaded = 0;
            for reference in text.split(['"', '\'']).filter_map(|word| word.strip_prefix(prefix.as_str())) {
                assert!(asset(reference).is_some(), "{} loads {reference}, which is not there", page.name);
                loaded += 1;
            }
            assert!(loaded > 2, "{} loads nothing", page.name);
        }
    }

    #[test]
    fn pages_describe_themselves() {
        for page in &PAGES {
            let text = std::str::from_utf8(page.body()).expect("pages are UTF-8");
            let description = text.split_once("<meta name=\"description\" content=\"").map(|(_, rest)| rest);
            let words = description.and_then(|rest| rest.split_once('"')).map_or("", |(words, _)| words);
            assert!((20..160).contains(&words.len()), "{}: {words:?}", page.name);
        }
    }

    #[test]
    fn pages_hold_no_inline_code_and_ask_no_other_host() {
        for page in &PAGES {
            let text = std::str::from_utf8(page.body()).expect("pages are UTF-8").to_lowercase();
            for forbidden in
                ["<style", " style=", " onclick=", " onload=", "javascript:", "https://", "http://"]
            {
                assert!(!text.contains(forbidden), "{} contains {forbidden}", page.name);
            }
            for script in text.split("<script").skip(1) {
                assert!(
                    script.contains("src=") && script.contains("></script>"),
                    "{}: inline script",
                    page.name
                );
            }
        }
    }
}
