//! Detects text of a page that a person would not see: a common place for words that are meant for machines only.
//!
//! Only a browser knows for certain. An element whose own style takes it off the page is left out. Where it is less
//! certain (colours that may match the background, rules of a stylesheet that a script may lift, folded details) the
//! text stays, with a note around it that says so.

use std::collections::HashSet;

/// How far a person sees an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Visibility {
    /// Visible, as far as can be determined.
    Shown,
    /// It may not be seen.
    Doubtful,
    /// It is not seen.
    Hidden,
}

/// A length up to this many pixels shows nothing.
const NOTHING: f64 = 1.0;
/// An element moved by this many pixels is off the page.
const FAR: f64 = 400.0;
/// How much of a page's stylesheets is read, in bytes.
const MAX_RULES: usize = 256 << 10;

/// Judges an element by its `style` attribute.
pub(super) fn by_style(style: &str) -> Visibility {
    if style.is_empty() {
        return Visibility::Shown;
    }
    let style = Declarations::of(style);
    if style.hides() {
        return Visibility::Hidden;
    }
    if style.is_pale() { Visibility::Doubtful } else { Visibility::Shown }
}

/// The declarations of a style: names and values in lower case, the last of a name counting.
struct Declarations(Vec<(String, String)>);

impl Declarations {
    fn of(style: &str) -> Self {
        let lowered = style.to_ascii_lowercase();
        let pairs = lowered.split(';').filter_map(|declaration| declaration.split_once(':'));
        let plain =
            |text: &str| text.replace("!important", "").split_whitespace().collect::<Vec<_>>().join(" ");
        Self(pairs.map(|(name, value)| (plain(name), plain(value))).collect())
    }

    fn get(&self, name: &str) -> &str {
        self.0.iter().rfind(|(known, _)| known == name).map_or("", |(_, value)| value.as_str())
    }

    fn hides(&self) -> bool {
        let is_none =
            matches!(self.get("display"), "none") || matches!(self.get("content-visibility"), "hidden");
        let is_invisible = matches!(self.get("visibility"), "hidden" | "collapse")
            || number(self.get("opacity")).is_some_and(|opacity| opacity <= 0.05)
            || is_transparent(self.get("color"));
        let is_tiny = number(self.get("font-size")).is_some_and(|size| size <= NOTHING);
        is_none || is_invisible || is_tiny || self.is_off_the_page() || self.is_clipped()
    }

    fn is_off_the_page(&self) -> bool {
        const MOVING: [&str; 7] =
            ["left", "top", "right", "bottom", "margin-left", "margin-top", "text-indent"];
        let is_far = |name: &&str| {
            let value = self.get(name);
            let far = match value {
                _ if value.ends_with('%') => 100.0,
                _ if value.ends_with("em") => 50.0,
                _ => FAR,
            };
            number(value).is_some_and(|length| length <= -far)
        };
        let transform = self.get("transform");
        let is_moved = transform.contains("translate")
            && transform.split(['(', ',', ')']).filter_map(number).any(|length| length <= -FAR);
        MOVING.iter().any(is_far) || is_moved || transform.replace(' ', "").contains("scale(0)")
    }

    fn is_clipped(&self) -> bool {
        let clip = self.get("clip");
        let lengths: Vec<f64> = clip.split(['(', ',', ' ', ')']).filter_map(number).collect();
        let is_rectangle = clip.starts_with("rect")
            && !lengths.is_empty()
            && lengths.iter().all(|length| *length <= NOTHING);
        let path = self.get("clip-path").replace(' ', "");
        let is_path = ["inset(50%", "inset(100%", "circle(0", "ellipse(0", "polygon(00", "polygon(0000"]
            .iter()
            .any(|nothing| path.starts_with(nothing));
        let is_cut = self.get("overflow").starts_with("hidden") || self.get("overflow").starts_with("clip");
        let is_small = |name: &str| number(self.get(name)).is_some_and(|length| length <= NOTHING);
        let is_flat = ["max-height", "height", "max-width", "width"].iter().any(|name| is_small(name));
        is_rectangle || is_path || is_cut && is_flat
    }

