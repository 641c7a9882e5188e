//! Black-box tests of the built programs. Each module is a part of the contract and cites its section.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "in tests a failed expectation is the result"
)]

mod agents;
mod anthropic;
mod api;
mod approvals;
mod attachments;
mod attack;
mod audit;
mod backup;
mod bad_disks;
mod bounded_memory;
mod branch;
mod browser;
mod budget;
mod builtin_sops;
mod canary;
mod catalog;
mod changed_elsewhere;
mod chat;
mod cli;
mod cli_setup;
mod config;
mod config_guard;
mod connections;
mod containers;
mod context;
mod contract;
mod crowding;
mod damaged;
mod dashboard_socket;
mod dialects;
mod docker_daemon;
mod durability;
mod email;
mod failing_storage;
mod file_writers;
mod gateways;
mod home;
mod host;
mod household;
mod idempotency;
mod local_models;
mod many_jobs;
mod mcp;
mod mcp_address;
mod memory;
mod messengers;
mod model_test;
mod models;
mod money;
mod openai;
mod outbound;
mod outbox;
mod own_reads;
mod plain;
mod process_list;
mod reach_table;
mod recordings;
mod reload;
mod requests;
mod responses;
mod resume;
mod sandbox_walls;
mod sandboxes;
mod seats;
mod secrets;
mod self_protection;
mod sessions;
mod shell;
mod sockets;
mod stale_cookies;
mod start;
mod start_up_places;
mod stop;
mod stopping;
mod strangers;
mod strict;
mod taint_sources;
mod telegram;
mod telemetry;
mod terminal;
mod terminal_restart;
mod terminal_screen;
mod together;
mod token;
mod tools;
mod torture;
mod unix_socket;
mod untrusted;
mod upgrade;
mod usage;
mod voice;
mod weak;
mod web_tools;
mod webhooks;
mod whatsapp;
mod workflows;
mod workspace;
mod writers;
