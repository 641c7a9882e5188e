//! The few environment variables that are about the terminal and not about the assistant.

/// Whether the person asked for no colours (<https://no-color.org>: set and not empty).
#[expect(
    clippy::disallowed_methods,
    reason = "NO_COLOR is about this terminal; the configuration never sees it"
)]
pub(crate) fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Whether the terminal says that it can do nothing but print.
#[expect(clippy::disallowed_methods, reason = "TERM is about this terminal; the configuration never sees it")]
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|value| value == "dumb")
}
