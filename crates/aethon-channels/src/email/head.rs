//! The head of a mail, field by field, as it stands there.
//!
//! Whether a mail is heard is decided by these fields, so they are read strictly and by a few lines that can be looked through:
//! a field that stands twice is seen twice, and whatever is no field makes no other.

/// The fields, in their order from the top.
#[derive(Debug, Default)]
pub(super) struct Head(Vec<(String, String)>);

impl Head {
    /// Reads the fields of a mail up to its empty line. Names are in lower case, folded lines are one.
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

    /// Every value of this field, from the top.
    pub(super) fn all<'h>(&'h self, name: &'h str) -> impl Iterator<Item = &'h str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value of a field that stands there once.
    pub(super) fn one(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(known, _)| known == name);
        let first = values.next()?;
        values.next().is_none().then_some(first.1.as_str())
    }

    /// Whether a field has a name that begins like this.
    pub(super) fn has_any(&self, prefix: &str) -> bool {
        self.0.iter().any(|(name, _)| name.starts_with(prefix))
    }

    /// The ids between angle brackets in a field.
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

/// Whether this can be the id of a mail, and go into a field of another.
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
