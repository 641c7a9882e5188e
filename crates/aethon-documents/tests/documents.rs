//! Sixty documents of ten kinds, each with the text that a person would find in it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    unreachable_pub,
    reason = "tests, and the functions that they share"
)]

mod common;

use common::packages::{book, line, open_document, package, paragraph, sheets, slides, word, word_with};
use common::pdfs::{HELVETICA, Pdf};
use common::{data, read};

/// Checks that each document has these words, in this order.
fn check(documents: &[(&str, Vec<u8>, &[&str])]) {
    for (name, bytes, words) in documents {
        let text = read(name, bytes).unwrap_or_else(|why| panic!("{name}: {why}"));
        let mut rest = text.as_str();
        for word in *words {
            let at = rest.find(word).unwrap_or_else(|| panic!("{name}: {word:?} is missing in {text}"));
            rest = &rest[at + word.len()..];
        }
    }
}

#[test]
fn word_documents() {
    let cell = |text: &str| format!("<w:tc>{}</w:tc>", paragraph(text));
    let table = format!(
        "<w:tbl><w:tr>{}{}</w:tr><w:tr>{}{}</w:tr></w:tbl>",
        cell("Item"),
        cell("Price"),
        cell("Tea"),
        cell("2")
    );
    let nested = format!("<w:tbl><w:tr><w:tc>{table}{}</w:tc>{}</w:tr></w:tbl>", paragraph("x"), cell("y"));
    let text_box = "<w:p><w:r><mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p>\
        </w:txbxContent></mc:Choice><mc:Fallback><w:t>boxed</w:t></mc:Fallback></mc:AlternateContent></w:r></w:p>";
    check(&[
        ("a.docx", word(&(paragraph("Grüße") + &paragraph("an 你好"))), &["Grüße\n\nan 你好\n"]),
        (
            "heading.docx",
            word("<w:p><w:pPr><w:pStyle w:val=\"Heading2\"/></w:pPr><w:r><w:t>Part</w:t></w:r></w:p>"),
            &["## Part"],
        ),
        ("table.docx", word(&table), &["| Item | Price |\n| --- | --- |\n| Tea | 2 |\n"]),
        ("nested.docx", word(&nested), &["| Item, Price; Tea, 2; x | y |"]),
        (
            "changes.docx",
            word(
                "<w:p><w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:r><w:t>!</w:t></w:r></w:p>",
            ),
            &["new!\n"],
        ),
        ("box.docx", word(text_box), &["boxed"]),
        (
            "link.docx",
            word("<w:p><w:hyperlink r:id=\"link\"><w:r><w:t>here</w:t></w:r></w:hyperlink></w:p>"),
            &["here <https://example.com/a>"],
        ),
        (
            "notes.docx",
            word_with(
                &(paragraph("body") + "<w:p><w:r><w:footnoteReference w:id=\"2\"/></w:r></w:p>"),
                &[
                    (
                        "footnotes",
                        "footnotes.xml",
                        &format!(
                            "<w:footnotes><w:footnote w:id=\"2\">{}</w:footnote></w:footnotes>",
                            paragraph("below")
                        ),
                    ),
                    ("header", "header1.xml", &format!("<w:hdr>{}</w:hdr>", paragraph("above"))),
                    (
                        "comments",
                        "comments.xml",
                        &format!(
                            "<w:comments><w:comment w:author=\"Eve\">{}</w:comment></w:comments>",
                            paragraph("why?")
                        ),
                    ),
                ],
            ),
            &["above", "body", "[note 2]", "## Footnotes", "[note 2] below", "## Comments", "Eve: why?"],
        ),
        (
            "list.docx",
            word(
                "<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>one</w:t></w:r></w:p><w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c &amp; d&#xe4;</w:t></w:r></w:p>",
            ),
            &["- one", "a\tb\nc & dä"],
        ),
        ("without-a-name", word(&paragraph("named by its content")), &["named by its content"]),
    ]);
}

