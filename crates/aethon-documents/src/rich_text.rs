//! Rich text (RTF): its words, with the encodings of its fonts.
//!
//! A reader of our own over `encoding_rs`: the crates there are know neither the encodings of fonts nor tables.

use std::collections::BTreeMap;

use encoding_rs::{Encoding, WINDOWS_1252};

use crate::error::Error;
use crate::flow::Flow;
use crate::output::Output;

/// The most open groups.
const MAX_DEPTH: usize = 1_000;

pub(crate) fn read(bytes: &[u8], out: &mut Output<'_>) -> Result<(), Error> {
    let start = bytes.windows(5).take(64).position(|window| window == b"{\\rtf");
    let Some(start) = start else { return Err(Error::new("it is no rich text")) };
    let mut reader = Reader::new(&bytes[start..], out);
    reader.read();
    Ok(())
}

/// What holds until the end of a group.
#[derive(Clone)]
struct State {
    /// What its text is for.
    destination: Destination,
    encoding: &'static Encoding,
    /// How many characters follow one in Unicode that older programs show in its place.
    fallback: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Destination {
    Text,
    Fonts,
    Nothing,
}

struct Reader<'b, 'o, 's> {
    bytes: &'b [u8],
    at: usize,
    flow: Flow<'o, 's>,
    state: State,
    groups: Vec<State>,
    /// Bytes in the encoding of the font that are not decoded yet.
    pending: Vec<u8>,
    /// How many characters are still to be left out after one in Unicode.
    to_skip: usize,
    /// The first half of a character.
    surrogate: Option<u16>,
    fonts: BTreeMap<i32, &'static Encoding>,
    /// The font that is being described.
    font: i32,
    page: &'static Encoding,
    is_table: bool,
    /// Whether the paragraph is inside the table.
    is_in_table: bool,
}

impl<'b, 'o, 's> Reader<'b, 'o, 's> {
    fn new(bytes: &'b [u8], out: &'o mut Output<'s>) -> Self {
        let state = State { destination: Destination::Text, encoding: WINDOWS_1252, fallback: 1 };
        Self {
            bytes,
            at: 0,
            flow: Flow::new(out),
            state,
            groups: Vec::new(),
            pending: Vec::new(),
            to_skip: 0,
            surrogate: None,
            fonts: BTreeMap::new(),
            font: 0,
            page: WINDOWS_1252,
            is_table: false,
            is_in_table: false,
        }
    }

    fn read(&mut self) {
        while let Some(byte) = self.next() {
            match byte {
                b'{' => {
                    self.decode();
                    if self.groups.len() >= MAX_DEPTH {
                        self.flow.note("The document is nested too deeply; the rest is left out.");
                        break;
                    }
                    self.groups.push(self.state.clone());
                }
                b'}' => {
                    self.decode();
                    self.to_skip = 0;
                    match self.groups.pop() {
                        Some(state) => self.state = state,
                        None => break,
                    }
                    if self.groups.is_empty() {
                        break;
                    }
                }
                b'\\' => self.control(),
                b'\r' | b'\n' => {}
                byte => self.byte(byte),
            }
            if self.flow.is_full() {
                break;
            }
        }
        self.decode();
        if self.at >= self.bytes.len() && !self.groups.is_empty() {
            self.flow.note("The document breaks off before its end.");
        }
        self.end_table();
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied();
        self.at += 1;
        byte
    }

