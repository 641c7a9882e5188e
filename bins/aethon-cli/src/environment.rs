//! The few environment variables that concern the terminal and not the assistant.

/// Returns whether the user asked for no colours (<https://no-color.org>: set and not empty).
#[expect(
    clippy::disallowed_methods,
    reason = "NO_COLOR is about this terminal; the configuration never sees it"
)]
pub(crate) fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Returns whether the terminal declares that it can only print.
#[expect(clippy::disallowed_methods, reason = "TERM is about this terminal; the configuration never sees it")]
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|value| value == "dumb")
}
