//! Whole mails, as programs write them: every word of the person arrives, in order, and those of others are kept apart.

use super::head::Head;
use super::letter::Letter;

/// A mail, its sender's words (without the subject of a first mail), and what another person wrote in it.
struct Row {
    name: &'static str,
    mail: &'static str,
    own: &'static str,
    /// Words that are passed on; none if empty.
    others: &'static str,
    /// The names of its files.
    files: &'static [&'static str],
}

const fn row(name: &'static str, own: &'static str, mail: &'static str) -> Row {
    Row { name, mail, own, others: "", files: &[] }
}

impl Row {
    const fn with_files(self, files: &'static [&'static str]) -> Self {
        Self { files, ..self }
    }

    const fn passing_on(self, others: &'static str) -> Self {
        Self { others, ..self }
    }

    fn check(&self) {
        let mail = self.mail.replace('\n', "\r\n");
        let letter = Letter::read(mail.as_bytes(), &Head::read(mail.as_bytes()), "<stand@in>");
        let files: Vec<&str> = letter.files.iter().map(|file| file.name.as_str()).collect();
        let others = letter.words.passed_on.clone().unwrap_or_default();
        assert_eq!(letter.words.own, self.own, "{}: {letter:?}", self.name);
        assert!(others.is_empty() == self.others.is_empty(), "{}: {others}", self.name);
        assert!(others.contains(self.others), "{}: {others}", self.name);
        assert_eq!(files, self.files, "{}", self.name);
    }
}

const JPEG: &str = "--b\nContent-Type: image/jpeg; name=\"IMG_1.jpg\"\nContent-Disposition: inline; filename=\"IMG_1.jpg\"\n\
                    Content-Transfer-Encoding: base64\n\n/9j/4AAQSkZJRg==\n";

#[test]
fn words_around_pictures_and_files_arrive_in_order() {
    let head = "Subject: s\nContent-Type: multipart/mixed; boundary=b\n\n";
    let text = |text: &str| format!("--b\nContent-Type: text/plain; charset=us-ascii\n\n{text}\n");
    let page = |text: &str| format!("--b\nContent-Type: text/html; charset=utf-8\n\n{text}\n");
    let pdf = "--b\nContent-Type: application/pdf; name=a.pdf\nContent-Disposition: inline; filename=a.pdf\n\
               Content-Transfer-Encoding: base64\n\nJVBERg==\n";
    for (name, parts, own, files) in [
        ("photo, then words", vec![JPEG.to_owned(), text("What is this?")], "What is this?", vec!["IMG_1.jpg"]),
        ("words, photo, words", vec![text("Look:"), JPEG.to_owned(), text("What is it?")], "Look:\n\nWhat is it?", vec!["IMG_1.jpg"]),
        ("words, two photos, words", vec![text("a"), JPEG.to_owned(), JPEG.replace("IMG_1", "IMG_2"), text("b")], "a\n\nb", vec!["IMG_1.jpg", "IMG_2.jpg"]),
        ("blank, photo, words", vec![text(""), JPEG.to_owned(), text("words")], "words", vec!["IMG_1.jpg"]),
        ("HTML, PDF, HTML", vec![page("<html><body>First.</body></html>"), pdf.to_owned(), page("<p>Last.</p>")], "First.\n\nLast.", vec!["a.pdf"]),
        ("PDF, HTML", vec![pdf.to_owned(), page("<b>Only this.</b>")], "Only this.", vec!["a.pdf"]),
        ("words, HTML", vec![text("one"), page("<p>two</p>")], "one\n\ntwo", vec![]),
        ("nothing but a photo", vec![JPEG.to_owned()], "", vec!["IMG_1.jpg"]),
        (
            "words beside a text file",
            vec![text("Read it."), "--b\nContent-Type: text/plain; name=notes.txt\nContent-Disposition: inline; filename=notes.txt\n\nthe notes\n".to_owned()],
            "Read it.",
            vec!["notes.txt"],
        ),
        (
            "words beside a page as a file",
            vec![text("Read it."), "--b\nContent-Type: text/html\nContent-Disposition: attachment; filename=page.html\n\n<p>x\n".to_owned()],
            "Read it.",
            vec!["page.html"],
        ),
        (
            "a signature of three programs",
            vec![text("Words."), "--b\nContent-Type: application/pgp-signature; name=s.asc\n\nx\n".to_owned()],
            "Words.",
            vec![],
        ),
        (
            "a part without a type",
            vec!["--b\n\nfirst\n".to_owned(), JPEG.to_owned(), "--b\n\nsecond\n".to_owned()],
            "first\n\nsecond",
            vec!["IMG_1.jpg"],
        ),
        (
            "a nested multipart",
            vec!["--b\nContent-Type: multipart/mixed; boundary=c\n\n--c\n\none\n--c\n\ntwo\n--c--\n".to_owned(), text("three")],
            "one\n\ntwo\n\nthree",
            vec![],
        ),
        (
            "a signed one",
            vec!["--b\nContent-Type: multipart/signed; boundary=c\n\n--c\n\nsigned words\n--c\nContent-Type: application/pkcs7-signature; name=smime.p7s\n\nx\n--c--\n".to_owned()],
            "signed words",
            vec![],
        ),
        (
            "a related one",
            vec!["--b\nContent-Type: multipart/related; boundary=c\n\n--c\nContent-Type: text/html\n\n<p>See <img src=cid:1> this</p>\n--c\nContent-Type: image/png\nContent-ID: <1>\nContent-Transfer-Encoding: base64\n\niVBORw0=\n--c--\n".to_owned()],
            "See this",
            vec![],
        ),
    ] {
        let mail = format!("{head}{}--b--\n", parts.concat()).replace('\n', "\r\n");
        let letter = Letter::read(mail.as_bytes(), &Head::read(mail.as_bytes()), "<stand@in>");
        let found: Vec<&str> = letter.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!((letter.words.own.as_str(), found), (own, files), "{name}: {letter:?}");
    }
}

