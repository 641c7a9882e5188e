//! Determines whether a GraphQL document reads or changes something.
//!
//! The document is parsed by the grammar as far as its definitions: every token is checked, every bracket is matched,
//! and everything at the top level must be an operation or a fragment. A mutation is recognized by its keyword in that
//! position, never by searching for the word, which may also be in a comment, a string or a field name. A document that
//! does not parse is refused, because a service might read it differently.

/// The kind of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    /// Only reads.
    ToRead,
    /// A change, in at least one of its operations.
    ToChange,
}

/// Maximum nesting of brackets.
const MAX_DEPTH: usize = 256;

/// Parses a document. The error says why it is not valid.
pub(super) fn read(document: &str) -> Result<Asks, String> {
    let mut tokens = Tokens(document.strip_prefix('\u{feff}').unwrap_or(document));
    let (mut asks, mut operations) = (Asks::ToRead, 0);
    while let Some(token) = tokens.next()? {
        match token {
            // A query may omit its keyword.
            Token::Open('{') => {
                skip(&mut tokens, '{')?;
                operations += 1;
            }
            Token::Name(kind @ ("query" | "mutation")) => {
                definition(&mut tokens)?;
                operations += 1;
                if kind == "mutation" {
                    asks = Asks::ToChange;
                }
            }
            Token::Name("fragment") => definition(&mut tokens)?,
            Token::Name("subscription") => {
                return Err("subscriptions cannot be asked for over HTTP".to_owned());
            }
            Token::Name(name) => return Err(format!("`{name}` begins no operation and no fragment")),
            Token::Open(mark) | Token::Close(mark) => {
                return Err(format!("`{mark}` stands where an operation begins"));
            }
            Token::Other => return Err("something stands where an operation begins".to_owned()),
        }
    }
    if operations == 0 {
        return Err("it holds no operation".to_owned());
    }
    Ok(asks)
}

/// Parses a definition after its keyword, up to the end of its selection set.
fn definition(tokens: &mut Tokens<'_>) -> Result<(), String> {
    while let Some(token) = tokens.next()? {
        match token {
            Token::Open('{') => return skip(tokens, '{'),
            Token::Open(mark) => skip(tokens, mark)?,
            Token::Close(mark) => return Err(format!("`{mark}` closes nothing")),
            Token::Name(_) | Token::Other => {}
        }
    }
    Err("an operation ends before its `{`".to_owned())
}

/// Skips everything up to the bracket that closes this one.
fn skip(tokens: &mut Tokens<'_>, opened: char) -> Result<(), String> {
    let mut open = vec![opened];
    while let Some(token) = tokens.next()? {
        match token {
            Token::Open(_) if open.len() == MAX_DEPTH => return Err("it is nested too deeply".to_owned()),
            Token::Open(mark) => open.push(mark),
            Token::Close(mark) => {
                let wanted = open.pop().map(partner);
                if wanted != Some(mark) {
                    return Err(format!("`{mark}` closes what another bracket opened"));
                }
                if open.is_empty() {
                    return Ok(());
                }
            }
            Token::Name(_) | Token::Other => {}
        }
    }
    Err("a bracket is not closed".to_owned())
}

