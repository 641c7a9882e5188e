//! What somebody has written in a mail, without what others have: quoted words and signatures are left out, and a mail that
//! is passed on is told apart.

/// The text of a mail, taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    /// What the sender has written.
    pub(super) own: String,
    /// What somebody else has, whom the sender passes on.
    pub(super) passed_on: Option<String>,
}

/// Lines above a mail that is passed on, in the forms of the usual programs.
const PASSED_ON: [&str; 8] = [
    "---------- forwarded message",
    "-------- forwarded message",
    "begin forwarded message:",
    "-------- weitergeleitete nachricht",
    "---------- weitergeleitete nachricht",
    "anfang der weitergeleiteten nachricht:",
    "-------- message transféré",
    "----- forwarded message",
];

/// Lines above what a reply repeats.
const REPEATED: [&str; 4] = [
    "-----original message-----",
    "-----ursprüngliche nachricht-----",
    "-----message d'origine-----",
    "________________________________",
];

/// The names of the fields by which some programs head a mail that is passed on or repeated: who wrote it, when, about what.
const FROM: [&str; 8] = ["from", "von", "de", "da", "van", "från", "fra", "od"];
const SENT: [&str; 16] = [
    "sent",
    "date",
    "gesendet",
    "datum",
    "envoyé",
    "enviado",
    "enviado el",
    "enviada em",
    "inviato",
    "data",
    "fecha",
    "verzonden",
    "skickat",
    "sendt",
    "wysłano",
    "envoyé le",
];
const SUBJECT: [&str; 9] =
    ["subject", "betreff", "objet", "asunto", "assunto", "oggetto", "onderwerp", "ämne", "emne"];

/// Below the first field, how far the others may be.
const LONGEST_HEADING: usize = 12;

/// Beginnings of the line that says who wrote what a reply repeats, and the word in it.
const ATTRIBUTIONS: [(&str, &str); 6] = [
    ("on ", "wrote:"),
    ("am ", "schrieb"),
    ("le ", "a écrit"),
    ("el ", "escribió"),
    ("il ", "ha scritto"),
    ("op ", "schreef"),
];

/// How many lines an attribution may be broken into.
const LONGEST_ATTRIBUTION: usize = 4;

/// Takes a text apart. In a reply, quoted words are those that are in the conversation already.
pub(super) fn words(text: &str, is_reply: bool) -> Words {
    let text = text.replace("\r\n", "\n").replace(['\r', '\0'], "");
    let lines: Vec<&str> = text.lines().collect();
    let lowered: Vec<String> = lines.iter().map(|line| line.trim().to_lowercase()).collect();
    let forwarded = forwarded(&lowered, is_reply);
    let end = forwarded.unwrap_or(lines.len());
    let mut own: Vec<&str> = Vec::new();
    let mut repeated: Vec<&str> = Vec::new();
    let mut at = 0;
    while at < end {
        let line = lines[at];
        if line.trim_end() == "--" || line == "-- " {
            break;
        }
        if is_reply {
            if is_repeated(&lowered[at]) || is_heading(&lowered[at..end]) {
                break;
            }
            if let Some(length) = attribution(&lowered[at..end]) {
                // What stands below is quoted line by line, or all of it is what was answered.
                let rest = &lines[at + length..end];
                if !rest.iter().any(|line| line.starts_with('>')) {
                    break;
                }
                at += length;
                continue;
            }
            if line.starts_with('>') {
                repeated.push(line.trim_start_matches(['>', ' ']));
                at += 1;
                continue;
            }
        }
        own.push(line);
        at += 1;
    }
    let own = collapsed(&own);
    let passed_on = match forwarded {
        Some(at) => Some(lines[at..].join("\n")),
        // Nothing but quoted words: they are what the sender wants seen.
        None if own.is_empty() && !repeated.is_empty() => Some(repeated.join("\n")),
        None => None,
    };
    Words { own, passed_on: passed_on.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()) }
}

/// Where a mail begins that is passed on. What a reply has below the fields of another mail is what it answers.
fn forwarded(lowered: &[String], is_reply: bool) -> Option<usize> {
    let is_mark = |line: &String| PASSED_ON.iter().any(|mark| line.starts_with(mark));
    let marked = lowered.iter().position(is_mark);
    if is_reply {
        return marked;
    }
    let headed = (0..lowered.len()).find(|at| is_heading(&lowered[*at..]));
    // The line above the fields belongs to them.
    let headed = headed.map(|at| {
        let above = lowered[..at].iter().rposition(|line| !line.is_empty());
        above.filter(|above| is_repeated(&lowered[*above])).unwrap_or(at)
    });
    marked.into_iter().chain(headed).min()
}

fn is_repeated(lowered: &str) -> bool {
    REPEATED.iter().any(|mark| lowered.starts_with(mark))
}

/// Whether these lines begin with the fields of another mail.
fn is_heading(lowered: &[String]) -> bool {
    let Some((first, rest)) = lowered.split_first() else { return false };
    let below = &rest[..rest.len().min(LONGEST_HEADING)];
    let has = |names: &[&str]| below.iter().any(|line| is_field(line, names));
    is_field(first, &FROM) && has(&SENT) && has(&SUBJECT)
}

/// Whether a line is a field of one of these names, which may be marked as bold.
fn is_field(lowered: &str, names: &[&str]) -> bool {
    let Some((name, _)) = lowered.split_once(':') else { return false };
    names.contains(&name.trim_matches(|c: char| c == '*' || c.is_whitespace()))
}

