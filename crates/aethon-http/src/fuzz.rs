//! Fuzz tests with damaged input from strangers and models: bodies, authorities, and Markdown whose HTML a second
//! parser checks.

use std::time::{Duration, Instant};

use aethon_core::fuzz_targets;
use aethon_core::schedule::JobRequest;
use html5gum::{DefaultEmitter, Token, Tokenizer};
use http::{HeaderMap, HeaderValue, Uri};

use crate::host::Authority;
use crate::markdown::tests::{ATTRIBUTES, TAGS};
use crate::markdown::{Incremental, render};
use crate::origin::OriginRules;
use crate::typed::body_as;
use crate::webhook::Trigger;

const BODIES: [&str; 2] = [
    r#"{"text":"hello","session":"a","channel":"webchat","recipient":"default","deliver":true,"limit":50}"#,
    r#"{"text":"\u00e9\ud83c\udf0d","sop_name":"pdd","parameters":{"rough_idea":"x"}}"#,
];

const MARKDOWN: [&str; 6] = [
    "# A\n\ntext *b* **c** ~~d~~ `e` [l](https://a.example \"t\") ![p](http://a.example/p.png)\n",
    "- [x] a\n  1. b\n     > c\n\n| a | b |\n|--:|:-:|\n| 1 | 2 |\n\n```rust\nfn f() {}\n```\n",
    "<script>alert(1)</script><img src=x onerror=alert(1)> <b onclick=\"x\">t</b>\n",
    "[a](javascript:alert(1)) [b](&#106;avascript:x) [c](data:text/html,x) <https://a.example> www.a.example\n",
    "[r]: <javascript:x>\n[r]\n\n[^1]: note\n\n***\n\nline  \nbreak<br>&lt;&#0;&#x202e;\n",
    "a\n===\n\n    code <script>\n\n~~~\" onload=x\n</code>\n~~~\n",
];

const AUTHORITIES: [&str; 6] =
    ["localhost:8000", "[::1]:80", "a.example", "127.0.0.1", "[fe80::1%25eth0]:1", "http://a.example:8000"];

/// Parses HTML with an independent parser and asserts that nothing in it executes, loads or navigates off-site.
fn assert_harmless(html: &str) {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        let tag: html5gum::StartTag<()> = match token {
            Token::StartTag(tag) => tag,
            Token::Comment(_) | Token::Doctype(_) => panic!("markup of a stranger in {html:?}"),
            Token::EndTag(_) | Token::String(_) | Token::Error(_) => continue,
        };
        let name = String::from_utf8_lossy(&tag.name).into_owned();
        assert!(TAGS.contains(&name.as_str()), "<{name}> in {html:?}");
        for (key, value) in &tag.attributes {
            let (key, value) = (String::from_utf8_lossy(key), String::from_utf8_lossy(value).to_lowercase());
            assert!(ATTRIBUTES.contains(&&*key), "<{name} {key}> in {html:?}");
            let leads_out = ["http://", "https://", "mailto:"].iter().any(|scheme| value.starts_with(scheme));
            assert!(key != "href" || leads_out, "<{name} href={value:?}> in {html:?}");
        }
    }
}

/// Renders a text incrementally and asserts that the result equals rendering the whole.
fn follow(text: &str) {
    let mut incremental = Incremental::default();
    let mut shown: Vec<String> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let cut = (1..=rest.len()).find(|cut| *cut > 6 && rest.is_char_boundary(*cut)).unwrap_or(rest.len());
        incremental.push(&rest[..cut]);
        rest = &rest[cut..];
        if let Some((from, changed)) = incremental.changes() {
            shown.truncate(from);
            shown.extend(changed);
        }
    }
    let began = Instant::now();
    let finished = incremental.finish(text);
    if let Some(changed) = finished.changed {
        shown.truncate(finished.from);
        shown.extend(changed);
    }
    assert_eq!(shown.concat(), finished.html, "{text:?}");
    let whole = render(text);
    // On a busy machine, rendering can exceed the deadline, and the text is then shown as plain text.
    if began.elapsed() < Duration::from_millis(900) {
        assert_eq!(finished.html, whole, "{text:?}");
    }
}

fn headers(input: &[u8]) -> HeaderMap {
    let (mut headers, mut values) = (HeaderMap::new(), input.splitn(2, |byte| *byte == b'\n'));
    for name in ["host", "origin"] {
        if let Some(value) = values.next().and_then(|value| HeaderValue::from_bytes(value).ok()) {
            headers.insert(name, value);
        }
    }
    headers
}

fuzz_targets! {
    fuzz_bodies: BODIES => |input| {
        let _ = body_as::<Trigger>(input);
        let _ = body_as::<JobRequest>(input);
    };
    fuzz_authorities: AUTHORITIES => |input| {
        let text = String::from_utf8_lossy(input);
        let headers = headers(input);
        if let Some(authority) = Authority::parse(&text) {
            assert!(authority.is_same_host(&authority), "{text:?}");
            let _ = OriginRules::new(&[]).allows(&headers, &authority);
        }
        let _ = text.parse::<Uri>();
    };
    fuzz_markdown: MARKDOWN => |input| assert_harmless(&render(&String::from_utf8_lossy(input)));
    fuzz_growing_markdown: MARKDOWN => |input| {
        let text = String::from_utf8_lossy(input);
        if text.len() < 2_000 {
            follow(&text);
        }
    };
}
