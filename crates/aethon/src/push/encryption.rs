//! Encrypts a message for a device: RFC 8291, in the content encoding of RFC 8188.

use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::error::Unspecified;
use ring::hmac::{self, HMAC_SHA256};
use ring::rand::{SecureRandom as _, SystemRandom};

/// The size of a record, which is larger than any message of ours.
const RECORD: u32 = 4096;
/// The longest message that fits the one record.
pub(super) const MAX_MESSAGE: usize = 2048;

/// The two keys of a device.
pub(super) struct DeviceKeys<'a> {
    /// Its public key, uncompressed.
    pub(super) public: &'a [u8],
    /// Its secret for authentication.
    pub(super) auth: &'a [u8],
}

/// Returns whether this is the public key of a device: a point on the curve.
pub(super) fn is_public_key(key: &[u8]) -> bool {
    let rng = SystemRandom::new();
    let Ok(own) = EphemeralPrivateKey::generate(&ECDH_P256, &rng) else { return false };
    key.len() == 65 && agree_ephemeral(own, &UnparsedPublicKey::new(&ECDH_P256, key), |_| ()).is_ok()
}

/// Encrypts a message under a fresh key.
pub(super) fn encrypt(message: &[u8], device: &DeviceKeys<'_>) -> Result<Vec<u8>, Unspecified> {
    let rng = SystemRandom::new();
    let own = EphemeralPrivateKey::generate(&ECDH_P256, &rng)?;
    let public = own.compute_public_key()?;
    let mut salt = [0; 16];
    rng.fill(&mut salt)?;
    let theirs = UnparsedPublicKey::new(&ECDH_P256, device.public);
    agree_ephemeral(own, &theirs, |shared| {
        seal(message, device, &Exchange { shared, public: public.as_ref(), salt: &salt })
    })?
}

/// The parameters that the two sides share for one message.
struct Exchange<'a> {
    shared: &'a [u8],
    /// The sender's public key for this message.
    public: &'a [u8],
    salt: &'a [u8; 16],
}

fn seal(message: &[u8], device: &DeviceKeys<'_>, exchange: &Exchange<'_>) -> Result<Vec<u8>, Unspecified> {
    if message.len() > MAX_MESSAGE {
        return Err(Unspecified);
    }
    let info = [b"WebPush: info\0", device.public, exchange.public].concat();
    let input = derive(&derive_key(device.auth, exchange.shared), &info);
    let pseudorandom = derive_key(exchange.salt, input.as_ref());
    let key = derive(&pseudorandom, b"Content-Encoding: aes128gcm\0");
    let nonce = derive(&pseudorandom, b"Content-Encoding: nonce\0");
    let (key, _) = key.as_ref().split_at(16);
    let (nonce, _) = nonce.as_ref().split_at(12);
    let sealing = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, key)?);
    // The byte 2 ends the last record.
    let mut record = [message, &[2]].concat();
    sealing.seal_in_place_append_tag(Nonce::try_assume_unique_for_key(nonce)?, Aad::empty(), &mut record)?;
    let length = u8::try_from(exchange.public.len()).map_err(|_| Unspecified)?;
    Ok([exchange.salt, &RECORD.to_be_bytes()[..], &[length], exchange.public, &record].concat())
}

/// HKDF's first step.
fn derive_key(salt: &[u8], input: &[u8]) -> hmac::Key {
    let tag = hmac::sign(&hmac::Key::new(HMAC_SHA256, salt), input);
    hmac::Key::new(HMAC_SHA256, tag.as_ref())
}

/// HKDF's second step, for at most 32 bytes.
fn derive(key: &hmac::Key, info: &[u8]) -> hmac::Tag {
    hmac::sign(key, &[info, &[1]].concat())
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(text).unwrap()
    }

    /// The example of RFC 8291, appendix A.
    #[test]
    fn the_example_of_the_rfc_is_met() {
        let device =
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
        let own = "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8";
        let expected = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8w\
                        EqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN";
        let salt: [u8; 16] = bytes("DGv6ra1nlYgDCS1FRnbzlw").try_into().unwrap();
        let exchange = Exchange {
            shared: &bytes("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs"),
            public: &bytes(own),
            salt: &salt,
        };
        let keys = DeviceKeys { public: &bytes(device), auth: &bytes("BTBZMqHH6r4Tts7J_aSIgg") };
        let sealed = seal(b"When I grow up, I want to be a watermelon", &keys, &exchange).unwrap();
        assert_eq!(URL_SAFE_NO_PAD.encode(sealed), expected);
    }

    #[test]
    fn each_message_has_its_own_key_and_salt() {
        let device =
            bytes("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4");
        let keys = DeviceKeys { public: &device, auth: &[7; 16] };
        let (one, other) = (encrypt(b"x", &keys).unwrap(), encrypt(b"x", &keys).unwrap());
        assert_ne!(one[..16], other[..16]);
        assert_ne!(one[21..86], other[21..86]);
        assert!(encrypt(&[0; MAX_MESSAGE + 1], &keys).is_err());
    }

    #[test]
    fn key_off_the_curve_is_refused() {
        let device =
            bytes("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4");
        assert!(is_public_key(&device));
        let mut off = device.clone();
        off[40] ^= 1;
        for wrong in [&off[..], &device[1..], &[4; 65], &[]] {
            assert!(!is_public_key(wrong), "{} bytes", wrong.len());
        }
    }
}
