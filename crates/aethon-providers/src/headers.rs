//! Headers shared by several dialects.

use ureq::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use ureq::http::{HeaderName, HeaderValue};

use aethon_core::header_value::header_oddity;
use aethon_core::secret::Secret;

/// A request's headers.
pub(crate) type Headers = Vec<(HeaderName, HeaderValue)>;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Returns the headers for a JSON body and a response of type `accept`.
pub(crate) fn json(accept: &'static str) -> Headers {
    vec![(CONTENT_TYPE, JSON), (ACCEPT, HeaderValue::from_static(accept))]
}

/// Returns the key as a bearer token, or `None` without a key.
pub(crate) fn bearer(key: &Secret) -> Option<(HeaderName, HeaderValue)> {
    Some((AUTHORIZATION, secret(&format!("Bearer {}", present(key)?))?))
}

/// Returns the key in a header of its own.
pub(crate) fn key(name: &'static str, key: &Secret) -> Option<(HeaderName, HeaderValue)> {
    Some((HeaderName::from_static(name), secret(present(key)?)?))
}

/// Returns an owner's own headers; the error names the first that cannot be sent, and what is odd about it.
pub(crate) fn additional(headers: &[(String, Secret)]) -> Result<Headers, String> {
    let set = headers.iter().filter(|(_, value)| !value.is_empty());
    let header = |(name, value): &(String, Secret)| {
        let odd = |why: &str| {
            format!("The header {name} of model.headers {why}, so it cannot be sent; correct it.")
        };
        if let Some(oddity) = header_oddity(value.expose()) {
            return Err(odd(&oddity.to_string()));
        }
        let value = secret(value.expose().trim()).ok_or_else(|| odd("holds what no header can"))?;
        let name = HeaderName::from_bytes(name.trim().as_bytes());
        Ok((name.map_err(|_| odd("has a name that no header can have"))?, value))
    };
    set.map(header).collect()
}

/// Puts headers in the place of those of the same name.
pub(crate) fn replace(headers: &mut Headers, own: &Headers) {
    headers.retain(|(name, _)| own.iter().all(|(replaced, _)| replaced != name));
    headers.extend(own.iter().cloned());
}

/// Returns whether one of these headers authorises requests.
pub(crate) fn authorises(headers: &[(String, Secret)]) -> bool {
    const NAMES: [&str; 4] = ["authorization", "x-api-key", "api-key", "x-goog-api-key"];
    headers.iter().any(|(name, value)| {
        !value.is_empty() && NAMES.iter().any(|known| known.eq_ignore_ascii_case(name.trim()))
    })
}

fn present(key: &Secret) -> Option<&str> {
    (!key.is_empty()).then(|| key.expose().trim())
}

fn secret(text: &str) -> Option<HeaderValue> {
    // The HTTP client would send nothing at all with anything else.
    let mut value = HeaderValue::from_str(text).ok().filter(|_| text.is_ascii())?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(headers: &[(&str, &str)]) -> Result<Headers, String> {
        let headers: Vec<_> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), Secret::new(*value))).collect();
        additional(&headers)
    }

    #[test]
    fn own_headers_replace_those_of_the_same_name() {
        let mut headers = json("application/json");
        headers.extend(bearer(&Secret::new("sk-key")));
        replace(
            &mut headers,
            &own(&[("Authorization", "Basic abc"), ("X-Title", "Aethon\n"), ("X-None", "")]).unwrap(),
        );
        let sent: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        assert_eq!(
            sent,
            [
                ("content-type", "application/json"),
                ("accept", "application/json"),
                ("authorization", "Basic abc"),
                ("x-title", "Aethon")
            ]
        );
    }

    #[test]
    fn a_header_that_cannot_be_sent_is_named_without_its_value() {
        let check = |value: &str, words: &str| {
            let refusal = own(&[("X-Key", value)]).unwrap_err();
            assert!(refusal.contains("X-Key") && refusal.contains(words), "{refusal}");
            assert!(!refusal.contains("abc"), "{refusal}");
        };
        check("abc\u{200b}", "U+200B");
        check("abc\nabc", "line break");
        check("abcé", "U+00E9");
        assert_eq!(bearer(&Secret::new("abc\u{200b}")), None);
    }
}
