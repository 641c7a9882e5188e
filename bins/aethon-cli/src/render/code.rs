//! Colours in code: comments, strings, numbers and the words of the language.
//!
//! It knows families of languages and not their grammars: enough to read an answer by, in one small file. A language that it does
//! not know has one colour, and a wrong guess costs only a colour.

use aethon::core::visible::readable;

use super::style::{CODE, DIM, Style};

const WORD: &str = "35";
const TEXT: &str = "32";
const NUMBER: &str = "33";

/// A family of languages.
#[derive(Debug)]
struct Family {
    names: &'static [&'static str],
    /// What begins a comment to the end of the line.
    comments: &'static [&'static str],
    /// What begins and ends a comment of several lines.
    block: Option<(&'static str, &'static str)>,
    /// What begins and ends a text, the longest first.
    quotes: &'static [&'static str],
    words: &'static str,
    /// Whether the case of words does not matter.
    is_caseless: bool,
}

const FAMILIES: [Family; 5] = [
    Family {
        names: &[
            "rust", "rs", "c", "h", "cpp", "c++", "cc", "java", "go", "golang", "kotlin", "kt", "swift",
            "cs", "csharp", "c#", "scala", "dart", "zig", "php", "json", "json5", "jsonc", "css", "scss",
            "proto",
        ],
        comments: &["//"],
        block: Some(("/*", "*/")),
        quotes: &["\""],
        words: "abstract as async await auto bool break case catch char class const continue crate default defer do double dyn else \
                enum extends extern false final finally float fn for foreach from func fun function go goto guard if impl implements \
                import in inline int interface is let long loop match mod move mut namespace new nil null override package private \
                protected pub public range ref return self Self short signed sizeof static struct super switch template this throw \
                throws trait true try type typedef typename union unsafe unsigned use using val var virtual void volatile where \
                while yield",
        is_caseless: false,
    },
    Family {
        names: &["javascript", "js", "jsx", "mjs", "typescript", "ts", "tsx"],
        comments: &["//"],
        block: Some(("/*", "*/")),
        quotes: &["\"", "'", "`"],
        words: "as async await break case catch class const continue debugger default delete do else enum export extends false \
                finally for from function get if implements import in instanceof interface let new null of private protected public \
                readonly return set static super switch this throw true try type typeof undefined var void while with yield",
        is_caseless: false,
    },
    Family {
        names: &[
            "python",
            "py",
            "sh",
            "bash",
            "zsh",
            "fish",
            "shell",
            "console",
            "ruby",
            "rb",
            "yaml",
            "yml",
            "toml",
            "perl",
            "r",
            "makefile",
            "make",
            "dockerfile",
            "docker",
            "nix",
            "elixir",
            "ini",
            "conf",
            "nginx",
            "powershell",
            "ps1",
        ],
        comments: &["#"],
        block: None,
        quotes: &["\"\"\"", "'''", "\"", "'"],
        words: "and as assert async await begin break case class continue def del do done elif else elsif end esac except export \
                false False fi finally for from function global if import in is lambda local module next nil None nonlocal not null \
                or pass raise require rescue return self set source then true True try unless until while with yield FROM RUN COPY \
                CMD ENTRYPOINT ENV WORKDIR EXPOSE ARG USER",
        is_caseless: false,
    },
    Family {
        names: &["sql", "postgresql", "postgres", "mysql", "sqlite", "plsql"],
        comments: &["--"],
        block: Some(("/*", "*/")),
        quotes: &["'", "\""],
        words: "add all alter and as asc begin between by case check column commit constraint create cross default delete desc \
                distinct drop else end exists foreign from full group having if in index inner insert into is join key left like \
                limit not null offset on or order outer primary references returning right rollback select set table then union \
                unique update using values view when where with",
        is_caseless: true,
    },
    Family {
        names: &["lua", "haskell", "hs", "elm", "ada"],
        comments: &["--"],
        block: None,
        quotes: &["\""],
        words: "and break case data deriving do else elseif end false for function goto if import in instance let local module \
                newtype nil not of or repeat return then true type until where while",
        is_caseless: false,
    },
];

/// The construct in which a line begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Code,
    Comment,
    Text(&'static str),
}

/// Returns the lines of a code block, in colours if those are allowed.
pub(super) fn lines(code: &str, info: &str, style: Style) -> Vec<String> {
    let language = info.split([' ', ',', '{']).next().unwrap_or_default().to_ascii_lowercase();
    if matches!(language.as_str(), "diff" | "patch") {
        return code.lines().map(|line| style.change(&readable(line))).collect();
    }
    let family = FAMILIES.iter().find(|family| family.names.contains(&language.as_str()));
    let Some(family) = family.filter(|_| style.colour) else {
        return code.lines().map(|line| style.paint(CODE, &readable(line))).collect();
    };
    let mut within = Within::Code;
    code.lines().map(|line| painted(&readable(line), family, &mut within, style)).collect()
}

