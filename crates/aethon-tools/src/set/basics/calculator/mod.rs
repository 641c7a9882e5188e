//! `calculator`: arithmetic that models get wrong. `number` is a number, exact as long as possible, `expression` parses
//! and evaluates, `tool` is the tool itself.

mod expression;
mod number;
mod tool;

pub(super) use tool::Calculator;
