//! Which carrier takes precedence, and which token is right.

use aethon_core::clock::Clock as _;
use aethon_core::testkit::ManualClock;
use http::header::{AUTHORIZATION, COOKIE, HeaderName};
use jiff::{SignedDuration, Timestamp};

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Mutex;

use async_trait::async_trait;

use super::*;
use crate::options::{AccessJournal, SignInOptions};

const TOKEN: &str = "correct horse+battery";

/// Keeps what several instances share, by its name.
#[derive(Default)]
pub(crate) struct Journal {
    pub(crate) records: Mutex<BTreeMap<String, String>>,
}

#[async_trait]
impl AccessJournal for Journal {
    async fn add(&self, name: &str, line: &str, _until: Timestamp) -> Result<()> {
        self.records.lock().unwrap().insert(name.to_owned(), line.to_owned());
        Ok(())
    }

    async fn offer_code(&self, name: &str, known: &str, until: Timestamp) -> Result<()> {
        self.add(name, known, until).await
    }

    async fn take_code(&self, name: &str) -> Result<Option<String>> {
        Ok(self.records.lock().unwrap().remove(name))
    }

    fn wrong_token(&self, _address: IpAddr) {}

    async fn claim_signature(&self, name: &str, request: &str, until: Timestamp) -> Result<Option<String>> {
        let known = self.records.lock().unwrap().get(name).cloned();
        if known.is_none() {
            self.add(name, request, until).await?;
        }
        Ok(known)
    }

    async fn release_signature(&self, name: &str) -> Result<()> {
        self.take_code(name).await.map(drop)
    }
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(Timestamp::from_second(1_700_000_000).unwrap()))
}

/// Returns the settings of sign-ins of a home whose key is fixed.
fn options(register: &Option<Arc<File>>) -> SignInOptions {
    SignInOptions {
        key: Secret::new("the key of this home"),
        register: register.clone(),
        ..SignInOptions::default()
    }
}

/// Returns the token check of a home whose key is fixed.
fn auth(token: &str) -> TokenAuth {
    auth_at(token, &clock())
}

fn auth_at(token: &str, clock: &Arc<ManualClock>) -> TokenAuth {
    let sign_ins = SignIns::new(&options(&None), clock.clone());
    TokenAuth::new(&Secret::new(token), Arc::new(sign_ins))
}

/// Creates the file of a register, already unlinked.
fn register() -> Option<Arc<File>> {
    let path = std::env::temp_dir().join(format!("aethon-sign-ins-{}", aethon_core::ids::unique()));
    let file = std::fs::File::options().read(true).append(true).create_new(true).open(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    Some(Arc::new(file))
}

fn auth_with(register: &Option<Arc<File>>) -> TokenAuth {
    let sign_ins = SignIns::new(&options(register), clock());
    TokenAuth::new(&Secret::new(TOKEN), Arc::new(sign_ins))
}

/// Returns the address from which browsers sign in.
fn address() -> IpAddr {
    IpAddr::from([192, 0, 2, 1])
}

/// Signs in and returns the cookie as a browser sends it.
async fn signed_in(auth: &TokenAuth) -> HeaderMap {
    let cookie = auth.sign_in_cookie(address(), false).await.expect("a token is set");
    let pair = cookie.to_str().unwrap().split(';').next().unwrap().to_owned();
    headers(&[(COOKIE, pair.as_bytes())])
}

fn headers(pairs: &[(HeaderName, &[u8])]) -> HeaderMap {
    let pairs = pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_bytes(value).unwrap()));
    let mut headers = HeaderMap::new();
    pairs.for_each(|(name, value)| {
        headers.append(name, value);
    });
    headers
}

fn check(pairs: &[(HeaderName, &[u8])], query: &str, expected: TokenCheck) {
    let found = auth(TOKEN).check(&headers(pairs), Some(query));
    assert_eq!(found, expected, "{pairs:?} ?{query}");
}

