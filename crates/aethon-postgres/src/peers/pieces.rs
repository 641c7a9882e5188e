//! Batches as pieces that fit a notification.
//!
//! A piece is a line with its sender, the number of its batch, its place and the number of pieces, and then its part of the text.
//! The server delivers the pieces of a transaction together and in order, so whatever does not follow is a loss.

use std::collections::HashMap;

use aethon_core::peers::PeerId;

/// The longest piece, in bytes. A notification takes less than 8000.
const MAX_PIECE: usize = 7800;

/// How many senders are remembered. Daemons that are gone are forgotten when there are more.
const MAX_SENDERS: usize = 1000;

/// The largest batch that is joined, in bytes.
const MAX_JOINED: usize = 64 << 20;

/// Cuts a batch into pieces.
pub(super) fn cut(from: PeerId, batch: u64, text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() || parts.is_empty() {
        let (part, behind) = rest.split_at(rest.floor_char_boundary(MAX_PIECE));
        parts.push(part);
        rest = behind;
    }
    let pieces = parts.len();
    let piece = |(place, part)| format!("{} {batch} {place} {pieces}\n{part}", from.0);
    parts.into_iter().enumerate().map(piece).collect()
}

/// Joins pieces, for each sender.
#[derive(Default)]
pub(super) struct Joiner(HashMap<PeerId, Joining>);

#[derive(Default)]
struct Joining {
    /// The last batch that was complete.
    done: Option<u64>,
    /// The batch that is being joined, and how many of its pieces are here.
    batch: u64,
    pieces: usize,
    text: String,
}

/// What a piece brings.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Joined {
    /// Nothing yet, or what is here already.
    Nothing,
    /// A whole batch; whether others of this sender before it were lost.
    Batch { from: PeerId, text: String, has_gap: bool },
    /// No piece that can be understood.
    Unknown,
}

impl Joiner {
    /// Adds a piece.
    pub(super) fn add(&mut self, piece: &str) -> Joined {
        let Some((from, batch, place, pieces, part)) = parse(piece) else { return Joined::Unknown };
        if self.0.len() >= MAX_SENDERS && !self.0.contains_key(&from) {
            self.0.clear();
        }
        let joining = self.0.entry(from).or_default();
        // Sent again, because it was not known whether it had arrived.
        if joining.done.is_some_and(|done| batch <= done) {
            return Joined::Nothing;
        }
        if place == 0 {
            (joining.batch, joining.pieces) = (batch, 0);
            joining.text.clear();
        }
        if joining.batch != batch || joining.pieces != place || joining.text.len() > MAX_JOINED {
            return Joined::Nothing;
        }
        joining.pieces += 1;
        joining.text.push_str(part);
        if joining.pieces < pieces {
            return Joined::Nothing;
        }
        let has_gap = joining.done.is_some_and(|done| batch > done + 1);
        joining.done = Some(batch);
        Joined::Batch { from, text: std::mem::take(&mut joining.text), has_gap }
    }
}

fn parse(piece: &str) -> Option<(PeerId, u64, usize, usize, &str)> {
    let (head, part) = piece.split_once('\n')?;
    let mut words = head.split(' ');
    let from = PeerId(words.next()?.parse().ok()?);
    let (batch, place, pieces) =
        (words.next()?.parse().ok()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    (words.next().is_none() && place < pieces).then_some((from, batch, place, pieces, part))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: PeerId = PeerId(1);

    fn joined(joiner: &mut Joiner, pieces: &[String]) -> Vec<Joined> {
        pieces.iter().map(|piece| joiner.add(piece)).filter(|joined| *joined != Joined::Nothing).collect()
    }

    fn batch(text: &str, has_gap: bool) -> Joined {
        Joined::Batch { from: ONE, text: text.into(), has_gap }
    }

    #[test]
    fn cut_batches_fit_a_notification_and_are_joined_again() {
        for text in ["", "a", &"ü€😀".repeat(5000), &"x".repeat(MAX_PIECE), &"y".repeat(MAX_PIECE * 3 + 1)]
        {
            let pieces = cut(ONE, 7, text);
            assert!(pieces.iter().all(|piece| piece.len() < 7900), "{}", text.len());
            let mut joiner = Joiner::default();
            // Pieces of another sender in between change nothing.
            joiner.add(&cut(PeerId(2), 1, &"z".repeat(9000))[0]);
            assert_eq!(joined(&mut joiner, &pieces), [batch(text, false)], "{}", text.len());
        }
    }

    #[test]
    fn lost_batches_are_a_gap_and_repeated_ones_are_not_heard_twice() {
        let mut joiner = Joiner::default();
        let cut = |number: u64| cut(ONE, number, &format!("{number} {}", "x".repeat(10_000)));
        let text = |number: u64| format!("{number} {}", "x".repeat(10_000));
        assert_eq!(joined(&mut joiner, &cut(4)), [batch(&text(4), false)], "the first is no gap");
        assert_eq!(joined(&mut joiner, &cut(4)), []);
        assert_eq!(joined(&mut joiner, &cut(5)), [batch(&text(5), false)]);
        assert_eq!(joined(&mut joiner, &cut(7)), [batch(&text(7), true)]);
        // The connection broke in the middle of one.
        assert_eq!(joined(&mut joiner, &cut(8)[1..]), []);
        assert_eq!(joined(&mut joiner, &cut(9)), [batch(&text(9), true)]);
        for nonsense in ["", "x", "1 2 3\nx", "1 2 3 3\nx", "1 2 0 1 5\nx", "a 2 0 1\nx"] {
            assert_eq!(joiner.add(nonsense), Joined::Unknown, "{nonsense}");
        }
    }
}
