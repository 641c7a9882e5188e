//! Where credentials come from, with files in a temporary directory and endpoints on this machine.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};

use aethon_core::model::{ModelError, ModelErrorKind};
use aethon_core::secret::Secret;
use aethon_core::testkit::ManualClock;
use jiff::SignedDuration;
use serde_json::json;
use tempfile::TempDir;

use super::region::region;
use super::{Chain, Credentials};
use crate::options::{AwsEnvironment, Options, Provider};

fn nowhere() -> AwsEnvironment {
    AwsEnvironment { metadata_disabled: true, ..AwsEnvironment::default() }
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at("2026-11-20T10:00:00Z".parse().unwrap()))
}

async fn found(environment: AwsEnvironment) -> Result<Credentials, ModelError> {
    Chain::new(environment, clock()).credentials().await
}

/// Two files in a directory that is removed at the end.
struct Files(TempDir);

impl Files {
    fn new(credentials: &str, config: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join(".aws")).unwrap();
        std::fs::write(home.path().join(".aws/credentials"), credentials).unwrap();
        std::fs::write(home.path().join(".aws/config"), config).unwrap();
        Self(home)
    }

    fn environment(&self, profile: Option<&str>) -> AwsEnvironment {
        AwsEnvironment {
            user_home: Some(self.0.path().to_owned()),
            profile: profile.map(str::to_owned),
            ..nowhere()
        }
    }
}

/// Answers each request with what `answer` returns for its head.
fn serve(answer: impl Fn(&str) -> (u16, String) + Send + 'static) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (seen, requests) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).is_ok_and(|read| read > 0) {}
            let (status, body) = answer(&head);
            let _ = seen.send(head);
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
            );
        }
    });
    (address, requests)
}

fn handed_out(id: &str, expiration: &str) -> String {
    json!({
        "Code": "Success", "AccessKeyId": id, "SecretAccessKey": "s3cret", "Token": "t0ken",
        "Expiration": expiration,
    })
    .to_string()
}

#[tokio::test]
async fn the_environment_comes_first() {
    let files = Files::new("[default]\naws_access_key_id = FILE\naws_secret_access_key = x\n", "");
    let environment = AwsEnvironment {
        access_key_id: Some("ENV".into()),
        secret_access_key: Secret::new("x"),
        session_token: Secret::new("t"),
        ..files.environment(None)
    };
    let credentials = found(environment.clone()).await.unwrap();
    assert_eq!((credentials.access_key_id.as_str(), credentials.session_token.expose()), ("ENV", "t"));
    let half = AwsEnvironment { secret_access_key: Secret::default(), ..environment };
    assert_eq!(found(half).await.unwrap().access_key_id, "FILE");
}

#[tokio::test]
async fn profiles_are_read_from_both_files() {
    let files = Files::new(
        "# mine\n[default]\naws_access_key_id=ONE\naws_secret_access_key = first= # not part\n\n[ work ]\r\nAWS_ACCESS_KEY_ID = TWO\r\naws_secret_access_key = second\r\naws_session_token = tt\r\n",
        "[default]\nregion = eu-west-1\ns3 =\n  region = nested\n[profile work]\nregion=us-west-2\naws_access_key_id = LOSES\n[profile only-config]\naws_access_key_id = THREE\naws_secret_access_key = third\n[profile sso]\nsso_session = x\n",
    );
    let of = |profile: Option<&str>| found(files.environment(profile));
    let one = of(None).await.unwrap();
    assert_eq!((one.access_key_id.as_str(), one.secret_access_key.expose()), ("ONE", "first="));
    let two = of(Some("work")).await.unwrap();
    assert_eq!((two.access_key_id.as_str(), two.session_token.expose()), ("TWO", "tt"));
    assert_eq!(of(Some("only-config")).await.unwrap().access_key_id, "THREE");
    let check = |error: ModelError, word: &str| {
        assert_eq!(error.kind(), ModelErrorKind::Auth);
        assert!(error.to_string().contains(word) && error.to_string().ends_with('.'), "{error}");
    };
    check(of(Some("sso")).await.unwrap_err(), "sso_session");
    check(of(Some("missing")).await.unwrap_err(), "AWS_PROFILE");
    check(found(nowhere()).await.unwrap_err(), "AWS_BEARER_TOKEN_BEDROCK");
}