fn partner(mark: char) -> char {
    match mark {
        '{' => '}',
        '(' => ')',
        _ => ']',
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Token<'d> {
    Name(&'d str),
    Open(char),
    Close(char),
    /// A number, a string, a punctuator.
    Other,
}

/// The unread rest of a document.
struct Tokens<'d>(&'d str);

impl<'d> Tokens<'d> {
    fn next(&mut self) -> Result<Option<Token<'d>>, String> {
        loop {
            let rest = self.0.trim_start_matches([' ', '\t', '\n', '\r', ',', '\u{feff}']);
            match rest.strip_prefix('#') {
                // A comment ends at either kind of line end.
                Some(comment) => self.0 = comment.find(['\n', '\r']).map_or("", |end| &comment[end..]),
                None => {
                    self.0 = rest;
                    break;
                }
            }
        }
        let Some(first) = self.0.chars().next() else { return Ok(None) };
        let token = match first {
            'a'..='z' | 'A'..='Z' | '_' => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
                return Ok(Some(Token::Name(self.take(self.0.find(|c| !is_part(c))))));
            }
            '{' | '(' | '[' => Token::Open(first),
            '}' | ')' | ']' => Token::Close(first),
            '!' | '$' | '&' | ':' | '=' | '@' | '|' => Token::Other,
            '.' if self.0.starts_with("...") => {
                self.take(Some(3));
                return Ok(Some(Token::Other));
            }
            '-' | '0'..='9' => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-');
                self.take(self.0.find(|c| !is_part(c)));
                return Ok(Some(Token::Other));
            }
            '"' => {
                self.string()?;
                return Ok(Some(Token::Other));
            }
            other => return Err(format!("{other:?} is no part of the language")),
        };
        self.take(Some(first.len_utf8()));
        Ok(Some(token))
    }

    fn take(&mut self, end: Option<usize>) -> &'d str {
        let (taken, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Skips a string of either kind at the start of the rest.
    fn string(&mut self) -> Result<(), String> {
        let unclosed = || "a string is not closed".to_owned();
        if let Some(block) = self.0.strip_prefix("\"\"\"") {
            let mut from = 0;
            loop {
                let end = from + block[from..].find("\"\"\"").ok_or_else(unclosed)?;
                if !block[..end].ends_with('\\') {
                    self.0 = &block[end + 3..];
                    return Ok(());
                }
                from = end + 3;
            }
        }
        let mut is_escaped = false;
        for (at, c) in self.0.char_indices().skip(1) {
            match c {
                '\n' | '\r' => return Err("a string goes over the end of its line".to_owned()),
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '"' => {
                    self.0 = &self.0[at + 1..];
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(unclosed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutations_are_recognised_by_the_grammar() {
        let check = |document: &str, expected: Result<Asks, &str>| match (read(document), expected) {
            (Ok(asks), Ok(expected)) => assert_eq!(asks, expected, "{document}"),
            (Err(why), Err(words)) => assert!(why.contains(words), "{document}: {why}"),
            (got, expected) => panic!("{document}: {got:?}, not {expected:?}"),
        };
        let reads = Ok(Asks::ToRead);
        check("{ viewer { login } }", reads);
        check("query { viewer { login } }", reads);
        check(
            "query Q($n: Int = 3, $s: [String!]! = [\"}\"]) @a(b: {c: 1}) { x(n: $n) { ...F } } fragment F on X { y }",
            reads,
        );
        check("# mutation { deleteRepository }\n{ viewer { login } }", reads);
        check("{ search(query: \"mutation { x }\") { mutation } }", reads);
        check("{ search(query: \"\"\"\n} mutation { x } \\\"\"\" {\n\"\"\") { nodes } }", reads);
        check("query mutation { mutation: viewer { login } }", reads);
        check("fragment mutation on User { login } { viewer { ...mutation } }", reads);
        check("\u{feff}{ a(b: -1.5e+3, c: .5) }", Err("no part of the language"));
        check("\u{feff}{ a(b: -1.5e+3) ... on B { c } }", reads);

        let changes = Ok(Asks::ToChange);
        check("mutation { addStar(input: {starrableId: \"x\"}) { clientMutationId } }", changes);
        check("mutation M($i: X!) { addStar(input: $i) { x } }", changes);
        check("query A { a } mutation B { b }", changes);
        check("mutation B { b } query A { a }", changes);
        check("fragment F on X { y } mutation { a }", changes);
        check("# a comment\rmutation { a }", changes);
        check(",,,mutation,{ a }", changes);
        check("mutation# { viewer }\n{ a }", changes);
        check("{ a(b: \"\\\"\") } mutation { b }", changes);
        check("{ a(b: \"\\\\\") } mutation { b }", changes);
        check("{ a(b: \"\"\" \\\"\"\" \"\"\") } mutation { b }", changes);
        check("{ a(b: \"\"\"\"\"\") } mutation { b }", changes);
        check("query Q @d(s: \"{\") { a } mutation { b }", changes);

        check("", Err("no operation"));
        check("fragment F on X { y }", Err("no operation"));
        check("subscription { a }", Err("subscriptions"));
        check("Mutation { a }", Err("begins no operation"));
        check("{ a } }", Err("stands where"));
        check("{ a ) }", Err("closes what"));
        check("{ a", Err("not closed"));
        check("{ a(b: \"x) }", Err("not closed"));
        check("{ a(b: \"x\n\") }", Err("end of its line"));
        check("mutation", Err("before its `{`"));
        check("mutatio\u{6e}\u{301} { a }", Err("no part of the language"));
        check("\u{a0}mutation { a }", Err("no part of the language"));
        check(&"{".repeat(1000), Err("too deeply"));
    }
}
