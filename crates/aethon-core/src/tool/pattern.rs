//! Patterns of tool names, as configurations and definitions of agents list them.

/// Whether a name matches a pattern in which `*` matches anything.
pub fn fits(name: &str, pattern: &str) -> bool {
    let pattern = pattern.trim();
    let Some((first, rest)) = pattern.split_once('*') else { return name == pattern };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        // The earliest match leaves the most for the parts after it.
        let Some(at) = name.find(part) else { return false };
        name = &name[at + part.len()..];
    }
    name.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_matches_tool_names() {
        let check = |pattern: &str, name: &str, expected: bool| {
            assert_eq!(fits(name, pattern), expected, "{pattern} {name}");
        };
        check("shell", "shell", true);
        check(" shell ", "shell", true);
        check("shell", "shells", false);
        check("files__*", "files__read", true);
        check("files__*", "files_read", false);
        check("*", "anything", true);
        check("*__write*", "files__write_file", true);
        check("*__write*", "files__read_file", false);
        check("a*b*c", "a__b__b__c", true);
        check("a*b*c", "a__c__b", false);
        check("a*a", "a", false);
        check("", "", true);
        check("", "x", false);
    }
}
