//! Encryption in the format of `age`: to a recipient, or with a passphrase.
//!
//! The program `age` opens such a file as well. Content encrypted to a recipient can be read back only with that recipient's
//! identity, which is not here. To check the file all the same, it is also encrypted to a key that exists only in memory until
//! the check is done.

use std::fmt;
use std::io::{self, BufReader, Read, Seek, Write};
use std::iter;

use aethon_core::secret::Secret;
use age::secrecy::SecretString;
use age::{Decryptor, EncryptError, Encryptor, Identity, IdentityFile, scrypt, x25519};

use crate::error::{Error, Result};

/// How every encrypted file begins.
const MAGIC: &[u8] = b"age-encryption.org/v1\n";

/// The work that a passphrase costs, as a power of two: about a second. Less in builds for development, which are slow.
const WORK: u8 = if cfg!(debug_assertions) { 10 } else { 18 };

/// Maximum work for trying a passphrase on an untrusted file. It takes a gigabyte.
const MAX_WORK: u8 = 20;

/// The means of encrypting a file.
pub enum Lock {
    /// The passphrase opens it.
    Passphrase(Secret),
    /// The recipient's identity opens it.
    Recipient(Recipient),
}

/// A recipient of `age`, such as `age1...`.
#[derive(Clone)]
pub struct Recipient(x25519::Recipient);

impl Recipient {
    /// Parses a recipient.
    pub fn parse(text: &str) -> Result<Self> {
        let refused =
            |fault| Error::key(format!("{text:?} is no recipient of age, which begins with age1: {fault}"));
        text.trim().parse().map(Self).map_err(refused)
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The means of decrypting a file.
pub struct Key(Vec<Box<dyn Identity>>);

impl Key {
    /// The passphrase.
    pub fn passphrase(passphrase: &Secret) -> Self {
        let mut identity = scrypt::Identity::new(SecretString::from(passphrase.expose().to_owned()));
        identity.set_max_work_factor(MAX_WORK);
        Self(vec![Box::new(identity)])
    }

    /// The identities in a file as `age-keygen` writes it.
    pub fn identities(text: &Secret) -> Result<Self> {
        let unreadable =
            |fault: &dyn fmt::Display| Error::key(format!("the file has no identity of age: {fault}"));
        let file = IdentityFile::from_buffer(text.expose().as_bytes()).map_err(|error| unreadable(&error))?;
        let identities = file.into_identities().map_err(|error| unreadable(&error))?;
        if identities.is_empty() {
            return Err(unreadable(&"it is empty"));
        }
        Ok(Self(identities))
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

/// Encrypts everything written to it. Must be finished.
pub struct SealedWriter<Sink: Write>(age::stream::StreamWriter<Sink>);

impl<Sink: Write> SealedWriter<Sink> {
    /// Writes the last chunk and returns the sink. Without this the file cannot be opened.
    pub fn finish(self) -> io::Result<Sink> {
        self.0.finish()
    }
}

impl<Sink: Write> Write for SealedWriter<Sink> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Starts an encrypted file. Also returns a key to check it with, which must not be kept.
pub fn encrypt<Sink: Write>(lock: &Lock, sink: Sink) -> Result<(SealedWriter<Sink>, Key)> {
    let (encryptor, key) = match lock {
        Lock::Passphrase(passphrase) => {
            let mut recipient = scrypt::Recipient::new(SecretString::from(passphrase.expose().to_owned()));
            recipient.set_work_factor(WORK);
            (Encryptor::with_recipients(iter::once(&recipient as _)), Key::passphrase(passphrase))
        }
        Lock::Recipient(recipient) => {
            let check = x25519::Identity::generate();
            let recipients: [&dyn age::Recipient; 2] = [&recipient.0, &check.to_public()];
            (Encryptor::with_recipients(recipients.into_iter()), Key(vec![Box::new(check)]))
        }
    };
    let encryptor = encryptor.map_err(|error: EncryptError| Error::key(error.to_string()))?;
    Ok((SealedWriter(encryptor.wrap_output(sink)?), key))
}

/// Returns which key a file needs, and goes back to its beginning.
pub fn needs<Source: Read + Seek>(mut source: Source) -> Result<Needs> {
    let mut start = [0; MAGIC.len()];
    source.rewind()?;
    let is_sealed = match source.read_exact(&mut start) {
        Ok(()) => start == MAGIC,
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => false,
        Err(error) => return Err(error.into()),
    };
    source.rewind()?;
    if !is_sealed {
        return Ok(Needs::Nothing);
    }
    let decryptor = Decryptor::new_buffered(BufReader::new(&mut source)).map_err(opening)?;
    let needs = if decryptor.is_scrypt() { Needs::Passphrase } else { Needs::Identity };
    drop(decryptor);
    source.rewind()?;
    Ok(needs)
}

/// Decrypts a file. The result can be sought, so nothing is ever decrypted to a disk.
pub fn decrypt<Source: Read + Seek>(mut source: Source, key: &Key) -> Result<impl Read + Seek + use<Source>> {
    source.rewind()?;
    let decryptor = Decryptor::new_buffered(BufReader::new(source)).map_err(opening)?;
    decryptor.decrypt(key.0.iter().map(|identity| &**identity)).map_err(opening)
}

fn opening(error: age::DecryptError) -> Error {
    use age::DecryptError as Fault;
    match error {
        Fault::Io(error) if error.kind() != io::ErrorKind::UnexpectedEof => error.into(),
        Fault::DecryptionFailed => Error::key("the passphrase does not open it"),
        Fault::NoMatchingKeys => Error::key("the identity does not open it"),
        Fault::KeyDecryptionFailed => Error::key("the identity does not open it"),
        Fault::ExcessiveWork { .. } => {
            Error::key("its passphrase would take more work to try than is sensible")
        }
        other => Error::bad(format!("its encryption is damaged: {other}")),
    }
}
