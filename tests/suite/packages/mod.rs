//! What people install who have no Rust: the archive and the package of `cargo xtask dist`, the script that
//! installs, the container, and what watches over it.

mod container;
mod debian;
mod install_script;
mod made;
mod monitoring;
