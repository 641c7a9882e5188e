//! Finds the authorization server of an MCP server: RFC 9728, then RFC 8414 or OpenID Connect Discovery.

use serde_json::Value;
use url::Url;

use super::challenge::Challenge;
use super::fetch::{Answer, Fetch};
use super::place::{canonical, contains, is_loopback, secure, well_known};
use crate::error::Error;

/// Maximum number of values that are taken of a list.
const MAX_VALUES: usize = 100;

/// An MCP server as the resource that tokens are for.
pub(super) struct Resource {
    /// Its identifier, for which tokens are requested.
    pub(super) id: String,
    /// Its authorization server.
    pub(super) issuer: Url,
    /// The scopes that it knows.
    pub(super) scopes: Vec<String>,
    /// Whether its own metadata named the authorization server; servers of old revisions have none.
    is_described: bool,
}

impl Resource {
    /// Finds it by the challenge of the server, or else by its well-known addresses.
    pub(super) async fn find(fetch: &Fetch, server: &Url, challenge: &Challenge) -> Result<Self, Error> {
        if let Some(named) = &challenge.resource_metadata {
            let named = secure(named, "the address of the server's metadata")?;
            let answer = fetch.get(named.as_str()).await?;
            if !answer.is_success() {
                let why = format!("the server names metadata that cannot be read (status {})", answer.status);
                return Err(Error::new(why));
            }
            return Self::parse(&answer, server);
        }
        let name = "oauth-protected-resource";
        let mut root = server.clone();
        root.set_path("");
        let mut places = vec![well_known(server, name), well_known(&root, name)];
        places.dedup();
        for place in places {
            let answer = fetch.get(&place).await?;
            if answer.is_success() && answer.document.is_object() {
                return Self::parse(&answer, server);
            }
        }
        // Before it had metadata, a server was its own authorization server.
        root.set_query(None);
        Ok(Self { id: canonical(server), issuer: root, scopes: Vec::new(), is_described: false })
    }

    fn parse(answer: &Answer, server: &Url) -> Result<Self, Error> {
        let id =
            answer.text("resource").ok_or_else(|| Error::new("the server's metadata names no resource"))?;
        let resource = Url::parse(id).map_err(|_| Error::new("the server's metadata names no resource"))?;
        if !contains(&resource, server) {
            return Err(Error::new("the server's metadata is that of another server"));
        }
        let issuers = texts(&answer.document["authorization_servers"]);
        let issuer = issuers.first().ok_or_else(|| Error::new("the server names no authorization server"))?;
        Ok(Self {
            id: id.to_owned(),
            issuer: secure(issuer, "the authorization server")?,
            scopes: texts(&answer.document["scopes_supported"]),
            is_described: true,
        })
    }
}

/// An authorization server.
#[derive(Debug)]
pub(super) struct AuthorizationServer {
    /// Its identifier.
    pub(super) issuer: String,
    /// Where a person signs in.
    pub(super) authorization: Url,
    /// Where tokens come from.
    pub(super) token: Url,
    /// Where programs introduce themselves.
    pub(super) registration: Option<Url>,
    /// Where tokens are given back.
    pub(super) revocation: Option<Url>,
    /// How programs with a secret prove that they have it.
    pub(super) proofs: Vec<String>,
    /// The scopes that it knows.
    pub(super) scopes: Vec<String>,
    /// Whether its answers to a sign-in always say who answers.
    pub(super) names_itself: bool,
}

impl AuthorizationServer {
    /// Reads its metadata.
    pub(super) async fn find(fetch: &Fetch, resource: &Resource) -> Result<Self, Error> {
        let issuer = &resource.issuer;
        for place in places(issuer) {
            let answer = fetch.get(&place).await?;
            if answer.is_success() && answer.document.is_object() {
                return Self::parse(&answer, resource);
            }
        }
        let host = issuer.host_str().unwrap_or_default();
        Err(Error::new(match resource.is_described {
            true => format!("the authorization server {host} has no metadata"),
            false => format!("{host} does not say how to sign in; give it a token with `headers` instead"),
        }))
    }

    fn parse(answer: &Answer, resource: &Resource) -> Result<Self, Error> {
        let given = answer.text("issuer").unwrap_or_default();
        let is_same = given.trim_end_matches('/') == resource.issuer.as_str().trim_end_matches('/');
        // A server of an old revision is known by its origin only.
        let is_origin = !resource.is_described
            && Url::parse(given).is_ok_and(|given| given.origin() == resource.issuer.origin());
        if !is_same && !is_origin {
            return Err(Error::new("the authorization server's metadata is that of another issuer"));
        }
        let methods = texts(&answer.document["code_challenge_methods_supported"]);
        if !methods.iter().any(|method| method == "S256") {
            return Err(Error::new(
                "the authorization server does not say that it supports PKCE with S256, without which a sign-in could be \
                 stolen",
            ));
        }
        let place = |name: &str| {
            let text = answer.text(name);
            text.map(|text| secure(text, &format!("the `{name}` of the authorization server"))).transpose()
        };
        let needed = |name: &str| {
            place(name)?.ok_or_else(|| Error::new(format!("the authorization server has no `{name}`")))
        };
        let authorization = needed("authorization_endpoint")?;
        // A person opens it in their browser, where services of their machine listen that trust who is on it.
        if is_loopback(&authorization) && !Url::parse(&resource.id).is_ok_and(|id| is_loopback(&id)) {
            return Err(Error::new(
                "the `authorization_endpoint` of the authorization server is an address of your own machine",
            ));
        }
        Ok(Self {
            issuer: given.to_owned(),
            authorization,
            token: needed("token_endpoint")?,
            registration: place("registration_endpoint")?,
            revocation: place("revocation_endpoint").unwrap_or_default(),
            proofs: texts(&answer.document["token_endpoint_auth_methods_supported"]),
            scopes: texts(&answer.document["scopes_supported"]),
            names_itself: answer.document["authorization_response_iss_parameter_supported"] == true,
        })
    }
}

