//! Where a browser comes back to after a sign-in: an address on this machine that is open for as long as the sign-in takes.

use std::io;
use std::time::Duration;

use aethon_core::secret::Secret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use url::Url;

/// The path of the address.
const PATH: &str = "/mcp/callback";
/// Maximum length of a request's head.
const MAX_HEAD: usize = 16 * 1024;
/// How long a browser may take to send its request.
const READING: Duration = Duration::from_secs(5);

/// The parameters with which a browser returns. It has no `Debug`, because the code is a secret.
pub struct Returned {
    pub(super) code: Option<Secret>,
    pub(super) state: Option<String>,
    pub(super) issuer: Option<String>,
    /// The error code of a refusal, in characters that can be shown.
    pub(super) error: Option<String>,
}

impl Returned {
    /// Reads the address that a browser ended at, as a person copies it.
    pub fn parse(address: &str) -> Option<Self> {
        let address = address.trim().trim_matches(['"', '\'', '<', '>']);
        let url = Url::parse(address).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        Self::of_query(&url)
    }

    fn of_query(url: &Url) -> Option<Self> {
        let mut returned = Self { code: None, state: None, issuer: None, error: None };
        for (name, value) in url.query_pairs() {
            match &*name {
                "code" => returned.code = Some(Secret::new(value)),
                "state" => returned.state = Some(value.into_owned()),
                "iss" => returned.issuer = Some(value.into_owned()),
                "error" => returned.error = Some(plain(&value)),
                _ => {}
            }
        }
        (returned.code.is_some() || returned.error.is_some()).then_some(returned)
    }
}

fn plain(text: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    text.chars().filter(is_plain).take(60).collect()
}

/// The open address.
pub struct Redirect {
    listener: TcpListener,
    address: String,
}

impl Redirect {
    /// Opens an address on this machine; port 0 is any free one.
    ///
    /// # Errors
    ///
    /// The port cannot be opened.
    pub async fn open(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, address: format!("http://127.0.0.1:{port}{PATH}") })
    }

    /// Returns the address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Waits for a browser that `belongs` to the sign-in. All others get a page that says that they do not.
    pub async fn wait(&self, belongs: impl Fn(&Returned) -> bool) -> Returned {
        loop {
            let Ok((stream, _)) = self.listener.accept().await else {
                // Out of files, for example. Someone else has to close some.
                tokio::time::sleep(Duration::from_millis(200)).await;
                continue;
            };
            if let Ok(Some(returned)) = timeout(READING, self.serve(stream, &belongs)).await {
                return returned;
            }
        }
    }

    async fn serve(&self, mut stream: TcpStream, belongs: impl Fn(&Returned) -> bool) -> Option<Returned> {
        let head = head(&mut stream).await?;
        let returned = self.read(&head).filter(|returned| belongs(returned));
        let (status, words) = match &returned {
            Some(Returned { error: None, .. }) => ("200 OK", "You are signed in. You can close this page."),
            Some(_) => {
                ("200 OK", "The sign-in was refused. You can close this page; the terminal says more.")
            }
            None => ("400 Bad Request", "This address belongs to no sign-in that is waiting."),
        };
        let page = format!("<!doctype html><meta charset=utf-8><title>Aethon</title><p>{words}</p>");
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
             Content-Security-Policy: default-src 'none'\r\nReferrer-Policy: no-referrer\r\n\
             X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{page}",
            page.len()
        );
        // The browser may be gone already; its code counts all the same.
        let _ = stream.write_all(answer.as_bytes()).await;
        let _ = stream.shutdown().await;
        returned
    }

    /// Reads a request. Only the exact address counts, under its own name: a page elsewhere that has its name point here sends
    /// another `Host`.
    fn read(&self, head: &str) -> Option<Returned> {
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, target) = (words.next()?, words.next()?);
        let own = self.address.strip_prefix("http://")?.strip_suffix(PATH)?;
        let host = lines.filter_map(|line| line.split_once(':'));
        let mut host = host.filter(|(name, _)| name.eq_ignore_ascii_case("host"));
        let is_ours = method == "GET" && target.split('?').next() == Some(PATH);
        if !is_ours || host.next()?.1.trim() != own || host.next().is_some() {
            return None;
        }
        let url = Url::parse(&format!("http://{own}")).ok()?.join(target).ok()?;
        Returned::of_query(&url)
    }
}

async fn head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut buffer = [0; 2048];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let length = stream.read(&mut buffer).await.ok()?;
        if length == 0 || head.len() + length > MAX_HEAD {
            return None;
        }
        head.extend_from_slice(buffer.get(..length)?);
    }
    String::from_utf8(head).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn wait_ends_with_the_browser_of_this_sign_in() {
        let redirect = Redirect::open(0).await.unwrap();
        let address = redirect.address().strip_prefix("http://").unwrap().to_owned();
        let host = address.strip_suffix(PATH).unwrap().to_owned();
        let ask = async |line: String, host: &str| {
            let mut stream = TcpStream::connect(address.strip_suffix(PATH).unwrap()).await.unwrap();
            stream.write_all(format!("{line}\r\nHost: {host}\r\n\r\n").as_bytes()).await.unwrap();
            let mut answer = String::new();
            let _ = stream.read_to_string(&mut answer).await;
            answer.lines().next().unwrap_or_default().to_owned()
        };
        let browser = async {
            for (line, host) in [
                (format!("GET {PATH}?code=c&state=other HTTP/1.1"), &*host),
                (format!("GET {PATH}?code=c HTTP/1.1"), &*host),
                (format!("GET {PATH} HTTP/1.1"), &*host),
                ("GET /favicon.ico?code=c&state=s HTTP/1.1".into(), &*host),
                (format!("POST {PATH}?code=c&state=s HTTP/1.1"), &*host),
                (format!("GET //evil.example{PATH}?code=c&state=s HTTP/1.1"), &*host),
                (format!("GET {PATH}?code=c&state=s HTTP/1.1"), "evil.example"),
            ] {
                let answer = ask(line.clone(), host).await;
                assert!(answer.contains("400"), "{line} {host}: {answer}");
            }
            ask(format!("GET {PATH}?code=c%20d&state=s&iss=i HTTP/1.1"), &host).await
        };
        let belongs = |returned: &Returned| returned.state.as_deref() == Some("s");
        let (returned, answer) = tokio::join!(redirect.wait(belongs), browser);
        assert!(answer.contains("200"), "{answer}");
        let code = returned.code.as_ref().map(Secret::expose);
        assert_eq!((code, returned.issuer.as_deref()), (Some("c d"), Some("i")));
    }

    #[test]
    fn a_pasted_address_is_read_as_people_copy_it() {
        let check = |text: &str, expected: Option<(&str, &str)>| {
            let read = Returned::parse(text);
            let read = read.as_ref().map(|read| {
                let code = read.code.as_ref().map(Secret::expose).or(read.error.as_deref());
                (code.unwrap_or_default(), read.state.as_deref().unwrap_or_default())
            });
            assert_eq!(read, expected, "{text}");
        };
        check(" http://127.0.0.1:1/mcp/callback?code=a&state=b\n", Some(("a", "b")));
        check("<http://127.0.0.1:1/mcp/callback?state=b&code=a>", Some(("a", "b")));
        check(
            "http://127.0.0.1:1/mcp/callback?error=access_denied%1b[0m&state=b",
            Some(("access_denied0m", "b")),
        );
        check("http://127.0.0.1:1/mcp/callback", None);
        check("code=a&state=b", None);
        check("", None);
    }
}