#[test]
fn better_one_of_two_alternatives_is_read() {
    for (name, plain, page, own) in [
        ("a blank plain part", " ", "<p>All of it.</p>", "All of it."),
        ("no-break blanks", "\u{a0}\n\u{a0}", "<p>All of it.</p>", "All of it."),
        ("invisible characters", "\u{200b}\u{feff}\u{34f}\u{ad}", "<p>All of it.</p>", "All of it."),
        (
            "a note about HTML",
            "Your program does not display HTML.",
            "<p>Dinner at eight, bring wine and bread.</p>",
            "Dinner at eight, bring wine and bread.",
        ),
        (
            "half of it",
            "Dear Ada,",
            "<p>Dear Ada,</p><p>dinner at eight, bring wine and bread please.</p>",
            "Dear Ada,\n\ndinner at eight, bring wine and bread please.",
        ),
        (
            "addresses only in HTML",
            "Click here",
            "<a href=\"https://a.example/x\">Click here</a>",
            "Click here (https://a.example/x)",
        ),
        (
            "addresses in both",
            "Click here https://a.example/x",
            "<a href=\"https://a.example/x\">Click here</a>",
            "Click here https://a.example/x",
        ),
        ("the same", "Just *this*.", "<p>Just <b>this</b>.</p>", "Just *this*."),
        ("a blank page", "Just this.", "<html><body>&nbsp;</body></html>", "Just this."),
        ("Chinese", "请买牛奶，谢谢。", "<p>请买牛奶，谢谢。</p>", "请买牛奶，谢谢。"),
        (
            "cells",
            " ",
            "<table><tr><td>c1</td><td>c2</td></tr></table><ul><li>l1<li>l2</ul>",
            "c1 | c2\n- l1\n- l2",
        ),
        (
            "a hidden preheader",
            " ",
            "<div style=\"display:none\">Preview text</div><p>The words.</p>",
            "The words.",
        ),
    ] {
        let mail = format!(
            "Subject: s\r\nContent-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n\
             {plain}\r\n--b\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{page}\r\n--b--\r\n"
        );
        let letter = Letter::read(mail.as_bytes(), &Head::read(mail.as_bytes()), "<stand@in>");
        assert_eq!(letter.words.own, own, "{name}: {letter:?}");
    }
}

