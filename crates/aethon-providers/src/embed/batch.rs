//! Groups texts into requests, within the service's limits on number and size.

/// The limits of one request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) texts: usize,
    pub(super) bytes: usize,
}

/// Splits the texts into requests, in order. An oversized text goes alone; the service decides whether to accept it.
pub(super) fn batches<'t, 's>(texts: &'t [&'s str], limits: Limits) -> Vec<&'t [&'s str]> {
    let mut batches = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, text) in texts.iter().enumerate() {
        let is_full = at - start >= limits.texts.max(1) || bytes + text.len() > limits.bytes;
        if at > start && is_full {
            batches.push(&texts[start..at]);
            (start, bytes) = (at, 0);
        }
        bytes += text.len();
    }
    if start < texts.len() {
        batches.push(&texts[start..]);
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_number_and_size() {
        let check = |texts: &[&str], expected: &[usize]| {
            let batches = batches(texts, Limits { texts: 3, bytes: 10 });
            let sizes: Vec<usize> = batches.iter().map(|batch| batch.len()).collect();
            assert_eq!(sizes, expected, "{texts:?}");
            assert_eq!(batches.concat(), texts);
        };
        check(&[], &[]);
        check(&["a"], &[1]);
        check(&["a"; 7], &[3, 3, 1]);
        check(&["12345", "12345", "1"], &[2, 1]);
        check(&["1", "a text that is too long", "1", "1"], &[1, 1, 2]);
    }
}
