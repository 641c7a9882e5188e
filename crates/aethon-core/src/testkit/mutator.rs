//! Inputs that nobody would write: valid ones, damaged at random, for code that must withstand anything.
//!
//! [`fuzz_targets`](crate::fuzz_targets) makes a test of each target: some hundreds of inputs, or as many as desired
//! under `cargo xtask fuzz`. Everything follows from the seed, so failures are reproducible.

/// The number of inputs of a run without a given length.
pub const USUAL: u64 = 400;

/// The longest input.
const MAX_LEN: usize = 1 << 16;

/// Numbers at which code breaks.
const NUMBERS: [&[u8]; 8] =
    [b"0", b"-1", b"255", b"65536", b"4294967296", b"18446744073709551616", b"9223372036854775807", b"1e999"];

/// Bytes at which parsers break.
const SIGNS: [&[u8]; 12] = [
    b"\0",
    b"\n",
    b"\r\n",
    b"\"",
    b"\\",
    b"{",
    b"]",
    b"\xff",
    b"\xf0\x9f",
    "\u{202e}".as_bytes(),
    "\u{feff}".as_bytes(),
    b"\x1b[",
];

/// Generates inputs.
pub struct Mutator {
    state: u64,
    corpus: Vec<Vec<u8>>,
}

impl Mutator {
    /// Starts from these valid inputs and this seed.
    pub fn new<Input: AsRef<[u8]>>(seed: u64, corpus: impl IntoIterator<Item = Input>) -> Self {
        let mut corpus: Vec<Vec<u8>> = corpus.into_iter().map(|input| input.as_ref().to_vec()).collect();
        corpus.push(Vec::new());
        Self { state: seed, corpus }
    }

    fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.number() % end.max(1) as u64).unwrap_or_default()
    }

    /// The start and the end of a random piece of an input.
    fn piece(&mut self, length: usize) -> (usize, usize) {
        let begin = self.below(length + 1);
        let most = if self.below(4) == 0 { length } else { 16 };
        (begin, (begin + self.below(most + 1)).min(length))
    }

    /// Returns the next input.
    pub fn next_input(&mut self) -> Vec<u8> {
        let place = self.below(self.corpus.len());
        let mut input = self.corpus.get(place).cloned().unwrap_or_default();
        for _ in 0..self.below(6) {
            self.damage(&mut input);
            input.truncate(MAX_LEN);
        }
        input
    }

    fn damage(&mut self, input: &mut Vec<u8>) {
        let (begin, end) = self.piece(input.len());
        match self.below(9) {
            0 => {
                if let Some(byte) = input.get_mut(begin) {
                    *byte ^= 1 << (self.state % 8);
                }
            }
            1 => {
                let byte = self.number().to_le_bytes()[0];
                input.insert(begin, byte);
            }
            2 => drop(input.drain(begin..end)),
            3 => {
                let piece = input[begin..end].to_vec();
                let times = 1 + self.below(if self.state.is_multiple_of(16) { 400 } else { 3 });
                let repeated = piece.repeat(times);
                drop(input.splice(begin..begin, repeated.into_iter().take(MAX_LEN)));
            }
            4 => drop(input.splice(begin..end, NUMBERS[self.below(NUMBERS.len())].iter().copied())),
            5 => drop(input.splice(begin..begin, SIGNS[self.below(SIGNS.len())].iter().copied())),
            6 => {
                let place = self.below(self.corpus.len());
                let other = self.corpus.get(place).cloned().unwrap_or_default();
                let (from, to) = self.piece(other.len());
                drop(input.splice(begin..end, other[from..to].iter().copied()));
            }
            7 => input.truncate(begin),
            _ => {
                let random: Vec<u8> = (begin..end).map(|_| self.number().to_le_bytes()[3]).collect();
                drop(input.splice(begin..end, random));
            }
        }
    }
}

/// Makes a test of each target: `name: corpus => target;`. A target takes bytes, and panics if it finds something
/// wrong.
#[macro_export]
macro_rules! fuzz_targets {
    ($($name:ident: $corpus:expr => $target:expr;)+) => { $(
        #[test]
        #[ignore = "a chore: cargo xtask fuzz"]
        #[allow(clippy::disallowed_methods, reason = "`cargo xtask fuzz` says for how long, and from which seed on")]
        fn $name() {
            let number = |name: &str| ::std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
            let seed = number("AETHON_FUZZ_SEED").unwrap_or(1);
            let begun = ::std::time::Instant::now();
            let length = number("AETHON_FUZZ_SECONDS").map(::std::time::Duration::from_secs);
            let mut mutator = $crate::testkit::Mutator::new(seed, $corpus);
            let target: fn(&[u8]) = $target;
            let (mut inputs, mut slowest) = (0_u64, ::std::time::Duration::ZERO);
            while length.map_or(inputs < $crate::testkit::USUAL, |length| begun.elapsed() < length) {
                let input = mutator.next_input();
                let before = ::std::time::Instant::now();
                let ended = ::std::panic::catch_unwind(|| target(&input));
                assert!(ended.is_ok(), "seed {seed}, input {inputs}: b\"{}\"", input.escape_ascii());
                let took = before.elapsed();
                assert!(took.as_secs() < 30, "seed {seed}, input {inputs} took {took:?}");
                (inputs, slowest) = (inputs + 1, slowest.max(took));
            }
            println!("{}: {inputs} inputs from seed {seed}, the slowest took {slowest:?}", stringify!($name));
        }
    )+ };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_follow_from_the_seed_and_are_rarely_what_they_were() {
        let inputs = |seed| {
            let mut mutator = Mutator::new(seed, ["{\"a\": [1, 2, 3]}"]);
            (0..200).map(|_| mutator.next_input()).collect::<Vec<_>>()
        };
        let some = inputs(1);
        assert_eq!(some, inputs(1));
        assert_ne!(some, inputs(2));
        let changed = some.iter().filter(|input| !input.is_empty() && input[..] != b"{\"a\": [1, 2, 3]}"[..]);
        assert!(changed.count() > 60);
    }
}
