//! Mails as programs write them in many languages: no other person's text counts as the sender's words.

use super::body::{self, Kind, Words};
use super::lines;

fn words(text: &str, kind: Kind) -> Words {
    body::words(&lines::of_text(text, None), kind)
}

/// A mail and the words of its sender. Everything else in it is another person's and contains `FOREIGN`.
struct Row {
    name: &'static str,
    text: &'static str,
    own: &'static str,
}

const fn row(name: &'static str, own: &'static str, text: &'static str) -> Row {
    Row { name, text, own }
}

const REPLIES: [Row; 37] = [
    row("en Gmail", "Yes.", "Yes.\n\nOn Mon, 3 Aug 2026 at 10:00, Bot <b@x.test> wrote:\n\n> FOREIGN old"),
    row(
        "en Gmail without marks",
        "Yes.",
        "Yes.\n\nOn Mon, 3 Aug 2026 at 10:00, Bot <b@x.test> wrote:\n\nFOREIGN old",
    ),
    row(
        "en Outlook",
        "Yes.",
        "Yes.\n\nFrom: Bot <b@x.test>\nSent: Monday\nTo: Ada\nSubject: plan\n\nFOREIGN old",
    ),
    row(
        "en Outlook rule",
        "Yes.",
        "Yes.\n\n________________________________\nFrom: Bot\nSent: Monday\nTo: Ada\nSubject: FOREIGN\n\nold",
    ),
    row(
        "en ProtonMail",
        "Yes.",
        "Yes.\n\n------- Original Message -------\nOn Monday, August 3rd, 2026, Bot <b@x.test> wrote:\n\n> FOREIGN",
    ),
    row(
        "en Zoho",
        "Yes.",
        "Yes.\n\n---- On Mon, 03 Aug 2026 10:00:00 +0200 Bot <b@x.test> wrote ----\n\nFOREIGN old",
    ),
    row(
        "de Gmail wrapped",
        "Ja.",
        "Ja.\n\nAm Mo., 3. Aug. 2026 um 10:00 Uhr schrieb FOREIGN Bot\n<b@x.test>:\n\n> FOREIGN alt",
    ),
    row("de Outlook", "Ja.", "Ja.\n\nVon: Bot\nGesendet: Montag\nAn: Ada\nBetreff: Plan\n\nFOREIGN alt"),
    row("fr Apple", "Oui.", "Oui.\n\nLe 3 août 2026 à 10:00, Bot <b@x.test> a écrit :\n\nFOREIGN"),
    row("es Gmail", "Sí.", "Sí.\n\nEl lun, 3 ago 2026 a las 10:00, Bot (<b@x.test>) escribió:\n\n> FOREIGN"),
    row(
        "pt Gmail",
        "Sim.",
        "Sim.\n\nEm seg., 3 de ago. de 2026 às 10:00, Bot <b@x.test> escreveu:\n\nold FOREIGN",
    ),
    row(
        "pt Gmail wrapped",
        "Sim.",
        "Sim.\n\nEm seg., 3 de ago. de 2026 às 10:00, FOREIGN Bot\n<b@x.test> escreveu:\n\nold FOREIGN",
    ),
    row(
        "it Gmail",
        "Sì.",
        "Sì.\n\nIl giorno lun 3 ago 2026 alle ore 10:00 Bot <b@x.test> ha scritto:\n\nFOREIGN",
    ),
    row("nl", "Ja.", "Ja.\n\nOp ma 3 aug 2026 om 10:00 schreef Bot <b@x.test>:\n\nFOREIGN"),
    row("sv", "Ja.", "Ja.\n\nDen mån 3 aug. 2026 kl 10:00 skrev Bot <b@x.test>:\n\nFOREIGN"),
    row("da Outlook", "Ja.", "Ja.\n\nFra: Bot\nSendt: 3. august\nTil: Ada\nEmne: plan\n\nFOREIGN"),
    row("no", "Ja.", "Ja.\n\nman. 3. aug. 2026 kl. 10:00 skrev Bot <b@x.test>:\n\nFOREIGN"),
    row("fi", "Kyllä.", "Kyllä.\n\nma 3. elok. 2026 klo 10.00 Bot (b@x.test) kirjoitti:\n\nFOREIGN"),
    row("pl Outlook", "Tak.", "Tak.\n\nOd: Bot\nWysłano: poniedziałek\nDo: Ada\nTemat: plan\n\nold FOREIGN"),
    row("pl Gmail", "Tak.", "Tak.\n\npon., 3 sie 2026 o 10:00 Bot <b@x.test> napisał(a):\n\n> FOREIGN"),
    row("cs", "Ano.", "Ano.\n\npo 3. 8. 2026 v 10:00 odesílatel Bot <b@x.test> napsal:\n\nFOREIGN"),
    row("hu", "Igen.", "Igen.\n\nBot <b@x.test> ezt írta (időpont: 2026. aug. 3., H, 10:00):\n\nFOREIGN"),
    row("ro Outlook", "Da.", "Da.\n\nDe la: Bot\nTrimis: luni\nCătre: Ada\nSubiect: plan\n\nFOREIGN"),
    row("tr", "Evet.", "Evet.\n\nBot <b@x.test>, 3 Ağu 2026 Pzt, 10:00 tarihinde şunu yazdı:\n\nFOREIGN"),
    row("ru", "Да.", "Да.\n\nпн, 3 авг. 2026 г. в 10:00, Bot <b@x.test>:\n\n> FOREIGN"),
    row(
        "ru mail.ru",
        "Да.",
        "Да.\n\nПонедельник, 3 августа 2026, 10:00 +03:00 от Bot <b@x.test>:\n\nFOREIGN",
    ),
    row("uk Outlook", "Так.", "Так.\n\nВід: Bot\nНадіслано: понеділок\nКому: Ada\nТема: план\n\nFOREIGN"),
    row("el", "Ναι.", "Ναι.\n\nΣτις Δευ 3 Αυγ 2026 στις 10:00, ο χρήστης Bot <b@x.test> έγραψε:\n\nFOREIGN"),
    row(
        "he",
        "כן.",
        "כן.\n\n\u{202b}בתאריך יום ב׳, 3 באוג׳ 2026 ב-10:00 מאת \u{202a}Bot\u{202c} <\u{202a}b@x.test\u{202c}>:\u{202c}\n\nFOREIGN",
    ),
    row(
        "ar",
        "نعم.",
        "نعم.\n\nفي الاثنين، 3 أغسطس 2026 في 10:00 تمت كتابة ما يلي بواسطة Bot <b@x.test>:\n\nFOREIGN",
    ),
    row(
        "zh Outlook",
        "好的。",
        "好的。\n\n发件人: Bot <b@x.test>\n发送时间: 2026年8月3日\n收件人: Ada\n主题: 计划\n\nold text FOREIGN",
    ),
    row(
        "zh QQ",
        "好的。",
        "好的。\n\n------------------ 原始邮件 ------------------\n发件人: \"Bot\" <b@x.test>;\n\nFOREIGN",
    ),
    row("zh-TW", "好。", "好。\n\nBot <b@x.test> 於 2026年8月3日 週一 上午10:00寫道：\n\nFOREIGN"),
    row("ja", "はい。", "はい。\n\n2026年8月3日(月) 10:00 Bot <b@x.test>:\n\n> FOREIGN"),
    row(
        "ko Outlook",
        "네.",
        "네.\n\n보낸 사람: Bot\n보낸 날짜: 월요일\n받는 사람: Ada\n제목: 계획\n\nFOREIGN",
    ),
    row("vi", "Có.", "Có.\n\nVào Th 2, 3 thg 8, 2026 vào lúc 10:00 Bot <b@x.test> đã viết:\n\nFOREIGN"),
    row("is, in no list", "Já.", "Já.\n\nFrá: Bot\nTil: Ada\nEfni: áætlun\n\nFOREIGN"),
];

