//! `cargo xtask catalog FILE`: generates the built-in model catalogue from the table in the PyPI package `litellm`.
//!
//! The file is the package's wheel (`pip download --no-deps litellm`), or the table extracted from it. The selection and format
//! of a model's facts belong to the provider crate, whose example `catalog` does the work; nothing is downloaded here.

use crate::process;
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The path of the table in the package.
const TABLE: &str = "litellm/model_prices_and_context_window_backup.json";

/// Prints an entry of a ZIP file. A wheel comes with Python.
const UNZIP: &str =
    "import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))";

/// Which table to use.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// The wheel of the package, or its table as JSON
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The version of a table that is given as JSON; a wheel has it in its name
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
}

/// Writes the `data/` folder of the provider crate.
pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    let data = root.join("crates/aethon-providers/data");
    let name = options.file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_wheel = name.ends_with(".whl");
    let Some(version) =
        options.version.as_deref().or_else(|| is_wheel.then(|| wheel_version(name)).flatten())
    else {
        bail!("the version of the table is not known; pass --version");
    };
    let file =
        fs::canonicalize(&options.file).with_context(|| format!("cannot find {}", options.file.display()))?;
    let table = if is_wheel {
        let licence = entry(root, &file, &format!("litellm-{version}.dist-info/licenses/LICENSE"))?;
        write(&data.join("LICENSE"), &licence)?;
        entry(root, &file, TABLE)?
    } else {
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?
    };
    let made = generate(root, &table)?;
    write(&data.join("models.json"), &made)?;
    // The day decides between this table and one that an owner installed.
    let today = process::output(root, "date", &["-u", "+%F"])?;
    write(&data.join("VERSION"), &format!("litellm {version}\n{}\n", today.trim()))?;
    println!("catalog: {} models in {} bytes, of litellm {version}", made.lines().count() - 2, made.len());
    Ok(())
}

/// Extracts `1.106.2` from `litellm-1.106.2-cp310-abi3-manylinux_2_28_x86_64.whl`.
fn wheel_version(name: &str) -> Option<&str> {
    name.strip_prefix("litellm-")?.split('-').next()
}

fn entry(root: &Path, wheel: &Path, name: &str) -> Result<String> {
    let wheel = wheel.to_str().context("the path of the wheel is not UTF-8")?;
    process::output(root, "python3", &["-c", UNZIP, wheel, name])
}

fn generate(root: &Path, table: &str) -> Result<String> {
    let arguments = ["run", "--quiet", "--locked", "--package", "aethon-providers", "--example", "catalog"];
    let mut command = process::command(root, "cargo", &arguments);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start `cargo`")?;
    // Dropping stdin here signals the end of the table to the example, which reads everything before it writes.
    child.stdin.take().context("`cargo` takes no input")?.write_all(table.as_bytes())?;
    let output = child.wait_with_output().context("`cargo` was lost")?;
    if !output.status.success() {
        bail!("the table was refused: {}", output.status);
    }
    String::from_utf8(output.stdout).context("the catalogue is not text")
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_names_its_version() {
        for (name, expected) in [
            ("litellm-1.106.2-cp310-abi3-manylinux_2_28_x86_64.whl", Some("1.106.2")),
            ("litellm-2.0.0rc1-py3-none-any.whl", Some("2.0.0rc1")),
            ("other-1.0-py3-none-any.whl", None),
        ] {
            assert_eq!(wheel_version(name), expected, "{name}");
        }
    }

    #[test]
    fn a_table_without_a_version_is_refused() {
        let options = Options { file: "table.json".into(), version: None };
        assert!(run(Path::new("."), &options).unwrap_err().to_string().contains("--version"));
    }
}