/// Colours a line, and notes the construct in which the next one begins.
fn painted(line: &str, family: &Family, within: &mut Within, style: Style) -> String {
    let mut out = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        let (length, code) = match *within {
            Within::Comment => (closing(rest, family.block.map_or("", |(_, end)| end), within), DIM),
            Within::Text(quote) => (closing(rest, quote, within), TEXT),
            Within::Code => token(rest, family, within),
        };
        out.push_str(&style.paint(code, &rest[..length]));
        rest = &rest[length..];
    }
    // A text in simple quotes ends with its line, whatever is missing.
    if matches!(*within, Within::Text(quote) if quote.len() == 1 && quote != "`") {
        *within = Within::Code;
    }
    out
}

/// Returns the length up to the end of a comment or text, and leaves it there if it ends.
fn closing(rest: &str, end: &str, within: &mut Within) -> usize {
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with('\\') && end != "*/" {
            at += 1 + rest[at + 1..].chars().next().map_or(0, char::len_utf8);
        } else if !end.is_empty() && rest[at..].starts_with(end) {
            *within = Within::Code;
            return at + end.len();
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Returns the length and the colour of the next piece of code.
fn token(rest: &str, family: &Family, within: &mut Within) -> (usize, &'static str) {
    if family.comments.iter().any(|mark| rest.starts_with(mark)) {
        return (rest.len(), DIM);
    }
    if let Some((begin, end)) = family.block
        && rest.starts_with(begin)
    {
        *within = Within::Comment;
        return (begin.len() + closing(&rest[begin.len()..], end, within), DIM);
    }
    if let Some(quote) = family.quotes.iter().find(|quote| rest.starts_with(**quote)) {
        *within = Within::Text(quote);
        return (quote.len() + closing(&rest[quote.len()..], quote, within), TEXT);
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    if length == 0 {
        return (rest.chars().next().map_or(1, char::len_utf8), "");
    }
    let word = &rest[..length];
    let is_word = |known: &str| known == word || family.is_caseless && known.eq_ignore_ascii_case(word);
    let code = match word.starts_with(|c: char| c.is_ascii_digit()) {
        true => NUMBER,
        false if family.words.split_whitespace().any(is_word) => WORD,
        false => "",
    };
    (length, code)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLOURS: Style = Style { colour: true, links: false, width: 80 };

    /// The pieces that have this colour.
    fn coloured(code: &str, info: &str, colour: &str) -> Vec<String> {
        let text = lines(code, info, COLOURS).join("\n");
        let begin = format!("\u{1b}[{colour}m");
        text.split(&begin)
            .skip(1)
            .filter_map(|part| Some(part.split_once("\u{1b}[0m")?.0.to_owned()))
            .collect()
    }

    #[test]
    fn words_texts_numbers_and_comments_have_colours() {
        let check = |code: &str, info: &str, colour: &str, expected: &[&str]| {
            assert_eq!(coloured(code, info, colour), expected, "{info}: {code}");
        };
        let rust = "fn a() { let b = \"x \\\" y\"; /* one\ntwo */ 42 } // end";
        check(rust, "rust", WORD, &["fn", "let"]);
        check(rust, "rs,ignore", TEXT, &["\"x \\\" y\""]);
        check(rust, "rust", DIM, &["/* one", "two */", "// end"]);
        check(rust, "rust", NUMBER, &["42"]);
        check(
            "def a():\n  '''doc\n  more'''\n  return 'x' # c",
            "python",
            TEXT,
            &["'''doc", "  more'''", "'x'"],
        );
        check("echo \"it's open\"; if true", "sh", WORD, &["if", "true"]);
        check("SELECT a from b -- all", "sql", WORD, &["SELECT", "from"]);
        check("let a = `x\ny`;", "ts", TEXT, &["`x", "y`"]);
        check("a & 'b: &'a str", "rust", TEXT, &[]);
    }

    #[test]
    fn an_unknown_language_has_one_colour_and_nothing_is_lost() {
        assert_eq!(lines("a b\nc", "brainfuck", COLOURS), ["\u{1b}[36ma b\u{1b}[0m", "\u{1b}[36mc\u{1b}[0m"]);
        assert_eq!(lines("+a\n-b", "diff", COLOURS), ["\u{1b}[32m+a\u{1b}[0m", "\u{1b}[31m-b\u{1b}[0m"]);
        let bare = Style { colour: false, links: false, width: 80 };
        let code = "fn a() {\n\n  \"ö\\\n/* ü\n*/ 1";
        assert_eq!(lines(code, "rust", bare).join("\n"), code);
        for family in &FAMILIES {
            let painted = lines(code, family.names[0], COLOURS).join("\n");
            let plain: String = painted
                .split("\u{1b}[")
                .map(|part| part.split_once('m').map_or(part, |(_, rest)| rest))
                .collect();
            assert_eq!(plain, code, "{}", family.names[0]);
        }
    }
}