#[test]
fn spreadsheets() {
    let row = |number: usize, cells: &str| format!("<row r=\"{number}\">{cells}</row>");
    let text =
        |place: &str, words: &str| format!("<c r=\"{place}\" t=\"inlineStr\"><is><t>{words}</t></is></c>");
    let plain = row(1, &(text("A1", "Item") + &text("B1", "Price")))
        + &row(2, &(text("A2", "Tea|pot") + "<c r=\"B2\"><v>0.30000000000000004</v></c>"));
    let dates = row(
        1,
        "<c r=\"A1\" s=\"1\"><v>46023</v></c><c r=\"B1\" t=\"b\"><v>1</v></c><c r=\"C1\" t=\"e\"><v>#DIV/0!</v></c>",
    );
    let far = row(1, &text("A1", "near")) + &row(1_048_576, &text("CV1048576", "far"));
    let formula = row(1, "<c r=\"A1\"><f>1+1</f><v>2</v></c>");
    let ods = "<office:spreadsheet><table:table table:name=\"Sheet\"><table:table-row><table:table-cell office:value-type=\"string\">\
        <text:p>Größe</text:p></table:table-cell><table:table-cell office:value-type=\"float\" office:value=\"7\"><text:p>7</text:p>\
        </table:table-cell></table:table-row></table:table></office:spreadsheet>";
    check(&[
        (
            "a.xlsx",
            sheets(&[("Preise", &plain)], &[]),
            &["## Sheet: Preise\n\n| Item | Price |\n| --- | --- |\n| Tea\\|pot | 0.3 |\n"],
        ),
        (
            "b.xlsx",
            sheets(&[("A", &row(1, "<c r=\"A1\" t=\"s\"><v>1</v></c>"))], &["x", "shared 你好"]),
            &["shared 你好"],
        ),
        ("c.xlsx", sheets(&[("A", &dates)], &[]), &["| 2026-01-01 | TRUE | #DIV/0! |"]),
        (
            "d.xlsx",
            sheets(&[("One", &plain), ("Two", &formula)], &[]),
            &["## Sheet: One", "## Sheet: Two", "| 2 |"],
        ),
        ("far.xlsx", sheets(&[("A", &far)], &[]), &["| near |", "| far |"]),
        ("empty.xlsx", sheets(&[("Empty", "")], &[]), &["## Sheet: Empty"]),
        ("a.ods", package_ods(ods), &["## Sheet: Sheet", "| Größe | 7 |"]),
        ("a.xls", data("old.xls"), &["## Sheet: Old", "| Name | Größe |", "| Ada | 42 |"]),
    ]);
}

fn package_ods(body: &str) -> Vec<u8> {
    open_document("spreadsheet", body)
}

#[test]
fn presentations() {
    let shape = |text: &str| format!("<p:sp>{}</p:sp>", line(text));
    let table = "<a:tbl><a:tr><a:tc><a:p><a:r><a:t>a</a:t></a:r></a:p></a:tc><a:tc><a:p><a:r><a:t>b</a:t></a:r></a:p></a:tc></a:tr></a:tbl>";
    let odp = "<office:presentation><draw:page draw:name=\"p\"><draw:frame><draw:text-box><text:p>Hello</text:p></draw:text-box></draw:frame>\
        </draw:page><draw:page><text:p>World</text:p></draw:page></office:presentation>";
    let order = slides(&[(&shape("first"), ""), (&shape("second"), "say more"), (&shape("third"), "")]);
    check(&[
        (
            "a.pptx",
            order,
            &["## Slide 1", "first", "## Slide 2", "second", "Notes:", "say more", "## Slide 3", "third"],
        ),
        ("b.pptx", slides(&[(table, "")]), &["| a | b |"]),
        ("c.pptx", slides(&[(&(shape("你好") + &shape("two lines")), "")]), &["你好\n", "two lines"]),
        (
            "d.pptx",
            slides(&[("", ""), (&shape("after an empty one"), "")]),
            &["## Slide 1", "## Slide 2", "after an empty one"],
        ),
        ("a.odp", open_document("presentation", odp), &["## Slide 1", "Hello", "## Slide 2", "World"]),
    ]);
}