#[test]
fn the_first_carrier_that_is_not_empty_decides() {
    use Carrier::{Bearer, Cookie, Query};
    use TokenCheck::{Granted, Missing, Wrong};
    let right_cookie: &[u8] = b"a=1; aethon_dash=correct horse+battery; b=2";
    let right_bearer: &[u8] = b"Bearer correct horse+battery";
    check(&[], "", Missing);
    check(&[], "token=", Missing);
    check(&[], "x=1&token=correct%20horse%2Bbattery", Granted(Query));
    check(&[], "token=correct%20horse+battery", Granted(Query));
    check(&[], "token=&token=correct%20horse%2Bbattery", Granted(Query));
    check(&[], "Token=correct%20horse%2Bbattery", Missing);
    check(&[], "token=wrong", Wrong);
    check(&[(AUTHORIZATION, right_bearer)], "token=wrong", Granted(Bearer));
    check(&[(AUTHORIZATION, b"bEARER  correct horse+battery")], "", Granted(Bearer));
    check(&[(AUTHORIZATION, b"Bearer wrong")], "token=correct%20horse%2Bbattery", Wrong);
    check(&[(AUTHORIZATION, b"Basic YTpi")], "token=correct%20horse%2Bbattery", Granted(Query));
    check(&[(AUTHORIZATION, b"Bearer ")], "", Missing);
    check(&[(AUTHORIZATION, b"Bearer\xc3\xa9")], "", Missing);
    check(&[(COOKIE, right_cookie), (AUTHORIZATION, b"Bearer wrong")], "", Granted(Cookie));
    check(&[(COOKIE, b"aethon_dash=wrong"), (AUTHORIZATION, right_bearer)], "", Wrong);
    check(&[(COOKIE, b"aethon_dash="), (AUTHORIZATION, right_bearer)], "", Granted(Bearer));
    check(&[(COOKIE, b"xaethon_dash=wrong"), (AUTHORIZATION, right_bearer)], "", Granted(Bearer));
    check(&[(COOKIE, b"x=1"), (COOKIE, right_cookie)], "", Granted(Cookie));
    check(&[(COOKIE, b"aethon_dash=\"correct horse+battery\"")], "", Granted(Cookie));
    check(&[(AUTHORIZATION, right_bearer), (AUTHORIZATION, right_bearer)], "", Wrong);
    check(&[(COOKIE, right_cookie), (AUTHORIZATION, b"x"), (AUTHORIZATION, b"y")], "", Wrong);
}

#[test]
fn any_bytes_of_any_length_are_only_wrong() {
    for bytes in [b"\xff\xfe".as_slice(), "\u{fc}ml".as_bytes(), &[b'x'; 20_000], b"correct", b"C"] {
        check(&[(AUTHORIZATION, &[b"Bearer ", bytes].concat())], "", TokenCheck::Wrong);
        check(&[(COOKIE, &[b"aethon_dash=", bytes].concat())], "", TokenCheck::Wrong);
    }
    check(&[], "token=%ff%fe", TokenCheck::Wrong);
    check(&[], "token=%", TokenCheck::Wrong);
}

#[tokio::test]
async fn without_a_token_everything_is_open() {
    for token in ["", "   ", "\t\n"] {
        let gate = auth(token);
        assert_eq!(gate.check(&HeaderMap::new(), Some("token=")), TokenCheck::Open);
        assert!(gate.sign_in_cookie(address(), false).await.is_none());
    }
}

#[tokio::test]
async fn the_cookie_holds_a_derived_value_that_no_other_carrier_takes() {
    let gate = auth(TOKEN);
    let cookie = gate.sign_in_cookie(address(), false).await.expect("closed");
    let cookie = cookie.to_str().expect("plain");
    let (pair, attributes) = cookie.split_once("; ").expect("has attributes");
    assert_eq!(attributes, "Max-Age=2592000; HttpOnly; SameSite=Strict; Path=/");
    assert!(!cookie.contains("horse"));
    assert_eq!(
        gate.check(&headers(&[(COOKIE, pair.as_bytes())]), None),
        TokenCheck::Granted(Carrier::Cookie)
    );

    let value = pair.strip_prefix("aethon_dash=").expect("our name");
    let bearer = format!("Bearer {value}");
    assert_eq!(gate.check(&headers(&[(AUTHORIZATION, bearer.as_bytes())]), None), TokenCheck::Wrong);
    assert_eq!(gate.check(&HeaderMap::new(), Some(&format!("token={value}"))), TokenCheck::Wrong);

    let other = auth("another");
    assert_eq!(other.check(&headers(&[(COOKIE, pair.as_bytes())]), None), TokenCheck::Wrong);
    let again = auth(TOKEN);
    let check = again.check(&headers(&[(COOKIE, pair.as_bytes())]), None);
    assert_eq!(check, TokenCheck::Wrong, "it is not in the register");
    assert!(
        gate.sign_in_cookie(address(), true)
            .await
            .expect("closed")
            .to_str()
            .expect("plain")
            .ends_with("; Secure")
    );
}