#[test]
fn files_within_an_alternative_are_kept() {
    row(
        "Apple Mail",
        "First.\n\nLast.",
        "Subject: s\nContent-Type: multipart/alternative; boundary=a\n\n--a\nContent-Type: text/plain\n\nFirst.\n\nLast.\n--a\n\
         Content-Type: multipart/mixed; boundary=m\n\n--m\nContent-Type: text/html\n\n<p>First.</p>\n--m\nContent-Type: application/pdf; name=a.pdf\n\
         Content-Disposition: inline; filename=a.pdf\n\nx\n--m\nContent-Type: text/html\n\n<p>Last.</p>\n--m--\n--a--\n",
    )
    .with_files(&["a.pdf"])
    .check();
    row(
        "an invitation of Outlook",
        "Please come.",
        "Subject: s\nContent-Type: multipart/alternative; boundary=a\n\n--a\nContent-Type: text/plain\n\nPlease come.\n--a\n\
         Content-Type: text/html\n\n<p>Please come.</p>\n--a\nContent-Type: text/calendar; method=REQUEST\n\n\
         BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Plan\nEND:VEVENT\nEND:VCALENDAR\n--a--\n",
    )
    .with_files(&["calendar.ics"])
    .check();
}

#[test]
fn calendars_and_contacts_are_read_wherever_they_stand() {
    let event = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Dentist\nDTSTART:20260803T080000Z\nEND:VEVENT\nEND:VCALENDAR\n";
    let card = "BEGIN:VCARD\nFN:Ada\nTEL:1\nEND:VCARD\n";
    for (header, body, text) in [
        ("text/calendar", event, "Event: Dentist\nStart: 2026-08-03 08:00 UTC"),
        ("text/calendar; method=REQUEST; name=a.ics", event, "Event: Dentist\nStart: 2026-08-03 08:00 UTC"),
        ("application/ics; name=a.ics", event, "Event: Dentist\nStart: 2026-08-03 08:00 UTC"),
        ("application/octet-stream; name=A.ICS", event, "Event: Dentist\nStart: 2026-08-03 08:00 UTC"),
        ("text/vcard; name=ada.vcf", card, "Name: Ada\nPhone: 1"),
        ("text/x-vcard", card, "Name: Ada\nPhone: 1"),
        ("application/octet-stream; name=ada.vcf", card, "Name: Ada\nPhone: 1"),
    ] {
        for is_alone in [true, false] {
            let part = format!("Content-Type: {header}\nContent-Disposition: attachment\n\n{body}");
            let mail = match is_alone {
                true => format!("Subject: s\n{part}"),
                false => format!(
                    "Subject: s\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nlook\n--b\n{part}--b--\n"
                ),
            };
            let mail = mail.replace('\n', "\r\n");
            let letter = Letter::read(mail.as_bytes(), &Head::read(mail.as_bytes()), "<stand@in>");
            let [file] = letter.files.as_slice() else { panic!("{header}: {letter:?}") };
            assert_eq!(
                (file.mime.as_str(), String::from_utf8_lossy(&file.bytes).as_ref()),
                ("text/plain", text),
                "{header}"
            );
        }
    }
}

#[test]
fn attached_mails_are_foreign_and_read_with_their_files() {
    row(
        "forwarded as a file",
        "See.",
        "Subject: s\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nSee.\n--b\nContent-Type: message/rfc822\n\n\
         From: Eve <eve@y.example>\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\nContent-Type: multipart/mixed; boundary=c\n\n--c\n\nFOREIGN\n\
         --c\nContent-Type: text/csv; name=a.csv\n\n1,2\n--c--\n--b--\n",
    )
    .passing_on("From: Eve <eve@y.example>\nSubject: Grüße\n\nFOREIGN")
    .with_files(&["a.csv"])
    .check();
    row(
        "an encoded one with a name",
        "See.",
        "Subject: s\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nSee.\n--b\nContent-Type: application/octet-stream; name=\"a.eml\"\n\
         Content-Transfer-Encoding: base64\n\nU3ViamVjdDogeAoKRk9SRUlHTgo=\n--b--\n",
    )
    .passing_on("Subject: x\n\nFOREIGN")
    .check();
    row(
        "a digest",
        "",
        "Subject: s\nContent-Type: multipart/digest; boundary=b\n\n--b\n\nSubject: one\n\nFOREIGN 1\n--b\n\nSubject: two\n\nFOREIGN 2\n--b--\n",
    )
    .passing_on("Subject: one\n\nFOREIGN 1\n\nSubject: two\n\nFOREIGN 2")
    .check();
}

const REPLY: &str = "In-Reply-To: <1@x>\nSubject: Re: s\n";

