//! Labels such as `password` or `api key`, followed by something that looks like a secret.
//!
//! How much the value must look like a secret depends on the label: anything may be a password, but a token is long and
//! mixed. A text that only talks about secrets has other words there, or says where the secret is kept.

use crate::words::is_in;

/// The label of a secret, and so its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Chosen by a person: short and perhaps a word.
    Password,
    /// A few digits.
    Pin,
    /// Made by a machine: long and mixed.
    Key,
    /// A row of words.
    Phrase,
}

/// The labels. A blank matches a blank, a dash, an underscore or nothing.
const LABELS: &[(&str, Kind)] = &[
    ("password", Kind::Password),
    ("passwort", Kind::Password),
    ("passphrase", Kind::Password),
    ("passcode", Kind::Password),
    ("passwd", Kind::Password),
    ("pwd", Kind::Password),
    ("kennwort", Kind::Password),
    ("mot de passe", Kind::Password),
    ("contraseña", Kind::Password),
    ("contrasena", Kind::Password),
    ("senha", Kind::Password),
    ("wachtwoord", Kind::Password),
    ("wifi key", Kind::Password),
    ("wpa key", Kind::Password),
    ("pin", Kind::Pin),
    ("puk", Kind::Pin),
    ("cvv", Kind::Pin),
    ("cvc", Kind::Pin),
    ("api key", Kind::Key),
    ("api token", Kind::Key),
    ("api secret", Kind::Key),
    ("secret access key", Kind::Key),
    ("access key", Kind::Key),
    ("access token", Kind::Key),
    ("account key", Kind::Key),
    ("auth token", Kind::Key),
    ("refresh token", Kind::Key),
    ("client secret", Kind::Key),
    ("secret key", Kind::Key),
    ("private key", Kind::Key),
    ("encryption key", Kind::Key),
    ("recovery code", Kind::Key),
    ("recovery key", Kind::Key),
    ("backup code", Kind::Key),
    ("license key", Kind::Key),
    ("bearer", Kind::Key),
    ("secret", Kind::Key),
    ("token", Kind::Key),
    ("credentials", Kind::Key),
    ("seed phrase", Kind::Phrase),
    ("recovery phrase", Kind::Phrase),
    ("mnemonic", Kind::Phrase),
];

/// Words after a label that change its meaning.
const ANOTHER_THING: &str = "manager managers reset resets policy policies store stores protected less field prompt generator \
    hint length rotation vault app hash hashes limit limits budget count counts usage price prices \
    window santa ingredient ingredients ring board header bucket expiry strength change changes safe \
    book sauce recipe garden type types name id";

/// Words that link a label to its value.
const LINKS: &[&str] = &["is", "was", "ist", "lautet", "war", "est", "es", "equals", "to", "auf"];

/// Ordinary words that follow `password is` and are not passwords.
const NO_PASSWORD: &str = "required needed stored saved kept expired reset changed unknown empty wrong correct secret strong \
    weak long short mandatory optional hidden encrypted rotated hashed known forgotten lost shared \
    private safe unique different missing invalid valid set unset fine old new there here below above \
    online secure insecure simple complex temporary none null gone public blank same memorable important \
    written him her me them you us bitwarden keepass keepassxc lastpass keychain dashlane true false yes \
    no it notwendig geheim gespeichert sicher falsch vergessen abgelaufen email mail phone sms paper \
    vault default incorrect everything nothing work home done ready";

/// Words that show that the number before them counts something.
const UNITS: &str = "characters character chars digits digit letters words days day weeks months month years year times \
    hours minutes seconds entries passwords tokens keys bits bytes zeichen stellen tage of";

/// How many words may come between a label and its link: `password for the guest network is`.
const MAX_BETWEEN: usize = 7;

/// Returns the kind of the labelled secret in a text.
pub(super) fn find(text: &str) -> Option<&'static str> {
    let lower = text.to_ascii_lowercase();
    let starts = lower.char_indices().filter(|(at, _)| is_word_start(text, *at));
    for (at, _) in starts {
        let label = LABELS.iter().find_map(|(label, kind)| Some((label_end(&lower[at..], label)?, *kind)));
        let Some((length, kind)) = label else { continue };
        if has_secret(&text[at + length..], kind) {
            return Some(match kind {
                Kind::Password => "a password",
                Kind::Pin => "a PIN",
                Kind::Key => "a key or a token",
                Kind::Phrase => "a recovery phrase",
            });
        }
    }
    None
}

