//! What keeps strangers, secrets and commands in their bounds.

mod attack;
mod attack_finds_weaknesses;
mod audit;
mod bounded_memory;
mod canary;
mod config_guard;
mod containers;
mod docker_daemon;
mod foreign_pages;
mod hostile_documents;
mod outbound;
mod overload;
mod process_list;
mod reach_table;
mod sandbox_walls;
mod sandboxes;
mod secrets;
mod self_protection;
mod sign_in_codes;
mod startup_files;
mod strangers;
mod taint_sources;
mod token;
mod untrusted;
mod workspace_reads;