#[test]
fn own_words_are_kept_whatever_they_look_like() {
    for (name, text, own) in [
        (
            "a rule of underscores",
            "One.\n________________________________\nTwo.",
            "One.\n________________________________\nTwo.",
        ),
        (
            "a rule of dashes",
            "One.\n----------------------------------------\nTwo.",
            "One.\n----------------------------------------\nTwo.",
        ),
        ("two dashes", "One.\n--\nTwo.", "One.\n--\nTwo."),
        ("three dashes", "One.\n---\nTwo.", "One.\n---\nTwo."),
        ("a signature", "One.\n-- \nAda", "One."),
        ("the last signature", "One.\n-- \nTwo.\n-- \nAda", "One.\n--\nTwo."),
        ("nothing but a signature", "-- \nOne.", "--\nOne."),
        (
            "a signature above a quote",
            "One.\n-- \nAda\n\nOn 3 Aug 2026, Bot wrote:\n> old\n\nTwo.",
            "One.\n\nTwo.",
        ),
        (
            "a long text below a mark",
            "One.\n-- \n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16",
            "One.\n--\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16",
        ),
        ("a heading of equals signs", "==== Plan ====\nOne.", "==== Plan ====\nOne."),
        ("stars", "**** One ****\nTwo.", "**** One ****\nTwo."),
        ("a field", "From: Bern\nI travel to Rome.", "From: Bern\nI travel to Rome."),
        ("words below a quote", "> old\nOne.", "One."),
        ("words between quotes", "> old\nOne.\n> older\nTwo.", "One.\nTwo."),
        (
            "words right below a long quote",
            "> a line so long that a program on the way might have had to break it in two\nOne.",
            "One.",
        ),
        ("words below an attribution and a quote", "On 3 Aug 2026, Bot wrote:\n> old\n\nOne.", "One."),
    ] {
        for head in [REPLY, "Subject: s\n"] {
            let mail = format!("{head}\n{text}\n").replace('\n', "\r\n");
            let letter = Letter::read(mail.as_bytes(), &Head::read(mail.as_bytes()), "<stand@in>");
            if head == REPLY || !text.contains('>') {
                assert_eq!(letter.words.own, own, "{name}: {letter:?}");
            }
            let (own, others) =
                (letter.words.own.clone(), letter.words.passed_on.clone().unwrap_or_default());
            for word in ["One.", "Two."].into_iter().filter(|word| text.contains(word)) {
                assert!(own.contains(word) || others.contains(word), "{name}: {word} is lost");
            }
        }
    }
}

#[test]
fn heading_by_hand_is_not_lost() {
    let mail = format!(
        "{REPLY}\nMy form:\n\nFrom: Bern\nTo: Rome\nDate: some day\nSubject: holidays\n\nOne more thing.\n"
    );
    let letter = Letter::read(mail.as_bytes(), &Head::read(mail.as_bytes()), "<stand@in>");
    let all = format!("{}{}", letter.words.own, letter.words.passed_on.unwrap_or_default());
    assert!(all.contains("My form:") && all.contains("holidays") && all.contains("One more thing."), "{all}");
}

#[test]
fn sentence_like_an_attribution_is_not_lost() {
    for sentence in ["On page 3 you wrote:", "Am Ende von Seite 3 schrieb sie:", "In 2026 Bob wrote:"] {
        let mail = format!("{REPLY}\nOne.\n\n{sentence}\nTwo, and that is my view.\n");
        let letter = Letter::read(mail.as_bytes(), &Head::read(mail.as_bytes()), "<stand@in>");
        let all = format!("{}{}", letter.words.own, letter.words.passed_on.unwrap_or_default());
        assert!(all.contains("Two, and that is my view."), "{sentence}: {all}");
    }
}

#[test]
fn mail_of_nothing_but_quotes_is_foreign() {
    for (name, text) in [
        ("quoted lines", "> FOREIGN\n> more"),
        ("an attribution and quoted lines", "On Mon, 3 Aug 2026 at 10:00, Bot <b@x.test> wrote:\n> FOREIGN"),
        ("a whole answered mail", "From: Bot <b@x.test>\nSent: Monday\nTo: Ada\nSubject: plan\n\nFOREIGN"),
        ("an original message", "-----Original Message-----\nFrom: Bot\n\nFOREIGN"),
    ] {
        let mail = format!("{REPLY}\n{text}\n").replace('\n', "\r\n");
        let letter = Letter::read(mail.as_bytes(), &Head::read(mail.as_bytes()), "<stand@in>");
        let others = letter.words.passed_on.unwrap_or_default();
        assert!(letter.words.own.is_empty() && others.contains("FOREIGN"), "{name}: {others}");
    }
}

