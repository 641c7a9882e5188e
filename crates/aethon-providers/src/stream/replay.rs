//! Plays recorded responses to decoders in tests: whole, cut at every byte, and byte by byte.

use aethon_core::message::ToolCall;
use aethon_core::model::{ModelError, ModelEvent, StopReason, Usage};
use serde_json::Value;

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

    /// Asserts that the response ended like this, and returns the events before.
    pub(crate) fn ended(mut self, stop: StopReason, usage: Usage, model: Option<&str>) -> Vec<ModelEvent> {
        assert!(self.error.is_none(), "{self:?}");
        let end = ModelEvent::Finished { stop, usage, model: model.map(str::to_owned) };
        assert_eq!(self.events.pop(), Some(end), "{:?}", self.events);
        self.events
    }
}

/// Returns the usage of a response that wrote nothing to a cache.
pub(crate) fn usage(input_tokens: u64, output_tokens: u64, cached_tokens: u64) -> Usage {
    Usage { input_tokens, output_tokens, cached_tokens, ..Usage::default() }
}

/// Returns the event of a call.
pub(crate) fn tool_call(id: &str, name: &str, input: Value) -> ModelEvent {
    ModelEvent::ToolCall(ToolCall { id: id.into(), name: name.into(), input, opaque: None })
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

/// Defines the tests that every decoder has to pass: whatever arrives, the response ends with an answer or an error.
macro_rules! decoder_survives {
    ($framing:expr, $decoder:expr, $recording:expr) => {
        proptest::proptest! {
            #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
            #[test]
            fn arbitrary_bytes_end_in_an_answer_or_an_error(
                pieces in proptest::collection::vec(
                    proptest::collection::vec(proptest::prelude::any::<u8>(), 0..100), 0..8)
            ) {
                $crate::stream::replay::survive($framing, $decoder(), &pieces);
            }

            #[test]
            fn a_damaged_recording_ends_in_an_answer_or_an_error(
                at in 0_usize..1 << 20, byte in proptest::prelude::any::<u8>(), cut in 0_usize..1 << 20
            ) {
                let mut bytes: Vec<u8> = $recording.into();
                let length = bytes.len();
                bytes[at % length] = byte;
                let (first, second) = bytes.split_at(cut % length);
                $crate::stream::replay::survive($framing, $decoder(), &[first.to_vec(), second.to_vec()]);
            }
        }
    };
}
pub(crate) use decoder_survives;
