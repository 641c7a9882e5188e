//! Plays recorded responses to decoders in tests: whole, cut at every byte, and byte by byte.

use aethon_core::model::{ModelError, ModelEvent};

use super::{Decoder, Decoding, Events, Framing};

/// The result: the events, and the error that ended them.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) events: Vec<ModelEvent>,
    pub(crate) error: Option<ModelError>,
}

impl Outcome {
    /// Returns the text of the response.
    pub(crate) fn text(&self) -> String {
        let text = |event: &ModelEvent| match event {
            ModelEvent::Text(text) => Some(text.clone()),
            _ => None,
        };
        self.events.iter().filter_map(text).collect()
    }
}

/// Plays `pieces`.
pub(crate) fn play(framing: Framing, decoder: Box<dyn Decoder>, pieces: &[&[u8]]) -> Outcome {
    let mut decoding = Decoding::new("the service", framing, decoder);
    let mut events = Events::new();
    let pushed = pieces.iter().try_for_each(|piece| decoding.push(piece, &mut events));
    let error = pushed.and_then(|()| decoding.finish(&mut events)).err();
    Outcome { events: events.into(), error }
}

/// Plays a recording in every way, asserts that the result is always the same, and returns it.
pub(crate) fn replay(
    framing: Framing,
    decoder: &dyn Fn() -> Box<dyn Decoder>,
    recording: impl AsRef<[u8]>,
) -> Outcome {
    let bytes = recording.as_ref();
    let whole = play(framing, decoder(), &[bytes]);
    let same = |other: Outcome, how: &str| {
        assert_eq!(other.events, whole.events, "{how}");
        let sentence = |outcome: &Outcome| outcome.error.as_ref().map(ToString::to_string);
        assert_eq!(sentence(&other), sentence(&whole), "{how}");
    };
    for cut in 0..=bytes.len() {
        same(play(framing, decoder(), &[&bytes[..cut], &bytes[cut..]]), &format!("cut at {cut}"));
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    same(play(framing, decoder(), &single), "byte by byte");
    whole
}

/// Plays arbitrary pieces and asserts only that the stream ends, with an error or exactly one end.
pub(crate) fn survive(framing: Framing, decoder: Box<dyn Decoder>, pieces: &[Vec<u8>]) {
    let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
    let outcome = play(framing, decoder, &pieces);
    let ends = outcome.events.iter().filter(|event| matches!(event, ModelEvent::Finished { .. })).count();
    assert_eq!(ends, usize::from(outcome.error.is_none()), "{outcome:?}");
}

/// Does the same with one input, whole and in two pieces.
pub(crate) fn survive_damage(framing: Framing, decoder: fn() -> Box<dyn Decoder>, input: &[u8]) {
    let (first, second) = input.split_at(input.len() / 2);
    survive(framing, decoder(), &[first.to_vec(), second.to_vec()]);
    survive(framing, decoder(), &[input.to_vec()]);
}
