//! The SOPs that are part of the program.

use std::sync::{Arc, LazyLock};

use aethon_core::sop::{Sop, SopName, SopOrigin};

use super::parse::parse;

const TEXTS: [(&str, &str); 3] = [
    ("code-assist", include_str!("builtin/code-assist.sop.md")),
    ("codebase-summary", include_str!("builtin/codebase-summary.sop.md")),
    ("pdd", include_str!("builtin/pdd.sop.md")),
];

/// Parsed once; a test proves that all of them are valid.
static SOPS: LazyLock<Vec<Arc<Sop>>> = LazyLock::new(|| {
    let read = |(name, text): &(&str, &str)| parse(SopName::parse(name).ok()?, SopOrigin::BuiltIn, text).ok();
    TEXTS.iter().filter_map(read).map(Arc::new).collect()
});

/// Returns all of them, by name.
pub(super) fn all() -> &'static [Arc<Sop>] {
    &SOPS
}

/// Returns the one with this name.
pub(super) fn find(name: &SopName) -> Option<&'static Arc<Sop>> {
    SOPS.iter().find(|sop| sop.name == *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_sops_parse_and_have_constraints() {
        for (name, text) in TEXTS {
            let sop = parse(SopName::parse(name).unwrap(), SopOrigin::BuiltIn, text)
                .unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
            assert!(sop.steps.len() >= 6, "{name}");
            for step in &sop.steps {
                let has_rules = step.text.contains("**Constraints:**") && step.text.contains("MUST");
                assert!(has_rules, "{name}: {}", step.title);
            }
            assert!(sop.parameters.iter().filter(|one| one.required).count() <= 1, "{name}");
        }
        assert_eq!(all().len(), TEXTS.len());
    }
}
