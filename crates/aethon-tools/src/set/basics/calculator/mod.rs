//! `calculator`: sums that models get wrong. `number` is a number, exact as long as it can be, `expression` reads and works
//! out what was typed, `tool` is what a model sees.

mod expression;
mod number;
mod tool;

pub(super) use tool::Calculator;