const FORWARDS: [Row; 26] = [
    row("en Gmail", "Look.", "Look.\n\n---------- Forwarded message ---------\nFrom: eve@y.test\n\nFOREIGN"),
    row(
        "en Apple",
        "Look.",
        "Look.\n\nBegin forwarded message:\n\nFrom: Eve\nSubject: x\nDate: 3 August 2026\nTo: Ada\n\nFOREIGN",
    ),
    row("en Outlook", "Look.", "Look.\n\nFrom: Eve\nSent: Monday\nTo: Ada\nSubject: x\n\nFOREIGN"),
    row("en only an attribution", "Look.", "Look.\n\nEve <eve@y.test> wrote on 3 August:\n\nFOREIGN"),
    row("en quoted", "Look.", "Look.\n\n> FOREIGN\n> FOREIGN"),
    row(
        "en quoted and wrapped on the way",
        "Look.",
        "Look.\n> a line so long that a program on the way of the mail had to break it\nFOREIGN",
    ),
    row(
        "de Apple",
        "Sieh.",
        "Sieh.\n\nAnfang der weitergeleiteten Nachricht:\n\nVon: Eve <eve@y.test>\nBetreff: x\n\nFOREIGN",
    ),
    row(
        "de Thunderbird",
        "Sieh.",
        "Sieh.\n\n-------- Weitergeleitete Nachricht --------\nBetreff: x\nVon: eve@y.test\n\nFOREIGN",
    ),
    row(
        "es Thunderbird",
        "Mira.",
        "Mira.\n\n-------- Mensaje reenviado --------\nAsunto: x\nDe: eve@y.test\n\nPlease run FOREIGN",
    ),
    row("es Outlook", "Mira.", "Mira.\n\nDe: Eve\nEnviado el: lunes\nPara: Ada\nAsunto: x\n\nFOREIGN"),
    row(
        "fr Thunderbird",
        "Vois.",
        "Vois.\n\n-------- Message transféré --------\nSujet : x\nDe : eve@y.test\n\nFOREIGN",
    ),
    row(
        "fr Apple",
        "Vois.",
        "Vois.\n\nDébut du message réexpédié :\n\nDe: Eve <eve@y.test>\nObjet: x\n\nFOREIGN",
    ),
    row("pt", "Olha.", "Olha.\n\n---------- Mensagem encaminhada ----------\nDe: Eve\n\nFOREIGN"),
    row("it", "Guarda.", "Guarda.\n\n---------- Messaggio inoltrato ----------\nDa: Eve\n\nFOREIGN"),
    row("nl", "Kijk.", "Kijk.\n\n---------- Doorgestuurd bericht ---------\nVan: Eve\n\nFOREIGN"),
    row("pl", "Patrz.", "Patrz.\n\n---------- Treść przekazanej wiadomości ----------\nOd: Eve\n\nFOREIGN"),
    row("fi", "Katso.", "Katso.\n\n-------- Välitetty viesti --------\nAihe: x\n\nFOREIGN"),
    row("tr", "Bak.", "Bak.\n\n---------- Yönlendirilen ileti ---------\nGönderen: Eve\n\nFOREIGN"),
    row("ru", "Смотри.", "Смотри.\n\n-------- Пересылаемое сообщение --------\nОт: Eve\n\nFOREIGN"),
    row("el", "Δες.", "Δες.\n\n---------- Προωθημένο μήνυμα ---------\nΑπό: Eve\n\nFOREIGN"),
    row("he", "ראה.", "ראה.\n\n---------- הודעה שהועברה ---------\nמאת: Eve\n\nFOREIGN"),
    row("zh", "看。", "看。\n\n---------- 转发的邮件 ----------\n发件人: Eve\n\nFOREIGN"),
    row(
        "ja",
        "見て。",
        "見て。\n\n以下は転送されたメッセージです：\n\n差出人: Eve <eve@y.test>\n件名: x\n\nFOREIGN",
    ),
    row("ko", "봐.", "봐.\n\n---------- 전달된 메일 ----------\n보낸사람: Eve\n\nFOREIGN"),
    row("dashes of Unicode", "Look.", "Look.\n\n‐‐‐‐‐‐‐ Original ‐‐‐‐‐‐‐\n\nFOREIGN"),
    row(
        "headers in a language of no list",
        "Nola.",
        "Nola.\n\nNork: Eve\nNoiz: astelehena\nNori: Ada\nGaia: x\n\nFOREIGN",
    ),
];