#[test]
fn open_document_texts() {
    let odt = |body: &str| open_document("text", &format!("<office:text>{body}</office:text>"));
    check(&[
        (
            "a.odt",
            odt(
                "<text:h text:outline-level=\"2\">Part</text:h><text:p>Grüße <text:span>an</text:span> 你好</text:p>",
            ),
            &["## Part\n\nGrüße an 你好\n"],
        ),
        (
            "b.odt",
            odt(
                "<text:list><text:list-item><text:p>one</text:p></text:list-item><text:list-item><text:p>two</text:p></text:list-item></text:list>",
            ),
            &["- one\n- two\n"],
        ),
        (
            "c.odt",
            odt(
                "<table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell table:number-columns-repeated=\"2\"><text:p>b</text:p></table:table-cell></table:table-row></table:table>",
            ),
            &["| a | b |"],
        ),
        (
            "d.odt",
            odt("<text:p>a<text:s text:c=\"3\"/>b<text:tab/>c<text:line-break/>d</text:p>"),
            &["a   b\tc\nd"],
        ),
        (
            "e.odt",
            odt(
                "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes><text:p>kept\n   <text:a>here</text:a></text:p>",
            ),
            &["kept here"],
        ),
        (
            "f.odt",
            odt(
                "<text:p>word<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>below</text:p></text:note-body></text:note>.</text:p>",
            ),
            &["word [note: below ] ."],
        ),
    ]);
}

#[test]
fn books() {
    check(&[
        (
            "a.epub",
            book(&[
                ("one.xhtml", "<html><body><h1>Eins</h1><p>Grüße.</p></body></html>"),
                ("two.xhtml", "<p>Zwei</p>"),
            ]),
            &["Title: A Book\nAuthor: Ada\n", "[section 1]", "# Eins\n\nGrüße.", "[section 2]", "Zwei"],
        ),
        ("b.epub", book(&[("with%20space.xhtml", "<p>found</p>")]), &["found"]),
        ("c.epub", book(&[("a.xhtml", "<?xml version=\"1.0\" encoding=\"utf-8\"?><p>你好</p>")]), &["你好"]),
        ("d.epub", book(&[("a.xhtml", "<table><tr><td>a<td>b</table>")]), &["| a | b |"]),
    ]);
}

#[test]
fn rich_texts() {
    let rtf = |body: &[u8]| {
        [b"{\\rtf1\\ansi\\ansicpg1252\\deff0{\\fonttbl{\\f0\\fcharset0 A;}{\\f1\\fcharset204 B;}{\\f2\\fcharset128 C;}}", body, b"}"].concat()
    };
    check(&[
        ("a.rtf", rtf(b"Gr\\'fc\\'dfe\\par an alle\\par"), &["Grüße\n\nan alle\n"]),
        ("b.rtf", rtf(b"\\f1 \\'cf\\'f0\\'e8\\'e2\\'e5\\'f2\\f0  caf\\'e9"), &["Привет café"]),
        ("c.rtf", rtf(b"\\uc1\\u20320?\\u22909? \\u-10179?\\u-9187?!"), &["你好 \u{1f41d}!"]),
        (
            "d.rtf",
            rtf(b"before\\par\\trowd\\cellx1\\cellx2\\pard\\intbl Item\\cell Price\\cell\\row\\trowd\\cellx1\\cellx2\\pard\\intbl Tea\\cell 2\\cell\\row\\pard after\\par"),
            &["before\n\n| Item | Price |\n| --- | --- |\n| Tea | 2 |\n\nafter\n"],
        ),
        ("e.rtf", rtf(b"{\\*\\generator x;}{\\info{\\title hidden}}{\\field{\\*\\fldinst HYPERLINK}{\\fldrslt shown}}{\\pict 00ff}\\emdash"), &["shown—"]),
        ("f.rtf", rtf(b"\\f2 \\'90\\'bf\\'8b\\'81\\'8f\\'91"), &["請求書"]),
        ("g.rtf", rtf(b"{\\bin3 }}}a\\{b\\}\\~c\\line d"), &["a{b}\u{a0}c\nd"]),
    ]);
}

