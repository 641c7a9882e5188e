//! Records the characters that a page draws, with their positions.

use hayro_interpret::font::{Glyph, GlyphRun};
use hayro_interpret::hayro_cmap::{BfString, WritingMode};
use hayro_interpret::kurbo::{Affine, BezPath, Point, Rect, Vec2};
use hayro_interpret::{BlendMode, ClipPath, Device, DrawMode, DrawProps, Image, ImageDrawProps, SoftMask};

use super::collections::Fonts;
use crate::output::MAX_TEXT;

/// The most characters of a page.
const MAX_CHARACTERS: usize = 2_000_000;
/// The units of a glyph, which its transform divides by.
const EM: f64 = 1000.0;

/// A character where it stands.
#[derive(Debug, Clone)]
pub(super) struct Character {
    pub(super) text: String,
    pub(super) x: f64,
    pub(super) y: f64,
    /// Where the next one is expected, along the line.
    pub(super) end: f64,
    /// The height of the font.
    pub(super) size: f64,
}

/// A page without colours.
pub(super) struct Canvas<'a> {
    fonts: Fonts<'a>,
    pub(super) characters: Vec<Character>,
    /// How many characters are unknown.
    pub(super) unknown: usize,
    pub(super) has_pictures: bool,
    /// Where the last run began, and how many characters were there before it.
    last_fill: Option<(Point, usize)>,
    pub(super) is_full: bool,
    /// How long the text of the characters is.
    bytes: usize,
}

impl<'a> Canvas<'a> {
    pub(super) fn new(fonts: Fonts<'a>) -> Self {
        Self {
            fonts,
            characters: Vec::new(),
            unknown: 0,
            has_pictures: false,
            last_fill: None,
            is_full: false,
            bytes: 0,
        }
    }

    fn meaning(&self, glyph: &Glyph<'_>) -> Option<String> {
        let known = match glyph.as_unicode() {
            Some(BfString::Char(character)) => Some(character.to_string()),
            Some(BfString::String(text)) => Some(text),
            None => None,
        };
        let known = known.filter(|text| !text.chars().all(|c| c == '\0' || c == '\u{fffd}'));
        known.or_else(|| match glyph {
            Glyph::Outline(outline) => {
                let font = outline.font_data()?.postscript_name?;
                self.fonts.character(&font, glyph.char_code()).map(|character| character.to_string())
            }
            Glyph::Type3(_) => None,
        })
    }

    fn add(&mut self, glyph: &Glyph<'_>, transform: Affine, is_vertical: bool) {
        if self.characters.len() >= MAX_CHARACTERS || self.bytes > MAX_TEXT {
            self.is_full = true;
            return;
        }
        let text = self.meaning(glyph).unwrap_or_else(|| {
            self.unknown += 1;
            "\u{fffd}".to_owned()
        });
        self.bytes += text.len();
        let at = transform * Point::ZERO;
        let up = transform * Point::new(0.0, EM) - at;
        let size = up.hypot().clamp(0.1, 10_000.0);
        let advance = match glyph {
            Glyph::Outline(outline) => outline.advance_width().map(f64::from),
            Glyph::Type3(_) => None,
        };
        let advance = advance.filter(|advance| *advance > 0.0).unwrap_or(EM / 2.0);
        let along = if is_vertical { -up } else { transform * Point::new(advance, 0.0) - at };
        if at.x.is_finite() && at.y.is_finite() {
            let (x, y) = turned(at.to_vec2(), along);
            self.characters.push(Character { text, x, y, end: x + along.hypot(), size });
        }
    }
}

/// Turns the page so that a line in this direction runs to the right, which lines of turned pages do not.
fn turned(at: Vec2, along: Vec2) -> (f64, f64) {
    match (along.x.abs() >= along.y.abs(), along.x >= 0.0, along.y >= 0.0) {
        (true, true, _) => (at.x, at.y),
        (true, false, _) => (-at.x, -at.y),
        (false, _, true) => (at.y, -at.x),
        (false, _, false) => (-at.y, at.x),
    }
}

impl Device<'_> for Canvas<'_> {
    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'_>, _: &DrawMode) {}

    fn draw_rect(&mut self, _: &Rect, _: DrawProps<'_>, _: &DrawMode) {}

    fn push_clip_path(&mut self, _: &ClipPath) {}

    fn push_clip_rect(&mut self, _: &Rect) {}

    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'_>>, _: BlendMode) {}

    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, '_>, props: DrawProps<'_>, mode: &DrawMode) {
        // Text that is filled and stroked arrives twice.
        let before = self.characters.len().checked_sub(run.glyphs().len());
        let first = run.glyphs().first().map(|first| props.transform * first.transform() * Point::ZERO);
        let is_again = first.zip(before).is_some_and(|place| self.last_fill == Some(place));
        if matches!(mode, DrawMode::Stroke(_)) && is_again {
            return;
        }
        self.last_fill = first.map(|first| (first, self.characters.len()));
        let is_vertical = run.writing_mode() == WritingMode::Vertical;
        for glyph in run.glyphs() {
            self.add(glyph, props.transform * glyph.transform(), is_vertical);
        }
    }

    fn draw_image(&mut self, _: Image<'_, '_>, _: ImageDrawProps<'_>) {
        self.has_pictures = true;
    }

    fn pop_clip(&mut self) {}

    fn pop_transparency_group(&mut self) {}
}
