//! The many names of one model: `anthropic/claude-sonnet-4.5` at a router,
//! `global.anthropic.claude-sonnet-4-5-20250929-v1:0` on Bedrock, `models/gemini-flash-latest`,
//! `ft:gpt-4.1-2025-04-14:acme::1`.

/// Bedrock's prefixes for where a request may run.
const REGIONS: [&str; 9] = ["global.", "us.", "eu.", "apac.", "us-gov.", "au.", "jp.", "ca.", "in."];

/// The makers that clouds put between the region and the name.
const MAKERS: [&str; 18] = [
    "anthropic.",
    "amazon.",
    "openai.",
    "mistral.",
    "meta.",
    "cohere.",
    "deepseek.",
    "google.",
    "qwen.",
    "xai.",
    "zai.",
    "minimax.",
    "moonshot.",
    "moonshotai.",
    "nvidia.",
    "writer.",
    "ai21.",
    "twelvelabs.",
];

/// Returns the names to look up in a vendor's own list, closest first: unchanged, without path prefixes, without the
/// date. The flag says whether the price under that name applies: a fine-tuned model costs more than its base model.
pub(super) fn own_names(model: &str) -> Vec<(String, bool)> {
    let model = model.trim().to_ascii_lowercase();
    let mut names = vec![(model.clone(), true)];
    let mut add = |name: &str, has_price: bool| {
        if !name.is_empty() && names.iter().all(|(known, _)| known != name) {
            names.push((name.to_owned(), has_price));
        }
    };
    // A router's vendor prefix, Gemini's `models/`, an ARN.
    let mut rest = model.as_str();
    while let Some((_, behind)) = rest.split_once('/') {
        rest = behind;
        add(rest, true);
    }
    let made_of = rest.strip_prefix("ft:").map(|tuned| tuned.split(':').next().unwrap_or(tuned));
    if let Some(base) = made_of {
        add(&format!("ft:{base}"), true);
        add(base, false);
        add(undated(base), false);
        return names;
    }
    add(undated(rest), true);
    let anywhere = without_region(rest);
    add(anywhere, true);
    add(undated(anywhere), true);
    names
}

/// Returns the name that is the same wherever a model is served.
pub(super) fn canonical(model: &str) -> String {
    let name = model.trim().to_ascii_lowercase();
    let name = name.rsplit('/').next().unwrap_or_default();
    let name = name.strip_prefix("ft:").map_or(name, |tuned| tuned.split(':').next().unwrap_or(tuned));
    let name = without_region(name);
    let name = MAKERS.iter().find_map(|maker| name.strip_prefix(maker)).unwrap_or(name);
    let name = name.split(['@']).next().unwrap_or_default();
    let name = name.strip_suffix(":free").or(name.strip_suffix(":latest")).unwrap_or(name);
    let name = undated(without_revision(name));
    name.replace(['.', ':', '_'], "-")
}

/// Returns an Ollama name without its tag, which states size and quantisation.
pub(super) fn untagged(model: &str) -> Option<&str> {
    model.rsplit('/').next()?.split_once(':').map(|(name, _)| name)
}

fn without_region(name: &str) -> &str {
    REGIONS.iter().find_map(|region| name.strip_prefix(region)).unwrap_or(name)
}

/// Strips Bedrock's `-v1:0`, or `-v1` or `:0` alone.
fn without_revision(name: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let name = name.rsplit_once(':').filter(|(_, minor)| is_number(minor)).map_or(name, |(name, _)| name);
    name.rsplit_once("-v").filter(|(_, major)| is_number(major)).map_or(name, |(name, _)| name)
}

/// Strips `-2025-08-07`, `-20250929` or `@20250929` from the end.
pub(super) fn undated(name: &str) -> &str {
    let is_date = |text: &str, form: &str| {
        text.len() == form.len()
            && text.bytes().zip(form.bytes()).all(|(byte, form)| match form {
                b'0' => byte.is_ascii_digit(),
                _ => byte == form,
            })
    };
    for form in ["-0000-00-00", "-00000000", "@00000000"] {
        let at = name.len().saturating_sub(form.len());
        if at > 0 && name.get(at..).is_some_and(|end| is_date(end, form)) {
            return &name[..at];
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_same_model_share_a_canonical_name() {
        let check = |model: &str, expected: &str| assert_eq!(canonical(model), expected, "{model}");
        check("claude-sonnet-4-5", "claude-sonnet-4-5");
        check("claude-sonnet-4-5-20250929", "claude-sonnet-4-5");
        check("openrouter/anthropic/claude-sonnet-4.5", "claude-sonnet-4-5");
        check("global.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5");
        check("vertex_ai/claude-haiku-4-5@20251001", "claude-haiku-4-5");
        check("gpt-5-2025-08-07", "gpt-5");
        check("openai/gpt-5.4:free", "gpt-5-4");
        check("ft:gpt-4.1-2025-04-14:acme::1", "gpt-4-1");
        check("models/gemini-flash-latest", "gemini-flash-latest");
        check("Qwen/Qwen3-32B", "qwen3-32b");
        check("gpt-oss:20b", "gpt-oss-20b");
        check("openai.gpt-oss-20b-1:0", "gpt-oss-20b-1");
        check("llama3.1:latest", "llama3-1");
        check("2025-08-07", "2025-08-07");
        check("é-20250929", "é");
        check("", "");
    }

    #[test]
    fn own_names_go_from_close_to_far() {
        let check = |model: &str, expected: &[(&str, bool)]| {
            let found = own_names(model);
            let found: Vec<_> = found.iter().map(|(name, has_price)| (name.as_str(), *has_price)).collect();
            assert_eq!(found, expected, "{model}");
        };
        check("gpt-6-sol", &[("gpt-6-sol", true)]);
        check("gpt-5-2025-08-07", &[("gpt-5-2025-08-07", true), ("gpt-5", true)]);
        check("models/gemini-x", &[("models/gemini-x", true), ("gemini-x", true)]);
        check(
            "ft:gpt-4.1-2025-04-14:acme::1",
            &[
                ("ft:gpt-4.1-2025-04-14:acme::1", true),
                ("ft:gpt-4.1-2025-04-14", true),
                ("gpt-4.1-2025-04-14", false),
                ("gpt-4.1", false),
            ],
        );
        check("eu.anthropic.claude-x", &[("eu.anthropic.claude-x", true), ("anthropic.claude-x", true)]);
    }
}
