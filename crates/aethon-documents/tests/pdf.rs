//! PDFs, by the cases in which readers have read old, other or no words.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    unreachable_pub,
    reason = "tests, and the functions that they share"
)]

mod common;

use common::pdfs::{HELVETICA, Pdf, cjk, packed_stream, stream};
use common::{data, read};

fn text(bytes: &[u8]) -> String {
    read("a.pdf", bytes).unwrap()
}

fn hex(bytes: impl IntoIterator<Item = u8>) -> String {
    bytes.into_iter().map(|byte| format!("{byte:02x}")).collect()
}

fn page(content: usize) -> Vec<u8> {
    let page = format!(
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {content} 0 R /Resources << /Font << {HELVETICA} >> >> >>"
    );
    page.into_bytes()
}

fn line(words: &str) -> Vec<u8> {
    stream("", format!("BT /F1 12 Tf 72 700 Td ({words}) Tj ET").as_bytes())
}

/// The objects of a document of one page.
fn first(content: Vec<u8>) -> Vec<(usize, Vec<u8>)> {
    vec![
        (1, b"<< /Type /Catalog /Pages 2 0 R >>".to_vec()),
        (2, b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec()),
        (3, page(4)),
        (4, content),
    ]
}

#[test]
fn newest_revision_counts() {
    let revise = |change: &dyn Fn(&mut Pdf)| {
        let mut pdf = Pdf::new();
        pdf.revision(&first(line("OLDWORDS")));
        change(&mut pdf);
        pdf.finish()
    };
    let in_table = revise(&|pdf| pdf.revision(&[(4, line("NEWWORDS"))]));
    let page_in_stream = revise(&|pdf| {
        pdf.revision(&[(5, line("NEWWORDS"))]);
        pdf.packed_revision(&[(3, page(5))], 6);
    });
    let twice = revise(&|pdf| {
        pdf.revision(&[(5, line("OLDERWORDS"))]);
        pdf.packed_revision(&[(3, page(5))], 6);
        pdf.revision(&[(8, line("NEWWORDS"))]);
        pdf.packed_revision(&[(3, page(8))], 9);
    });
    let tree_in_stream = revise(&|pdf| {
        pdf.revision(&[(5, line("NEWWORDS"))]);
        pdf.packed_revision(&[(2, b"<< /Type /Pages /Kids [7 0 R] /Count 1 >>".to_vec()), (7, page(5))], 8);
    });
    for (name, bytes) in [
        ("an object in a table", in_table),
        ("the page in a stream of objects", page_in_stream),
        ("the page in streams of objects, twice", twice),
        ("the tree of pages in a stream of objects", tree_in_stream),
    ] {
        assert_eq!(text(&bytes).trim(), "NEWWORDS", "{name}");
    }
}

#[test]
fn pdf_inside_a_pdf_is_not_read_in_its_place() {
    let inner = Pdf::words("INNERWORDS");
    let mut pdf = Pdf::new();
    let mut objects = first(line("OUTERWORDS"));
    objects[0].1 =
        b"<< /Type /Catalog /Pages 2 0 R /Names << /EmbeddedFiles << /Names [(a.pdf) 5 0 R] >> >> >>"
            .to_vec();
    objects.push((5, b"<< /Type /Filespec /F (a.pdf) /EF << /F 6 0 R >> >>".to_vec()));
    objects.push((6, stream("/Type /EmbeddedFile", &inner)));
    pdf.revision(&objects);
    assert_eq!(text(&pdf.finish()).trim(), "OUTERWORDS");
}

#[test]
fn form_fields_are_read_with_their_newest_values() {
    let widget = |value: &str| {
        format!(
            "<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V ({value}) /Rect [72 600 200 620] /P 3 0 R >>"
        )
    };
    let mut objects = first(line("Form"));
    objects[0].1 = b"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [5 0 R] >> >>".to_vec();
    objects[2].1 = String::from_utf8(page(4))
        .unwrap()
        .replace("/Type /Page ", "/Type /Page /Annots [5 0 R] ")
        .into_bytes();
    objects.push((5, widget("OLDNAME").into_bytes()));
    let mut pdf = Pdf::new();
    pdf.revision(&objects);
    pdf.packed_revision(&[(5, widget("NEWNAME").into_bytes())], 6);
    assert_eq!(text(&pdf.finish()), "Form\n\nname: NEWNAME\n");
    let made = text(&data("form.pdf"));
    assert!(made.contains("Full name: Ada Lovelace") && made.contains("I agree: [x]"), "{made}");
}

