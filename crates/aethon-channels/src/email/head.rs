//! The raw header of a mail, field by field.
//!
//! These fields decide whether a mail is accepted, so they are parsed strictly, in a few lines that are easy to
//! audit: a repeated field stays visible as such, and malformed lines cannot affect other fields.

/// The fields, from top to bottom.
#[derive(Debug, Default)]
pub(super) struct Head(Vec<(String, String)>);

impl Head {
    /// Reads the fields of a mail up to the empty line. Names are lowercased, folded lines joined.
    pub(super) fn read(mail: &[u8]) -> Self {
        let mut fields: Vec<(String, String)> = Vec::new();
        for line in mail.split(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
            if line.is_empty() {
                break;
            }
            if line.starts_with([' ', '\t']) {
                if let Some((_, value)) = fields.last_mut() {
                    value.push(' ');
                    value.push_str(line.trim());
                }
            } else if let Some((name, value)) = line.split_once(':') {
                fields.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
        Self(fields)
    }

    /// Returns all values of this field, from the top.
    pub(super) fn all<'h>(&'h self, name: &'h str) -> impl Iterator<Item = &'h str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the value of a field that occurs exactly once.
    pub(super) fn one(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(known, _)| known == name);
        let first = values.next()?;
        values.next().is_none().then_some(first.1.as_str())
    }

    /// Returns whether any field name has this prefix.
    pub(super) fn has_any(&self, prefix: &str) -> bool {
        self.0.iter().any(|(name, _)| name.starts_with(prefix))
    }

    /// Returns the ids in angle brackets in a field.
    pub(super) fn ids(&self, name: &str) -> Vec<String> {
        let mut ids = Vec::new();
        for value in self.all(name) {
            for piece in value.split('<').skip(1) {
                let Some((id, _)) = piece.split_once('>') else { continue };
                if is_id(id) {
                    ids.push(format!("<{id}>"));
                }
            }
        }
        ids
    }
}

/// Returns the bytes of the first field with this name, unfolded, for a value whose charset is not known yet.
pub(super) fn raw(mail: &[u8], name: &str) -> Option<Vec<u8>> {
    let mut found: Option<Vec<u8>> = None;
    for line in mail.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            break;
        }
        if line.starts_with(b" ") || line.starts_with(b"\t") {
            if let Some(value) = &mut found {
                value.push(b' ');
                value.extend(line.trim_ascii());
            }
            continue;
        }
        if found.is_some() {
            break;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let field = colon.map(|colon| (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()));
        if let Some((_, value)) = field.filter(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes())) {
            found = Some(value.to_vec());
        }
    }
    found
}

/// Returns whether this is a plausible message id that is safe in a header of another mail.
fn is_id(id: &str) -> bool {
    (1..=500).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_unfolded_and_counted() {
        let head = Head::read(b"From: a@x\r\nSubject: one\r\n\ttwo\r\nFROM : b@x\r\nReferences: <1@x>\r\n <2@x> <b\x01d>\r\n\r\nFrom: c@x\r\n");
        assert_eq!(head.all("from").collect::<Vec<_>>(), ["a@x", "b@x"]);
        assert_eq!(head.one("from"), None, "it stands twice");
        assert_eq!(head.one("subject"), Some("one two"));
        assert_eq!(head.ids("references"), ["<1@x>", "<2@x>"]);
        assert!(head.has_any("subj") && !head.has_any("list-"));
    }
}
