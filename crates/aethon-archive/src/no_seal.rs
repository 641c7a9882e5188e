//! Encryption in a program that was built without it (the feature `encryption`): files that need none are written and read, and
//! everything else is refused with a sentence.

use std::convert::Infallible;
use std::fmt;
use std::io::{self, Read, Seek, Write};
use std::marker::PhantomData;

use aethon_core::secret::Secret;

use crate::error::{Error, Result};

/// How every encrypted file begins.
const MAGIC: &[u8] = b"age-encryption.org/v1\n";

fn left_out() -> Error {
    Error::key("this program was built without encryption (the feature `encryption`)")
}

/// The means of encrypting a file.
pub enum Lock {
    /// The passphrase would open it.
    Passphrase(Secret),
    /// The recipient's identity would open it.
    Recipient(Recipient),
}

/// A recipient of `age`. There is none here.
#[derive(Clone)]
pub struct Recipient(Infallible);

impl Recipient {
    /// Refuses every recipient.
    pub fn parse(_text: &str) -> Result<Self> {
        Err(left_out())
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}

/// The means of decrypting a file, which opens none.
pub struct Key(());

impl Key {
    /// The passphrase.
    pub fn passphrase(_passphrase: &Secret) -> Self {
        Self(())
    }

    /// Refuses every identity.
    pub fn identities(_text: &Secret) -> Result<Self> {
        Err(left_out())
    }
}

/// The key that a file needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// It is not encrypted.
    Nothing,
    /// A passphrase.
    Passphrase,
    /// An identity.
    Identity,
}

/// Encrypts everything written to it. There is none here.
pub struct SealedWriter<Sink: Write>(Infallible, PhantomData<Sink>);

impl<Sink: Write> SealedWriter<Sink> {
    /// Writes the last chunk and returns the sink.
    pub fn finish(self) -> io::Result<Sink> {
        match self.0 {}
    }
}

impl<Sink: Write> Write for SealedWriter<Sink> {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        match self.0 {}
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0 {}
    }
}

/// Refuses to encrypt.
pub fn encrypt<Sink: Write>(_lock: &Lock, _sink: Sink) -> Result<(SealedWriter<Sink>, Key)> {
    Err(left_out())
}

/// Returns that a file needs no key, and goes back to its beginning; refuses one that is encrypted.
pub fn needs<Source: Read + Seek>(mut source: Source) -> Result<Needs> {
    let mut start = [0; MAGIC.len()];
    source.rewind()?;
    let is_sealed = match source.read_exact(&mut start) {
        Ok(()) => start == MAGIC,
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => false,
        Err(error) => return Err(error.into()),
    };
    source.rewind()?;
    if is_sealed { Err(left_out()) } else { Ok(Needs::Nothing) }
}

/// Refuses to decrypt.
pub fn decrypt<Source: Read + Seek>(_source: Source, _key: &Key) -> Result<io::Cursor<Vec<u8>>> {
    Err(left_out())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_files_pass_and_encrypted_ones_are_refused_with_the_reason() {
        let plain = io::Cursor::new(b"PK and more than the length of the mark".to_vec());
        assert_eq!(needs(plain).unwrap(), Needs::Nothing);
        assert_eq!(needs(io::Cursor::new(Vec::new())).unwrap(), Needs::Nothing);
        let mut sealed = MAGIC.to_vec();
        sealed.extend(b"-> scrypt");
        let refused = needs(io::Cursor::new(sealed)).unwrap_err();
        assert!(refused.to_string().contains("`encryption`"), "{refused}");
        assert!(encrypt(&Lock::Passphrase(Secret::new("x")), Vec::new()).is_err());
        assert!(Recipient::parse("age1x").is_err());
    }
}