#[test]
fn the_region_is_found_in_order() {
    let files = Files::new("", "[default]\nregion = eu-west-1\n[profile work]\nregion = us-west-2\n");
    let arn = "arn:aws:bedrock:ap-south-1:123456789012:inference-profile/x";
    let of = |given: Option<&str>, aws: AwsEnvironment, model: &str| {
        let aws = AwsEnvironment { region: given.map(str::to_owned), ..aws };
        region(&Options { aws, ..Options::new(Provider::Bedrock, model) })
    };
    let check = |found: Result<String, String>, expected: &str| assert_eq!(found.unwrap(), expected);
    check(of(Some("eu-central-1"), files.environment(None), arn), "eu-central-1");
    check(of(Some(" "), files.environment(None), arn), "eu-west-1");
    check(of(None, files.environment(Some("work")), arn), "us-west-2");
    check(of(None, nowhere(), arn), "ap-south-1");
    assert!(of(None, nowhere(), "m").unwrap_err().contains("model.region"));
    assert!(of(Some("evil.example/"), nowhere(), "m").unwrap_err().contains("not a region"));
}

#[tokio::test]
async fn a_container_hands_credentials_out() {
    let (address, requests) = serve(|_| (200, handed_out("CONTAINER", "2026-11-20T16:00:00Z")));
    let environment = AwsEnvironment {
        container_full_uri: Some(format!("{address}/creds")),
        container_token: Secret::new("let-me-in"),
        ..AwsEnvironment::default()
    };
    let credentials = found(environment).await.unwrap();
    assert_eq!(
        (credentials.access_key_id.as_str(), credentials.session_token.expose()),
        ("CONTAINER", "t0ken")
    );
    let head = requests.recv().unwrap().to_lowercase();
    assert!(head.starts_with("get /creds ") && head.contains("authorization: let-me-in"), "{head}");

    let elsewhere = AwsEnvironment {
        container_full_uri: Some("http://example.com/creds".into()),
        ..AwsEnvironment::default()
    };
    let error = found(elsewhere).await.unwrap_err();
    assert!(error.detail().unwrap().contains("neither https"), "{error:?}");

    let disguised =
        AwsEnvironment { container_relative_uri: Some("@example.com/".into()), ..AwsEnvironment::default() };
    assert!(found(disguised).await.unwrap_err().detail().unwrap().contains("slash"));
}

#[tokio::test]
async fn an_instance_wants_a_token_first() {
    let (address, requests) = serve(|head| {
        if head.starts_with("PUT /latest/api/token ") {
            (200, "the-token".into())
        } else if !head.contains("x-aws-ec2-metadata-token: the-token") {
            (401, String::new())
        } else if head.starts_with("GET /latest/meta-data/iam/security-credentials/ ") {
            (200, "my-role\n".into())
        } else {
            (200, handed_out("INSTANCE", "2026-11-20T16:00:00Z"))
        }
    });
    let environment =
        AwsEnvironment { metadata_endpoint: Some(format!("{address}/")), ..AwsEnvironment::default() };
    assert_eq!(found(environment).await.unwrap().access_key_id, "INSTANCE");
    let heads: Vec<String> = requests.try_iter().collect();
    assert!(heads[0].contains("x-aws-ec2-metadata-token-ttl-seconds: 21600"), "{heads:?}");
    assert!(heads[2].starts_with("GET /latest/meta-data/iam/security-credentials/my-role "), "{heads:?}");
}

#[tokio::test]
async fn temporary_credentials_are_renewed_before_they_expire() {
    let served = std::sync::atomic::AtomicUsize::new(0);
    let (address, _requests) =
        serve(move |_| match served.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0 => (200, handed_out("FIRST", "2026-11-20T10:30:00Z")),
            1 => (500, "not now".into()),
            _ => (200, handed_out("SECOND", "2026-11-20T12:00:00Z")),
        });
    let environment = AwsEnvironment { container_full_uri: Some(address), ..AwsEnvironment::default() };
    let clock = clock();
    let chain = Chain::new(environment, clock.clone());
    let id = async || chain.credentials().await.unwrap().access_key_id;
    assert_eq!(id().await, "FIRST");
    clock.advance(SignedDuration::from_mins(24));
    assert_eq!(id().await, "FIRST", "it lasts, and nobody was asked");
    clock.advance(SignedDuration::from_mins(2));
    assert_eq!(id().await, "FIRST", "renewing failed, but it lasts");
    assert_eq!(id().await, "SECOND");
}
