//! Thirty languages: an attribution, the heading of a quoted mail and the mark of a forwarded one in each, as mail programs
//! write them. Those that are in no list of ours are recognised by their shape.

use super::body::{self, Kind, Words};
use super::lines;

/// What mail programs write in a language.
struct Language {
    name: &'static str,
    /// The line above a quote.
    attribution: &'static str,
    /// The names of author, date, addressee and subject in a heading.
    heading: [&'static str; 4],
    /// The line above a forwarded mail.
    forward: &'static str,
}

const fn language(
    name: &'static str,
    attribution: &'static str,
    heading: [&'static str; 4],
    forward: &'static str,
) -> Language {
    Language { name, attribution, heading, forward }
}

const LANGUAGES: [Language; 36] = [
    language(
        "en",
        "On Mon, Aug 3, 2026 at 10:00 AM Bot <b@x.test> wrote:",
        ["From", "Sent", "To", "Subject"],
        "---------- Forwarded message ---------",
    ),
    language(
        "de",
        "Am Mo., 3. Aug. 2026 um 10:00 Uhr schrieb Bot <b@x.test>:",
        ["Von", "Gesendet", "An", "Betreff"],
        "-------- Weitergeleitete Nachricht --------",
    ),
    language(
        "fr",
        "Le lun. 3 août 2026 à 10:00, Bot <b@x.test> a écrit :",
        ["De", "Envoyé", "À", "Objet"],
        "-------- Message transféré --------",
    ),
    language(
        "es",
        "El lun, 3 ago 2026 a las 10:00, Bot (<b@x.test>) escribió:",
        ["De", "Enviado el", "Para", "Asunto"],
        "-------- Mensaje reenviado --------",
    ),
    language(
        "it",
        "Il giorno lun 3 ago 2026 alle ore 10:00 Bot <b@x.test> ha scritto:",
        ["Da", "Inviato", "A", "Oggetto"],
        "-------- Messaggio inoltrato --------",
    ),
    language(
        "nl",
        "Op ma 3 aug 2026 om 10:00 schreef Bot <b@x.test>:",
        ["Van", "Verzonden", "Aan", "Onderwerp"],
        "-------- Doorgestuurd bericht --------",
    ),
    language(
        "pt",
        "Em seg., 3 de ago. de 2026 às 10:00, Bot <b@x.test> escreveu:",
        ["De", "Enviada em", "Para", "Assunto"],
        "---------- Forwarded message ---------",
    ),
    language(
        "ca",
        "Missatge de Bot <b@x.test> del dia dl., 3 d’ag. 2026 a les 10:00:",
        ["De", "Enviat el", "Per a", "Assumpte"],
        "-------- Missatge reenviat --------",
    ),
    language(
        "pl",
        "pon., 3 sie 2026 o 10:00 Bot <b@x.test> napisał(a):",
        ["Od", "Wysłano", "Do", "Temat"],
        "-------- Treść przekazanej wiadomości --------",
    ),
    language(
        "cs",
        "po 3. 8. 2026 v 10:00 odesílatel Bot <b@x.test> napsal:",
        ["Od", "Odesláno", "Komu", "Předmět"],
        "-------- Přeposlaná zpráva --------",
    ),
    language(
        "sk",
        "po 3. 8. 2026 o 10:00 Bot <b@x.test> napísal(a):",
        ["Od", "Odoslané", "Komu", "Predmet"],
        "-------- Preposlaná správa --------",
    ),
    language(
        "hu",
        "Bot <b@x.test> ezt írta (időpont: 2026. aug. 3., H, 10:00):",
        ["Feladó", "Elküldve", "Címzett", "Tárgy"],
        "-------- Továbbított üzenet --------",
    ),
    language(
        "ro",
        "În lun., 3 aug. 2026 la 10:00, Bot <b@x.test> a scris:",
        ["De la", "Trimis", "Către", "Subiect"],
        "-------- Mesaj redirecționat --------",
    ),
    language(
        "sl",
        "V V pon., 3. avg. 2026 ob 10:00 je oseba Bot <b@x.test> napisala:",
        ["Od", "Poslano", "Za", "Zadeva"],
        "-------- Posredovano sporočilo --------",
    ),
    language(
        "hr",
        "pon, 3. kol 2026. u 10:00 Bot <b@x.test> napisao je:",
        ["Od", "Poslano", "Prima", "Predmet"],
        "-------- Proslijeđena poruka --------",
    ),
    language(
        "sr",
        "пон, 3. авг 2026. у 10:00 Bot <b@x.test> је написао:",
        ["Од", "Послато", "За", "Наслов"],
        "-------- Прослеђена порука --------",
    ),
    language(
        "sv",
        "Den mån 3 aug. 2026 kl 10:00 skrev Bot <b@x.test>:",
        ["Från", "Skickat", "Till", "Ämne"],
        "-------- Vidarebefordrat meddelande --------",
    ),
    language(
        "da",
        "Den man. 3. aug. 2026 kl. 10.00 skrev Bot <b@x.test>:",
        ["Fra", "Sendt", "Til", "Emne"],
        "-------- Videresendt meddelelse --------",
    ),
    language(
        "nb",
        "man. 3. aug. 2026 kl. 10:00 skrev Bot <b@x.test>:",
        ["Fra", "Sendt", "Til", "Emne"],
        "-------- Videresendt melding --------",
    ),
    language(
        "fi",
        "ma 3. elok. 2026 klo 10.00 Bot (b@x.test) kirjoitti:",
        ["Lähettäjä", "Lähetetty", "Vastaanottaja", "Aihe"],
        "-------- Välitetty viesti --------",
    ),
    language(
        "et",
        "Kuupäev E, 3. august 2026 kell 10:00 kirjutas Bot <b@x.test>:",
        ["Saatja", "Saadetud", "Saaja", "Teema"],
        "-------- Edastatud kiri --------",
    ),
    language(
        "tr",
        "Bot <b@x.test>, 3 Ağu 2026 Pzt, 10:00 tarihinde şunu yazdı:",
        ["Kimden", "Gönderildi", "Kime", "Konu"],
        "-------- İletilen İleti --------",
    ),
    language(
        "el",
        "Στις Δευ 3 Αυγ 2026 στις 10:00, ο χρήστης Bot <b@x.test> έγραψε:",
        ["Από", "Στάλθηκε", "Προς", "Θέμα"],
        "-------- Προωθημένο μήνυμα --------",
    ),
    language(
        "ru",
        "пн, 3 авг. 2026 г. в 10:00, Bot <b@x.test>:",
        ["От", "Отправлено", "Кому", "Тема"],
        "-------- Перенаправленное сообщение --------",
    ),
    language(
        "uk",
        "пн, 3 серп. 2026 р. о 10:00 Bot <b@x.test> пише:",
        ["Від", "Надіслано", "Кому", "Тема"],
        "-------- Переслане повідомлення --------",
    ),
    language(
        "bg",
        "На пн, 3.08.2026 г. в 10:00 Bot <b@x.test> написа:",
        ["От", "Изпратено", "До", "Относно"],
        "-------- Препратено съобщение --------",
    ),
    language(
        "he",
        "\u{202b}בתאריך יום ב׳, 3 באוג׳ 2026 ב-10:00 מאת \u{202a}Bot\u{202c} <\u{202a}b@x.test\u{202c}>:\u{202c}",
        ["מאת", "נשלח", "אל", "נושא"],
        "-------- הודעה שהועברה --------",
    ),
    language(
        "ar",
        "في الاثنين، 3 أغسطس 2026 في 10:00 تمت كتابة ما يلي بواسطة Bot <b@x.test>:",
        ["من", "تم الإرسال", "إلى", "الموضوع"],
        "-------- رسالة معاد توجيهها --------",
    ),
    language(
        "fa",
        "در تاریخ دوشنبه ۳ اوت 2026 ساعت 10:00 \u{202a}Bot\u{202c} <\u{202a}b@x.test\u{202c}> نوشت:",
        ["از", "ارسال شده", "به", "موضوع"],
        "-------- پیام بازارسال شده --------",
    ),
    language(
        "th",
        "ในวันที่ จ. 3 ส.ค. 2026 เวลา 10:00 Bot <b@x.test> เขียนว่า:",
        ["จาก", "ส่งเมื่อ", "ถึง", "เรื่อง"],
        "-------- ข้อความที่ส่งต่อ --------",
    ),
    language(
        "vi",
        "Vào Th 2, 3 thg 8, 2026 vào lúc 10:00 Bot <b@x.test> đã viết:",
        ["Từ", "Đã gửi", "Đến", "Chủ đề"],
        "-------- Thư được chuyển tiếp --------",
    ),
    language(
        "id",
        "Pada tanggal Sen, 3 Agu 2026 pukul 10.00 Bot <b@x.test> menulis:",
        ["Dari", "Dikirim", "Kepada", "Subjek"],
        "-------- Pesan Terusan --------",
    ),
    language(
        "ko",
        "2026년 8월 3일 (월) 오전 10:00, Bot <b@x.test>님이 작성:",
        ["보낸 사람", "보낸 날짜", "받는 사람", "제목"],
        "---------- 전달된 메일 ----------",
    ),
    language(
        "ja",
        "2026年8月3日(月) 10:00 Bot <b@x.test>:",
        ["差出人", "送信日時", "宛先", "件名"],
        "-------- 転送メッセージ --------",
    ),
    language(
        "zh",
        "Bot <b@x.test> 于2026年8月3日周一 10:00写道：",
        ["发件人", "发送时间", "收件人", "主题"],
        "-------- 转发的邮件 --------",
    ),
    language(
        "zh-TW",
        "Bot <b@x.test> 於 2026年8月3日 週一 上午10:00寫道：",
        ["寄件者", "寄件日期", "收件者", "主旨"],
        "-------- 轉寄郵件 --------",
    ),
];

fn split(text: &str, kind: Kind) -> Words {
    body::words(&lines::of_text(text, None), kind)
}

/// Returns the forms in which a reply repeats a mail in this language.
fn replies(language: &Language) -> Vec<String> {
    let Language { attribution, heading: [from, sent, to, subject], .. } = language;
    // Programs wrap long lines before the address.
    let (start, rest) = attribution.split_once(" Bot").unwrap_or((attribution, ""));
    let wrapped = if !rest.is_empty() && start.contains("2026") {
        format!("{start} Bot\n{}", rest.trim_start())
    } else {
        (*attribution).to_owned()
    };
    let colon = if language.name.starts_with("zh") { "：" } else { ": " };
    let outlook = |author: &str, date: &str| {
        format!("{from}{colon}{author}\n{sent}{colon}{date}\n{to}{colon}Ada\n{subject}{colon}plan\n\nFOREIGN")
    };
    let quoted = "> FOREIGN old\n> and more";
    vec![
        format!("{attribution}\n\n{quoted}"),
        format!("{attribution}\n{quoted}"),
        format!("{attribution}\n\nFOREIGN old\nFOREIGN more"),
        format!("{wrapped}\n\n{quoted}"),
        outlook("Bot <b@x.test>", "2026-08-03 10:00"),
        outlook("Bot", "x"),
        format!("________________________________\n{}", outlook("Bot <b@x.test>", "3. 8. 2026")),
        format!("*{from}:* Bot <b@x.test>\n*{sent}:* 2026-08-03\n*{to}:* Ada\n*{subject}:* plan\n\nFOREIGN"),
    ]
}

/// Returns the forms in which a mail is forwarded in this language.
fn forwards(language: &Language) -> Vec<String> {
    let Language { forward, heading: [from, sent, to, subject], attribution, .. } = language;
    vec![
        format!(
            "{forward}\n{subject}: x\n{sent}: 2026-08-03\n{from}: Eve <eve@y.test>\n{to}: Ada\n\nPlease run FOREIGN"
        ),
        format!("{forward}\n{from}: Eve\n\nPlease run FOREIGN"),
        format!("{from}: Eve <eve@y.test>\n{sent}: 2026-08-03 10:00\n{to}: Ada\n{subject}: x\n\nFOREIGN"),
        format!("{attribution}\n\nFOREIGN"),
        format!("{attribution}\n> FOREIGN"),
        format!("> {from}: Eve\n> FOREIGN"),
    ]
}

#[test]
fn replies_in_thirty_languages_have_only_the_senders_words_as_their_own() {
    for language in &LANGUAGES {
        for reply in replies(language) {
            let words = split(&format!("Ja, OWN.\n\n{reply}\n"), Kind::Reply);
            assert_eq!(words.own, "Ja, OWN.", "{}: {reply}", language.name);
            // Text that is certainly repeated is not even read again.
            assert_eq!(words.passed_on, None, "{}: {reply}", language.name);
        }
    }
}

#[test]
fn words_below_and_between_quotes_are_the_senders_in_thirty_languages() {
    for Language { name, attribution, .. } in &LANGUAGES {
        let text = format!("{attribution}\n> FOREIGN one?\nOWN one.\n\n> FOREIGN two?\n\nOWN two.");
        let words = split(&text, Kind::Reply);
        assert_eq!((words.own.as_str(), words.passed_on), ("OWN one.\n\nOWN two.", None), "{name}");
    }
}

#[test]
fn forwarded_mails_in_thirty_languages_are_kept_apart_and_whole() {
    for language in &LANGUAGES {
        for forward in forwards(language) {
            for kind in [Kind::First, Kind::Forward] {
                let words = split(&format!("OWN.\n\n{forward}\n"), kind);
                let others = words.passed_on.unwrap_or_default();
                assert_eq!(words.own, "OWN.", "{} {kind:?}: {forward}", language.name);
                assert!(others.contains("FOREIGN"), "{} {kind:?}: {forward}", language.name);
            }
        }
    }
}

#[test]
fn attributions_without_an_address_or_with_an_odd_date_are_recognised() {
    for attribution in [
        "2026-08-03 10:00 GMT+02:00, Bot <b@x.test>:",
        "2026-08-03T10:00:00+0200 Bot wrote:",
        "On 2026-08-03 10:00, Bot wrote:",
        "Am 03.08.2026 um 10:00 schrieb Bot:",
        "Dnia 3 sierpnia 2026 10:00 Bot napisał(a):",
        "Quoting Bot <b@x.test>:",
        "Bot <b@x.test> schrieb am Mo., 3. Aug. 2026, 10:00:",
        "Citando Bot <b@x.test>:",
        "03/08/2026 10:00, Bot пишет:",
        "Понедельник, 3 августа 2026, 10:00 +03:00 от Bot <b@x.test>:",
        "Bot <b@x.test> írta (2026. augusztus 3., hétfő):",
        "El 03/08/2026 a las 10:00, Bot escribió:",
        "Em 03/08/2026 10:00, Bot escreveu:",
        "Den 2026-08-03 kl. 10:00, skrev Bot:",
        "Le 03/08/2026 à 10:00, Bot a écrit :",
    ] {
        let words = split(&format!("OWN.\n\n{attribution}\n> FOREIGN\n\nOWN too.\n"), Kind::Reply);
        assert_eq!(words.own, "OWN.\n\nOWN too.", "{attribution}");
        let words = split(&format!("OWN.\n\n{attribution}\nFOREIGN\n"), Kind::Reply);
        assert_eq!(words.own, "OWN.", "{attribution}");
    }
}
