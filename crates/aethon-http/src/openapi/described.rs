//! What a row of the table of routes says about itself beyond its columns: tag, summary, answers, and what is sent.
//!
//! Everything is named by its type. A type that has no schema does not compile here.

use schemars::JsonSchema;

use super::problems::{Changed, Unconfirmed};
use crate::error::Document;
use crate::schema::{Form, form};

/// The most answers of a row.
const MAX_ANSWERS: usize = 10;

/// The description of a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Described {
    /// The group of the operation.
    pub(crate) tag: &'static str,
    /// What it does, in a sentence or two.
    pub(crate) summary: &'static str,
    /// Its answers, as many as there are.
    answers: [Option<Answer>; MAX_ANSWERS],
    /// The query as a type, each field of which is a parameter.
    pub(crate) query: Option<Form>,
    /// The headers that it reads as a type, each field of which is one.
    pub(crate) headers: Option<Form>,
    /// The body.
    pub(crate) body: Option<Form>,
}

/// An answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    /// Its status.
    pub(crate) status: u16,
    /// Its body.
    pub(crate) content: Content,
}

/// The body of an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Content {
    /// None.
    Nothing,
    /// A JSON document.
    Json(Form),
    /// A problem document.
    Problem(Form),
    /// Something of one of these media types.
    Media(&'static [&'static str]),
}

/// Begins the description of a row.
pub(crate) const fn told(tag: &'static str, summary: &'static str) -> Described {
    Described { tag, summary, answers: [None; MAX_ANSWERS], query: None, headers: None, body: None }
}

/// Returns the problem document of every failure without an entry of its own.
pub(crate) const PROBLEM: Content = Content::Problem(form::<Document<'static>>());

impl Described {
    /// Returns the answers.
    pub(crate) fn answers(&self) -> impl Iterator<Item = &Answer> {
        self.answers.iter().flatten()
    }

    /// Returns whether this changes something with versions, which `If-Match` can name.
    pub(crate) fn changes_versions(&self) -> bool {
        self.answers().any(|answer| answer.status == 412)
    }

    /// 200 with this document.
    pub(crate) const fn ok<T: JsonSchema>(self) -> Self {
        self.json::<T>(200)
    }

    /// This status with this document.
    pub(crate) const fn json<T: JsonSchema>(self, status: u16) -> Self {
        self.with(status, Content::Json(form::<T>()))
    }

    /// This status without a body.
    pub(crate) const fn empty(self, status: u16) -> Self {
        self.with(status, Content::Nothing)
    }

    /// This status with something of one of these media types.
    pub(crate) const fn media(self, status: u16, types: &'static [&'static str]) -> Self {
        self.with(status, Content::Media(types))
    }

    /// Failures that are worth a word.
    pub(crate) const fn fails(mut self, statuses: &[u16]) -> Self {
        let mut number = 0;
        while number < statuses.len() {
            self = self.with(statuses[number], PROBLEM);
            number += 1;
        }
        self
    }

    /// Changes something with versions: 412 with the current one if `If-Match` names another.
    pub(crate) const fn versioned(self) -> Self {
        self.with(412, Content::Problem(form::<Changed>()))
    }

    /// 403 that says what the change would do, until it is confirmed.
    pub(crate) const fn confirmed(self) -> Self {
        self.with(403, Content::Problem(form::<Unconfirmed>()))
    }

    /// Reads this query.
    pub(crate) const fn query<T: JsonSchema>(mut self) -> Self {
        self.query = Some(form::<T>());
        self
    }

    /// Reads these headers.
    pub(crate) const fn headers<T: JsonSchema>(mut self) -> Self {
        self.headers = Some(form::<T>());
        self
    }

    /// Reads this body.
    pub(crate) const fn body<T: JsonSchema>(mut self) -> Self {
        self.body = Some(form::<T>());
        self
    }

    const fn with(mut self, status: u16, content: Content) -> Self {
        let mut place = 0;
        while self.answers[place].is_some() {
            place += 1;
        }
        self.answers[place] = Some(Answer { status, content });
        self
    }
}
