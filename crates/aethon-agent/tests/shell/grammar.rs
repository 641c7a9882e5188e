//! Makes command lines of bash at random: quotes, expansions, substitutions, loops, functions, here-documents.
//!
//! The programs in them do not exist, no word holds a `/`, and files are named by a few short words, so nothing that runs
//! can do anything but look for a program and write a small file in the folder of the test.

use aethon_core::testkit::Random;

const PROGRAMS: &[&str] = &["zap", "zip1", "zop", "zed"];
const TEXTS: &[&str] = &["a", "b1", "c.d", "-x", "e f", "=", "z", ".", "0", "x y  z", "*q", "t:u"];
const NAMES: &[&str] = &["v", "w", "u"];
const FILES: &[&str] = &["f1", "f2"];

/// A command line of this seed.
pub fn command_line(seed: u64) -> String {
    let mut maker = Maker { random: Random::new(seed), documents: Vec::new(), left: 28 };
    let mut text = maker.list(3);
    text.push_str(&maker.line_end());
    text
}

struct Maker {
    random: Random,
    /// Here-documents that wait for the end of the line.
    documents: Vec<String>,
    /// How much may still be nested.
    left: usize,
}

impl Maker {
    fn chance(&mut self, of: usize) -> bool {
        self.random.below(of) == 0
    }

    fn line_end(&mut self) -> String {
        let documents = self.documents.join("");
        self.documents.clear();
        format!("\n{documents}")
    }

    fn list(&mut self, depth: usize) -> String {
        let count = 1 + self.random.below(3);
        let mut text = String::new();
        for at in 0..count {
            text.push_str(&self.pipeline(depth));
            if at + 1 < count {
                match self.random.below(6) {
                    0 => text.push_str(&self.line_end()),
                    1 => text.push_str(" && "),
                    2 => text.push_str(" || "),
                    _ => text.push_str("; "),
                }
            }
        }
        text
    }

    fn pipeline(&mut self, depth: usize) -> String {
        let first = self.command(depth);
        if self.chance(6) {
            let second = self.command(depth);
            return format!("{first} | {second}");
        }
        first
    }

    fn command(&mut self, depth: usize) -> String {
        if depth == 0 || self.left == 0 {
            return self.simple(0);
        }
        self.left -= 1;
        let inner = depth - 1;
        match self.random.below(26) {
            0 => format!("( {} )", self.list(inner)),
            1 => format!("{{ {}; }}", self.list(inner)),
            2 => format!(
                "if {}; then {}; else {}; fi",
                self.pipeline(inner),
                self.list(inner),
                self.list(inner)
            ),
            3 => format!("if {}; then {}; fi", self.pipeline(inner), self.list(inner)),
            4 => format!("for v in {} {}; do {}; done", self.word(inner), self.word(inner), self.list(inner)),
            5 => format!(
                "case {} in a|b1) {};; *) {};; esac",
                self.word(inner),
                self.list(inner),
                self.list(inner)
            ),
            6 => format!("fn() {{ {}; }}; fn {} {}", self.list(inner), self.word(inner), self.word(inner)),
            7 => format!("while read -r w; do {}; done <<< {}", self.list(0), self.word(inner)),
            8 => format!("eval {} {}", self.random.pick(PROGRAMS), self.word(inner)),
            9 => format!("eval '{}'", self.list(0).replace('\'', "")),
            10 => format!(
                "set -- {} {}; {} \"$@\" $1 ${{2}}",
                self.word(inner),
                self.word(inner),
                self.random.pick(PROGRAMS)
            ),
            11 => self.document(inner),
            12 => format!("echo {} > {}; . ./{}", self.simple(0).replace(['<', '>', '|'], ""), "f3", "f3")
                .replace("./", ""),
            13 => format!("read v w <<< {}; {} \"$v\" \"$w\"", self.word(inner), self.random.pick(PROGRAMS)),
            14 => format!("printf -v u '%s-%s' {} {}", self.word(inner), self.word(inner)),
            15 => format!(
                "u=({} {}); {} \"${{u[@]}}\" ${{u[1]}}",
                self.word(inner),
                self.word(inner),
                self.random.pick(PROGRAMS)
            ),
            _ => self.simple(inner),
        }
    }

