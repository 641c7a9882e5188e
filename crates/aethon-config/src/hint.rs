//! Suggests the known key that an unknown one was probably meant to be.

use strsim::osa_distance;

use crate::json_schema::NAME;
use crate::path::{KeyPath, Step};

/// Words of other programs, and the keys that they mean here. No spelling is near enough to find these.
const MEANT: [(&str, &str); 20] = [
    ("agent.model", "model.model_id"),
    ("dashboard.password", "dashboard.auth_token"),
    ("host", "channels.webchat.host"),
    ("key", "model.api_key"),
    ("listen", "channels.webchat.host"),
    ("llm", "model"),
    ("log", "logging"),
    ("model.base_url", "model.host"),
    ("model.endpoint", "model.host"),
    ("model.key", "model.api_key"),
    ("model.model", "model.model_id"),
    ("model.name", "model.model_id"),
    ("model.token", "model.api_key"),
    ("model.url", "model.host"),
    ("port", "channels.webchat.port"),
    ("sandbox", "security.sandbox"),
    ("server.bind", "channels.webchat.host"),
    ("server.host", "channels.webchat.host"),
    ("server.port", "channels.webchat.port"),
    ("token", "dashboard.auth_token"),
];

/// Returns the known key or section closest to `unknown`, spelled with the names that `unknown` uses.
pub(crate) fn nearest(unknown: &KeyPath, known: &[String]) -> Option<String> {
    let wanted = unknown.to_string();
    if let Some(meant) = meant(&wanted, known) {
        return Some(meant);
    }
    let mut best: Option<(usize, KeyPath)> = None;
    for key in known {
        let steps: Vec<&str> = key.split('.').collect();
        for length in 1..=steps.len() {
            let candidate = spelled(&steps[..length], unknown);
            let distance = distance_to(&wanted, &candidate.to_string());
            if best.as_ref().is_none_or(|(least, _)| distance < *least) {
                best = Some((distance, candidate));
            }
        }
    }
    best.map(|(_, candidate)| candidate.to_string())
}

/// Returns the key that a word of another program means; what stands below a section is kept if it is known here.
fn meant(wanted: &str, known: &[String]) -> Option<String> {
    MEANT.iter().find_map(|(word, key)| match wanted.strip_prefix(word)? {
        "" => Some((*key).to_owned()),
        rest if rest.starts_with('.') => {
            let whole = format!("{key}{rest}");
            let other = MEANT.iter().find(|(word, _)| *word == whole).map(|(_, key)| (*key).to_owned());
            other.or_else(|| known.contains(&whole).then_some(whole))
        }
        _ => None,
    })
}

/// Returns the word of these that `text` is a slip of, whatever the case of its letters.
pub fn nearest_word<'w>(text: &str, words: &[&'w str]) -> Option<&'w str> {
    let text = text.trim().to_lowercase();
    let distances =
        words.iter().filter(|word| !word.is_empty()).map(|word| (osa_distance(&text, word), *word));
    let (distance, word) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= (word.chars().count() / 3).max(1)).then_some(word)
}

/// Returns whether `unknown` may be a slip of the pen for a key: at least half of it is right.
pub(crate) fn is_near(unknown: &KeyPath, key: &str) -> bool {
    let wanted = unknown.to_string();
    2 * distance_to(&wanted, key) <= wanted.chars().count()
}

fn spelled(steps: &[&str], unknown: &KeyPath) -> KeyPath {
    KeyPath::of(steps.iter().enumerate().map(|(index, step)| match unknown.steps().get(index) {
        Some(Step::Key(name)) if *step == NAME => name.as_str(),
        _ => step,
    }))
}

/// The edit distance between them. A key that only lacks its section counts as one edit; so does a section where there is
/// none. What is missing between a section and the last name counts as two.
fn distance_to(wanted: &str, candidate: &str) -> usize {
    let lacks_section = candidate.strip_suffix(wanted).is_some_and(|section| section.ends_with('.'));
    let has_section = wanted.strip_suffix(candidate).is_some_and(|section| section.ends_with('.'));
    let lacks_middle = match (wanted.split_once('.'), candidate.split_once('.')) {
        (Some((section, name)), Some((same, rest))) => {
            section == same && rest.strip_suffix(name).is_some_and(|middle| middle.ends_with('.'))
        }
        _ => false,
    };
    if lacks_section || has_section {
        1
    } else if lacks_middle {
        2
    } else {
        osa_distance(wanted, candidate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_schema::known_keys;

    #[test]
    fn misspelled_keys_are_near_and_other_words_are_not() {
        let near = |unknown: &str, key: &str| is_near(&KeyPath::parse(unknown).unwrap(), key);
        assert!(near("dashbord.auth_token", "dashboard.auth_token"));
        assert!(near("auth_token", "dashboard.auth_token"));
        assert!(near("budgets", "budget"));
        assert!(!near("\"Plans for the garden\"", "dashboard"));
        assert!(!near("greeting", "webhook"));
    }

    #[test]
    fn a_word_with_a_slip_is_recognised_and_another_word_is_not() {
        let words = ["openai", "ollama", "echo"];
        for (text, expected) in
            [("olama", Some("ollama")), ("OpenAI", Some("openai")), ("grok", None), ("x", None), ("", None)]
        {
            assert_eq!(nearest_word(text, &words), expected, "{text:?}");
        }
    }

    #[test]
    fn the_nearest_key_is_the_one_that_was_meant() {
        let known: Vec<String> = known_keys().into_iter().map(|key| key.name).collect();
        let check = |unknown: &str, expected: &str| {
            assert_eq!(
                nearest(&KeyPath::parse(unknown).unwrap(), &known).as_deref(),
                Some(expected),
                "{unknown}"
            );
        };
        check("model.provder", "model.provider");
        check("dashbord", "dashboard");
        check("dashboard.token", "dashboard.auth_token");
        check("webchat.port", "channels.webchat.port");
        check("channels.webchat.prot", "channels.webchat.port");
        check("mcp.servers.files.comand", "mcp.servers.files.command");
        check("budget.pricing.\"gpt-5.1\".inptu", "budget.pricing.\"gpt-5.1\".input");
        check("scheduler.jobs.morning.crn", "scheduler.jobs.morning.cron");
        check("sesion.keep_recent", "session.keep_recent");
        check("agent.model", "model.model_id");
        check("llm", "model");
        check("llm.provider", "model.provider");
        check("llm.name", "model.model_id");
        check("model.base_url", "model.host");
        check("server.port", "channels.webchat.port");
        check("scheduler.timezone", "scheduler.jobs.NAME.timezone");
    }
}
