//! Finds the objects of a document, and decompresses its streams.
//!
//! The cross-reference tables are not trusted: the file is scanned for objects, so that damaged files can be read as
//! well. The total size of all decompressed streams is bounded in advance.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;

use flate2::read::ZlibDecoder;

use super::effort::Effort;
use super::syntax::{Dictionary, Object, Reader, digit, is_blank};

/// Maximum number of objects.
const MAX_OBJECTS: usize = 500_000;
/// Maximum decompressed size of one stream, and of all streams.
const MAX_UNPACKED: (usize, usize) = (16 << 20, 96 << 20);
/// Maximum length of a chain of references.
const MAX_STEPS: usize = 16;

/// A document.
pub(super) struct Document<'b> {
    bytes: &'b [u8],
    locations: HashMap<u32, ObjectLocation>,
    /// Decompressed object streams.
    unpacked: Vec<Vec<u8>>,
    /// How many bytes of streams may still be read, decompressed or not.
    left: usize,
    /// The remaining effort; everything not read by then counts as missing.
    pub(super) effort: Effort,
}

#[derive(Clone, Copy)]
enum ObjectLocation {
    /// In the file, from here to the start of the next object.
    At(usize, usize),
    /// In a decompressed object stream.
    In(usize, usize),
}

impl<'b> Document<'b> {
    pub(super) fn new(bytes: &'b [u8], effort: Effort) -> Self {
        effort.charge(bytes.len());
        let (locations, unpacked) = (find_objects(bytes), Vec::new());
        let mut document = Self { bytes, locations, unpacked, left: MAX_UNPACKED.1, effort };
        document.unpack_object_streams();
        document
    }

    /// Returns whether the document is encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        let tail = &self.bytes[self.bytes.len().saturating_sub(1 << 20)..];
        tail.windows(9).any(|window| window == b"/Encrypt ")
            || tail.windows(9).any(|window| window == b"/Encrypt<")
    }

    /// Returns the numbers of all objects in order.
    pub(super) fn numbers(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.locations.keys().copied().collect();
        numbers.sort_unstable();
        numbers
    }

    /// Resolves a reference; other objects are returned as they are.
    pub(super) fn resolve(&self, object: &Object) -> Object {
        let mut found = match object {
            Object::Reference(number) => self.get(*number),
            // Copying it takes as long as it is large.
            other if self.effort.charge(other.size()) => return other.clone(),
            _ => return Object::Null,
        };
        for _ in 0..MAX_STEPS {
            match found {
                Object::Reference(number) => found = self.get(number),
                other => return other,
            }
        }
        Object::Null
    }

    /// Returns the object with this number.
    pub(super) fn get(&self, number: u32) -> Object {
        if !self.effort.charge(1) {
            return Object::Null;
        }
        let mut reader = match self.locations.get(&number) {
            Some(ObjectLocation::At(at, end)) => Reader::new(&self.bytes[..*end], *at),
            Some(ObjectLocation::In(stream, at)) => Reader::new(&self.unpacked[*stream], *at),
            None => return Object::Null,
        };
        let begun = reader.at;
        let object = reader.next();
        self.effort.charge(reader.at.saturating_sub(begun));
        object.unwrap_or(Object::Null)
    }

    /// Returns an entry of a dictionary with references resolved.
    pub(super) fn entry(&self, dictionary: &Dictionary, name: &[u8]) -> Object {
        dictionary.get(name).map_or(Object::Null, |object| self.resolve(object))
    }

    /// Decompresses the stream with this number; `None` if there is none, or if it has an image compression.
    pub(super) fn stream(&mut self, number: u32) -> Option<Vec<u8>> {
        let Some(ObjectLocation::At(at, end)) = self.locations.get(&number).copied() else { return None };
        if self.effort.is_over() {
            return None;
        }
        let mut reader = Reader::new(&self.bytes[..end], at);
        let Some(Object::Dictionary(dictionary)) = reader.next() else { return None };
        self.effort.charge(reader.at.saturating_sub(at));
        let raw = self.raw(&dictionary, reader.at)?;
        let filters = match self.entry(&dictionary, b"Filter") {
            Object::Name(name) => vec![name],
            Object::Array(names) => {
                names.iter().filter_map(|name| self.resolve(name).as_name().map(<[u8]>::to_vec)).collect()
            }
            _ => Vec::new(),
        };
        let mut data = Cow::Borrowed(raw);
        for filter in filters.iter().take(4) {
            if !self.effort.charge(data.len()) {
                return None;
            }
            let read = match filter.as_slice() {
                b"FlateDecode" | b"Fl" => self.inflate(&data),
                b"ASCIIHexDecode" | b"AHx" => self.counted(hexadecimal(self.allowed(&data))),
                b"ASCII85Decode" | b"A85" => self.counted(ascii85(self.allowed(&data))),
                _ => return None,
            };
            data = Cow::Owned(read);
        }
        Some(match data {
            Cow::Owned(data) => data,
            // Uncompressed streams count as well: any number of streams may be the same bytes.
            Cow::Borrowed(raw) => self.counted(self.allowed(raw).to_vec()),
        })
    }

    /// Returns as much of the data as may still be read.
    fn allowed<'d>(&self, data: &'d [u8]) -> &'d [u8] {
        &data[..data.len().min(self.left).min(MAX_UNPACKED.0)]
    }

    /// Counts data of a stream.
    fn counted(&mut self, data: Vec<u8>) -> Vec<u8> {
        self.left = self.left.saturating_sub(data.len());
        self.effort.charge(data.len());
        data
    }

    /// Returns the raw bytes of a stream.
    fn raw(&self, dictionary: &Dictionary, behind: usize) -> Option<&'b [u8]> {
        let rest = self.bytes.get(behind..)?;
        let blanks = rest.iter().take_while(|byte| is_blank(**byte)).count();
        let rest = rest.get(blanks..)?.strip_prefix(b"stream")?;
        let rest = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n")).unwrap_or(rest);
        let told = self.entry(dictionary, b"Length").as_count().and_then(|length| rest.get(..length));
        let is_right = |data: &&[u8]| {
            let after = &rest[data.len()..];
            let blanks = after.iter().take_while(|byte| is_blank(**byte)).count();
            after[blanks..].starts_with(b"endstream")
        };
        if let Some(told) = told.filter(is_right) {
            return Some(told);
        }
        let end = find(rest, b"endstream");
        self.effort.charge(end.unwrap_or(rest.len()));
        Some(&rest[..end?])
    }

    /// Decompresses data within the budget. Damaged data yields what precedes the damage.
    fn inflate(&mut self, data: &[u8]) -> Vec<u8> {
        let most = self.left.min(MAX_UNPACKED.0);
        let mut unpacked = Vec::new();
        // An error leaves the bytes decompressed before it.
        let _ = ZlibDecoder::new(data).take(most as u64).read_to_end(&mut unpacked);
        self.counted(unpacked)
    }

    fn unpack_object_streams(&mut self) {
        for number in self.numbers() {
            let Object::Dictionary(dictionary) = self.get(number) else { continue };
            if dictionary.get(b"Type".as_slice()).and_then(Object::as_name) != Some(b"ObjStm") {
                continue;
            }
            let first = self.entry(&dictionary, b"First").as_count().unwrap_or_default();
            let count = self.entry(&dictionary, b"N").as_count().unwrap_or_default();
            let Some(data) = self.stream(number) else { continue };
            self.effort.charge(data.len());
            let mut header = Reader::new(&data, 0);
            for _ in 0..count.min(MAX_OBJECTS) {
                let pair = (
                    header.next().and_then(|object| object.as_count()),
                    header.next().and_then(|object| object.as_count()),
                );
                let (Some(inner), Some(offset)) = pair else { break };
                let Ok(inner) = u32::try_from(inner) else { continue };
                if self.locations.len() < MAX_OBJECTS {
                    self.locations
                        .entry(inner)
                        .or_insert(ObjectLocation::In(self.unpacked.len(), first.saturating_add(offset)));
                }
            }
            self.unpacked.push(data);
        }
    }
}

