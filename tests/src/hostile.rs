//! Documents that are made to break their reader: small files that ask for far more than they are, that go in circles,
//! lie about their sizes, or break off.

use std::io::{Cursor, Write as _};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// The name and the bytes of each.
pub fn documents() -> Vec<(&'static str, Vec<u8>)> {
    let mut all = fonts();
    all.extend(streams());
    all.extend(circles());
    all.extend(lies());
    all.extend(archives());
    all.extend(markup());
    all
}

/// How many children of this process read documents.
pub fn readers(parent: u32) -> usize {
    let processes = std::fs::read_dir("/proc").expect("Linux").filter_map(Result::ok);
    let is_reader = |process: &std::path::Path| {
        let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
        let status = std::fs::read_to_string(process.join("status")).unwrap_or_default();
        line.windows(10).any(|window| window == b"__document")
            && status.contains(&format!("PPid:\t{parent}\n"))
    };
    processes.filter(|process| is_reader(&process.path())).count()
}

fn packed(data: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data).expect("memory");
    encoder.finish().expect("memory")
}

fn stream(number: usize, entries: &str, data: &[u8]) -> Vec<u8> {
    let mut object = format!("{number} 0 obj << {entries} /Length {} >>\nstream\n", data.len()).into_bytes();
    object.extend(data);
    object.extend(b"\nendstream endobj\n");
    object
}

fn packed_stream(number: usize, data: &[u8]) -> Vec<u8> {
    stream(number, "/Filter /FlateDecode", &packed(data))
}

/// A document of one page with these resources and this content. Its table of objects is missing, and is made good.
fn page(resources: &str, content: &[u8], more: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!(
        "%PDF-1.7\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj\n\
         3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << {resources} >> >> endobj\n"
    )
    .into_bytes();
    bytes.extend(packed_stream(4, content));
    more.iter().for_each(|object| bytes.extend(object));
    bytes.extend(b"trailer << /Root 1 0 R >>\n%%EOF\n");
    bytes
}

const FONT: &str = "/Font << /F 5 0 R >>";

fn composite(map: &[u8]) -> Vec<Vec<u8>> {
    let font = b"5 0 obj << /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /ToUnicode 7 0 R /DescendantFonts [<< \
        /Type /Font /Subtype /CIDFontType2 /BaseFont /X /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 \
        >> /FontDescriptor << /Type /FontDescriptor /FontName /X /Flags 4 >> >>] >> endobj\n"
        .to_vec();
    vec![font, packed_stream(7, map)]
}