#[test]
fn fields_inherit_choose_and_are_signed() {
    let fields = [
        "<< /Subtype /Widget /Parent 20 0 R /T (given) >>",
        "<< /Subtype /Widget /FT /Ch /T (fruit) /V [(apple) (pear)] >>",
        "<< /Subtype /Widget /FT /Sig /T (signature) /V << /Type /Sig >> >>",
        "<< /Subtype /Widget /FT /Btn /T (yes) /AS /Off >>",
        "<< /Subtype /Widget /FT /Tx /T (hidden) /V (x) /F 2 >>",
        "<< /Subtype /Text /Contents <feff00e400620063> >>",
    ];
    let numbers: String = (0..fields.len()).map(|at| format!("{} 0 R ", at + 5)).collect();
    let mut objects = first(line("Form"));
    objects[2].1 = String::from_utf8(page(4))
        .unwrap()
        .replace("/Type /Page ", &format!("/Type /Page /Annots [{numbers}] "))
        .into_bytes();
    objects.extend(fields.iter().enumerate().map(|(at, field)| (at + 5, field.as_bytes().to_vec())));
    objects.push((20, b"<< /T (person) /FT /Tx /V (Ada) >>".to_vec()));
    let mut pdf = Pdf::new();
    pdf.revision(&objects);
    let expected =
        "Form\n\nperson.given: Ada\nfruit: apple, pear\nsignature: (signed)\nyes: [ ]\n[note: äbc]\n";
    assert_eq!(text(&pdf.finish()), expected);
}

#[test]
fn encrypted_documents_with_an_empty_password_are_read() {
    for name in ["rc4-40", "rc4-128", "aes-128", "aes-256"] {
        let read = text(&data(&format!("{name}.pdf")));
        assert_eq!(read.trim(), "LOCKEDWORDS 42", "{name}");
    }
    assert!(text(&data("restricted.pdf")).contains("Rechnung Nr. 17"));
    for name in ["aes-256-password", "encrypted"] {
        let why = read("a.pdf", &data(&format!("{name}.pdf"))).unwrap_err();
        assert_eq!(why, "it needs a password", "{name}");
    }
}

#[test]
fn east_asian_standard_encodings_are_read_without_an_explanation() {
    let utf_16 = |text: &str| hex(text.encode_utf16().flat_map(u16::to_be_bytes));
    for (encoding, ordering, words, codes) in [
        ("UniGB-UCS2-H", "GB1", "你好", utf_16("你好")),
        ("UniGB-UTF16-H", "GB1", "发票", utf_16("发票")),
        ("GBK-EUC-H", "GB1", "发票", hex([0xb7, 0xa2, 0xc6, 0xb1])),
        ("GB-EUC-H", "GB1", "发票", hex([0xb7, 0xa2, 0xc6, 0xb1])),
        ("UniCNS-UTF16-H", "CNS1", "發票", utf_16("發票")),
        ("ETen-B5-H", "CNS1", "發票", hex([0xb5, 0x6f, 0xb2, 0xbc])),
        ("UniJIS-UTF16-H", "Japan1", "請求書", utf_16("請求書")),
        ("UniJIS-UCS2-H", "Japan1", "請求書", utf_16("請求書")),
        ("90ms-RKSJ-H", "Japan1", "請求書", hex([0x90, 0xbf, 0x8b, 0x81, 0x8f, 0x91])),
        ("EUC-H", "Japan1", "請求書", hex([0xc0, 0xc1, 0xb5, 0xe1, 0xbd, 0xf1])),
        ("UniKS-UTF16-H", "Korea1", "계산서", utf_16("계산서")),
        ("KSCms-UHC-H", "Korea1", "계산서", hex([0xb0, 0xe8, 0xbb, 0xea, 0xbc, 0xad])),
    ] {
        let content =
            format!("BT /F1 12 Tf 72 700 Td <{codes}> Tj ET BT /F2 12 Tf 72 680 Td (Total 42) Tj ET");
        let bytes = Pdf::page(&cjk(encoding, ordering), content.as_bytes(), &[]);
        assert_eq!(text(&bytes).trim(), format!("{words}\nTotal 42"), "{encoding}");
    }
}

