//! The built-in specialists, in the form in which the owner writes others.

use super::definition::Definition;
use super::file::parse;

/// In the order in which they are offered.
const TEXTS: [(&str, &str); 5] = [
    ("coder", include_str!("builtin/coder.agent.md")),
    ("researcher", include_str!("builtin/researcher.agent.md")),
    ("analyst", include_str!("builtin/analyst.agent.md")),
    ("planner", include_str!("builtin/planner.agent.md")),
    ("scout", include_str!("builtin/scout.agent.md")),
];

/// Returns the specialists in the order in which they are offered. A test proves that all of them are valid.
pub fn built_in() -> Vec<Definition> {
    TEXTS.iter().filter_map(|(name, text)| parse(name, text).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_specialists_are_valid_and_cannot_delegate() {
        let all = built_in();
        let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["coder", "researcher", "analyst", "planner", "scout"]);
        for one in &all {
            assert!(one.prompt.contains("Report:") && !one.role.is_empty(), "{}", one.name);
            let passes_on = |tool: &String| tool.starts_with("ask_") || tool.starts_with("manage_");
            assert!(!one.tools.iter().any(passes_on), "{}", one.name);
        }
        for still in ["planner", "scout", "researcher"] {
            let one = all.iter().find(|one| one.name.as_str() == still);
            let changes =
                |tool: &String| ["shell", "file_write", "file_edit", "file_*"].contains(&tool.as_str());
            assert!(!one.unwrap().tools.iter().any(changes), "{still}");
        }
    }
}