fn fonts() -> Vec<(&'static str, Vec<u8>)> {
    let show = b"BT /F 12 Tf 72 700 Td <0000> Tj ET";
    let map = |ranges: &str| {
        format!("1 begincodespacerange <0000> <ffff> endcodespacerange\n1 beginbfrange {ranges} endbfrange")
    };
    let overlapping = map(&"<0000> <fffe> <0041> ".repeat(100_000));
    let lists = map(&format!("<0000> <ffff> [{}] ", "<0041> ".repeat(20_000)).repeat(100));
    let long = map(&format!("<0000> <ffff> <{}>", "4e00".repeat(4_000)));
    let many: Vec<u8> = format!("BT /F 1 Tf <{}> Tj ET", "0041".repeat(1_000_000)).into_bytes();
    let rubbish: Vec<u8> = (0..50_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let embedded = b"5 0 obj << /Type /Font /Subtype /TrueType /BaseFont /X /FirstChar 0 /LastChar 255 /FontDescriptor << /Type \
        /FontDescriptor /FontName /X /Flags 4 /FontFile2 8 0 R >> >> endobj\n"
        .to_vec();
    let itself = b"5 0 obj << /Type /Font /Subtype /Type3 /FontMatrix [1 0 0 1 0 0] /FontBBox [0 0 1 1] /FirstChar 65 /LastChar 65 \
        /Widths [1] /Encoding << /Differences [65 /a] >> /CharProcs << /a 8 0 R >> /Resources << /Font << /F 5 0 R >> >> >> endobj\n"
        .to_vec();
    vec![
        ("overlapping-ranges.pdf", page(FONT, show, &composite(overlapping.as_bytes()))),
        ("lists-of-codes.pdf", page(FONT, show, &composite(lists.as_bytes()))),
        ("long-meanings.pdf", page(FONT, &many, &composite(long.as_bytes()))),
        (
            "rubbish-font.pdf",
            page(FONT, b"BT /F 1 Tf (words) Tj ET", &[embedded, packed_stream(8, &rubbish)]),
        ),
        (
            "font-in-itself.pdf",
            page(FONT, b"BT /F 1 Tf (AA) Tj ET", &[itself, stream(8, "", b"BT /F 1 Tf (AA) Tj ET")]),
        ),
    ]
}

/// A document whose forms draw each other, and so take for ever.
pub fn long_lasting() -> Vec<u8> {
    let doubling: Vec<Vec<u8>> = (10..60)
        .map(|at| {
            let entries = format!(
                "/Type /XObject /Subtype /Form /BBox [0 0 1 1] /Resources << /XObject << /X {} 0 R >> >>",
                at + 1
            );
            stream(at, &entries, &b"/X Do ".repeat(8))
        })
        .collect();
    page("/XObject << /X 10 0 R >>", b"/X Do", &doubling)
}

fn streams() -> Vec<(&'static str, Vec<u8>)> {
    let bomb = packed(&packed(&vec![b' '; 512 << 20]));
    let bomb = stream(4, "/Filter [/FlateDecode /FlateDecode]", &bomb);
    let head = b"%PDF-1.7\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj\n\
        3 0 obj << /Type /Page /Parent 2 0 R /Contents 4 0 R >> endobj\n";
    let tail = b"trailer << /Root 1 0 R >>";
    let filters = stream(4, &format!("/Filter [{}]", "/FlateDecode ".repeat(20_000)), &packed(b"x"));
    let again = format!("4 0 obj [{}] endobj\n", "6 0 R ".repeat(90_000)).into_bytes();
    let again = [again, stream(6, "", &b"(x) Tj ".repeat(50_000))].concat();
    let forms = "/X Do ".repeat(60);
    let form = stream(
        6,
        "/Type /XObject /Subtype /Form /BBox [0 0 1 1] /Resources << /XObject << /X 6 0 R >> >>",
        forms.as_bytes(),
    );
    let inline = b"q BI /W 100000 /H 100000 /BPC 8 /CS /RGB ID x EI Q".repeat(50);
    let image = stream(
        6,
        "/Type /XObject /Subtype /Image /Width 2147483647 /Height 2147483647 /BitsPerComponent 8 /ColorSpace /DeviceRGB",
        b"x",
    );
    let whole = |object: &[u8]| [head.as_slice(), object, tail].concat();
    vec![
        ("packed-twice.pdf", whole(&bomb)),
        ("many-filters.pdf", whole(&filters)),
        ("one-content-again.pdf", whole(&again)),
        ("form-in-itself.pdf", page("/XObject << /X 6 0 R >>", forms.as_bytes(), &[form])),
        ("forms-that-double.pdf", long_lasting()),
        ("inline-images.pdf", page("", &inline, &[])),
        ("image-without-end.pdf", page("/XObject << /X 6 0 R >>", b"/X Do", &[image])),
    ]
}

fn circles() -> Vec<(&'static str, Vec<u8>)> {
    let pages = b"%PDF-1.7\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [2 0 R 1 0 R 5 0 R] /Parent 2 0 R \
        >> endobj 5 0 obj << /Type /Pages /Kids [2 0 R] >> endobj trailer << /Root 1 0 R >>"
        .to_vec();
    let table = b"%PDF-1.7\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\nxref\n0 1\n0000000000 65535 f \ntrailer << /Size 3 /Root 1 0 R /Prev 57 >>\nstartxref\n57\n%%EOF".to_vec();
    let reference =
        b"%PDF-1.7\n1 0 obj 1 0 R endobj 2 0 obj 3 0 R endobj 3 0 obj 2 0 R endobj trailer << /Root 1 0 R >>"
            .to_vec();
    let holders = b"%PDF-1.7\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj 9 0 obj << /Type /ObjStm /N 1 /First 4 /Extends 9 0 R /Length 5 0 R \
        >> stream\n9 0 << >> endstream endobj trailer << /Root 1 0 R >>"
        .to_vec();
    let fields = page("", b"", &[]);
    let fields = String::from_utf8_lossy(&fields).replace("/Type /Page ", "/Type /Page /Annots [9 0 R] ");
    let fields = [fields.as_bytes(), b"9 0 obj << /Subtype /Widget /T (a) /Parent 9 0 R >> endobj"].concat();
    let kids = "3 0 R ".repeat(300_000);
    let same = format!(
        "%PDF-1.7\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Count 2147483647 /Kids [{kids}] >> endobj\n\
         3 0 obj << /Type /Page /Parent 2 0 R >> endobj trailer << /Root 1 0 R >>"
    );
    let nested = [
        b"%PDF-1.7 1 0 obj ".as_slice(),
        &b"[".repeat(200_000),
        &b"<<".repeat(200_000),
        b" trailer << /Root 1 0 R >>",
    ]
    .concat();
    let operands = page("", &b"[".repeat(400_000), &[]);
    vec![
        ("pages-in-circles.pdf", pages),
        ("tables-in-circles.pdf", table),
        ("references-in-circles.pdf", reference),
        ("holder-in-itself.pdf", holders),
        ("fields-in-circles.pdf", fields),
        ("same-page-again.pdf", same.into_bytes()),
        ("deep-objects.pdf", nested),
        ("deep-operands.pdf", operands),
    ]
}

fn lies() -> Vec<(&'static str, Vec<u8>)> {
    let good = page(
        FONT,
        b"BT /F 1 Tf (words) Tj ET",
        &[b"5 0 obj << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> endobj\n".to_vec()],
    );
    let length = String::from_utf8_lossy(&good).replace("/Length ", "/Length 99999999");
    let holders: String =
        (0..60_000).map(|at| format!("{} 0 obj<</Type/ObjStm/First 0/N 0>>stream\n", at + 10)).collect();
    let random: Vec<u8> = (0..200_000_u32).map(|at| (at.wrapping_mul(2_246_822_519) >> 11) as u8).collect();
    vec![
        ("wrong-lengths.pdf", length.into_bytes()),
        ("broken-off.pdf", good[..good.len() / 2].to_vec()),
        ("only-its-beginning.pdf", b"%PDF-".to_vec()),
        ("noise.pdf", [b"%PDF-1.7\n".to_vec(), random.clone()].concat()),
        ("streams-without-end.pdf", [b"%PDF-1.7\n".to_vec(), holders.into_bytes()].concat()),
        ("noise.xls", [b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec(), random.clone()].concat()),
        ("noise.docx", [b"PK\x03\x04word/".to_vec(), random].concat()),
    ]
}

fn package(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        writer.start_file(*name, SimpleFileOptions::default()).expect("memory");
        writer.write_all(bytes).expect("memory");
    }
    writer.finish().expect("memory").into_inner()
}

