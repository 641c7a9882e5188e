//! Extracts a person's own words from a mail: repeated text and signatures are removed, and other people's words are
//! separated. `foreign` decides where those begin.

use super::foreign::{Beginning, QUOTES, QuotesAfter, Shapes};
use super::lines::{Line, Mark, has_words};

/// The text of a mail, split by author.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    /// The sender's own words.
    pub(super) own: String,
    /// What someone else wrote and the sender forwarded.
    pub(super) passed_on: Option<String>,
}

/// What kind of mail a text belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Kind {
    /// It begins a conversation.
    #[default]
    First,
    /// It answers a mail of the conversation, which need not be read again.
    Reply,
    /// Its subject marks it as forwarded.
    Forward,
}

/// Splits the lines of a mail. Quotes in a certain form are dropped from a reply, since the conversation already contains
/// them; any other text that may be another person's is kept apart. A forwarded mail that shows no boundary is another
/// person's as a whole. If nothing would be left, nothing is dropped.
pub(super) fn words(lines: &[Line], kind: Kind) -> Words {
    let mut split = Split { kind, ..Split::default() };
    split.run(lines);
    split.end_signature();
    let Split { own, signed, repeated, mut foreign, .. } = split;
    let mut own = collapsed(&own);
    if !has_words(&own) {
        own = collapsed(&signed);
    }
    if kind == Kind::Forward && foreign.is_empty() && repeated.is_empty() {
        own.clear();
        foreign = lines.iter().map(|line| line.text.as_str()).collect();
    }
    // If there is nothing but quoted text, the sender wants it to be seen.
    if !has_words(&own) && !foreign.iter().any(|line| has_words(line)) {
        foreign = repeated;
    }
    let passed_on = foreign.join("\n").trim().to_owned();
    Words { own, passed_on: Some(passed_on).filter(|text| has_words(text)) }
}

/// The most lines of a signature; a longer one is read as text.
const MAX_SIGNATURE: usize = 15;

/// A text that is being split.
#[derive(Default)]
struct Split<'t> {
    kind: Kind,
    own: Vec<&'t str>,
    /// Where in `own` the last mark of a signature stands.
    signature: Option<usize>,
    /// The lines that were removed as a signature.
    signed: Vec<&'t str>,
    /// Quoted lines of a reply.
    repeated: Vec<&'t str>,
    foreign: Vec<&'t str>,
}

impl<'t> Split<'t> {
    fn run(&mut self, lines: &'t [Line]) {
        let (shapes, is_reply) = (Shapes::of(lines), self.kind == Kind::Reply);
        let mut at = 0;
        let mut is_attributed = false;
        while at < lines.len() {
            let line = &lines[at];
            match line.mark {
                Mark::Begin | Mark::BeginForwarded => {
                    at = self.run_apart(lines, &shapes, at);
                    continue;
                }
                Mark::End | Mark::Part => {
                    self.end_signature();
                    self.own.push("");
                    at += 1;
                    continue;
                }
                Mark::None | Mark::Quoted | Mark::Attribution => {}
            }
            if shapes.is_quoted(at, is_reply) {
                self.end_signature();
                let bare = line.text.trim_start().trim_start_matches(QUOTES).trim_start_matches(' ');
                // A quote in general may be of anything, unless a line says whose mail it is.
                self.other(bare, is_reply && (line.mark != Mark::Quoted || is_attributed));
                at += 1;
                continue;
            }
            let begins = shapes.at(at, is_reply).or_else(|| marked_attribution(lines, at));
            let rest = || lines[at..].iter().map(|line| line.text.as_str());
            match begins {
                Some(Beginning::Repeated) if is_reply => {
                    self.end_signature();
                    return self.repeated.extend(rest());
                }
                Some(Beginning::Repeated | Beginning::Foreign) => {
                    self.end_signature();
                    return self.foreign.extend(rest());
                }
                Some(Beginning::Attribution { lines: length, certain }) => {
                    self.end_signature();
                    match shapes.quotes_after(at + length) {
                        QuotesAfter::None => {
                            // All of the rest is the answered mail.
                            let others =
                                if is_reply && certain { &mut self.repeated } else { &mut self.foreign };
                            return others.extend(rest());
                        }
                        QuotesAfter::Later => {
                            // Whose words stand in between is not known.
                            for (line, at) in rest().zip(at..) {
                                let is_repeated = is_reply && shapes.is_quoted(at, is_reply);
                                self.other(line, is_repeated);
                            }
                            return;
                        }
                        QuotesAfter::AtOnce => {}
                    }
                    for line in &lines[at..at + length] {
                        self.other(&line.text, is_reply);
                    }
                    is_attributed = true;
                    at += length;
                    continue;
                }
                None => {}
            }
            if line.text == "-- " {
                self.signature = Some(self.own.len());
            }
            self.own.push(&line.text);
            at += 1;
        }
    }

    /// Takes another mail whose extent is marked. Returns where it ends.
    fn run_apart(&mut self, lines: &'t [Line], shapes: &Shapes, at: usize) -> usize {
        self.end_signature();
        let length =
            lines[at..].iter().position(|line| line.mark == Mark::End).unwrap_or(lines.len() - at - 1);
        let inner = &lines[at + 1..(at + length + 1).min(lines.len())];
        let first = inner.iter().position(|line| has_words(&line.text)).map_or(at, |first| at + 1 + first);
        let is_forwarded = lines[at].mark == Mark::BeginForwarded || shapes.announces_forward(first);
        let is_repeated = self.kind == Kind::Reply && !is_forwarded;
        for line in inner {
            self.other(&line.text, is_repeated);
        }
        at + length + 1
    }

    /// Takes a line of another person.
    fn other(&mut self, line: &'t str, is_repeated: bool) {
        let others = if is_repeated { &mut self.repeated } else { &mut self.foreign };
        others.push(line);
    }

    /// Removes a signature at the end of the lines so far.
    fn end_signature(&mut self) {
        let Some(at) = self.signature.take() else { return };
        let has_lines = |lines: &[&str]| lines.iter().filter(|line| has_words(line)).count();
        if has_lines(&self.own[..at]) > 0 && has_lines(&self.own[at + 1..]) <= MAX_SIGNATURE {
            self.signed.extend(self.own.drain(at..));
        }
    }
}

/// Returns the lines from here on that their program marks as an attribution.
fn marked_attribution(lines: &[Line], at: usize) -> Option<Beginning> {
    let length = lines[at..].iter().take_while(|line| line.mark == Mark::Attribution).count();
    (length > 0).then_some(Beginning::Attribution { lines: length, certain: true })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::email::lines;

    fn check(text: &str, is_reply: bool, own: &str, passed_on: Option<&str>) {
        let kind = if is_reply { Kind::Reply } else { Kind::First };
        let expected = Words { own: own.into(), passed_on: passed_on.map(str::to_owned) };
        assert_eq!(words(&lines::of_text(text, None), kind), expected, "{text:?}");
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
}