/// Pages of mail programs, with the sender's words and quoted ones (`FOREIGN`).
const PAGES: [(&str, &str, &str); 18] = [
    (
        "Gmail",
        "Yes.",
        "<div dir=\"ltr\">Yes.</div><br><div class=\"gmail_quote gmail_quote_container\"><div dir=\"ltr\" class=\"gmail_attr\">On Mon, Aug 3, 2026 at 10:00 AM Bot &lt;<a href=\"mailto:b@x.test\">b@x.test</a>&gt; wrote:<br></div><blockquote class=\"gmail_quote\" style=\"margin:0\">FOREIGN</blockquote></div>",
    ),
    (
        "Gmail, below the quote",
        "Yes.",
        "<div class=\"gmail_quote\"><div class=\"gmail_attr\">On Mon Bot wrote:<br></div><blockquote class=\"gmail_quote\">FOREIGN</blockquote></div><div>Yes.</div>",
    ),
    (
        "Gmail, between quotes",
        "One.\n\nTwo.",
        "<div class=\"gmail_quote\"><div class=\"gmail_attr\">On Mon Bot wrote:<br></div><blockquote class=\"gmail_quote\">FOREIGN</blockquote><div>One.</div><blockquote class=\"gmail_quote\">FOREIGN</blockquote><div>Two.</div></div>",
    ),
    (
        "Gmail, in a language of no list",
        "Bai.",
        "<div>Bai.</div><div class=\"gmail_quote\"><div class=\"gmail_attr\">Bot erabiltzaileak idatzi du:<br></div><blockquote class=\"gmail_quote\">FOREIGN</blockquote></div>",
    ),
    (
        "Outlook on the web",
        "Yes.",
        "<div>Yes.</div><div id=\"appendonsend\"></div><hr style=\"display:inline-block;width:98%\"><div id=\"divRplyFwdMsg\" dir=\"ltr\"><b>From:</b> Bot &lt;b@x.test&gt;<br><b>Sent:</b> Monday<br><b>To:</b> Ada<br><b>Subject:</b> plan</div><div>FOREIGN</div>",
    ),
    (
        "Outlook on the web, in a language of no list",
        "Bai.",
        "<div>Bai.</div><div id=\"divRplyFwdMsg\"><b>Nork:</b> Bot<br><b>Noiz:</b> x</div><div>FOREIGN</div>",
    ),
    (
        "Outlook",
        "Yes.",
        "<div class=WordSection1><p class=MsoNormal>Yes.</p><div><div style='border:none;border-top:solid #E1E1E1 1.0pt'><p class=MsoNormal><b>From:</b> Bot &lt;b@x.test&gt;<br><b>Sent:</b> Monday, August 3, 2026 10:00 AM<br><b>To:</b> Ada<br><b>Subject:</b> plan</p></div></div><p class=MsoNormal>FOREIGN</p></div>",
    ),
    (
        "Apple Mail",
        "Yes.",
        "<html><body>Yes.<br><div><br><blockquote type=\"cite\"><div>On 3 Aug 2026, at 10:00, Bot &lt;b@x.test&gt; wrote:</div><br><div>FOREIGN</div></blockquote></div></body></html>",
    ),
    (
        "Apple Mail, between quotes",
        "One.\n\nTwo.",
        "<body><blockquote type=\"cite\">FOREIGN</blockquote><div>One.</div><blockquote type=\"cite\">FOREIGN</blockquote><div>Two.</div></body>",
    ),
    (
        "Thunderbird, below the quote",
        "Yes.",
        "<div class=\"moz-cite-prefix\">Am 03.08.26 um 10:00 schrieb Bot:<br></div><blockquote type=\"cite\" cite=\"mid:1@x\"><p>FOREIGN</p></blockquote><p>Yes.</p>",
    ),
    (
        "Yahoo",
        "Yes.",
        "<div>Yes.</div><div id=\"yahoo_quoted_1\" class=\"yahoo_quoted\"><div><div>On Monday, Bot wrote:</div><div>FOREIGN</div></div></div>",
    ),
    (
        "ProtonMail",
        "Yes.",
        "<div>Yes.</div><div class=\"protonmail_quote\">On Monday, August 3rd, 2026 at 10:00, Bot &lt;b@x.test&gt; wrote:<br><blockquote class=\"protonmail_quote\" type=\"cite\">FOREIGN</blockquote></div>",
    ),
    (
        "Zoho",
        "Yes.",
        "<div>Yes.</div><div class=\"zmail_extra\"><div>---- On Mon, 03 Aug 2026 Bot wrote ---</div><div>FOREIGN</div></div>",
    ),
    (
        "Outlook for phones",
        "Yes.",
        "<div>Yes.</div><div id=\"mail-editor-reference-message-container\"><div><b>From:</b> Bot</div><div>FOREIGN</div></div>",
    ),
    (
        "Gmail, printed by Outlook",
        "Yes.",
        "<div>Yes.</div><div class=\"x_gmail_quote\">On Mon, 3 Aug 2026, Bot &lt;b@x.test&gt; wrote:<br>FOREIGN</div>",
    ),
    (
        "GMX",
        "Ja.",
        "<div>Ja.</div><div name=\"quote\" style=\"margin:10px\"><div><b>Gesendet:</b> Montag<br><b>Von:</b> Bot</div><div>FOREIGN</div></div>",
    ),
    (
        "QQ",
        "好。",
        "<div>好。</div><div>------------------ 原始邮件 ------------------</div><div>发件人: \"Bot\" &lt;b@x.test&gt;;</div><div>FOREIGN</div>",
    ),
    (
        "an indented paragraph of the sender",
        "One.\n\nTwo.",
        "<div>One.</div><blockquote style=\"margin:0 0 0 40px;border:none;padding:0px\"><div>Two.</div></blockquote><div class=\"gmail_quote\">On Mon, 3 Aug 2026, Bot &lt;b@x.test&gt; wrote:<br>FOREIGN</div>",
    ),
];

