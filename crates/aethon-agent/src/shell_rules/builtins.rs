//! The shell builtins that change what is known: variables, arguments, functions, directories, inputs.

use std::rc::Rc;

use super::expand::DECLARING;
use super::judge::{Checked, Judge, nothing};
use super::marks::{UNKNOWN, is_known, made_from};
use super::outputs;
use super::refusal::Refusal;
use super::state::{Texts, Value};

impl Judge<'_> {
    /// Executes a builtin and returns its output; `None` if this is not one that matters.
    pub(super) fn builtin(&mut self, argv: &[String]) -> Result<Option<Texts>, Refusal> {
        let arguments = &argv[1..];
        match argv[0].as_str() {
            "eval" => {
                let from = usize::from(arguments.first().is_some_and(|word| word == "--"));
                let text = arguments[from..].join(" ");
                self.checked_text(&text)?;
                return self.script(&text).map(Some);
            }
            "." | "source" => {
                let Some(file) = arguments.first() else { return Ok(Some(nothing())) };
                return self.sourced(file, &arguments[1..]).map(Some);
            }
            "trap" => {
                let from = usize::from(arguments.first().is_some_and(|word| word == "--"));
                if let Some(text) =
                    arguments.get(from).filter(|text| !text.starts_with('-') && arguments.len() > from + 1)
                {
                    self.in_subshell(|judge| judge.script(text))?;
                    if arguments[from + 1..]
                        .iter()
                        .any(|signal| matches!(signal.as_str(), "EXIT" | "0" | "exit"))
                    {
                        self.state.traps = vec![Rc::from(text.as_str())];
                    }
                }
            }
            "cd" | "pushd" => self.enter_folder(arguments),
            "read" => self.read_line(arguments)?,
            "mapfile" | "readarray" => {
                self.call_back(arguments)?;
                self.read_lines(arguments)?;
            }
            "set" => self.set_arguments(arguments)?,
            "shift" => self.shift(arguments)?,
            "unset" => {
                for name in arguments.iter().filter(|word| !word.starts_with('-')) {
                    self.computed_text(name)?;
                    let values = vec![Value::text("")];
                    self.state.set(name.split('[').next().unwrap_or(name), values, &mut self.meter)?;
                }
            }
            "printf" if arguments.first().is_some_and(|word| word.starts_with("-v")) => {
                self.print_to(arguments)?
            }
            "let" => {
                for word in arguments {
                    let word = vec![super::word::Piece::Text { text: word.clone(), is_quoted: true }];
                    self.computed(&word)?;
                }
            }
            "test" | "[" => {
                for word in arguments {
                    self.computed_text(word)?;
                }
            }
            "getopts" => {
                if let Some(name) = arguments.get(1) {
                    self.state.set(name, vec![Value::text(UNKNOWN)], &mut self.meter)?;
                }
            }
            "break" | "continue" | "return" | "exit" => {
                let state = self.state.copied(&mut self.meter)?;
                if self.left_early.len() < 8 {
                    self.left_early.push(state);
                }
            }
            "hash" => self.hashed(arguments)?,
            "coproc" => return Ok(None),
            name if DECLARING.contains(&name) => self.declare(argv)?,
            _ => return Ok(None),
        }
        Ok(Some(nothing()))
    }

    fn sourced(&mut self, file: &str, arguments: &[String]) -> Result<Texts, Refusal> {
        self.checked_text(file)?;
        let Some(texts) = self.known_contents(file) else { return Ok(nothing()) };
        // A file that was written on only one branch may not exist.
        let before = self.state.copied(&mut self.meter)?;
        let positional = self.state.take("@");
        let own = if arguments.is_empty() {
            positional.clone()
        } else {
            Some(Rc::new(vec![Value::array(arguments.to_vec(), 1)]))
        };
        self.state.put("@", own);
        let mut written = nothing();
        for text in texts {
            self.checked_text(&text)?;
            written = super::state::either(written, self.script(&text)?);
        }
        if !arguments.is_empty() {
            self.state.put("@", positional);
        }
        self.state.join(before, &mut self.meter)?;
        Ok(written)
    }

    fn enter_folder(&mut self, arguments: &[String]) {
        let target = arguments.iter().find(|word| !word.starts_with('-') || *word == "-");
        let folder = match target.map(String::as_str) {
            None => Some(self.state.get("HOME", self.home())[0].get("0").to_owned()),
            Some("") => return,
            Some(path) if !is_known(path) || path == "-" => None,
            Some(path) if path.starts_with(['/', '~']) => Some(super::paths::tidy(path)),
            Some(path) => self.folder().map(|folder| super::paths::tidy(&format!("{folder}/{path}"))),
        };
        self.state.folders = Rc::new(vec![folder]);
        self.state.put("PWD", None);
    }

    /// `read`: assigns the words of the next line to variables.
    fn read_line(&mut self, arguments: &[String]) -> Checked {
        let (mut names, mut number, mut array, mut at) = (Vec::new(), 0, None, 0);
        while let Some(word) = arguments.get(at) {
            at += 1;
            let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
                names.push(word.clone());
                continue;
            };
            for (place, letter) in letters.char_indices() {
                let rest = &letters[place + letter.len_utf8()..];
                if "adinNptu".contains(letter) {
                    let value = if rest.is_empty() {
                        arguments.get(at).cloned().unwrap_or_default()
                    } else {
                        rest.to_owned()
                    };
                    at += usize::from(rest.is_empty());
                    match letter {
                        'u' => number = value.parse().unwrap_or(0),
                        'a' => array = Some(value),
                        // Other delimiters and lengths: the result may be anything in the input.
                        'd' | 'n' | 'N' => number = u32::MAX,
                        _ => {}
                    }
                    break;
                }
            }
        }
        let input = match number {
            u32::MAX => Rc::new(vec![made_from(&self.input())]),
            number => self.streams.inputs.get(&number).cloned().unwrap_or_else(|| Rc::new(nothing())),
        };
        let (mut lines, mut rests) = (Vec::new(), Vec::new());
        for text in input.iter() {
            self.meter.bytes(text.len())?;
            // Unknown text may contain line ends.
            if !is_known(text.split('\n').next().unwrap_or_default()) {
                let unknown = made_from([text]);
                lines.extend([unknown.clone()]);
                rests.push(text.clone());
                continue;
            }
            let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
            let escapes = !arguments.iter().any(|word| word.starts_with('-') && word.contains('r'));
            lines.push(if escapes { line.replace('\\', "") } else { line.to_owned() });
            rests.push(rest.to_owned());
        }
        if number != u32::MAX {
            self.streams.inputs.insert(number, Rc::new(rests));
        }
        if let Some(array) = array {
            let values = lines.iter().map(|line| Value::array(self.words_of(line), 0)).collect();
            return self.state.set(&array, values, &mut self.meter);
        }
        if names.is_empty() {
            names.push("REPLY".to_owned());
        }
        self.set_from_lines(&names, &lines)
    }

    fn words_of(&self, line: &str) -> Vec<String> {
        let separators = if self.state.is_set("IFS") {
            self.state.get("IFS", "")[0].get("0").to_owned()
        } else {
            " \t\n".into()
        };
        let words = line.split(|c| separators.contains(c));
        words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    fn set_from_lines(&mut self, names: &[String], lines: &[String]) -> Checked {
        for (at, name) in names.iter().enumerate() {
            self.computed_text(name)?;
            let mut values = Vec::new();
            for line in lines {
                if !is_known(line) {
                    values.push(Value::text(made_from([line])));
                    continue;
                }
                let words = self.words_of(line);
                let is_last = at + 1 == names.len();
                if !is_last {
                    values.push(Value::text(words.get(at).cloned().unwrap_or_default()));
                } else if at == 0 {
                    values.push(Value::text(line.trim_matches([' ', '\t'])));
                    values.push(Value::text(words.join(" ")));
                } else {
                    let first = words.get(at).map_or("", String::as_str);
                    let skipped: usize = words.iter().take(at).map(String::len).sum();
                    let from = line
                        .get(skipped..)
                        .and_then(|rest| rest.find(first))
                        .map_or(line.len(), |place| skipped + place);
                    values.push(Value::text(if first.is_empty() {
                        ""
                    } else {
                        line[from..].trim_end_matches([' ', '\t'])
                    }));
                    values.push(Value::text(words.get(at..).unwrap_or_default().join(" ")));
                }
            }
            self.state.set(name, values, &mut self.meter)?;
        }
        Ok(())
    }

    /// Judges the command that `mapfile -C` runs for each line, with the line as an argument.
    fn call_back(&mut self, arguments: &[String]) -> Checked {
        let at = arguments.iter().position(|word| word == "-C");
        let Some(command) = at.and_then(|at| arguments.get(at + 1)) else { return Ok(()) };
        for text in self.input() {
            let line = text.replace('\'', "'\\''");
            self.in_subshell(|judge| judge.script(&format!("{command} 0 '{line}'")))?;
        }
        Ok(())
    }

    fn read_lines(&mut self, arguments: &[String]) -> Checked {
        let name = arguments
            .last()
            .filter(|word| !word.starts_with('-'))
            .map_or("MAPFILE", String::as_str)
            .to_owned();
        let trims = arguments.iter().any(|word| word.starts_with('-') && word.contains('t'));
        let mut values = Vec::new();
        for text in self.input() {
            self.meter.bytes(text.len())?;
            if !is_known(&text) {
                values.push(Value::array(vec![made_from([&text])], 0));
                continue;
            }
            let lines = text.split_inclusive('\n');
            let lines = lines
                .map(|line| if trims { line.trim_end_matches('\n').to_owned() } else { line.to_owned() });
            values.push(Value::array(lines.collect(), 0));
        }
        self.streams.inputs.insert(0, Rc::new(nothing()));
        self.state.set(&name, values, &mut self.meter)
    }

    /// `set --` and `set a b`: replaces the positional arguments.
    fn set_arguments(&mut self, arguments: &[String]) -> Checked {
        let is_option = |word: &&String| word.starts_with(['-', '+']) && word.len() > 1 && *word != "--";
        let mut from = arguments.iter().take_while(is_option).count();
        if arguments[..from].iter().any(|word| word.ends_with('o')) {
            from += 1;
        }
        let has_mark = arguments.get(from).is_some_and(|word| matches!(word.as_str(), "--" | "-"));
        let rest = arguments.get(from + usize::from(has_mark)..).unwrap_or_default();
        if rest.is_empty() && !has_mark {
            return Ok(());
        }
        self.state.set("@", vec![Value::array(rest.to_vec(), 1)], &mut self.meter)
    }

    fn shift(&mut self, arguments: &[String]) -> Checked {
        let count = match arguments.first() {
            None => 1,
            Some(word) => word.parse().unwrap_or(1),
        };
        let values = self.state.get("@", "");
        let shifted = values.iter().map(|value| {
            let texts = value.0.iter().map(|(_, text)| text.clone());
            if count > value.0.len() { value.clone() } else { Value::array(texts.skip(count).collect(), 1) }
        });
        let shifted = shifted.collect();
        self.state.set("@", shifted, &mut self.meter)
    }

    /// `printf -v NAME`.
    fn print_to(&mut self, arguments: &[String]) -> Checked {
        let own = arguments[0].strip_prefix("-v").unwrap_or_default();
        let (name, rest) = if own.is_empty() {
            (arguments.get(1).cloned().unwrap_or_default(), arguments.get(2..).unwrap_or_default())
        } else {
            (own.to_owned(), &arguments[1..])
        };
        self.computed_text(&name)?;
        let Some((format, values)) = rest.split_first() else { return Ok(()) };
        let text = outputs::formatted(format, values);
        if name.contains('[') {
            return self.set_texts(name.split('[').next().unwrap_or_default(), &[format!("{name}={text}")]);
        }
        self.state.set(&name, vec![Value::text(text)], &mut self.meter)
    }

    /// `hash -p path name`: makes a program available under another name.
    fn hashed(&mut self, arguments: &[String]) -> Checked {
        if let Some(at) = arguments.iter().position(|word| word == "-p")
            && let (Some(path), Some(name)) = (arguments.get(at + 1), arguments.get(at + 2))
        {
            let path = super::paths::base_name(path).to_owned();
            let name = self.path(name);
            self.files.programs.insert(name, path);
        }
        Ok(())
    }
}