#[test]
fn a_reply_in_any_language_has_only_the_senders_words_as_its_own() {
    for Row { name, text, own } in REPLIES {
        let words = words(text, Kind::Reply);
        assert_eq!(words.own, own, "{name}: {words:?}");
    }
}

#[test]
fn a_forwarded_mail_in_any_language_is_kept_apart_and_kept() {
    for Row { name, text, own } in FORWARDS {
        for kind in [Kind::First, Kind::Forward] {
            let words = words(text, kind);
            let others = words.passed_on.unwrap_or_default();
            assert_eq!(words.own, own, "{name} {kind:?}: {others}");
            assert_eq!(
                others.matches("FOREIGN").count(),
                text.matches("FOREIGN").count(),
                "{name} {kind:?}: {others}"
            );
        }
    }
}

#[test]
fn forwarded_mail_without_a_boundary_is_all_quoted() {
    let words = words("Dear Ada,\nFOREIGN please pay.\n", Kind::Forward);
    assert_eq!(
        (words.own.as_str(), words.passed_on.as_deref()),
        ("", Some("Dear Ada,\nFOREIGN please pay."))
    );
}

#[test]
fn own_text_is_not_mistaken_for_a_quote() {
    for text in [
        "Buy milk, please.",
        "Let us meet at 10:00, here is the plan:\nFirst lunch.",
        "From: Bern\nTo: Rome\nDate: 3 May",
        "On 3 May we wrote: a list\nmore",
        "The password rule: eight letters.\nThe other rule: no names.",
        "Send this to bob@x.test:\nHello Bob",
        "# Title\n\n---\n\n- one\n- two: three",
        "See https://a.example/x and http://b.example",
    ] {
        let words = words(text, Kind::First);
        assert_eq!((words.own.as_str(), words.passed_on.as_deref()), (text, None), "{text}");
    }
    // In a reply too, unless its words look like an attribution; those are kept all the same.
    let text = "The plan for 2027 follows:\nFirst lunch.";
    let words = words(text, Kind::Reply);
    assert!(words.passed_on.is_some_and(|others| others.contains("First lunch.")));
}
