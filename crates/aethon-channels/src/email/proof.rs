//! Decides whether a mail was written by the person it names, and by a person at all.
//!
//! The sender can put any name in `From`. The owner's own mail server checks it (SPF, DKIM, and DMARC, which says
//! whether they match that name) and writes the results at the top. Only these count: the topmost field of that
//! server, with one DMARC result that is unambiguous about the address. Anything unclear fails. A field that cannot
//! be parsed may be that server's own, made unreadable by content from the sender, so nothing below it counts.

use super::address::{canonical_domain, only_address};
use super::head::Head;
use super::machine;

/// Why a mail is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RejectReason {
    /// It does not name exactly one sender.
    Sender,
    /// The sender is not proven.
    Unproven,
    /// A program wrote it, or a mailing list distributed it.
    Machine,
    /// We wrote it.
    Own,
}

/// The rules by which senders are believed.
pub(super) struct Trust<'o> {
    /// The server whose results count.
    pub(super) authserv_id: &'o str,
    /// Whether to believe the From field without proof.
    pub(super) takes_from: bool,
    /// Our own addresses.
    pub(super) own: &'o [String],
}

impl Trust<'_> {
    /// Returns the address of the person who wrote a mail.
    pub(super) fn sender(&self, head: &Head) -> Result<String, RejectReason> {
        let sender = head.one("from").and_then(only_address).ok_or(RejectReason::Sender)?;
        if self.own.contains(&sender) {
            return Err(RejectReason::Own);
        }
        if machine::wrote(head, &sender) {
            return Err(RejectReason::Machine);
        }
        if self.takes_from || self.is_proven(head, &sender) {
            return Ok(sender);
        }
        Err(RejectReason::Unproven)
    }

    fn is_proven(&self, head: &Head, sender: &str) -> bool {
        let own = self.authserv_id.trim();
        if own.is_empty() {
            return false;
        }
        for value in head.all("authentication-results") {
            let Some(outcomes) = Outcomes::read(value) else { return false };
            if outcomes.server.eq_ignore_ascii_case(own) {
                return outcomes.pass_for(sender);
            }
        }
        false
    }
}

/// A server's results for a mail: its name, and the words of each result.
struct Outcomes {
    server: String,
    outcomes: Vec<Vec<String>>,
}

impl Outcomes {
    /// Parses a field. Returns `None` if it is malformed.
    fn read(value: &str) -> Option<Self> {
        let mut pieces = pieces(value)?.into_iter();
        // A version may follow the name.
        let server = pieces.next()?.into_iter().next()?;
        Some(Self { server, outcomes: pieces.collect() })
    }

    /// Returns whether DMARC passed for this address. Two DMARC results fail, because one of them was injected.
    fn pass_for(&self, sender: &str) -> bool {
        let is_dmarc = |words: &&Vec<String>| {
            let method = words.first().and_then(|word| word.split(['=', '/']).next());
            method.is_some_and(|method| method.eq_ignore_ascii_case("dmarc"))
        };
        let mut found = self.outcomes.iter().filter(is_dmarc);
        let (Some(words), None) = (found.next(), found.next()) else { return false };
        let outcome = words.first().and_then(|word| word.split_once('=')).map(|(_, outcome)| outcome);
        let domain = sender.rsplit_once('@').map_or("", |(_, domain)| domain);
        let is_of_sender = |word: &String| match word.split_once('=') {
            Some((name, from)) if name.eq_ignore_ascii_case("header.from") => {
                let from = from.rsplit_once('@').map_or(from, |(_, domain)| domain);
                canonical_domain(from) == domain
            }
            _ => true,
        };
        outcome.is_some_and(|outcome| outcome.eq_ignore_ascii_case("pass")) && words.iter().all(is_of_sender)
    }
}

/// Splits a field at semicolons into words, without comments; a quoted string is part of its word. Returns `None` if
/// a comment or a quotation is not closed.
fn pieces(value: &str) -> Option<Vec<Vec<String>>> {
    let mut pieces = vec![Vec::new()];
    let mut word = String::new();
    let (mut depth, mut is_quoted) = (0_u32, false);
    let mut characters = value.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' if depth > 0 || is_quoted => {
                let next = characters.next()?;
                if depth == 0 {
                    word.push(next);
                }
            }
            '"' if depth == 0 => is_quoted = !is_quoted,
            _ if is_quoted => word.push(c),
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            _ if depth > 0 => {}
            ';' => {
                finish(&mut word, pieces.last_mut()?);
                pieces.push(Vec::new());
            }
            _ if c.is_whitespace() => finish(&mut word, pieces.last_mut()?),
            _ => word.push(c),
        }
    }
    finish(&mut word, pieces.last_mut()?);
    (depth == 0 && !is_quoted).then_some(pieces)
}