/// Whether a value is a placeholder for a secret.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    value.is_empty()
        || value.starts_with(['$', '<', '{', '*', '[', '%', '…'])
        || value.chars().all(|c| matches!(c, 'x' | 'X' | '.' | '•' | '-' | '_'))
        || matches!(
            lower.as_str(),
            "password" | "pass" | "passwd" | "secret" | "token" | "redacted" | "changeme" | "example"
        )
        || lower.starts_with("your") && lower.len() > 5
}

fn is_word_start(text: &str, at: usize) -> bool {
    let (before, from) = text.split_at(at);
    let Some(first) = from.chars().next() else { return false };
    let is_hump = |last: char| last.is_lowercase() && first.is_uppercase();
    first.is_alphabetic()
        && before.chars().next_back().is_none_or(|last| !last.is_alphanumeric() || is_hump(last))
}

/// The length of the label, including a plural, at the beginning of a lower-case text.
fn label_end(text: &str, label: &str) -> Option<usize> {
    let mut rest = text;
    for part in label.split(' ') {
        rest = rest.strip_prefix([' ', '-', '_']).unwrap_or(rest).strip_prefix(part)?;
    }
    rest = rest.strip_prefix('s').unwrap_or(rest);
    let is_whole = rest.chars().next().is_none_or(|next| !next.is_alphanumeric());
    is_whole.then(|| text.len() - rest.len())
}

/// How a label and a value are linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    /// By a sign.
    Sign,
    /// By a word.
    Word,
    /// By nothing.
    Nothing,
}

/// Whether a secret follows a label within the sentence.
fn has_secret(behind: &str, kind: Kind) -> bool {
    let behind = behind.strip_prefix(['"', '\'', '`']).unwrap_or(behind);
    let mut between = 0;
    let mut rest = behind;
    if let Some(value) = sign(rest) {
        return is_secret(value, kind, Link::Sign, between);
    }
    while let Some((word, after)) = next_word(rest) {
        let plain = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        if between == 0 && is_in(ANOTHER_THING, &plain) {
            return false;
        }
        if between == 0 && is_secret(rest, kind, Link::Nothing, between) {
            return true;
        }
        if LINKS.contains(&plain.as_str())
            && is_secret(sign(after).unwrap_or(after), kind, Link::Word, between)
        {
            return true;
        }
        between += 1;
        if word.ends_with([':', '=']) || sign(after).is_some() {
            return is_secret(sign(after).unwrap_or(after), kind, Link::Sign, between);
        }
        if between > MAX_BETWEEN || word.ends_with(['.', '!', '?', ';']) {
            return false;
        }
        rest = after;
    }
    false
}

/// What follows a linking sign.
fn sign(text: &str) -> Option<&str> {
    let text = text.trim_start_matches([' ', '\t', ')', '"', '\'', '`', '*']);
    let behind = ["=>", "->", ":=", ":", "=", "→"].iter().find_map(|sign| text.strip_prefix(sign))?;
    let behind = behind.trim_start_matches([' ', '\t']);
    // The end of bold type; a row of stars is a placeholder.
    let bold = behind.strip_prefix("**").filter(|rest| !rest.starts_with('*'));
    Some(bold.unwrap_or(behind).trim_start_matches([' ', '\t']))
}