#[test]
fn characters_without_meaning_are_counted() {
    let font = cjk("Identity-H", "Identity");
    let content = b"BT /F1 12 Tf 72 700 Td <00030004> Tj ET BT /F2 12 Tf 72 680 Td (Total 42) Tj ET";
    let read = text(&Pdf::page(&font, content, &[]));
    assert!(read.contains("Total 42") && read.contains("2 characters have no known meaning"), "{read}");
}

#[test]
fn pages_without_text_are_noted() {
    let read = text(&data("scanned.pdf"));
    assert!(read.contains("--- page 2 ---\n\nOnly here is text"), "{read}");
    assert!(read.contains("[2 of 3 pages have pictures only and no text.]"), "{read}");
    let blank = Pdf::page(HELVETICA, b"", &[]);
    assert_eq!(text(&blank).trim(), "[1 of 1 page has no text.]\n[The document has no text.]");
}

#[test]
fn documents_of_many_programs_are_read() {
    for name in ["cid-fonts", "object-streams"] {
        let read = text(&data(&format!("{name}.pdf")));
        for part in [
            "--- page 2 ---",
            "Rechnung Nr. 17 für Ada: 1 234,50 €",
            "Žluťoučký kůň — Ελληνικά — Привет",
            "office 3.14",
        ] {
            assert!(read.contains(part), "{part} is missing in {name}: {read}");
        }
    }
    assert_eq!(text(&data("linearized.pdf")).trim(), "LINEARWORDS");
    let table = text(&data("table.pdf"));
    assert!(table.contains("Item\tCount\tPrice\nApples\t3\t1.20\nPears\t12\t4.80\n"), "{table}");
    assert!(table.contains("Second page turned"), "{table}");
}

#[test]
fn drawn_text_becomes_lines() {
    let map = b"1 begincodespacerange <0000> <ffff> endcodespacerange\n\
        1 beginbfchar <0003> <0020> endbfchar\n2 beginbfrange <0010> <0012> <0061> <0020> <0021> [<00e4> <d83ddc1d>] endbfrange";
    let content = b"BT /F1 12 Tf 72 700 Td (Invoice \\(March\\)) Tj 0 -14 Td [(To)-300(tal: ) 20 (12)] TJ T* ET\n\
        q 10 0 0 10 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID \x00\nEI Q\nBT /F2 12 Tf 1 0 0 1 72 500 Tm <001000110012000300200021> Tj ET";
    let fonts = format!(
        "{HELVETICA} /F2 << /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /ToUnicode 7 0 R /DescendantFonts \
         [<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) \
         /Supplement 0 >> /FontDescriptor << /Type /FontDescriptor /FontName /X /Flags 4 >> >>] >>"
    );
    let bytes = Pdf::page(&fonts, content, &[(7, packed_stream("", map))]);
    assert_eq!(text(&bytes), "Invoice (March)\nTo tal: 12\n\nabc ä\u{1f41d}\n");
}

#[test]
fn damaged_tables_of_objects_are_made_good() {
    let good = Pdf::words("WORDS");
    let cut = &good[..good.len() - 40];
    assert_eq!(text(cut).trim(), "WORDS", "without its end");
    let shifted = [b"junk before it\n".to_vec(), good.clone()].concat();
    assert_eq!(text(&shifted).trim(), "WORDS", "with junk before it");
    let wrong = String::from_utf8_lossy(&good).replace("startxref\n", "startxref\n9");
    assert_eq!(text(wrong.as_bytes()).trim(), "WORDS", "with a wrong place");
}