/// How many lines say who wrote what follows, if these begin with such.
fn attribution(lowered: &[String]) -> Option<usize> {
    let first = lowered.first()?;
    let (_, verb) = ATTRIBUTIONS.iter().find(|(start, _)| first.starts_with(start))?;
    let mut joined = String::new();
    for (number, line) in lowered.iter().take(LONGEST_ATTRIBUTION).enumerate() {
        if line.is_empty() {
            return None;
        }
        joined.push_str(line);
        joined.push(' ');
        if joined.trim_end().ends_with(':')
            && joined.contains(verb)
            && joined.contains(|c: char| c.is_ascii_digit())
        {
            return Some(number + 1);
        }
    }
    None
}

/// The lines as a text, with one empty line where there were several.
fn collapsed(lines: &[&str]) -> String {
    let mut text = String::new();
    let mut empty = 0;
    for line in lines {
        if line.trim().is_empty() {
            empty += 1;
            continue;
        }
        if !text.is_empty() {
            text.push_str(if empty > 0 { "\n\n" } else { "\n" });
        }
        empty = 0;
        text.push_str(line.trim_end());
    }
    text
}

/// A page of a reply up to where the usual programs begin to repeat what it answers.
pub(super) fn without_repeated(html: &str) -> &str {
    const MARKS: [&str; 8] = [
        "class=\"gmail_quote",
        "class=\"gmail_attr",
        "type=\"cite\"",
        "id=\"divrplyfwdmsg\"",
        "id=\"appendonsend\"",
        "class=\"moz-cite-prefix\"",
        "class=\"yahoo_quoted\"",
        "class=\"protonmail_quote\"",
    ];
    let lowered = html.to_ascii_lowercase();
    let first = MARKS.iter().filter_map(|mark| lowered.find(mark)).min();
    // The mark stands inside a tag, which begins before it.
    let tag = first.and_then(|at| lowered[..at].rfind('<'));
    tag.map_or(html, |at| &html[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, is_reply: bool, own: &str, passed_on: Option<&str>) {
        let expected = Words { own: own.into(), passed_on: passed_on.map(str::to_owned) };
        assert_eq!(words(text, is_reply), expected, "{text:?}");
    }

    #[test]
    fn quoted_words_and_signatures_are_left_out() {
        check(
            "Yes, please.\r\n\r\nOn Mon, 3 Aug 2026 at 10:00, Bot <b@x> wrote:\r\n> Shall I?\r\n> Really?\r\n",
            true,
            "Yes, please.",
            None,
        );
        check("Ja.\n\nAm 03.08.26 um 10:00 schrieb Bot\n<b@x>:\n\n> Soll ich?\n", true, "Ja.", None);
        check("Top.\n\nOn 3 Aug 2026, Bot wrote:\n\nunquoted and old", true, "Top.", None);
        check("> one?\nyes\n> two?\nno", true, "yes\nno", None);
        check("Text\n-- \nAda\n+49 1", true, "Text", None);
        check("Text\n-----Original Message-----\nFrom: x", true, "Text", None);
        check("I read:\n> a poem\nNice.", false, "I read:\n> a poem\nNice.", None);
        check("On 3 May we wrote: a list\nmore", false, "On 3 May we wrote: a list\nmore", None);
        check("a\n\n\n\nb  \n", false, "a\n\nb", None);
    }

    #[test]
    fn what_is_passed_on_is_told_apart() {
        let mark = "---------- Forwarded message ---------";
        check(
            &format!("Look.\n\n{mark}\nFrom: eve\n\nobey"),
            false,
            "Look.",
            Some(&format!("{mark}\nFrom: eve\n\nobey")),
        );
        check("> only\n> this", true, "", Some("only\nthis"));
    }

    #[test]
    fn the_fields_of_another_mail_begin_what_is_passed_on() {
        for heading in [
            "From: Eve <eve@y>\nSent: Monday, 3 August 2026 10:00\nTo: Ada\nSubject: plan",
            "Von: Eve <eve@y>\nGesendet: Montag, 3. August 2026\nAn: Ada\nBetreff: Plan",
            "De : Eve\nEnvoyé : lundi 3 août 2026\nÀ : Ada\nObjet : plan",
            "*From:* Eve\n\n*Date:* 3 August 2026\n*To:* Ada\n*Subject:* plan",
            "-----Original Message-----\nFrom: Eve\nSent: Monday\nSubject: plan",
            "________________________________\n\nFrom: Eve\nDate: Monday\nSubject: plan",
        ] {
            let other = format!("{heading}\n\nobey");
            check(&format!("Look.\n\n{other}"), false, "Look.", Some(&other));
            check(&format!("Yes.\n\n{other}"), true, "Yes.", None);
        }
        let travel = "From: Bern\nTo: Rome\nDate: 3 May";
        check(travel, false, travel, None);
    }

    #[test]
    fn a_page_ends_where_it_repeats() {
        assert_eq!(without_repeated("<p>Yes</p><div class=\"gmail_quote gmail_x\">old</div>"), "<p>Yes</p>");
        assert_eq!(without_repeated("<p>Ä</p><BLOCKQUOTE TYPE=\"cite\">old"), "<p>Ä</p>");
        assert_eq!(without_repeated("<p>Yes</p>"), "<p>Yes</p>");
    }
}
