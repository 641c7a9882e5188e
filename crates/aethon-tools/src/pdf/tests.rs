//! Ordinary documents, and hostile ones that try to stop the program.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::content::read;
use super::effort::Effort;
use crate::cancel::{self, Cancelled};

fn text(bytes: &[u8]) -> Result<String, String> {
    super::text(bytes, &Cancelled::default())
}

fn packed(data: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn stream(number: u32, data: &[u8]) -> Vec<u8> {
    let data = packed(data);
    let mut object =
        format!("{number} 0 obj\n<< /Filter /FlateDecode /Length {} >>\nstream\n", data.len()).into_bytes();
    object.extend(data);
    object.extend(b"\nendstream\nendobj\n");
    object
}

fn document(content: &[u8], map: &[u8]) -> Vec<u8> {
    let mut bytes = b"%PDF-1.7\n\
        1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n\
        2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 /Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >> endobj\n\
        3 0 obj << /Type /Page /Parent 2 0 R /Contents [4 0 R] >> endobj\n\
        5 0 obj << /Type /Font /Subtype /Type1 /Encoding << /Differences [65 /fi /germandbls] >> >> endobj\n\
        6 0 obj << /Type /Font /Subtype /Type0 /ToUnicode 7 0 R >> endobj\n"
        .to_vec();
    bytes.extend(stream(4, content));
    bytes.extend(stream(7, map));
    bytes.extend(b"trailer << /Root 1 0 R >>\n%%EOF");
    bytes
}

#[test]
fn drawn_text_becomes_lines() {
    let map = b"1 begincodespacerange <0000> <ffff> endcodespacerange\n\
        1 beginbfchar <0003> <0020> endbfchar\n2 beginbfrange <0010> <0012> <0061> <0020> <0021> [<00e4> <d83ddc1d>] endbfrange";
    let content = b"BT /F1 12 Tf 72 700 Td (Invoice \\(March\\)) Tj 0 -14 Td [(To)-300(tal: ) 20 (12)] TJ T* (A and B) Tj ET\n\
        BI /W 1 ID \x00(no text) Tj\xff EI\nBT /F2 12 Tf 1 0 0 1 72 500 Tm <001000110012000300200021> Tj ET";
    let text = text(&document(content, map)).unwrap();
    assert_eq!(text, "Invoice (March)\nTo tal: 12\nfi and ß\nabc ä\u{1f41d}\n");
}

#[test]
fn hostile_documents_come_to_an_end() {
    let bomb = vec![b' '; 20 << 20];
    assert!(text(&document(&bomb, b"")).is_err());
    let circles = b"%PDF-1.7 1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj 2 0 obj << /Kids [2 0 R 1 0 R 3 0 R] >> endobj 3 0 obj 3 0 R endobj";
    assert!(text(circles).is_err());
    let nested = [b"%PDF-1.7 1 0 obj ".as_slice(), &b"[".repeat(100_000), &b"<<".repeat(100_000)].concat();
    assert!(text(&nested).is_err());
    let encrypted = [document(b"BT (x) Tj ET", b""), b"trailer << /Encrypt 9 0 R >>".to_vec()].concat();
    assert!(text(&encrypted).unwrap_err().contains("encrypted"));
    assert!(text(b"%PDF-").is_err());
}

proptest::proptest! {
    #[test]
    fn any_content_is_read_to_its_end(content in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..400)) {
        let _ = text(&document(&content, &content));
        let _ = text(&content);
    }
}

/// A document of one page, whose objects from number 4 on are these.
fn one_page(objects: &str) -> Vec<u8> {
    let head =
        "%PDF-1.7\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Kids [3 0 R] >> endobj\n";
    let page = "3 0 obj << /Type /Page /Contents 4 0 R /Resources 5 0 R >> endobj\n";
    format!("{head}{page}{objects}\ntrailer << /Root 1 0 R >>").into_bytes()
}

fn plain(number: u32, data: &str) -> String {
    format!("{number} 0 obj << /Length {} >>\nstream\n{data}\nendstream endobj\n", data.len())
}

fn packed_object(number: u32, data: &[u8]) -> Vec<u8> {
    stream(number, data)
}