#[tokio::test]
async fn an_unclearable_cookie_blocks_no_sign_in_and_counts_no_guess() {
    let gate = auth(TOKEN);
    let cookie = gate.sign_in_cookie(address(), false).await.expect("closed");
    let (good, _) = cookie.to_str().expect("plain").split_once("; ").expect("has attributes");
    let granted = TokenCheck::Granted(Carrier::Cookie);
    for both in [format!("aethon_dash=BAD; {good}"), format!("{good}; aethon_dash=BAD")] {
        let sent = headers(&[(COOKIE, both.as_bytes())]);
        assert_eq!(gate.check(&sent, None), granted, "{both}");
        assert!(!gate.may_be_guess(&sent, None), "{both}");
        assert!(!gate.has_stale_cookie(&sent), "{both}");
        assert!(matches!(gate.sign_in(granted, &sent), SignIn::Session(..)), "{both}");
    }
    let apart = headers(&[(COOKIE, b"aethon_dash=BAD".as_slice()), (COOKIE, good.as_bytes())]);
    assert_eq!(gate.check(&apart, None), granted);

    let guesses = headers(&[(COOKIE, format!("aethon_dash=BAD; aethon_dash={TOKEN}").as_bytes())]);
    assert_eq!(gate.check(&guesses, None), TokenCheck::Wrong, "a request is one guess of the token");
    assert!(gate.may_be_guess(&guesses, None) && gate.has_stale_cookie(&guesses));
}

#[test]
fn at_the_entrance_a_right_address_beats_a_stale_cookie() {
    let gate = auth("right");
    let stale = headers(&[(COOKIE, b"aethon_dash=stale")]);
    assert_eq!(gate.check_entrance(&stale, Some("token=right"), None), TokenCheck::Granted(Carrier::Query));
    assert_eq!(gate.check_entrance(&stale, Some("token=wrong"), None), TokenCheck::Wrong);
    assert_eq!(gate.check_entrance(&stale, None, None), TokenCheck::Wrong);
    let signed_in = headers(&[(COOKIE, b"aethon_dash=right")]);
    assert_eq!(
        gate.check_entrance(&signed_in, Some("token=old"), None),
        TokenCheck::Granted(Carrier::Cookie)
    );
    assert_eq!(gate.check(&stale, Some("token=right")), TokenCheck::Wrong);
}

#[tokio::test]
async fn a_sign_in_is_one_of_many_and_ends_when_it_is_taken_back() {
    let auth = auth(TOKEN);
    let (one, other) = (signed_in(&auth).await, signed_in(&auth).await);
    assert_ne!(one, other, "each has a name of its own");
    let check = |headers: &HeaderMap| auth.check(headers, None);
    let granted = TokenCheck::Granted(Carrier::Cookie);
    let (first, second) = (auth.sign_in(granted, &one), auth.sign_in(granted, &other));
    auth.sign_ins.end(&first);
    assert_eq!((check(&one), check(&other)), (TokenCheck::Wrong, granted));
    assert!(!auth.stands(&first) && auth.stands(&second));

    let raw = headers(&[(COOKIE, b"aethon_dash=correct horse+battery")]);
    let third = auth.sign_in(granted, &raw);
    auth.sign_ins.end(&third);
    assert!(!auth.stands(&third) && auth.stands(&second));
    assert_eq!(check(&raw), granted, "the token itself goes on counting");
    assert!(auth.stands(&auth.sign_in(granted, &raw)));
}

#[tokio::test]
async fn a_sign_in_ends_with_its_time_and_with_the_token() {
    let clock = clock();
    let auth = auth_at(TOKEN, &clock);
    let cookie = signed_in(&auth).await;
    let sign_in = auth.sign_in(TokenCheck::Granted(Carrier::Cookie), &cookie);
    let changed = TokenAuth::new(&Secret::new("another token"), Arc::clone(&auth.sign_ins));
    let token = auth.sign_in(TokenCheck::Granted(Carrier::Bearer), &HeaderMap::new());
    assert!(!changed.stands(&sign_in) && !changed.stands(&token) && auth.stands(&token));
    let opened = TokenAuth::new(&Secret::default(), Arc::clone(&auth.sign_ins));
    assert!(opened.stands(&sign_in) && !auth.stands(&SignIn::Open) && opened.stands(&SignIn::Open));
    clock.advance(SignedDuration::from_secs(30 * 24 * 3600 - 1));
    assert!(auth.check(&cookie, None).is_granted() && auth.stands(&sign_in), "{}", clock.now());
    clock.advance(SignedDuration::from_secs(1));
    assert!(!auth.check(&cookie, None).is_granted() && !auth.stands(&sign_in));
}

