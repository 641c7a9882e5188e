//! The key by which push services recognise this home (RFC 8292), kept at `run/push.key`.
//!
//! Devices subscribe for this key alone, so without it every device would have to ask again.

use std::io;
use std::path::Path;

use aethon_config::private_file;
use aethon_core::secret::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::json;

/// How long a proof counts, in seconds. Push services accept a day at most.
const LIFETIME: i64 = 12 * 3600;
/// Whom a service could write to; it asks for an address, and the owner's is none of its business.
const CONTACT: &str = "mailto:aethon@example.com";

/// The key.
pub(super) struct Vapid {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl Vapid {
    /// Reads the key of a home, or makes it at the first start.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let kept = match std::fs::read_to_string(path) {
            Ok(text) => Secret::new(text.trim()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => make(path)?,
            Err(error) => return Err(error),
        };
        let broken = || {
            io::Error::new(io::ErrorKind::InvalidData, "the key is damaged; remove the file for a new one")
        };
        let document = URL_SAFE_NO_PAD.decode(kept.expose()).map_err(|_| broken())?;
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &document, &random)
            .map_err(|_| broken())?;
        Ok(Self { pair, random })
    }

    /// The public key, in base64url.
    pub(super) fn public(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.pair.public_key().as_ref())
    }

    /// Returns the `Authorization` for a message to this origin.
    pub(super) fn authorization(&self, origin: &str, now: Timestamp) -> Option<String> {
        let claims = json!({ "aud": origin, "exp": now.as_second() + LIFETIME, "sub": CONTACT });
        let head = URL_SAFE_NO_PAD.encode(r#"{"typ":"JWT","alg":"ES256"}"#);
        let signed = format!("{head}.{}", URL_SAFE_NO_PAD.encode(claims.to_string()));
        let mark = self.pair.sign(&self.random, signed.as_bytes()).ok()?;
        Some(format!("vapid t={signed}.{}, k={}", URL_SAFE_NO_PAD.encode(mark), self.public()))
    }
}

fn make(path: &Path) -> io::Result<Secret> {
    let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
    let made = made.map_err(|_| io::Error::other("the system has no randomness"))?;
    let text = Secret::new(URL_SAFE_NO_PAD.encode(made));
    private_file::write(path, text.expose().as_bytes())?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    #[test]
    fn the_key_stays_the_same_and_is_private() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("push.key");
        let first = Vapid::open(&path).unwrap().public();
        assert_eq!(Vapid::open(&path).unwrap().public(), first);
        assert_eq!(URL_SAFE_NO_PAD.decode(&first).unwrap().len(), 65);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(&path, "half").unwrap();
        assert!(Vapid::open(&path).is_err(), "a damaged key is not replaced unasked");
    }

    #[test]
    fn a_proof_is_signed_for_one_service_and_expires() {
        let home = tempfile::tempdir().unwrap();
        let vapid = Vapid::open(&home.path().join("push.key")).unwrap();
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let proof = vapid.authorization("https://push.example", now).unwrap();
        let (token, key) = proof.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
        let (signed, mark) = token.rsplit_once('.').unwrap();
        let key = URL_SAFE_NO_PAD.decode(key).unwrap();
        let mark = URL_SAFE_NO_PAD.decode(mark).unwrap();
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key).verify(signed.as_bytes(), &mark).unwrap();
        let claims = URL_SAFE_NO_PAD.decode(signed.split_once('.').unwrap().1).unwrap();
        let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
        assert_eq!(claims["aud"], "https://push.example");
        assert_eq!(claims["exp"], 1_800_000_000 + LIFETIME);
    }
}
