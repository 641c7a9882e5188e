//! Messages and files survive kills, bad disks, several writers and upgrades.

mod all_surfaces;
mod backup;
mod bad_disks;
mod concurrent_edits;
mod damaged;
mod durability;
mod failing_storage;
mod file_writers;
mod home;
mod instances;
mod outbox;
mod pooler;
mod postgres;
mod resume;
mod several_programs;
mod shared_session;
mod torture;
mod upgrade;
