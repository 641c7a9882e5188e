//! Refuses messages that are too long or not text.

use aethon_core::hook::{AddedContext, Hook, TurnContext};
use aethon_core::message::{EndReason, Failure, Inbound};
use async_trait::async_trait;

/// Control characters that occur in ordinary text: pasted terminal output has escapes, old files have form feeds.
const HARMLESS: [char; 6] = ['\n', '\r', '\t', '\u{8}', '\u{c}', '\u{1b}'];

/// Limits on incoming messages.
#[derive(Debug, Clone, Copy)]
pub struct InputLimits {
    /// The most characters of a message.
    pub max_chars: usize,
}

impl Default for InputLimits {
    fn default() -> Self {
        // The doors accept this many bytes for a frame and, by default, a body. Whether a model can read it is judged
        // where its window is known.
        Self { max_chars: 1 << 20 }
    }
}

#[async_trait]
impl Hook for InputLimits {
    fn name(&self) -> &'static str {
        "input"
    }

    async fn before_turn(
        &self,
        _turn: &TurnContext,
        inbound: &Inbound,
    ) -> Result<Vec<AddedContext>, Failure> {
        // The length in bytes is an upper bound of the number of characters, and costs nothing.
        if inbound.text.len() > self.max_chars {
            let chars = inbound.text.chars().count();
            if chars > self.max_chars {
                let limit = self.max_chars;
                let message = format!(
                    "The message has {chars} characters, and at most {limit} are read; send less of it at once."
                );
                return Err(Failure::new(EndReason::InputTooLong, message));
            }
        }
        let strange = inbound.text.chars().find(|c| c.is_control() && !HARMLESS.contains(c));
        match strange {
            Some(c) => Err(Failure::new(
                EndReason::InputNotText,
                format!(
                    "The message contains the control character U+{:04X}; send it as text without.",
                    u32::from(c)
                ),
            )),
            None => Ok(Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aethon_core::ids::{SessionId, TurnId};

    #[tokio::test]
    async fn long_messages_and_binary_ones_are_refused() {
        let limits = InputLimits { max_chars: 5 };
        let session = SessionId::of("webchat", "a").unwrap();
        let turn = TurnContext::of(TurnId::fresh(), &Inbound::say(session.clone(), ""));
        for (text, expected) in [
            ("hello", None),
            ("äöüäö", None),
            ("hello!", Some(EndReason::InputTooLong)),
            ("a\tb\nc", None),
            ("\u{1b}[0m", None),
            ("a\0b", Some(EndReason::InputNotText)),
        ] {
            let checked = limits.before_turn(&turn, &Inbound::say(session.clone(), text)).await;
            let code = checked.err().map(|failure| failure.code);
            assert_eq!(code, expected, "{text:?}");
        }
    }
}