/// Scans for `N G obj` and returns the locations by N; the last one counts, because updates are appended.
fn find_objects(bytes: &[u8]) -> HashMap<u32, ObjectLocation> {
    let mut found: Vec<(u32, usize)> = Vec::new();
    let mut from = 0;
    while let Some(at) = find(&bytes[from..], b"obj").map(|at| from + at) {
        from = at + 3;
        if let Some(number) = number_before(&bytes[..at])
            && found.len() < MAX_OBJECTS
        {
            found.push((number, from));
        }
    }
    let ends = found.iter().skip(1).map(|(_, next)| *next).chain([bytes.len()]);
    found.iter().zip(ends).map(|((number, start), end)| (*number, ObjectLocation::At(*start, end))).collect()
}

/// Returns the object number in front of an `obj`.
fn number_before(before: &[u8]) -> Option<u32> {
    let trimmed = |bytes: &[u8]| bytes.len() - bytes.iter().rev().take_while(|byte| is_blank(**byte)).count();
    let digits = |bytes: &[u8]| {
        bytes.len() - bytes.iter().rev().take(10).take_while(|byte| byte.is_ascii_digit()).count()
    };
    let generation_end = trimmed(before);
    let generation = digits(&before[..generation_end]);
    let number_end = trimmed(&before[..generation]);
    let number = digits(&before[..number_end]);
    if generation == generation_end || number_end == generation {
        return None;
    }
    std::str::from_utf8(&before[number..number_end]).ok()?.parse().ok()
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut from = 0;
    while let Some(at) = bytes.get(from..)?.iter().position(|byte| *byte == first).map(|at| from + at) {
        if bytes[at..].starts_with(wanted) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

fn hexadecimal(data: &[u8]) -> Vec<u8> {
    let digits: Vec<u8> =
        data.iter().take_while(|byte| **byte != b'>').filter_map(|byte| digit(*byte)).collect();
    digits.chunks(2).map(|pair| pair[0] * 16 + pair.get(1).copied().unwrap_or(0)).collect()
}

fn ascii85(data: &[u8]) -> Vec<u8> {
    let (mut out, mut group) = (Vec::new(), Vec::with_capacity(5));
    for byte in data.iter().take_while(|byte| **byte != b'~').filter(|byte| !is_blank(**byte)) {
        match byte {
            b'z' if group.is_empty() => out.extend([0; 4]),
            b'!'..=b'u' => group.push(byte - b'!'),
            _ => {}
        }
        if group.len() == 5 {
            out.extend(word(&group));
            group.clear();
        }
    }
    if group.len() > 1 {
        let length = group.len() - 1;
        group.resize(5, 84);
        out.extend(&word(&group)[..length]);
    }
    out
}

fn word(group: &[u8]) -> [u8; 4] {
    group.iter().fold(0u32, |word, digit| word.wrapping_mul(85).wrapping_add(u32::from(*digit))).to_be_bytes()
}
