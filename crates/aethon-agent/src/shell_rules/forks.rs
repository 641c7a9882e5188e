//! Fork bombs: commands that start themselves more than once, or in the background.

use super::word::{Body, Piece, Pipeline, Stage, Word, plain};

/// Whether commands start `name` more than once, or in the background, so that the number of processes grows without
/// bound.
pub(super) fn forks(list: &[Pipeline], name: &str, is_background: bool) -> bool {
    list.iter().any(|pipeline| {
        let is_background = is_background || pipeline.is_background;
        let calls = pipeline.stages.iter().filter(|stage| calls(stage, name)).count();
        let inside = pipeline.stages.iter().any(|stage| inside(stage, name, is_background));
        calls > 1 || calls == 1 && is_background || inside
    })
}

/// The same for the body of the function with this name.
pub(super) fn forks_in(body: &Stage, name: &str) -> bool {
    inside(body, name, false)
}

fn inside(stage: &Stage, name: &str, is_background: bool) -> bool {
    match &stage.body {
        Body::Group(list) | Body::Subshell(list) | Body::For { body: list, .. } => {
            forks(list, name, is_background)
        }
        Body::While { test, body } => forks(test, name, is_background) || forks(body, name, is_background),
        Body::If { parts, .. } => parts.iter().any(|part| forks(part, name, is_background)),
        Body::Case { arms, .. } => arms.iter().any(|(_, list)| forks(list, name, is_background)),
        Body::Function(_, body) => inside(body, name, is_background),
        Body::Simple(_) | Body::Test(_) => false,
    }
}

fn calls(stage: &Stage, name: &str) -> bool {
    let Body::Simple(words) = &stage.body else { return false };
    let is_name = |word: &Word| match word.as_slice() {
        [Piece::Variable { parameter, .. }, ..] => name.strip_prefix('$') == Some(&parameter.name),
        _ => !name.is_empty() && plain(word) == Some(name),
    };
    words.iter().take(2).any(is_name)
}
