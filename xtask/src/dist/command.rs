//! The order in which a release is made.

use super::archive::{self, Stamp};
use super::deb::{self, Fields};
use super::payload::Payload;
use super::{glibc, licences, parts, programs, sbom};
use crate::process;
use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The documents that go along.
const DOCUMENTS: [&str; 3] = ["LICENSE", "README.md", "CHANGELOG.md"];

/// What is made of what.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The folder of the results; it is created
    #[arg(long, value_name = "DIR", default_value = "target/dist")]
    out: PathBuf,
    /// The profile that the programs are built with
    #[arg(long, value_name = "NAME", default_value = "release")]
    profile: String,
    /// Package the programs in this folder instead of building them
    #[arg(long, value_name = "DIR", conflicts_with = "profile")]
    programs: Option<PathBuf>,
    /// The version of the packages, such as 0.3.0~nightly.20261128 [default: that of the workspace]
    #[arg(long, value_name = "VERSION")]
    package_version: Option<String>,
    /// Who answers for the Debian package
    #[arg(long, value_name = "NAME <MAIL>", default_value = "The packager of this build <root@localhost>")]
    maintainer: String,
    /// The time that the files get, in seconds since 1970 [default: that of the last commit]
    #[arg(long, value_name = "SECONDS", env = "SOURCE_DATE_EPOCH")]
    time: Option<u64>,
    /// How hard to compress, from 0 (not at all) to 9
    #[arg(long, value_name = "LEVEL", default_value_t = 9, value_parser = clap::value_parser!(u32).range(0..=9))]
    level: u32,
}

/// Makes the archive, the package, the list of parts and the sums.
pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    let own = env!("CARGO_PKG_VERSION");
    let version = options.package_version.as_deref().unwrap_or(own);
    let folder = match &options.programs {
        Some(folder) => std::path::absolute(folder)?,
        None => programs::build(root, &options.profile)?,
    };
    programs::check_version(&folder, own)?;
    let parts = parts::all(root)?;
    println!("dist: {} works of others are in the programs", parts.len());
    let parts_list = sbom::document(version, &parts)?;
    let mut payload = Payload::default();
    programs::add(&mut payload, &folder)?;
    for name in DOCUMENTS {
        let content = fs::read(root.join(name)).with_context(|| format!("cannot read {name}"))?;
        payload.file(&format!("share/doc/aethon/{name}"), content);
    }
    payload.file("share/doc/aethon/THIRD-PARTY.txt", licences::document(&parts)?);
    payload.file("share/doc/aethon/sbom.cdx.json", parts_list.clone());
    let stamp = Stamp { time: options.time.unwrap_or_else(|| last_commit(root)), level: options.level };
    let (system, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    let name = format!("aethon-{version}-{processor}-{system}");
    let mut results = vec![
        (format!("{name}.tar.gz"), archive::tar_gz(&payload, &format!("{name}/"), stamp)?),
        (format!("{name}.cdx.json"), parts_list.into_bytes()),
    ];
    if system == "linux" {
        let fields = Fields {
            version: deb::version(version),
            maintainer: options.maintainer.clone(),
            architecture: deb::architecture(processor).to_owned(),
            depends: depends(&payload),
        };
        let package = deb::pack(&payload, &fields, stamp)?;
        results.push((format!("aethon_{}_{}.deb", fields.version, fields.architecture), package));
    }
    write(&options.out, results)
}

/// Returns the libraries that the programs need, as Debian names them.
fn depends(payload: &Payload) -> String {
    let programs = payload.0.values().filter(|entry| entry.is_program);
    match programs.filter_map(|entry| glibc::needed(&entry.content)).max() {
        Some(version) => format!("libc6 (>= {version}), libgcc-s1"),
        None => "libgcc-s1".to_owned(),
    }
}

/// Returns when the last commit was made. Without a clone there is none, and then files have no time to speak of.
fn last_commit(root: &Path) -> u64 {
    let told = process::output(root, "git", &["log", "-1", "--format=%ct"]);
    told.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

fn write(out: &Path, mut results: Vec<(String, Vec<u8>)>) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("{} cannot be made", out.display()))?;
    results.sort();
    let mut sums = String::new();
    for (name, content) in &results {
        for byte in Sha256::digest(content) {
            write!(sums, "{byte:02x}")?;
        }
        writeln!(sums, "  {name}")?;
    }
    results.push(("SHA256SUMS".to_owned(), sums.into_bytes()));
    for (name, content) in results {
        let path = out.join(&name);
        fs::write(&path, &content).with_context(|| format!("{} cannot be written", path.display()))?;
        println!("dist: {} ({} KB)", path.display(), content.len().div_ceil(1000));
    }
    Ok(())
}