#[tokio::test]
async fn a_credential_that_must_be_judged_counts_as_a_guess() {
    let auth = auth(TOKEN);
    let stale = headers(&[(COOKIE, b"aethon_dash=0123.1800000000.0123")]);
    let raw = headers(&[(COOKIE, b"aethon_dash=correct horse+battery")]);
    let bearer = headers(&[(AUTHORIZATION, b"Bearer x")]);
    for (headers, query, expected) in [
        (&HeaderMap::new(), None, false),
        (&HeaderMap::new(), Some("token=x"), true),
        (&bearer, None, true),
        (&stale, None, true),
        (&raw, None, true),
        (&signed_in(&auth).await, None, false),
        (&signed_in(&auth).await, Some("token=x"), false),
    ] {
        assert_eq!(auth.may_be_guess(headers, query), expected, "{headers:?} {query:?}");
    }
    let open = TokenAuth::new(&Secret::default(), Arc::clone(&auth.sign_ins));
    assert!(!open.may_be_guess(&bearer, None));
}

#[tokio::test]
async fn the_owner_sees_who_is_signed_in_and_ends_it_from_afar() {
    let auth = auth(TOKEN);
    let (first, second) = (signed_in(&auth).await, signed_in(&auth).await);
    let listed = auth.sign_ins();
    assert_eq!((listed.len(), listed[0].address.as_str()), (2, "192.0.2.1"));
    let [newest, oldest] = <[SignInRecord; 2]>::try_from(listed).unwrap();
    auth.sign_ins.revoke(oldest).await;
    assert!(!auth.check(&first, None).is_granted() && auth.check(&second, None).is_granted());
    assert_eq!(auth.sign_ins(), [newest]);
    let changed = TokenAuth::new(&Secret::new("another token"), Arc::clone(&auth.sign_ins));
    assert!(changed.sign_ins().is_empty(), "a sign-in ends with its token");
}

#[tokio::test]
async fn a_sign_in_counts_only_while_it_is_listed() {
    let register = register();
    let auth = auth_with(&register);
    let granted = TokenCheck::Granted(Carrier::Cookie);
    let first = signed_in(&auth).await;
    let admitted = auth.sign_in(granted, &first);
    let mut changes = auth.sign_ins.changes();
    let mut others = Vec::new();
    for _ in 0..255 {
        others.push(signed_in(&auth).await);
    }
    assert!(auth.check(&first, None).is_granted() && !changes.has_changed().unwrap(), "256 are listed");
    others.push(signed_in(&auth).await);
    assert_eq!(auth.check(&first, None), TokenCheck::Wrong, "the oldest has made room");
    assert!(!auth.stands(&admitted) && changes.has_changed().unwrap(), "its sockets are told");
    changes.mark_unchanged();
    assert!(others.iter().all(|other| auth.check(other, None).is_granted()));
    assert_eq!(auth.sign_ins().len(), 256);

    let again = auth_with(&register);
    assert_eq!(again.check(&first, None), TokenCheck::Wrong, "a restart brings it not back");
    assert!(others.iter().all(|other| again.check(other, None).is_granted()), "and signs nobody out");
    // A sign-in that its owner has revoked leaves its place to a new one; all others stay.
    let second = again.sign_in(granted, &others[0]);
    again.sign_ins.end(&second);
    again.sign_ins.keep(&second).await;
    let newest = signed_in(&again).await;
    assert!(again.check(&others[1], None).is_granted() && again.check(&newest, None).is_granted());
    let last = auth_with(&register);
    assert!(last.check(&others[1], None).is_granted() && last.check(&newest, None).is_granted());
    assert_eq!(
        (last.check(&others[0], None), last.check(&first, None)),
        (TokenCheck::Wrong, TokenCheck::Wrong)
    );
}

#[test]
fn a_change_is_confirmed_with_the_token_and_nothing_else() {
    let gate = auth(TOKEN);
    let check = |values: &[&[u8]], expected: Confirmation| {
        let name = || HeaderName::from_static("x-aethon-confirm");
        let pairs: Vec<(HeaderName, &[u8])> = values.iter().map(|value| (name(), *value)).collect();
        assert_eq!(gate.confirmation(&headers(&pairs)), expected, "{values:?}");
        assert_eq!(gate.may_be_guess(&headers(&pairs), None), !values.is_empty());
    };
    check(&[], Confirmation::Missing);
    check(&[b""], Confirmation::Missing);
    check(&[b" correct horse+battery "], Confirmation::Given);
    check(&[b"correct%20horse%2Bbattery"], Confirmation::Given);
    check(&[b"correct horse battery"], Confirmation::Wrong);
    check(&[b"correct"], Confirmation::Wrong);
    check(&[b"correct horse+battery", b"correct horse+battery"], Confirmation::Wrong);
    assert_eq!(auth("").confirmation(&HeaderMap::new()), Confirmation::Impossible);
}
