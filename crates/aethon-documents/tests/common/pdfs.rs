//! Writes small PDFs, with their tables of objects, in revisions if need be.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

pub fn packed(data: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// A PDF that is being written.
pub struct Pdf {
    bytes: Vec<u8>,
    /// Where the last table of objects begins.
    last_table: Option<usize>,
    size: usize,
}

/// A stream that is not packed.
pub fn stream(entries: &str, data: &[u8]) -> Vec<u8> {
    let mut object = format!("<< {entries} /Length {} >>\nstream\n", data.len()).into_bytes();
    object.extend(data);
    object.extend(b"\nendstream");
    object
}

/// A stream that is packed.
pub fn packed_stream(entries: &str, data: &[u8]) -> Vec<u8> {
    stream(&format!("{entries} /Filter /FlateDecode"), &packed(data))
}

impl Pdf {
    pub fn new() -> Self {
        Self { bytes: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n".to_vec(), last_table: None, size: 1 }
    }

    /// A document of one page, which draws this with the fonts of these entries; the objects follow from 5 on.
    pub fn page(fonts: &str, content: &[u8], more: &[(usize, Vec<u8>)]) -> Vec<u8> {
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << {fonts} >> >> >>"
        );
        let mut objects = vec![
            (1, b"<< /Type /Catalog /Pages 2 0 R >>".to_vec()),
            (2, b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec()),
            (3, page.into_bytes()),
            (4, stream("", content)),
        ];
        objects.extend(more.iter().cloned());
        let mut pdf = Self::new();
        pdf.revision(&objects);
        pdf.finish()
    }

    /// A document of one page with a line in Helvetica.
    pub fn words(words: &str) -> Vec<u8> {
        let content = format!("BT /F1 12 Tf 72 700 Td ({words}) Tj ET");
        Self::page(HELVETICA, content.as_bytes(), &[])
    }

    /// Adds a revision with a classic table.
    pub fn revision(&mut self, objects: &[(usize, Vec<u8>)]) {
        let places = self.objects(objects);
        let table = self.bytes.len();
        self.bytes.extend(b"xref\n0 1\n0000000000 65535 f \n");
        for (number, place) in places {
            self.bytes.extend(format!("{number} 1\n{place:010} 00000 n \n").bytes());
        }
        let before = self.last_table.map(|at| format!("/Prev {at}")).unwrap_or_default();
        let trailer =
            format!("trailer << /Size {} /Root 1 0 R {before} >>\nstartxref\n{table}\n%%EOF\n", self.size);
        self.bytes.extend(trailer.bytes());
        self.last_table = Some(table);
    }

    /// Adds a revision whose objects stand packed in a stream, with the table in another one.
    pub fn packed_revision(&mut self, objects: &[(usize, Vec<u8>)], holder: usize) {
        let (mut head, mut body) = (String::new(), Vec::new());
        for (number, object) in objects {
            head.push_str(&format!("{number} {} ", body.len()));
            body.extend(object);
            body.push(b'\n');
        }
        let first = head.len();
        let data = [head.into_bytes(), body].concat();
        let holding = packed_stream(&format!("/Type /ObjStm /N {} /First {first}", objects.len()), &data);
        let place = self.objects(&[(holder, holding)])[0].1;
        let table = self.bytes.len();
        let own = holder + 1;
        self.size = self.size.max(own + 1);
        let mut rows: Vec<(usize, [u8; 6])> = Vec::new();
        for (index, (number, _)) in objects.iter().enumerate() {
            let holder = u32::try_from(holder).unwrap().to_be_bytes();
            rows.push((
                *number,
                [2, holder[0], holder[1], holder[2], holder[3], u8::try_from(index).unwrap()],
            ));
        }
        for (number, place) in [(holder, place), (own, table)] {
            let place = u32::try_from(place).unwrap().to_be_bytes();
            rows.push((number, [1, place[0], place[1], place[2], place[3], 0]));
        }
        rows.sort_by_key(|(number, _)| *number);
        let index: String = rows.iter().map(|(number, _)| format!("{number} 1 ")).collect();
        let data: Vec<u8> = rows.iter().flat_map(|(_, row)| *row).collect();
        let before = self.last_table.map(|at| format!("/Prev {at}")).unwrap_or_default();
        let entries =
            format!("/Type /XRef /Size {} /Root 1 0 R /W [1 4 1] /Index [{index}] {before}", self.size);
        self.bytes.extend(format!("{own} 0 obj\n").bytes());
        self.bytes.extend(packed_stream(&entries, &data));
        self.bytes.extend(format!("\nendobj\nstartxref\n{table}\n%%EOF\n").bytes());
        self.last_table = Some(table);
    }

    fn objects(&mut self, objects: &[(usize, Vec<u8>)]) -> Vec<(usize, usize)> {
        let mut places = Vec::new();
        for (number, object) in objects {
            places.push((*number, self.bytes.len()));
            self.size = self.size.max(number + 1);
            self.bytes.extend(format!("{number} 0 obj\n").bytes());
            self.bytes.extend(object);
            self.bytes.extend(b"\nendobj\n");
        }
        places
    }

    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// The entry of a font that every reader knows.
pub const HELVETICA: &str =
    "/F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>";

/// The entry of an East Asian font with a standard encoding, which is not embedded and has no explanation.
pub fn cjk(encoding: &str, ordering: &str) -> String {
    format!(
        "/F1 << /Type /Font /Subtype /Type0 /BaseFont /Song /Encoding /{encoding} /DescendantFonts [<< /Type /Font \
         /Subtype /CIDFontType0 /BaseFont /Song /CIDSystemInfo << /Registry (Adobe) /Ordering ({ordering}) /Supplement 2 \
         >> /FontDescriptor << /Type /FontDescriptor /FontName /Song /Flags 4 >> >>] >> {HELVETICA_2}"
    )
}

const HELVETICA_2: &str =
    "/F2 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>";