#[test]
fn pages_of_replies_are_split_as_their_programs_mark_them() {
    for (name, own, page) in PAGES {
        let mail = format!("{REPLY}Content-Type: text/html; charset=utf-8\n\n{page}\n").replace('\n', "\r\n");
        let letter = Letter::read(mail.as_bytes(), &Head::read(mail.as_bytes()), "<stand@in>");
        assert_eq!(letter.words.own, own, "{name}: {letter:?}");
    }
}

#[test]
fn pages_of_forwarded_mails_are_kept_apart_and_whole() {
    let gmail = "<div>Look.</div><div class=\"gmail_quote\"><div class=\"gmail_attr\">---------- Forwarded message ---------<br>From: Eve &lt;eve@y.test&gt;<br></div>FOREIGN<blockquote>FOREIGN</blockquote></div>";
    let thunderbird = "<p>Look.</p><div class=\"moz-forward-container\"><br>-------- Weitergeleitete Nachricht --------<table><tr><th>Betreff: </th><td>x</td></tr></table>FOREIGN<blockquote type=cite>FOREIGN</blockquote></div>";
    let apple = "<div>Look.</div><blockquote type=\"cite\"><div>Begin forwarded message:</div><div><b>From: </b>Eve &lt;eve@y.test&gt;</div><div>FOREIGN</div></blockquote>";
    let outlook = "<div>Look.</div><div id=\"divRplyFwdMsg\"><b>From:</b> Eve &lt;eve@y.test&gt;<br><b>Sent:</b> x</div><div>FOREIGN</div>";
    for page in PAGES.iter().map(|(_, _, page)| *page).chain([gmail, thunderbird, apple, outlook]) {
        for subject in ["s", "Fwd: s"] {
            let mail = format!("Subject: {subject}\nContent-Type: text/html; charset=utf-8\n\n{page}\n")
                .replace('\n', "\r\n");
            let letter = Letter::read(mail.as_bytes(), &Head::read(mail.as_bytes()), "<stand@in>");
            let others = letter.words.passed_on.unwrap_or_default();
            assert!(!letter.words.own.contains("FOREIGN"), "{page}");
            assert_eq!(
                others.matches("FOREIGN").count(),
                page.matches("FOREIGN").count(),
                "{page}: {others}"
            );
        }
    }
    // Forwarded within a thread.
    for page in [gmail, thunderbird] {
        let mail = format!("{REPLY}Content-Type: text/html; charset=utf-8\n\n{page}\n").replace('\n', "\r\n");
        let letter = Letter::read(mail.as_bytes(), &Head::read(mail.as_bytes()), "<stand@in>");
        assert!(
            letter.words.passed_on.unwrap_or_default().contains("FOREIGN") && letter.words.own == "Look.",
            "{page}"
        );
    }
}

