//! What is a formula, and what only looks like one.

use comrak::Arena;
use comrak::nodes::NodeValue;

use crate::parse_with_math;

/// The formulas of a text, and its words without them.
fn read(markdown: &str) -> (Vec<String>, String) {
    let arena = Arena::new();
    let (mut formulas, mut words) = (Vec::new(), String::new());
    let document = parse_with_math(&arena, markdown, &|| false).unwrap();
    for node in document.descendants() {
        match &node.data().value {
            NodeValue::Math(math) => formulas.push(math.literal.clone()),
            NodeValue::Text(text) => words.push_str(text),
            NodeValue::Strong => words.push('!'),
            _ => {}
        }
    }
    (formulas, words)
}

#[track_caller]
fn is_math(markdown: &str, formulas: &[&str]) {
    assert_eq!(read(markdown).0, formulas, "{markdown:?}");
}

#[track_caller]
fn is_text(markdown: &str, words: &str) {
    assert_eq!(read(markdown), (Vec::new(), words.to_owned()), "{markdown:?}");
}

#[test]
fn formulas_in_all_delimiters_are_found() {
    is_math("Let $x$ be $2x + 3 = 7$.", &["x", "2x + 3 = 7"]);
    is_math("$$\n\\int_0^1 x\\,dx\n$$", &["\n\\int_0^1 x\\,dx\n"]);
    is_math("so \\(a^2 + b^2\\) and \\(n\\)", &["a^2 + b^2", "n"]);
    is_math("\\[\nE = mc^2\n\\]", &["\nE = mc^2\n"]);
    is_math("$5 \\times 3$ and $100$", &["5 \\times 3", "100"]);
    is_math("$3\\text{ apples and pears}$", &["3\\text{ apples and pears}"]);
    is_math("设 $x$，则**$y = x$**。", &["x", "y = x"]);
    is_math("- $\\frac{a}{b}$\n> $c$", &["\\frac{a}{b}", "c"]);
    is_math("| $a$ | \\(b\\) |\n|---|---|\n| $c$ | d |", &["a", "b", "c"]);
}

#[test]
fn prices_and_prose_are_text() {
    is_text("It costs $5 and $6.", "It costs $5 and $6.");
    is_text("between $5-$6 and $7", "between $5-$6 and $7");
    is_text("$5, **or** 6$ today", "$5, !or 6$ today");
    is_text("US$5 or A$", "US$5 or A$");
    is_text("$HOME and $PATH", "$HOME and $PATH");
    is_text("cp $HOME/$USER", "cp $HOME/$USER");
    is_text("set $FOO:${BAR}", "set $FOO:${BAR}");
    is_text("$good or bad$", "$good or bad$");
    is_text("\\$5$", "$5$");
    is_text("\\[not a link\\] and \\[1\\]", "[not a link] and [1]");
    is_text("\\(see below\\)", "(see below)");
    is_text("$", "$");
    is_text("$$", "$$");
    is_text("`$x$`", "");
}