fn finish(word: &mut String, words: &mut Vec<String>) {
    if !word.is_empty() {
        words.push(std::mem::take(word));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUST: Trust<'_> = Trust { authserv_id: "mx.home.example", takes_from: false, own: &[] };
    const PASS: &str = "Authentication-Results: mx.home.example; spf=pass smtp.mailfrom=ada@x.example; dmarc=pass (p=NONE) header.from=x.example\r\n";

    fn check(fields: &str, expected: Result<&str, RejectReason>) {
        let found = TRUST.sender(&Head::read(fields.as_bytes()));
        assert_eq!(found.as_deref().map_err(|why| *why), expected, "{fields}");
    }

    #[test]
    fn a_sender_is_believed_when_the_own_server_vouches() {
        check(&format!("{PASS}From: Ada <Ada@X.example>\r\n"), Ok("ada@x.example"));
        check("From: ada@x.example\r\n", Err(RejectReason::Unproven));
        check(&format!("{PASS}From: ada@y.example\r\n"), Err(RejectReason::Unproven));
        let of = |results: &str| format!("Authentication-Results: {results}\r\nFrom: ada@x.example\r\n");
        let no = Err(RejectReason::Unproven);
        check(&of("MX.home.example 1; dmarc=pass"), Ok("ada@x.example"));
        check(&of("mx.home.example; dmarc=fail; dkim=pass header.d=x.example"), no);
        check(&of("mx.home.example; dmarc=none"), no);
        check(&of("other.example; dmarc=pass"), no);
        check(&of("mx.home.example.evil; dmarc=pass"), no);
        check(&of("mx.home.example; none"), no);
        check(&of("mx.home.example; dmarc=pass; dmarc=fail"), no);
        check(&of("mx.home.example; spf=fail (x; dmarc=pass)"), no);
        check(&of("mx.home.example; spf=fail smtp.mailfrom=\"a; dmarc=pass \"@y; dmarc=fail"), no);
        check(&of("mx.home.example; spf=pass (of \"e); dmarc=pass (\"@y); dmarc=fail"), no);
        check(&of("mx.home.example; dmarc=pass (never closed"), no);
        check(&of("mx.home.example; dmarc=pass header.from=ada@y.example"), no);
    }

    #[test]
    fn topmost_outcome_of_the_own_server_decides() {
        let fail = "Authentication-Results: mx.home.example; dmarc=fail header.from=x.example\r\n";
        let other = "Authentication-Results: relay.example; dmarc=fail\r\n";
        check(&format!("{fail}{PASS}From: ada@x.example\r\n"), Err(RejectReason::Unproven));
        check(&format!("{other}{PASS}{fail}From: ada@x.example\r\n"), Ok("ada@x.example"));
    }

    #[test]
    fn nothing_below_an_outcome_that_cannot_be_read_counts() {
        for unreadable in [
            "mx.home.example; spf=fail smtp.helo=a(b; dmarc=fail header.from=x.example",
            "mx.home.example; spf=fail smtp.helo=\"a; dmarc=fail",
            "mx.home.example; spf=fail smtp.helo=a\\(b); dmarc=fail",
            "mx.home.example (; dmarc=fail",
            "(mx.home.example; dmarc=fail",
            "relay.example; dmarc=fail (",
            "; dmarc=fail",
            "",
        ] {
            let fields = format!("Authentication-Results: {unreadable}\r\n{PASS}From: ada@x.example\r\n");
            check(&fields, Err(RejectReason::Unproven));
        }
    }

    #[test]
    fn exactly_one_sender_is_named() {
        for from in [
            "From: ada@x.example, eve@y.example",
            "From: ada@x.example\r\nFrom: eve@y.example",
            "From: ada@x.example\r\nFrom : ada@x.example",
            "From: ada@x.example <eve@y.example>",
            "From: <ada@x.example> <eve@y.example>",
            "From: group: ada@x.example;",
            "From: \"ada@x.example",
            "From: ada",
            "From: \"a b\"@x.example",
            "From:",
            "Sender: ada@x.example",
        ] {
            check(&format!("{PASS}{from}\r\n"), Err(RejectReason::Sender));
        }
        check(&format!("{PASS}From: \"Ada, <ada@home>\" (at home) <ada@x.example>\r\n"), Ok("ada@x.example"));
        check(&format!("{PASS}From: =?utf-8?q?Ad=C3=A1?= <ada@x.example>\r\n"), Ok("ada@x.example"));
    }

    #[test]
    fn machines_lists_and_ourselves_are_not_answered() {
        for field in [
            "Auto-Submitted: auto-replied",
            "List-Id: <l.example>",
            "List-Unsubscribe: <mailto:u@l.example>",
            "Precedence: bulk",
            "Return-Path: <>",
            "Content-Type: multipart/report; report-type=delivery-status",
            "X-Auto-Response-Suppress: All",
        ] {
            check(&format!("{PASS}{field}\r\nFrom: ada@x.example\r\n"), Err(RejectReason::Machine));
        }
        check(&format!("{PASS}Auto-Submitted: no\r\nFrom: ada@x.example\r\n"), Ok("ada@x.example"));
        let own = ["ada@x.example".to_owned()];
        let trust = Trust { own: &own, ..TRUST };
        let head = Head::read(format!("{PASS}From: ada@x.example\r\n").as_bytes());
        assert_eq!(trust.sender(&head), Err(RejectReason::Own));
        let taken = Trust { takes_from: true, ..TRUST };
        assert_eq!(taken.sender(&Head::read(b"From: eve@y.example\r\n")).unwrap(), "eve@y.example");
    }
}