#[test]
fn odd_encodings_are_read() {
    for (name, head, body, own) in [
        ("us-ascii that is UTF-8", "Content-Type: text/plain; charset=us-ascii", "café".as_bytes(), "café"),
        ("no charset", "X: y", "café".as_bytes(), "café"),
        (
            "Latin-1 without a charset",
            "X: y",
            b"Die Gr\xfc\xdfe aus M\xfcnchen".as_slice(),
            "Die Grüße aus München",
        ),
        (
            "base64 with a footer",
            "Content-Transfer-Encoding: base64",
            b"SGVsbG8gd29ybGQ=\r\n\r\n_____\r\nScanned by x\r\n",
            "Hello world",
        ),
        (
            "base64 with a footer and no padding",
            "Content-Transfer-Encoding: base64",
            b"SGVsbG8gd29ybGQh\r\nSent by a gateway\r\n",
            "Hello world!",
        ),
        (
            "damaged quoted-printable",
            "Content-Transfer-Encoding: quoted-printable",
            b"1 = 2, =zz, caf=C3=A9",
            "1 = 2, =zz, café",
        ),
        ("a type without a boundary", "Content-Type: multipart/alternative", b"just words", "just words"),
        (
            "a boundary that is not there",
            "Content-Type: multipart/mixed; boundary=zzz",
            b"--yyy\r\nContent-Type: text/plain\r\n\r\nwords\r\n--yyy--",
            "words",
        ),
        ("koi8-r", "Content-Type: text/plain; charset=koi8-r", b"\xf0\xd2\xc9\xd7\xc5\xd4", "Привет"),
        (
            "windows-1251",
            "Content-Type: text/plain; charset=windows-1251",
            b"\xcf\xf0\xe8\xe2\xe5\xf2",
            "Привет",
        ),
        ("gb18030", "Content-Type: text/plain; charset=gb18030", b"\xc4\xe3\xba\xc3", "你好"),
        (
            "iso-2022-jp",
            "Content-Type: text/plain; charset=iso-2022-jp",
            b"\x1b$B$3$s$K$A$O\x1b(B",
            "こんにちは",
        ),
        ("a name of no charset", "Content-Type: text/plain; charset=foo", "café".as_bytes(), "café"),
        ("a type of nonsense", "Content-Type: ;;;", b"words", "words"),
        (
            "flowed lines",
            "Content-Type: text/plain; format=flowed; delsp=yes",
            "我们 \r\n明天".as_bytes(),
            "我们明天",
        ),
        ("an unknown encoding", "Content-Transfer-Encoding: x-odd", b"words", "words"),
        ("lone line ends", "X: y", b"one\ntwo\n", "one\ntwo"),
    ] {
        let mut mail = format!("Subject: s\r\n{head}\r\n\r\n").into_bytes();
        mail.extend(body);
        let letter = Letter::read(&mail, &Head::read(&mail), "<stand@in>");
        assert_eq!(letter.words.own, own, "{name}: {letter:?}");
    }
    let subject = "Subject: =?utf-8?Q?Gr=C3?=\r\n =?utf-8?Q?=BC=C3=9Fe?=\r\n\r\nx\r\n";
    assert_eq!(Letter::read(subject.as_bytes(), &Head::read(subject.as_bytes()), "").subject, "Grüße");
    let raw = b"Subject: Gr\xfc\xdfe aus K\xf6ln\r\n\r\nx\r\n";
    assert_eq!(Letter::read(raw, &Head::read(raw), "").subject, "Grüße aus Köln");
}

#[test]
fn same_id_with_other_words_is_another_mail() {
    let digest = |mail: &str| Letter::read(mail.as_bytes(), &Head::read(mail.as_bytes()), "").digest();
    let one = "Message-ID: <1@x>\r\nSubject: s\r\n\r\nbuy milk\r\n";
    assert_eq!(digest(one), digest(&format!("Received: again\r\n{one}")), "the same mail on another way");
    assert_ne!(digest(one), digest(&one.replace("milk", "bread")));
    assert_ne!(digest(one), digest(&one.replace("Subject: s", "Subject: t")));
}
