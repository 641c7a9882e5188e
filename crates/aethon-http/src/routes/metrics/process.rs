//! The system's figures about the process, under the names that Prometheus' own clients use.
//!
//! A figure that the system does not report is left out.

use std::fs;

use super::text::Exposition;

/// Linux counts processor time for programs in hundredths of a second, whatever the kernel's own rate is.
const TICKS_A_SECOND: f64 = 100.0;

/// Writes the metrics of the process.
pub(super) fn show(text: &mut Exposition) {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    if let Some(seconds) = processor_seconds(&stat) {
        let help = "Processor time, of the program and the kernel for it.";
        text.counter("process_cpu_seconds_total", help, &[], seconds);
    }
    if let Some(bytes) = bytes(&status, "VmRSS:") {
        text.gauge("process_resident_memory_bytes", "Resident memory.", &[], bytes);
    }
    if let Some(bytes) = bytes(&status, "VmSize:") {
        text.gauge("process_virtual_memory_bytes", "Virtual memory.", &[], bytes);
    }
    if let Some(threads) = number(&status, "Threads:") {
        text.gauge("process_threads", "Threads.", &[], threads);
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        // One of them is the folder that is being read.
        let open = open.count().saturating_sub(1);
        text.gauge("process_open_fds", "Open file descriptors.", &[], open as f64);
    }
    if let Some(most) = most_descriptors(&fs::read_to_string("/proc/self/limits").unwrap_or_default()) {
        text.gauge("process_max_fds", "The limit on open file descriptors.", &[], most);
    }
    if let Some(start) = start_time(&stat, &fs::read_to_string("/proc/stat").unwrap_or_default()) {
        let help = "When the process started, in seconds since 1970.";
        text.gauge("process_start_time_seconds", help, &[], start);
    }
}

fn number(status: &str, name: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn bytes(status: &str, name: &str) -> Option<f64> {
    number(status, name).map(|kibibytes| kibibytes * 1024.0)
}

/// Returns a field of `/proc/self/stat` by its number in proc(5). The second is the program's name, which may contain
/// anything.
fn field(stat: &str, number: usize) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
}

fn processor_seconds(stat: &str) -> Option<f64> {
    Some((field(stat, 14)? + field(stat, 15)?) / TICKS_A_SECOND)
}

fn start_time(stat: &str, machine: &str) -> Option<f64> {
    Some(number(machine, "btime")? + field(stat, 22)? / TICKS_A_SECOND)
}

fn most_descriptors(limits: &str) -> Option<f64> {
    number(limits, "Max open files")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_the_system_are_read() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194304 11 12 13 14 250 150 0 0 20 0 9 0 4200 1 2 3";
        assert_eq!(processor_seconds(stat), Some(4.0));
        assert_eq!(start_time(stat, "cpu 1 2\nbtime 1000\n"), Some(1042.0));
        assert_eq!(bytes("VmSize:\t 8 kB\nVmRSS:\t  2 kB\n", "VmRSS:"), Some(2048.0));
        assert_eq!(most_descriptors("Max open files            1024     4096     files\n"), Some(1024.0));
        assert_eq!(most_descriptors("Max open files            unlimited  unlimited  files\n"), None);
        assert_eq!(processor_seconds(""), None);
    }
}