/// The next word on this line, and what follows it.
fn next_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches([' ', '\t']);
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// Whether a text begins with something that looks like a secret of this kind.
fn is_secret(text: &str, kind: Kind, link: Link, between: usize) -> bool {
    let text = if link == Link::Sign && between == 0 {
        text.trim_start()
    } else {
        text.trim_start_matches([' ', '\t'])
    };
    let Some((word, after)) = next_word(text) else { return false };
    if kind == Kind::Password
        && link != Link::Nothing
        && quotation(text).is_some_and(|quoted| quoted.len() >= 8)
    {
        return true;
    }
    let quoted = word.starts_with(['"', '\'', '`', '“', '„', '«']);
    let ends = word.ends_with(['.', ',', ';', '!', '?', ')'])
        || after.trim_start_matches([' ', '\t']).starts_with('\n');
    let value = word.trim_matches(['"', '\'', '`', '“', '”', '„', '«', '»', ',', ';', '(', ')', '.']);
    let value = value.trim_end_matches(['?']);
    if is_placeholder(value) || value.contains("://") {
        return false;
    }
    let next =
        next_word(after).map(|(word, _)| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase());
    let is_count = next.as_deref().is_some_and(|next| is_in(UNITS, next));
    let mix = Mix::of(value);
    let is_clause = ends || next.is_none() || quoted;
    match kind {
        Kind::Phrase => {
            link != Link::Nothing
                && text.split_whitespace().take(12).filter(|word| is_plain(word)).count() >= 11
        }
        Kind::Pin => {
            let digits = value.len();
            link != Link::Nothing
                && mix.is_digits()
                && (3..=8).contains(&digits)
                && !is_count
                && between <= MAX_BETWEEN
        }
        Kind::Key => {
            let least = if link == Link::Nothing { 20 } else { 8 };
            value.len() >= least
                && mix.has_letters()
                && mix.digits > 1
                && !value.contains(['/', '@'])
                && !mix.is_date_like(value)
                || value.len() >= 20 && mix.is_mixed() && mix.digits > 0
        }
        Kind::Password => {
            let is_mixed =
                value.len() >= 5 && mix.is_mixed() && mix.digits + mix.signs > 0 && mix.has_letters();
            let is_number = value.len() >= 4 && mix.is_digits() && !is_count;
            let is_row = value.len() >= 15 && value.matches(['-', '_']).count() >= 2 && mix.digits == 0;
            let is_word =
                value.len() >= 4 && is_clause && between == 0 && !is_in(NO_PASSWORD, &value.to_lowercase());
            match link {
                Link::Sign | Link::Word => is_mixed || is_number || is_row || (is_word && mix.has_letters()),
                Link::Nothing => value.len() >= 6 && is_mixed && mix.digits > 0 && !value.contains('/'),
            }
        }
    }
}

/// Several words within quotation marks.
fn quotation(text: &str) -> Option<&str> {
    let first = text.chars().next()?;
    let last = match first {
        '"' | '\'' | '`' => first,
        '“' => '”',
        '„' => '“',
        '«' => '»',
        _ => return None,
    };
    let quoted = text[first.len_utf8()..].split_once(last)?.0;
    (quoted.contains(' ') && !quoted.contains('\n') && !is_placeholder(quoted)).then_some(quoted)
}

fn is_plain(word: &str) -> bool {
    word.trim_end_matches([',', '.']).chars().all(char::is_lowercase)
}

/// Which characters a value consists of.
struct Mix {
    lower: usize,
    /// Capitals after the first letter.
    upper: usize,
    letters: usize,
    digits: usize,
    signs: usize,
}

impl Mix {
    fn of(value: &str) -> Self {
        let count = |is: fn(char) -> bool| value.chars().filter(|c| is(*c)).count();
        Self {
            lower: count(char::is_lowercase),
            upper: value.chars().skip(1).filter(|c| c.is_uppercase()).count(),
            letters: count(char::is_alphabetic),
            digits: count(|c| c.is_ascii_digit()),
            signs: count(|c| "!@#$%^&*+=~_\\|<>?§€£{}[]".contains(c)),
        }
    }

    fn has_letters(&self) -> bool {
        self.letters > 0
    }

    fn is_digits(&self) -> bool {
        self.digits > 0 && self.letters == 0 && self.signs == 0
    }

    fn is_mixed(&self) -> bool {
        [self.lower > 0, self.upper > 0, self.digits > 0, self.signs > 0].iter().filter(|has| **has).count()
            >= 2
    }

    /// `2026-11-05T10:00`, `10:30pm`, `v1.2.3`: mixed, but not secret.
    fn is_date_like(&self, value: &str) -> bool {
        let begins_with_year =
            value.split('-').next().is_some_and(|year| year.len() == 4 && year.parse::<u16>().is_ok());
        self.digits > self.letters && (begins_with_year || value.contains([':', '.']))
    }
}