    /// Whether the text is white or nearly so, on no background of its own.
    fn is_pale(&self) -> bool {
        let background = self.0.iter().any(|(name, _)| name.starts_with("background"));
        !background && is_white(self.get("color"))
            || background
                && !self.get("color").is_empty()
                && self.get("color") == self.get("background-color")
            || background && !self.get("color").is_empty() && self.get("color") == self.get("background")
    }
}

/// Returns the number at the beginning of a length, in whatever unit.
fn number(value: &str) -> Option<f64> {
    let value = value.trim();
    let end =
        value.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+'))).unwrap_or(value.len());
    value[..end].parse().ok()
}

fn is_transparent(color: &str) -> bool {
    let tight: String = color.split_whitespace().collect();
    let has_no_alpha = (tight.starts_with("rgba(") || tight.starts_with("hsla("))
        && tight.trim_end_matches(')').rsplit([',', '/']).next().and_then(number) == Some(0.0);
    tight == "transparent" || has_no_alpha
}

fn is_white(color: &str) -> bool {
    let tight: String = color.split_whitespace().collect();
    let is_nearly = |digits: &str| {
        let digits = digits.as_bytes();
        match digits.len() {
            3 => digits.iter().all(|digit| *digit == b'f'),
            6 => digits.chunks(2).all(|pair| pair[0] == b'f'),
            _ => false,
        }
    };
    let is_rgb = || {
        let parts: Vec<f64> = tight.split(['(', ',', ')']).filter_map(number).collect();
        tight.starts_with("rgb(") && parts.len() == 3 && parts.iter().all(|part| *part >= 240.0)
    };
    matches!(tight.as_str(), "white" | "snow" | "ivory" | "whitesmoke" | "ghostwhite")
        || tight.strip_prefix('#').is_some_and(is_nearly)
        || is_rgb()
}

/// The simple selectors of a page whose rules hide their matches.
#[derive(Debug, Default)]
pub(super) struct HidingRules {
    classes: HashSet<String>,
    ids: HashSet<String>,
}

impl HidingRules {
    /// Reads the stylesheets in a page. Only selectors of one class or id count; whatever else hides is not found.
    pub(super) fn of(html: &str) -> Self {
        let mut rules = Self::default();
        let mut left = MAX_RULES;
        let lowered = html.to_ascii_lowercase();
        let mut from = 0;
        while let Some(start) = lowered[from..].find("<style") {
            let start = from + start;
            let end = lowered[start..].find("</style").map_or(lowered.len(), |end| start + end);
            let Some(open) = lowered[start..end].find('>') else { break };
            // Names are compared as they are written.
            let sheet = html.get(start + open + 1..end).unwrap_or_default();
            let mut most = sheet.len().min(left);
            while !sheet.is_char_boundary(most) {
                most -= 1;
            }
            rules.read(&sheet[..most]);
            left -= most;
            from = end;
            if left == 0 || from >= lowered.len() {
                break;
            }
        }
        rules
    }

    fn read(&mut self, sheet: &str) {
        for rule in sheet.split('}') {
            let Some((selectors, declarations)) = rule.rsplit_once('{') else { continue };
            if by_style(declarations) == Visibility::Shown {
                continue;
            }
            // What stands before it may be the head of an at-rule.
            let (head, selectors) = selectors.rsplit_once('{').unwrap_or(("", selectors));
            if head.contains("print") {
                continue;
            }
            let selectors = selectors.rsplit("*/").next().unwrap_or_default();
            for selector in selectors.split(',') {
                let selector = selector.trim();
                let is_simple = !selector.contains([' ', '>', '+', '~', ':', '[', '\n']);
                if let Some((_, class)) = selector.split_once('.').filter(|_| is_simple) {
                    self.classes.insert(class.to_owned());
                } else if let Some((_, id)) = selector.split_once('#').filter(|_| is_simple) {
                    self.ids.insert(id.to_owned());
                }
            }
        }
    }

    /// Returns whether a rule hides an element with these classes and this id.
    pub(super) fn cover(&self, classes: &str, id: &str) -> bool {
        let has_class = || classes.split_ascii_whitespace().any(|class| self.classes.contains(class));
        !self.classes.is_empty() && has_class() || !id.is_empty() && self.ids.contains(id)
    }
}
