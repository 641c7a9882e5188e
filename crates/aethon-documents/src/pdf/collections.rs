//! Characters of East Asian fonts that are embedded without an explanation: the encoding of such a font names a
//! standard collection of characters, and hayro's maps know what these mean.

use std::cell::RefCell;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::rc::Rc;

use hayro_interpret::hayro_cmap::{BfString, CMap, CMapName, CidFamily, load_embedded};
use hayro_interpret::hayro_syntax::object::{Array, Dict, Name, Object, String as PdfString};
use hayro_interpret::hayro_syntax::page::Page;

/// The most fonts of a page that are looked at.
const MAX_FONTS: usize = 256;

/// The maps that were loaded for a document: each takes a while.
#[derive(Default)]
pub(super) struct Collections {
    maps: RefCell<HashMap<Vec<u8>, Option<Rc<CMap>>>>,
}

/// The fonts of a page whose characters belong to a collection, by name.
#[derive(Default)]
pub(super) struct Fonts<'a> {
    known: HashMap<String, Font>,
    page: PhantomData<&'a ()>,
}

struct Font {
    encoding: Rc<CMap>,
    meanings: Rc<CMap>,
}

impl Collections {
    /// Finds the fonts of a page.
    pub(super) fn fonts_of<'a>(&self, page: &Page<'a>) -> Fonts<'a> {
        let mut found = Fonts::default();
        let fonts = &page.resources().fonts;
        for name in fonts.keys().take(MAX_FONTS) {
            if let Some(font) = fonts.get::<Dict<'_>>(name)
                && let Some((name, font)) = self.font(&font)
            {
                found.known.insert(name, font);
            }
        }
        found
    }

    fn font(&self, font: &Dict<'_>) -> Option<(String, Font)> {
        let is_composite = font.get::<Name<'_>>("Subtype").is_some_and(|kind| kind.as_str() == "Type0");
        if !is_composite || font.contains_key("ToUnicode") {
            return None;
        }
        let descendants = font.get::<Array<'_>>("DescendantFonts")?;
        let descendant = descendants.iter::<Dict<'_>>().next()?;
        let system = descendant.get::<Dict<'_>>("CIDSystemInfo")?;
        let registry = system.get::<PdfString<'_>>("Registry")?;
        let ordering = system.get::<PdfString<'_>>("Ordering")?;
        let family = CidFamily::from_registry_ordering(registry.as_bytes(), ordering.as_bytes());
        let encoding = match font.get::<Object<'_>>("Encoding")? {
            Object::Name(name) => self.map(name.as_ref())?,
            Object::Stream(stream) => {
                let data = stream.decoded().ok()?;
                Rc::new(CMap::parse(&data, load_embedded)?)
            }
            _ => return None,
        };
        let meanings = self.map(family.ucs2_cmap()?.to_bytes())?;
        let name = font.get::<Name<'_>>("BaseFont")?;
        let name = name.as_str();
        let bare = match name.split_once('+') {
            Some((mark, rest)) if mark.len() == 6 => rest,
            _ => name,
        };
        Some((bare.to_owned(), Font { encoding, meanings }))
    }

    fn map(&self, name: &[u8]) -> Option<Rc<CMap>> {
        let load = || {
            let map = match name {
                b"Identity-H" => CMap::identity_h(),
                b"Identity-V" => CMap::identity_v(),
                name => CMap::parse(load_embedded(CMapName::from_bytes(name))?, load_embedded)?,
            };
            Some(Rc::new(map))
        };
        self.maps.borrow_mut().entry(name.to_vec()).or_insert_with(load).clone()
    }
}

impl Fonts<'_> {
    /// Returns the character that a code means in a font.
    pub(super) fn character(&self, font: &str, code: u32) -> Option<char> {
        let font = self.known.get(font)?;
        let cid = (1..=4).find_map(|length| font.encoding.lookup_cid_code(code, length))?;
        match font.meanings.lookup_bf_string(cid)? {
            BfString::Char(character) => Some(character),
            BfString::String(text) => text.chars().next(),
        }
    }
}
