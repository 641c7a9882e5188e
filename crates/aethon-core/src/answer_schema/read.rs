//! Finds the JSON in the text of an answer.
//!
//! A model that gets the schema in words may put its answer into a fenced block, or a sentence around it. What is written
//! is taken as it is; no JSON is repaired.

use serde_json::Value;

/// Returns the JSON in the text, as written and as a value.
pub(super) fn json(text: &str) -> Result<(&str, Value), String> {
    let whole = text.trim().trim_start_matches('\u{feff}');
    if whole.is_empty() {
        return Err("the answer is empty".into());
    }
    let error = match serde_json::from_str(whole) {
        Ok(value) => return Ok((whole, value)),
        Err(error) => error,
    };
    let found = [fenced(whole), braced(whole)].into_iter().flatten();
    let mut read = found.filter_map(|part| Some((part, serde_json::from_str(part).ok()?)));
    read.next().ok_or_else(|| format!("the answer is not JSON: {error}"))
}

/// Returns the content of the only fenced block.
fn fenced(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("```")?;
    let (_, rest) = rest.split_once('\n')?;
    let (inside, after) = rest.split_once("```")?;
    (!after.contains("```")).then(|| inside.trim())
}

/// Returns the text from the first brace or bracket to its counterpart at the end.
fn braced(text: &str) -> Option<&str> {
    let start = text.find(['{', '['])?;
    let end = text.rfind(if text[start..].starts_with('{') { '}' } else { ']' })?;
    text.get(start..=end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_found_in_fences_and_between_sentences() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(json(text).ok().map(|(found, _)| found), expected, "{text:?}");
        };
        check(" {\"a\": 1}\n", Some("{\"a\": 1}"));
        check("3", Some("3"));
        check("```json\n{\"a\": 1}\n```", Some("{\"a\": 1}"));
        check("Here it is:\n\n```\n[1, 2]\n```\nAnything else?", Some("[1, 2]"));
        check("The answer is {\"a\": {\"b\": 2}}.", Some("{\"a\": {\"b\": 2}}"));
        check("It is [1] or [2].", None);
        check("```\n1\n```\n```\n2\n```", None);
        check("no", None);
        check("", None);
        check("{\"a\": 1", None);
    }
}
