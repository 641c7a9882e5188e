//! Harmony, the format of gpt-oss, when its tokens leak through: a message on the channel `analysis` is a thought,
//! one on `final` is text, and one addressed to a function is a call: `<|channel|>commentary to=functions.NAME
//! <|constrain|>json<|message|>{…}<|call|>`. A response that begins this way consists of nothing else, so it is read
//! to its end here.

use crate::stream::arguments;
use crate::text_calls::call::{MAX_CALLS, MAX_LEN, Output, TextCall};
use crate::text_calls::family::{Beginning, begins_with};
use crate::text_calls::reading::Reading;

const TOKENS: [&str; 7] =
    ["<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>"];

/// The longest header; anything beyond is cut.
const MAX_HEADER: usize = 512;

/// The reading position in one response.
#[derive(Debug)]
pub(crate) struct Harmony {
    reading: Reading,
    part: Part,
    /// The beginning of a token.
    held: String,
    calls: usize,
}

#[derive(Debug)]
enum Part {
    Header(String),
    Thought,
    Text,
    Call { header: String, input: String },
}

impl Harmony {
    pub(crate) fn new(reading: Reading) -> Self {
        Self { reading, part: Part::Header(String::new()), held: String::new(), calls: 0 }
    }

    /// Adds more of the response.
    pub(crate) fn push(&mut self, piece: &str, output: &mut Vec<Output>) {
        let text = std::mem::take(&mut self.held) + piece;
        let mut rest = text.as_str();
        while let Some(at) = rest.find('<') {
            let (before, from) = rest.split_at(at);
            self.take(before, output);
            match begins_with(from, &TOKENS) {
                Beginning::With(length) => {
                    self.token(&from[..length], output);
                    rest = &from[length..];
                }
                Beginning::Partly => {
                    self.held = from.to_owned();
                    return;
                }
                Beginning::Not => {
                    self.take("<", output);
                    rest = &from[1..];
                }
            }
        }
        self.take(rest, output);
    }

    /// Handles the end of the response; servers strip its last token.
    pub(crate) fn finish(&mut self, output: &mut Vec<Output>) {
        let held = std::mem::take(&mut self.held);
        self.take(&held, output);
        self.close(output);
    }

    fn take(&mut self, text: &str, output: &mut Vec<Output>) {
        if text.is_empty() {
            return;
        }
        let (place, most) = match &mut self.part {
            Part::Thought => return output.push(Output::Thought(text.to_owned())),
            Part::Text => return output.push(Output::Text(text.to_owned())),
            Part::Header(header) => (header, MAX_HEADER),
            Part::Call { input, .. } => (input, MAX_LEN),
        };
        let room = most.saturating_sub(place.len());
        place.push_str(&text[..text.floor_char_boundary(room)]);
    }

    fn token(&mut self, token: &str, output: &mut Vec<Output>) {
        match (&mut self.part, token) {
            (Part::Header(header), "<|message|>") => self.part = begin(std::mem::take(header)),
            (Part::Header(header), "<|channel|>" | "<|constrain|>") => header.push(' '),
            (Part::Header(header), _) => header.clear(),
            (_, _) => {
                self.close(output);
                self.part = Part::Header(String::new());
            }
        }
    }

    /// Ends a message.
    fn close(&mut self, output: &mut Vec<Output>) {
        let Part::Call { header, input } = std::mem::replace(&mut self.part, Part::Header(String::new()))
        else {
            return;
        };
        let Some(recipient) = recipient(&header).filter(|_| self.calls < MAX_CALLS) else { return };
        self.calls += 1;
        let name = recipient.rsplit('.').next().unwrap_or(recipient).to_owned();
        let source = format!("to={recipient}<|constrain|>json<|message|>{input}");
        let call = TextCall { name, input: arguments(&input), source };
        if self.reading.is_quotation(std::slice::from_ref(&call)) {
            output.push(Output::Text(input));
        } else {
            output.push(Output::Call(call));
        }
    }
}

/// Returns the kind of a message with this header.
fn begin(header: String) -> Part {
    if recipient(&header).is_some() {
        Part::Call { header, input: String::new() }
    } else if header.contains("analysis") {
        Part::Thought
    } else {
        Part::Text
    }
}

/// Returns the function to which a message is addressed.
fn recipient(header: &str) -> Option<&str> {
    let (_, behind) = header.split_once("to=")?;
    behind.split_whitespace().next()
}
