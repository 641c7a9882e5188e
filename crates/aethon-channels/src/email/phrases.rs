//! The phrases that mail programs write around a mail, by kind, in many languages: `phrases.txt`.

use std::sync::LazyLock;

/// Phrases in lower case.
type Phrases = LazyLock<Vec<&'static str>>;

pub(super) static REPEATED: Phrases = LazyLock::new(|| phrases("[repeated]"));
pub(super) static FROM: Phrases = LazyLock::new(|| phrases("[from]"));
pub(super) static SENT: Phrases = LazyLock::new(|| phrases("[sent]"));
pub(super) static ADDRESSEE: Phrases = LazyLock::new(|| phrases("[to]"));
pub(super) static WROTE: Phrases = LazyLock::new(|| phrases("[wrote]"));
pub(super) static SUBJECT: Phrases = LazyLock::new(|| phrases("[subject]"));
pub(super) static FORWARDS: Phrases = LazyLock::new(|| phrases("[forward]"));
pub(super) static REPLIES: Phrases = LazyLock::new(|| phrases("[reply]"));

fn phrases(heading: &str) -> Vec<&'static str> {
    let lines = include_str!("phrases.txt").lines().skip_while(|line| *line != heading).skip(1);
    let section = lines.take_while(|line| !line.is_empty());
    section.flat_map(|line| line.split(',').map(str::trim)).filter(|phrase| !phrase.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_is_read_whole() {
        let check = |list: &Phrases, expected: (usize, &str)| {
            assert_eq!((list.len(), *list.last().unwrap()), expected);
        };
        check(&REPEATED, (45, "originalnachricht"));
        check(&FROM, (57, "од"));
        check(&SENT, (87, "wysłane"));
        check(&ADDRESSEE, (41, "skirta"));
        check(&WROTE, (52, "寫了"));
        check(&SUBJECT, (46, "naslov"));
        check(&FORWARDS, (62, "birtu"));
        check(&REPLIES, (40, "trả lời"));
    }
}