    /// Reads a control word or symbol.
    fn control(&mut self) {
        let Some(first) = self.next() else { return };
        if !first.is_ascii_alphabetic() {
            return self.symbol(first);
        }
        let from = self.at - 1;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_alphabetic) && self.at - from < 32 {
            self.at += 1;
        }
        let word = String::from_utf8_lossy(&self.bytes[from..self.at]).into_owned();
        let from = self.at;
        if self.bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) && self.at - from < 12 {
            self.at += 1;
        }
        let number =
            std::str::from_utf8(&self.bytes[from..self.at]).ok().and_then(|digits| digits.parse().ok());
        if self.bytes.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
        self.word(&word, number);
    }

    fn symbol(&mut self, symbol: u8) {
        match symbol {
            b'\'' => {
                let digits =
                    self.bytes.get(self.at..self.at + 2).and_then(|digits| std::str::from_utf8(digits).ok());
                self.at += 2;
                if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
                    self.byte(byte);
                }
            }
            b'*' => self.state.destination = Destination::Nothing,
            b'~' => self.show("\u{a0}"),
            b'_' => self.show("\u{2011}"),
            b'{' | b'}' | b'\\' => self.byte(symbol),
            b'\r' | b'\n' => self.paragraph(),
            _ => {}
        }
    }

    fn word(&mut self, word: &str, number: Option<i32>) {
        if word != "u" {
            self.decode();
            self.surrogate = None;
        }
        match (word, number) {
            ("bin", Some(length)) => self.at = self.at.saturating_add(usize::try_from(length).unwrap_or(0)),
            ("u", Some(code)) => self.unicode(code),
            ("uc", Some(count)) => self.state.fallback = usize::try_from(count).unwrap_or(1).min(100),
            ("ansicpg", Some(page)) => {
                self.page = by_code_page(page).unwrap_or(WINDOWS_1252);
                self.state.encoding = self.page;
            }
            ("mac", _) => {
                self.page = encoding_rs::MACINTOSH;
                self.state.encoding = self.page;
            }
            ("fonttbl", _) => self.state.destination = Destination::Fonts,
            ("f", Some(font)) if self.state.destination == Destination::Fonts => self.font = font,
            ("fcharset", Some(set)) => {
                if let Some(encoding) = by_charset(set) {
                    self.fonts.insert(self.font, encoding);
                }
            }
            ("f", Some(font)) => self.state.encoding = self.fonts.get(&font).copied().unwrap_or(self.page),
            ("plain", _) => self.state.encoding = self.page,
            (
                "colortbl" | "stylesheet" | "info" | "pict" | "object" | "themedata" | "filetbl"
                | "listtable" | "revtbl" | "datastore" | "xmlnstbl" | "fldinst" | "latentstyles"
                | "nonshppict" | "bkmkstart" | "bkmkend" | "generator",
                _,
            ) => self.state.destination = Destination::Nothing,
            ("shppict" | "shpinst" | "shptxt" | "fldrslt" | "ud", _) if self.is_shown_above() => {
                self.state.destination = Destination::Text;
            }
            // Text that was deleted while changes were tracked, and hidden text.
            ("deleted" | "v", None | Some(1)) => self.state.destination = Destination::Nothing,
            _ if self.state.destination == Destination::Text => self.layout(word),
            _ => {}
        }
    }

    /// Returns whether the group around this one is shown.
    fn is_shown_above(&self) -> bool {
        self.groups.last().is_some_and(|group| group.destination == Destination::Text)
    }

    fn layout(&mut self, word: &str) {
        match word {
            "par" | "sect" => self.paragraph(),
            "line" => self.flow.break_line(),
            "page" => {
                self.end_table();
                self.flow.end_paragraph();
            }
            "tab" => self.show("\t"),
            "trowd" | "intbl" => {
                if !self.is_table {
                    self.flow.begin_table();
                    self.flow.begin_cell();
                }
                (self.is_table, self.is_in_table) = (true, true);
            }
            "pard" => self.is_in_table = false,
            "cell" if self.is_table => {
                self.flow.end_cell();
                self.flow.begin_cell();
            }
            "row" if self.is_table => {
                self.flow.drop_cell();
                self.flow.end_row();
                self.flow.begin_cell();
            }
            "emdash" => self.show("—"),
            "endash" => self.show("–"),
            "bullet" => self.show("•"),
            "lquote" => self.show("‘"),
            "rquote" => self.show("’"),
            "ldblquote" => self.show("“"),
            "rdblquote" => self.show("”"),
            _ => {}
        }
    }

    fn end_table(&mut self) {
        if self.is_table {
            self.flow.drop_cell();
            self.flow.end_table();
            self.is_table = false;
        }
    }

    fn paragraph(&mut self) {
        self.decode();
        if self.state.destination == Destination::Text {
            self.flow.end_paragraph();
        }
    }

    fn unicode(&mut self, code: i32) {
        self.decode();
        let Ok(unit) = u16::try_from(code & 0xffff) else { return };
        self.to_skip = self.state.fallback;
        let units: Vec<u16> = self.surrogate.take().into_iter().chain([unit]).collect();
        match char::decode_utf16(units.iter().copied()).next() {
            Some(Ok(character)) => self.show(character.encode_utf8(&mut [0; 4])),
            _ if (0xd800..0xdc00).contains(&unit) => self.surrogate = Some(unit),
            _ => {}
        }
    }

    fn byte(&mut self, byte: u8) {
        if self.to_skip > 0 {
            self.to_skip -= 1;
            return;
        }
        if self.state.destination == Destination::Text {
            self.pending.push(byte);
        }
    }

    fn decode(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let bytes = std::mem::take(&mut self.pending);
        let (text, _) = self.state.encoding.decode_without_bom_handling(&bytes);
        self.leave_table();
        self.flow.text(&text);
    }

    fn show(&mut self, text: &str) {
        self.decode();
        if self.state.destination == Destination::Text {
            self.leave_table();
            self.flow.text(text);
        }
    }

    /// Ends the table if the next text lies outside of it.
    fn leave_table(&mut self) {
        if self.is_table && !self.is_in_table && self.flow.is_row_empty() {
            self.end_table();
        }
    }
}

impl Drop for Reader<'_, '_, '_> {
    fn drop(&mut self) {
        self.flow.end_line();
    }
}

fn by_code_page(page: i32) -> Option<&'static Encoding> {
    let label = match page {
        932 => "shift_jis".to_owned(),
        936 => "gbk".to_owned(),
        949 => "euc-kr".to_owned(),
        950 => "big5".to_owned(),
        10_000 => "macintosh".to_owned(),
        65_001 => "utf-8".to_owned(),
        page => format!("windows-{page}"),
    };
    Encoding::for_label(label.as_bytes())
}

/// The character sets of fonts, by the numbers of Windows.
fn by_charset(set: i32) -> Option<&'static Encoding> {
    by_code_page(match set {
        0 => 1252,
        77 => 10_000,
        128 => 932,
        129 => 949,
        134 => 936,
        136 => 950,
        161 => 1253,
        162 => 1254,
        163 => 1258,
        177 => 1255,
        178 => 1256,
        186 => 1257,
        204 => 1251,
        222 => 874,
        238 => 1250,
        _ => return None,
    })
}