/// Small documents that ask for far more than they are.
fn hostile() -> Vec<(&'static str, Vec<u8>)> {
    let font = "5 0 obj << /Font << /F 6 0 R >> >> endobj\n6 0 obj << /Type /Font /Subtype /Type0 /ToUnicode 7 0 R >> endobj\n";
    let show = plain(4, "BT /F 1 Tf <0000> Tj ET");
    let with_map = |map: &[u8]| {
        let mut bytes = one_page(&format!("{font}{show}"));
        bytes.extend(packed_object(7, map));
        bytes
    };
    let overlapping = "<0000> <fffe> <0041> ".repeat(100_000) + "endbfrange";
    let arrays = format!("<0000> <ffff> [{}] endbfrange ", "<0041> ".repeat(20_000)).repeat(200);
    let fonts: String =
        (10..3_010).map(|n| format!("{n} 0 obj << /Subtype /Type0 /ToUnicode 7 0 R >> endobj\n")).collect();
    let names: String = (10..3_010).map(|n| format!("/F{n} {n} 0 R ")).collect();
    let uses: String = (10..3_010).map(|n| format!("/F{n} 1 Tf ")).collect();
    let mut many_fonts = one_page(&format!(
        "{}5 0 obj << /Font << {names} >> >> endobj\n{fonts}",
        plain(4, &format!("BT {uses} <0000> Tj ET"))
    ));
    many_fonts.extend(packed_object(7, b"<0000> <fffe> <0041> endbfrange"));
    let wide: String = (0..20_000).map(|n| format!("/F{n} 1 ")).collect();
    let wide = format!("5 0 obj << /Font << {wide} >> >> endobj\n");
    let mut lookups = one_page(&wide);
    lookups.extend(packed_object(4, &b"/A 1 Tf ".repeat(500_000)));
    let same = format!("4 0 obj [{}] endobj\n", "6 0 R ".repeat(90_000));
    let mut repeated = one_page(&format!("{same}{}", plain(6, &"(x) Tj ".repeat(100_000))));
    repeated.extend(b"5 0 obj << >> endobj");
    let nested: String =
        (0..60_000).map(|n| format!("{} 0 obj<</Type/ObjStm/First 0/N 0>>stream\n", n + 10)).collect();
    let forms = "/X Do ".repeat(60);
    let deep = format!(
        "{}5 0 obj << /XObject << /X 6 0 R >> >> endobj\n6 0 obj << /Subtype /Form /Length {} >>\nstream\n{forms}\nendstream endobj",
        plain(4, &forms),
        forms.len()
    );
    let long = format!("BT /F 1 Tf ({}) Tj ET", "A".repeat(4 << 20));
    let mut widening = one_page(font);
    widening.extend(packed_object(4, long.as_bytes()));
    widening.extend(packed_object(
        7,
        format!("<00> <ff> endcodespacerange <41> <{}> endbfchar", "4e00".repeat(16)).as_bytes(),
    ));
    vec![
        ("overlapping ranges of codes", with_map(overlapping.as_bytes())),
        ("ranges with lists of codes", with_map(arrays.as_bytes())),
        ("many fonts with one map", many_fonts),
        ("a wide dictionary looked up again and again", lookups),
        ("one content repeated", repeated),
        ("streams that all go to the end of the file", nested.into_bytes()),
        ("forms inside forms", one_page(&deep)),
        ("one long text of long characters", widening),
    ]
}

#[test]
fn a_document_takes_a_bounded_number_of_steps_whatever_it_refers_to() {
    // Fewer than usual, or this would take long.
    const STEPS: u64 = 2_000_000;
    /// A piece of work is charged for as a whole.
    const MAX_PIECE: u64 = 48 << 20;
    for (name, bytes) in hostile() {
        let begun = std::time::Instant::now();
        let (read, steps) = read(&bytes, Effort::of(STEPS, &Cancelled::default()));
        assert!(steps < STEPS + MAX_PIECE, "{name}: {steps} steps for {} bytes", bytes.len());
        assert!(begun.elapsed() < std::time::Duration::from_secs(15), "{name}: {:?}", begun.elapsed());
        assert!(read.is_err() || read.is_ok_and(|text| text.len() <= 9 << 20), "{name}");
    }
}

#[tokio::test]
async fn abandoned_reading_is_cancelled() {
    let map = "<0000> <fffe> <0041> ".repeat(100_000) + "endbfrange";
    let bytes = document(b"BT /F2 1 Tf <0000> Tj ET", map.as_bytes());
    let (ended, has_ended) = tokio::sync::oneshot::channel();
    let (began, has_begun) = tokio::sync::oneshot::channel();
    let reading = tokio::spawn(cancel::blocking(move |cancelled| {
        let _ = began.send(());
        let _ = read(&bytes, Effort::of(u64::MAX, cancelled));
        let _ = ended.send(cancelled.is_cancelled());
    }));
    has_begun.await.unwrap();
    reading.abort();
    assert!(has_ended.await.unwrap(), "it came to its end by itself");
}