    /// A here-document for a loop that reads it.
    fn document(&mut self, depth: usize) -> String {
        let program = self.random.pick(PROGRAMS);
        let (quote, body) = match self.random.below(3) {
            0 => ("'", "zap $v `zed`\n".to_owned()),
            1 => ("", format!("q $v {}\n", self.double(depth).replace('\n', " "))),
            _ => ("", "$(zop in) \\$v ${w:-x}\n".to_owned()),
        };
        let name = format!("E{}", self.documents.len());
        self.documents.push(format!("{body}{name}\n"));
        format!("while read -r u; do {program} \"$u\"; done <<{quote}{name}{quote}")
    }

    fn simple(&mut self, depth: usize) -> String {
        let mut text = String::new();
        if self.chance(5) {
            let name = self.random.pick(NAMES);
            let sign = self.random.pick(&["=", "=", "+="]);
            text.push_str(&format!("{name}{sign}{}", self.word(depth)));
            if self.chance(2) {
                return text;
            }
            text.push(' ');
        }
        text.push_str(&self.program(depth));
        for _ in 0..self.random.below(4) {
            text.push_str(self.random.pick(&[" ", " ", " ", "\t", "  ", " \\\n"]));
            text.push_str(&self.word(depth));
        }
        match self.random.below(14) {
            0 => text.push_str(&format!(" >{}", self.random.pick(FILES))),
            1 => text.push_str(" 2>&1"),
            2 => text.push_str(&format!(" <<< {}", self.word(depth))),
            3 => text.push_str(" #c '\"`"),
            _ => return text,
        }
        if text.ends_with('`') {
            text.push_str(&self.line_end());
            text.push_str("zap");
        }
        text
    }

    fn program(&mut self, depth: usize) -> String {
        let name = self.random.pick(PROGRAMS);
        let (head, tail) = name.split_at(1);
        match self.random.below(16) {
            0 => format!("{head}''{tail}"),
            1 => format!("{head}\"{tail}\""),
            2 => format!("\\{name}"),
            3 => format!("'{name}'"),
            4 => format!("$'{head}'{tail}"),
            5 => format!("$(echo {name})"),
            6 => format!("{head}$nil{tail}"),
            7 => format!("${{nil:-{name}}}"),
            8 => format!("`echo {name}`"),
            9 => format!("{{{name},{}}}", self.word(depth).replace(['{', '}', '\n'], "")),
            10 => format!("command {name}"),
            11 => format!("{head}\\\n{tail}"),
            12 => "echo".to_owned(),
            _ => name.to_owned(),
        }
    }

    fn word(&mut self, depth: usize) -> String {
        let mut text = self.part(depth);
        for _ in 0..self.random.below(3) {
            text.push_str(&self.part(depth));
        }
        text
    }

    fn part(&mut self, depth: usize) -> String {
        let name = self.random.pick(NAMES);
        let plain = self.random.pick(&["a", "b1", "c.d", "x", "0", "ab", "q"]);
        match self.random.below(24) {
            0 | 1 => format!("'{}'", self.random.pick(TEXTS)),
            2 | 3 => format!("\"{}\"", self.double(depth)),
            4 => format!("${name}"),
            5 => format!("${{{name}}}"),
            6 => format!("\\{}", self.random.pick(&["a", " ", "$", "'", "\"", "\\", "`", ";", "#", "{"])),
            7 => self.braced(depth),
            8 if depth > 0 => format!("$({})", self.substituted(depth - 1)),
            9 if depth > 0 => format!("`{}`", self.simple(0).replace(['`', '\\'], "").replace("#c", "")),
            10 => format!("{{{plain},{}}}", self.random.pick(&["b", "'c d'", "{x,y}", "", "$v"])),
            11 => format!("{{{}}}", self.random.pick(&["1..3", "a..c", "x", "3..1", "01..03", ""])),
            12 => format!("$(({} + {}))", self.random.below(9), self.random.below(9)),
            13 => format!(
                "$'{}'",
                self.random.pick(&["a\\tb", "\\x41", "\\101z", "q\\'r", "\\u0042", "c\\\\d"])
            ),
            14 => {
                self.random.pick(&["#", "=", "~x", "a#b", "%", "^", "+", "@", "{", "}", ",", "!x"]).to_owned()
            }
            _ => plain.to_owned(),
        }
    }

