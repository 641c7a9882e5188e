//! Extracts what a person wrote in a mail: repeated text and signatures are removed, and what somebody else wrote is
//! separated. Where that begins is decided in `foreign`.

use super::foreign::{Beginning, QUOTES, Shapes};

/// The text of a mail, split by author.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    /// What the sender wrote.
    pub(super) own: String,
    /// What someone else wrote and the sender forwarded.
    pub(super) passed_on: Option<String>,
}

/// What kind of mail a text belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It begins a conversation.
    First,
    /// It answers a mail of the conversation, which need not be read again.
    Reply,
    /// Its subject marks it as forwarded.
    Forward,
}

/// Splits a text. Quotes in a certain form are dropped from a reply, since the conversation already contains them; any
/// other text that may be another person's is kept apart. A forwarded mail that shows no boundary is another person's as a
/// whole.
pub(super) fn words(text: &str, kind: Kind) -> Words {
    let text = text.replace("\r\n", "\n").replace(['\r', '\0'], "");
    let lines: Vec<&str> = text.lines().collect();
    let mut split =
        Split { kind, own: Vec::new(), repeated: Vec::new(), foreign: Vec::new(), is_signed: false };
    split.run(&lines);
    let Split { own, repeated, mut foreign, .. } = split;
    let mut own = collapsed(&own);
    if kind == Kind::Forward && foreign.is_empty() && repeated.is_empty() {
        own.clear();
        foreign = lines;
    }
    // If there is nothing but quoted text, the sender wants it to be seen.
    if own.is_empty() && foreign.is_empty() {
        foreign = repeated;
    }
    let passed_on = foreign.join("\n").trim().to_owned();
    Words { own, passed_on: Some(passed_on).filter(|text| !text.is_empty()) }
}

/// A text that is being split.
struct Split<'t> {
    kind: Kind,
    own: Vec<&'t str>,
    /// Quoted lines of a reply.
    repeated: Vec<&'t str>,
    foreign: Vec<&'t str>,
    /// Whether the sender's signature has begun.
    is_signed: bool,
}

impl<'t> Split<'t> {
    fn run(&mut self, lines: &[&'t str]) {
        let (shapes, is_reply) = (Shapes::of(lines), self.kind == Kind::Reply);
        let mut at = 0;
        while at < lines.len() {
            if shapes.is_quoted(at) {
                let bare = lines[at].trim_start().trim_start_matches(QUOTES).trim_start_matches(' ');
                if is_reply {
                    self.repeated.push(bare)
                } else {
                    self.foreign.push(bare)
                }
                at += 1;
                continue;
            }
            match shapes.at(at, is_reply) {
                Some(Beginning::Repeated) if is_reply => return,
                Some(Beginning::Repeated | Beginning::Foreign) => return self.foreign.extend(&lines[at..]),
                Some(Beginning::Attribution { lines: length, certain }) => {
                    if !shapes.has_quotes(at + length) {
                        // All of the rest is the answered mail.
                        if !(is_reply && certain) {
                            self.foreign.extend(&lines[at..]);
                        }
                        return;
                    }
                    if !is_reply {
                        self.foreign.extend(&lines[at..at + length]);
                    }
                    at += length;
                    continue;
                }
                None => {}
            }
            self.is_signed |= lines[at].trim_end() == "--";
            if !self.is_signed {
                self.own.push(lines[at]);
            }
            at += 1;
        }
    }
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

/// A page, split where programs begin to quote another mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Page<'h> {
    /// What comes before.
    pub(super) own: &'h str,
    /// The rest; empty if nothing is quoted.
    pub(super) rest: &'h str,
    /// Whether a program says by its mark that it repeats the mail that this one answers.
    pub(super) is_repeated: bool,
}

/// Splits the HTML of a mail.
pub(super) fn split_page(html: &str) -> Page<'_> {
    const MARKS: [&str; 10] = [
        "class=\"gmail_quote",
        "class=\"gmail_attr",
        "type=\"cite\"",
        "id=\"divrplyfwdmsg\"",
        "id=\"appendonsend\"",
        "class=\"moz-cite-prefix\"",
        "class=\"moz-forward-container\"",
        "class=\"yahoo_quoted\"",
        "class=\"protonmail_quote\"",
        "class=\"zmail_extra\"",
    ];
    let lowered = html.to_ascii_lowercase();
    let first = MARKS.iter().filter_map(|mark| lowered.find(mark)).min();
    // The mark is inside a tag, which starts before it.
    let marked = first.and_then(|at| lowered[..at].rfind('<'));
    let block = lowered.find("<blockquote");
    let at = marked.into_iter().chain(block).min().unwrap_or(html.len());
    let (own, rest) = html.split_at(at);
    Page { own, rest, is_repeated: marked == Some(at) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, is_reply: bool, own: &str, passed_on: Option<&str>) {
        let kind = if is_reply { Kind::Reply } else { Kind::First };
        let expected = Words { own: own.into(), passed_on: passed_on.map(str::to_owned) };
        assert_eq!(words(text, kind), expected, "{text:?}");
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
        check("I read:\n> a poem\nNice.", false, "I read:\nNice.", Some("a poem"));
        check("On 3 May we wrote: a list\nmore", false, "On 3 May we wrote: a list\nmore", None);
        check("a\n\n\n\nb  \n", false, "a\n\nb", None);
    }

    #[test]
    fn forwarded_text_is_kept_apart_from_own_text() {
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
    fn a_page_is_split_where_it_quotes() {
        let check = |html: &str, own: &str, is_repeated: bool| {
            let page = split_page(html);
            assert_eq!((page.own, page.is_repeated), (own, is_repeated), "{html}");
            assert_eq!(format!("{}{}", page.own, page.rest), html);
        };
        check("<p>Yes</p><div class=\"gmail_quote gmail_x\">old</div>", "<p>Yes</p>", true);
        check("<p>Ä</p><BLOCKQUOTE TYPE=\"cite\">old", "<p>Ä</p>", true);
        check("<p>Ä</p><blockquote>old</blockquote>", "<p>Ä</p>", false);
        check("<p>Yes</p>", "<p>Yes</p>", false);
    }
}
