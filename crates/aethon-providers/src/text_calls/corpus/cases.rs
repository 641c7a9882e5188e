//! A case of the corpus.

/// One response and the expected result.
pub(super) struct Case {
    pub(super) name: &'static str,
    /// The question.
    pub(super) question: &'static str,
    /// An earlier tool result.
    pub(super) result: &'static str,
    pub(super) answer: &'static str,
    /// The expected calls: a tool and its arguments in JSON.
    pub(super) calls: &'static [(&'static str, &'static str)],
    /// The text shown to the person.
    pub(super) text: &'static str,
}

/// Returns a case in which an ordinary question is answered with these calls, after this text.
pub(super) const fn made(
    name: &'static str,
    answer: &'static str,
    calls: &'static [(&'static str, &'static str)],
    text: &'static str,
) -> Case {
    Case { name, question: "What is it like in Paris?", result: "", answer, calls, text }
}

/// Returns a case in which the answer to this question is nothing but text.
pub(super) const fn text(name: &'static str, question: &'static str, answer: &'static str) -> Case {
    Case { name, question, result: "", answer, calls: &[], text: answer }
}