    fn substituted(&mut self, depth: usize) -> String {
        match self.random.below(4) {
            0 => format!("echo {}", self.word(depth)),
            1 => format!("printf '%s\\n' {} {}", self.word(depth), self.word(depth)),
            _ => {
                let saved = std::mem::take(&mut self.documents);
                let mut text = self.list(depth.min(1));
                text.push_str(&self.line_end());
                self.documents = saved;
                text
            }
        }
    }

    /// `${NAME…}`.
    fn braced(&mut self, depth: usize) -> String {
        let name = self.random.pick(NAMES);
        let word = self.inside(depth);
        match self.random.below(14) {
            0 => format!("${{{name}:-{word}}}"),
            1 => format!("${{{name}-{word}}}"),
            2 => format!("${{{name}:={}}}", self.random.pick(&["a", "b c", ""])),
            3 => format!("${{{name}:+{word}}}"),
            4 => format!("${{{name}#{}}}", self.random.pick(&["a", "*", "?", "[a-c]", "'a'"])),
            5 => format!("${{{name}%%{}}}", self.random.pick(&["d", "*1", "?", ".*"])),
            6 => format!(
                "${{{name}/{}/{}}}",
                self.random.pick(&["a", "?", "b*"]),
                self.random.pick(&["r", "", "'s t'"])
            ),
            7 => format!("${{{name}//{}/r}}", self.random.pick(&["a", "?", "."])),
            8 => format!("${{{name}:{}}}", self.random.below(3)),
            9 => format!("${{{name}:{}:{}}}", self.random.below(2), self.random.below(3)),
            10 => format!("${{#{name}}}"),
            11 => format!("${{{name}^^}}"),
            12 => format!("${{!{name}}}x").replace("${!", "${"),
            _ => format!("${{nil:-{word}}}"),
        }
    }

    /// A word inside of `${…}`.
    fn inside(&mut self, depth: usize) -> String {
        match self.random.below(8) {
            0 => "'}'".to_owned(),
            1 => "\"}\"".to_owned(),
            2 => "a b".to_owned(),
            3 => "\\}".to_owned(),
            4 if depth > 0 => format!("$({})", self.substituted(depth - 1)),
            5 => "${w:-x}".to_owned(),
            6 => "'a  b' c".to_owned(),
            _ => "d".to_owned(),
        }
    }

    /// Text between double quotes.
    fn double(&mut self, depth: usize) -> String {
        let mut text = String::new();
        for _ in 0..self.random.below(4) {
            let name = self.random.pick(NAMES);
            let part = match self.random.below(10) {
                0 => format!("${name}"),
                1 => "'".to_owned(),
                2 => "\\\"".to_owned(),
                3 => "\\$x".to_owned(),
                4 => self.braced(depth).replace("'}'", "y").replace("\"}\"", "z"),
                5 if depth > 0 => format!("$({})", self.substituted(depth - 1)),
                6 => "{a,b}".to_owned(),
                7 => "#;|&".to_owned(),
                8 => "\\a".to_owned(),
                _ => self.random.pick(TEXTS).to_owned(),
            };
            text.push_str(&part);
        }
        text
    }
}