fn word(document: &[u8]) -> Vec<u8> {
    package(&[("[Content_Types].xml", b"<Types/>"), ("word/document.xml", document)])
}

fn archives() -> Vec<(&'static str, Vec<u8>)> {
    let blanks = vec![b' '; 80 << 20];
    let mut inner = word(b"<w:p><w:t>inner</w:t></w:p>");
    for _ in 0..20 {
        inner = package(&[("[Content_Types].xml", b"<Types/>"), ("word/a.docx", &inner)]);
    }
    let names: Vec<String> = (0..60_000).map(|at| format!("word/{at}.xml")).collect();
    let many: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), b"x".as_slice())).collect();
    let mut lying = word(b"<w:p><w:t>words</w:t></w:p>");
    // The sizes in the directory at the end of the archive.
    if let Some(at) = lying.windows(4).rposition(|window| window == b"PK\x01\x02") {
        lying[at + 20..at + 28].copy_from_slice(&[0xff; 8]);
    }
    let chapter = b"<p>word ".repeat(100_000);
    let spine = "<itemref idref=\"c\"/>".repeat(5_000);
    let root = format!(
        "<package><manifest><item id=\"c\" href=\"c.xhtml\"/></manifest><spine>{spine}</spine></package>"
    );
    let container = b"<container><rootfile full-path=\"book.opf\"/></container>";
    let book = package(&[
        ("mimetype", b"application/epub+zip"),
        ("META-INF/container.xml", container),
        ("book.opf", root.as_bytes()),
        ("c.xhtml", &chapter),
    ]);
    let itself = package(&[
        ("mimetype", b"application/epub+zip"),
        (
            "META-INF/container.xml",
            b"<container><rootfile full-path=\"META-INF/container.xml\"/></container>",
        ),
    ]);
    vec![
        ("bomb.docx", word(&blanks)),
        ("nested.docx", inner),
        ("many-files.docx", package(&many)),
        ("lying-sizes.docx", lying),
        ("same-chapter-again.epub", book),
        ("book-in-itself.epub", itself),
    ]
}

