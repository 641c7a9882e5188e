//! An IMAP and an SMTP server on loopback, as strict as real ones about the commands they receive.

pub mod bench;
mod mailbox;
mod post;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub use mailbox::Mailbox;
pub use post::Post;

/// The account's password.
pub const PASSWORD: &str = "c4nary \"quoted\"";

/// The access token that the servers take.
pub const TOKEN: &str = "t0ken-canary-2";

/// Whether this proof of XOAUTH2 is the account's.
fn is_token(proof: &str) -> bool {
    STANDARD.decode(proof).unwrap()
        == format!("user=bot@home.example\x01auth=Bearer {TOKEN}\x01\x01").into_bytes()
}

/// The header that our own server adds to a mail from `x.example`.
pub const PROVEN: &str = "Authentication-Results: mx.home.example; dkim=pass header.d=x.example; dmarc=pass (p=REJECT) header.from=x.example\r\n";

/// A mail.
pub fn letter(number: u32, fields: &str, from: &str, text: &str) -> Vec<u8> {
    format!(
        "{fields}Received: from x by y; Mon, 3 Aug 2026 10:00:00 +0000\r\nFrom: {from}\r\nTo: bot@home.example\r\n\
         Reply-To: eve@evil.example\r\nSubject: s{number}\r\nMessage-ID: <{number}@x.example>\r\n\r\n{text}\r\n"
    )
    .into_bytes()
}

/// A mail with a file.
pub fn with_file(number: u32, name: &str, mime: &str, bytes: &[u8]) -> Vec<u8> {
    let data = STANDARD.encode(bytes);
    let lines: String =
        data.as_bytes().chunks(76).map(|line| String::from_utf8_lossy(line) + "\r\n").collect();
    format!(
        "{PROVEN}From: ada@x.example\r\nSubject: s{number}\r\nMessage-ID: <{number}@x.example>\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nlook\r\n--b\r\n\
         Content-Type: {mime}; name=\"{name}\"\r\nContent-Disposition: attachment; filename=\"{name}\"\r\n\
         Content-Transfer-Encoding: base64\r\n\r\n{lines}--b--\r\n"
    )
    .into_bytes()
}
