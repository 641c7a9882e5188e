//! Forms that only secrets have, whatever surrounds them.

use crate::redact::key_format;

/// Returns the kind of the secret in a text, if one has a known form.
pub(super) fn find(text: &str) -> Option<&'static str> {
    if text.contains("PRIVATE KEY-----")
        || text.contains("PRIVATE KEY BLOCK-----")
        || text.contains("PuTTY-User-Key-File")
    {
        return Some("a private key");
    }
    if let Some(format) = key_format(text) {
        return Some(format);
    }
    if has_login_in_address(text) {
        return Some("an address with a password in it");
    }
    text.split(|c: char| {
        c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ';' | '<' | '>' | '(' | ')')
    })
    .filter(|word| word.len() >= 24)
    .find_map(word)
}

fn word(word: &str) -> Option<&'static str> {
    let behind = |mark: &str| word.split_once(mark).map(|(_, rest)| rest);
    let is_hook = behind("hooks.slack.com/services/").is_some_and(|rest| rest.len() >= 20)
        || behind("/api/webhooks/")
            .is_some_and(|rest| rest.split_once('/').is_some_and(|(_, key)| key.len() >= 20));
    if is_hook {
        return Some("the secret address of a webhook");
    }
    let parts: Vec<&str> = word.trim_matches('.').split('.').collect();
    if let [head, body, signature] = parts[..]
        && [head, body, signature].iter().all(|part| is_token(part))
    {
        let is_signed = head.contains("eyJ") && body.starts_with("eyJ") && signature.len() >= 16;
        let is_bot =
            (23..=28).contains(&head.len()) && (6..=7).contains(&body.len()) && signature.len() >= 27;
        if is_signed || is_bot && is_mixed(signature) {
            return Some("a signed token");
        }
    }
    // Telegram bot tokens: a number, a colon, some 35 characters.
    word.split('/').any(is_bot_token).then_some("the token of a bot")
}

fn is_bot_token(word: &str) -> bool {
    word.trim_start_matches("bot").split_once(':').is_some_and(|(number, key)| {
        let is_number = (8..=10).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number && (33..=36).contains(&key.len()) && is_token(key) && is_mixed(key)
    })
}

fn is_token(part: &str) -> bool {
    !part.is_empty()
        && part.bytes().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'=' | b':' | b'+' | b'/')
        })
}

fn is_mixed(part: &str) -> bool {
    part.bytes().any(|byte| byte.is_ascii_digit()) && part.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// `scheme://name:password@host`, unless the password is a placeholder.
fn has_login_in_address(text: &str) -> bool {
    text.match_indices("://").any(|(at, mark)| {
        let rest = &text[at + mark.len()..];
        let authority =
            rest.split(|c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '<' | '>')).next();
        let login = authority.and_then(|authority| authority.rsplit_once('@')).map(|(login, _)| login);
        let password = login.and_then(|login| login.split_once(':')).map(|(_, password)| password);
        password.is_some_and(|password| !super::labels::is_placeholder(password))
    })
}