#[test]
fn pages() {
    check(&[
        (
            "a.html",
            b"<title>T</title><h1>Head</h1><p>one<p>two<script>x</script>".to_vec(),
            &["Title: T", "# Head\n\none\n\ntwo\n"],
        ),
        ("b.html", b"<meta charset=windows-1251><p>\xcf\xf0\xe8\xe2\xe5\xf2".to_vec(), &["Привет"]),
        (
            "c.html",
            b"<table><tr><th>a<th>b<tr><td>1<td>2</table>".to_vec(),
            &["| a | b |\n| --- | --- |\n| 1 | 2 |"],
        ),
        (
            "d.html",
            b"<ol><li>x<li>y</ol><a href='https://e.example/'>go</a>".to_vec(),
            &["1. x\n2. y\n", "go <https://e.example/>"],
        ),
        (
            "e.html",
            "<p style='display: none'>no</p><div>Größe&nbsp;&euro;</div>".as_bytes().to_vec(),
            &["Größe\u{a0}€"],
        ),
        (
            "f.htm",
            [b"\xff\xfe".to_vec(), "<p>weit</p>".encode_utf16().flat_map(u16::to_le_bytes).collect()]
                .concat(),
            &["weit"],
        ),
    ]);
}

#[test]
fn tables_and_plain_texts() {
    let wide = |text: &str, of: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(of).collect::<Vec<u8>>();
    let marked = |text: &str| [b"\xff\xfe".to_vec(), wide(text, u16::to_le_bytes)].concat();
    check(&[
        (
            "a.csv",
            b"Name;Gr\xf6\xdfe\nAda;1,5\n".to_vec(),
            &["| Name | Größe |\n| --- | --- |\n| Ada | 1,5 |"],
        ),
        ("b.csv", marked("Name\tGröße\nAda\t2"), &["| Name | Größe |", "| Ada | 2 |"]),
        ("c.csv", "a,b\n\"x\ny\",\"1,2\"".as_bytes().to_vec(), &["| x y | 1,2 |"]),
        ("d.tsv", wide("Name\tGröße\nAda\t3", u16::to_be_bytes), &["| Name | Größe |", "| Ada | 3 |"]),
        ("a.txt", b"Gr\xfc\xdfe \x80".to_vec(), &["Grüße €"]),
        ("b.txt", marked("Grüße\nПривет"), &["Grüße\nПривет"]),
        ("c.txt", wide("Grüße und mehr", u16::to_le_bytes), &["Grüße und mehr"]),
        ("d.txt", wide("Grüße und mehr", u16::to_be_bytes), &["Grüße und mehr"]),
        ("e.txt", b"\xef\xbb\xbfhi".to_vec(), &["hi"]),
    ]);
}

#[test]
fn pdfs() {
    let two = b"BT /F1 12 Tf 72 700 Td (one) Tj 0 -14 Td (two) Tj ET";
    check(&[
        ("a.pdf", Pdf::words("words"), &["words"]),
        ("b.pdf", Pdf::page(HELVETICA, two, &[]), &["one\ntwo"]),
        ("c.pdf", data("linearized.pdf"), &["LINEARWORDS"]),
        ("d.pdf", data("form.pdf"), &["Full name: Ada Lovelace"]),
        ("e.pdf", data("scanned.pdf"), &["--- page 2 ---", "Only here is text"]),
        ("f.pdf", data("table.pdf"), &["--- page 1 ---", "Item\tCount\tPrice"]),
        ("g.pdf", data("aes-256.pdf"), &["LOCKEDWORDS 42"]),
    ]);
}

#[test]
fn unknown_document_is_described_in_words() {
    let ole = |name: &str| {
        let wide: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        [b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec(), vec![0; 600], wide].concat()
    };
    for (name, bytes, why) in [
        ("a.doc", ole("WordDocument"), "an old file of Word; save it as .docx"),
        ("a.ppt", ole("PowerPoint Document"), "an old file of PowerPoint"),
        ("a.docx", ole("EncryptedPackage"), "it needs a password"),
        ("a.docx", package(&[("a.txt", b"x")]), "it is an archive"),
        ("a.pages", package(&[("Index/Document.iwa", b"x"), ("[Content_Types].xml", b"")]), "Apple"),
    ] {
        let told = read(name, &bytes).unwrap_err();
        assert!(told.contains(why), "{name}: {told}");
    }
}