/// The addresses of the metadata of an authorization server, in the order that the protocol has.
fn places(issuer: &Url) -> Vec<String> {
    let base = issuer.as_str().trim_end_matches('/');
    let mut places = vec![
        well_known(issuer, "oauth-authorization-server"),
        well_known(issuer, "openid-configuration"),
        format!("{base}/.well-known/openid-configuration"),
    ];
    places.dedup();
    places
}

/// Returns the texts of a list.
fn texts(value: &Value) -> Vec<String> {
    let all = value.as_array().into_iter().flatten();
    all.filter_map(|text| text.as_str().map(str::to_owned)).take(MAX_VALUES).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_is_looked_for_in_the_order_of_the_protocol() {
        let of = |text: &str| places(&Url::parse(text).unwrap());
        assert_eq!(
            of("https://a.example"),
            [
                "https://a.example/.well-known/oauth-authorization-server",
                "https://a.example/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            of("https://a.example/t1"),
            [
                "https://a.example/.well-known/oauth-authorization-server/t1",
                "https://a.example/.well-known/openid-configuration/t1",
                "https://a.example/t1/.well-known/openid-configuration",
            ]
        );
    }

    #[test]
    fn metadata_with_a_fault_is_refused() {
        let whole = json!({
            "issuer": "https://a.example",
            "authorization_endpoint": "https://a.example/authorize",
            "token_endpoint": "https://a.example/token",
            "code_challenge_methods_supported": ["plain", "S256"],
        });
        let resource = |is_described: bool| Resource {
            id: "https://a.example/mcp".into(),
            issuer: Url::parse("https://a.example").unwrap(),
            scopes: Vec::new(),
            is_described,
        };
        let check = |name: &str, value: Value, fault: Option<&str>| {
            let mut document = whole.clone();
            document[name] = value.clone();
            let parsed = AuthorizationServer::parse(&Answer { status: 200, document }, &resource(true));
            let error = parsed.err().map(|error| error.to_string());
            assert_eq!(error.is_some(), fault.is_some(), "{name} {value}: {error:?}");
            let told = error.unwrap_or_default();
            assert!(told.contains(fault.unwrap_or_default()), "{name} {value}: {told}");
        };
        check("x", json!(1), None);
        check("issuer", json!("https://a.example/"), None);
        check("issuer", json!("https://evil.example"), Some("another issuer"));
        check("issuer", json!(null), Some("another issuer"));
        check("code_challenge_methods_supported", json!(["plain"]), Some("PKCE"));
        check("code_challenge_methods_supported", json!(null), Some("PKCE"));
        check("token_endpoint", json!("http://a.example/token"), Some("plain http"));
        check("token_endpoint", json!("http://127.0.0.1:1/token"), None);
        check("token_endpoint", json!(null), Some("token_endpoint"));
        check("authorization_endpoint", json!("javascript:alert(1)"), Some("authorization_endpoint"));
        check("authorization_endpoint", json!(7), Some("authorization_endpoint"));
        check("authorization_endpoint", json!("http://127.0.0.1:1/x"), Some("your own machine"));
        check("authorization_endpoint", json!("https://localhost/x"), Some("your own machine"));
        check("registration_endpoint", json!("ftp://a.example"), Some("registration_endpoint"));
        let here = Resource { id: "http://localhost:1/mcp".into(), ..resource(true) };
        let mut document = whole.clone();
        document["authorization_endpoint"] = "http://127.0.0.1:2/authorize".into();
        assert!(AuthorizationServer::parse(&Answer { status: 200, document }, &here).is_ok());
        let old = |issuer: &str| {
            let mut document = whole.clone();
            document["issuer"] = issuer.into();
            AuthorizationServer::parse(&Answer { status: 200, document }, &resource(false)).is_ok()
        };
        assert!(old("https://a.example/oauth") && !old("https://evil.example/oauth") && !old(""));
    }

    #[test]
    fn the_metadata_of_another_resource_is_refused() {
        let server = Url::parse("https://a.example/mcp").unwrap();
        let check = |resource: Value, servers: Value, expected: bool| {
            let document = json!({"resource": resource, "authorization_servers": servers});
            let parsed = Resource::parse(&Answer { status: 200, document }, &server);
            assert_eq!(parsed.is_ok(), expected, "{resource} {servers}");
        };
        let servers = json!(["https://as.example"]);
        check(json!("https://a.example/mcp"), servers.clone(), true);
        check(json!("https://a.example"), servers.clone(), true);
        check(json!("https://b.example/mcp"), servers.clone(), false);
        check(json!("https://a.example/other"), servers.clone(), false);
        check(json!(null), servers, false);
        check(json!("https://a.example"), json!([]), false);
        check(json!("https://a.example"), json!(["http://as.example"]), false);
        check(json!("https://a.example"), json!([{"x": 1}, "https://as.example"]), true);
    }
}