fn markup() -> Vec<(&'static str, Vec<u8>)> {
    let mut entities = String::from("<!DOCTYPE w [<!ENTITY a \"lol\">");
    for (now, before) in ('b'..='j').zip('a'..='i') {
        entities.push_str(&format!("<!ENTITY {now} \"{}\">", format!("&{before};").repeat(10)));
    }
    let laughs = format!("{entities}]><w:p><w:t>&j;after</w:t></w:p>");
    let outside = "<!DOCTYPE w [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><w:p><w:t>&x;after</w:t></w:p>";
    let attributes: String = (0..300_000).map(|at| format!(" a{at}=\"1\"")).collect();
    let attributes = format!("<w:p><w:pStyle{attributes}/><w:t>after</w:t></w:p>");
    let deep = "<w:tbl><w:tr><w:tc>".repeat(200_000);
    let sheet = "<worksheet><dimension ref=\"A1:XFD1048576\"/><sheetData><row r=\"1048576\"><c r=\"XFD1048576\"><v>1</v></c></row></sheetData></worksheet>";
    let xlsx = package(&[
        ("[Content_Types].xml", b"<Types/>"),
        ("_rels/.rels", b"<Relationships><Relationship Id=\"b\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"),
        ("xl/workbook.xml", b"<workbook xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"><sheets><sheet name=\"A\" sheetId=\"1\" r:id=\"r\"/></sheets></workbook>"),
        ("xl/_rels/workbook.xml.rels", b"<Relationships><Relationship Id=\"r\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet\" Target=\"worksheets/sheet1.xml\"/></Relationships>"),
        ("xl/worksheets/sheet1.xml", sheet.as_bytes()),
    ]);
    let ods = b"<office:document-content xmlns:table=\"urn:oasis:names:tc:opendocument:xmlns:table:1.0\"><office:body><office:spreadsheet>\
        <table:table table:name=\"A\"><table:table-row table:number-rows-repeated=\"1048576\"><table:table-cell office:value-type=\"string\" \
        table:number-columns-repeated=\"16384\"><text:p>x</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet>\
        </office:body></office:document-content>";
    let ods =
        package(&[("mimetype", b"application/vnd.oasis.opendocument.spreadsheet"), ("content.xml", ods)]);
    let odt = b"<office:text><text:p>a<text:s text:c=\"4294967295\"/>b</text:p></office:text>";
    let odt = package(&[("mimetype", b"application/vnd.oasis.opendocument.text"), ("content.xml", odt)]);
    let rtf = [b"{\\rtf1 ".to_vec(), b"{".repeat(2_000_000)].concat();
    vec![
        ("entities.docx", word(laughs.as_bytes())),
        ("outside-entity.docx", word(outside.as_bytes())),
        ("attributes.docx", word(attributes.as_bytes())),
        ("deep-tables.docx", word(deep.as_bytes())),
        ("far-cell.xlsx", xlsx),
        ("repeated-cells.ods", ods),
        ("repeated-blanks.odt", odt),
        ("deep-groups.rtf", rtf),
        ("skips-far.rtf", b"{\\rtf1 words\\bin2147483647 x}".to_vec()),
    ]
}
