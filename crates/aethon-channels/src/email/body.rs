//! Extracts what a person wrote in a mail: quoted text and signatures are removed, and forwarded mail is separated.

/// The text of a mail, split by author.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    /// What the sender wrote.
    pub(super) own: String,
    /// What someone else wrote and the sender forwarded.
    pub(super) passed_on: Option<String>,
}

/// Lines above a forwarded mail, in the forms of common programs.
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

/// Lines above the quoted text of a reply.
const REPEATED: [&str; 4] = [
    "-----original message-----",
    "-----ursprüngliche nachricht-----",
    "-----message d'origine-----",
    "________________________________",
];

/// The header names by which some programs introduce forwarded or quoted mail: author, date, subject.
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

/// How many lines after the first header the others may be.
const LONGEST_HEADING: usize = 12;

/// How attribution lines above quoted text begin, and a word they contain.
const ATTRIBUTIONS: [(&str, &str); 6] = [
    ("on ", "wrote:"),
    ("am ", "schrieb"),
    ("le ", "a écrit"),
    ("el ", "escribió"),
    ("il ", "ha scritto"),
    ("op ", "schreef"),
];

/// How many lines an attribution may span.
const LONGEST_ATTRIBUTION: usize = 4;

/// Splits a text. In a reply, quoted text is dropped, since the conversation already contains it.
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
                // What follows is quoted line by line, or all of it is the answered mail.
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
        // If there is nothing but quoted text, the sender wants it to be seen.
        None if own.is_empty() && !repeated.is_empty() => Some(repeated.join("\n")),
        None => None,
    };
    Words { own, passed_on: passed_on.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()) }
}

/// Returns where a forwarded mail begins. In a reply, text below the headers of another mail is what it answers.
fn forwarded(lowered: &[String], is_reply: bool) -> Option<usize> {
    let is_mark = |line: &String| PASSED_ON.iter().any(|mark| line.starts_with(mark));
    let marked = lowered.iter().position(is_mark);
    if is_reply {
        return marked;
    }
    let headed = (0..lowered.len()).find(|at| is_heading(&lowered[*at..]));
    // The line above the headers belongs to them.
    let headed = headed.map(|at| {
        let above = lowered[..at].iter().rposition(|line| !line.is_empty());
        above.filter(|above| is_repeated(&lowered[*above])).unwrap_or(at)
    });
    marked.into_iter().chain(headed).min()
}

fn is_repeated(lowered: &str) -> bool {
    REPEATED.iter().any(|mark| lowered.starts_with(mark))
}

/// Returns whether these lines begin with the headers of another mail.
fn is_heading(lowered: &[String]) -> bool {
    let Some((first, rest)) = lowered.split_first() else { return false };
    let below = &rest[..rest.len().min(LONGEST_HEADING)];
    let has = |names: &[&str]| below.iter().any(|line| is_field(line, names));
    is_field(first, &FROM) && has(&SENT) && has(&SUBJECT)
}

/// Returns whether a line is a header with one of these names, possibly in bold.
fn is_field(lowered: &str, names: &[&str]) -> bool {
    let Some((name, _)) = lowered.split_once(':') else { return false };
    names.contains(&name.trim_matches(|c: char| c == '*' || c.is_whitespace()))
}

/// Returns the number of attribution lines at the start.
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

/// Joins lines, collapsing consecutive empty lines into one.
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

/// Cuts the HTML of a reply where common programs begin to quote the answered mail.
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
    // The marker is inside a tag, which starts before it.
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
