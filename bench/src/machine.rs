//! The machine, the compiler and the versions of a run.

use std::fs;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// The machine, the versions and the date, in four lines.
pub(crate) fn description() -> Vec<String> {
    let threads = rayon::current_num_threads();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let mut machine = format!("{}, {cores} cores, {threads} threads", cpu());
    if let Some(cache) = read("/sys/devices/system/cpu/cpu0/cache/index3/size") {
        machine += &format!(", L3 cache {cache}");
    }
    if let Some(memory) = kilobytes("MemTotal") {
        machine += &format!(", {:.0} GB of memory", memory as f64 / 1e6);
    }
    if let Some(pages) = read("/sys/kernel/mm/transparent_hugepage/enabled") {
        machine += &format!(", transparent huge pages {pages}");
    }
    let load = read("/proc/loadavg").unwrap_or_default();
    let load: Vec<&str> = load.split(' ').take(3).collect();
    let compiled = if cfg!(target_feature = "avx2") {
        "with AVX2 for every contestant"
    } else {
        "for the baseline CPU of the target"
    };
    vec![
        machine,
        format!("{}, compiled {compiled}", output("rustc", &["--version"]).unwrap_or_default()),
        format!(
            "{}; unishape at {}",
            versions(),
            output("git", &["describe", "--always", "--dirty"]).unwrap_or_default()
        ),
        format!("{}; load average before the run {}", today(), load.join(", ")),
    ]
}

/// The memory available without swapping, in bytes.
pub(crate) fn available_memory() -> Option<u64> {
    kilobytes("MemAvailable").map(|kilobytes| kilobytes * 1024)
}

fn cpu() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find(|line| line.starts_with("model name"));
    let name = name.and_then(|line| line.split(':').nth(1)).map(str::trim);
    name.map_or_else(|| std::env::consts::ARCH.to_string(), |name| name.replace("(R)", ""))
}

fn kilobytes(what: &str) -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find(|line| line.starts_with(what))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_string())
}

fn output(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
}

/// The versions of the other libraries.
fn versions() -> String {
    let lock = include_str!("../Cargo.lock");
    let version = |name: &str| {
        let (_, rest) = lock.split_once(&format!("name = \"{name}\"\nversion = \""))?;
        Some(format!("{name} {}", rest.split('"').next()?))
    };
    let versions: Vec<String> =
        ["ndarray", "candle-core", "rstsr-core", "rayon"].into_iter().filter_map(version).collect();
    versions.join(", ")
}

/// The date in UTC, computed in years that start in March.
fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let days = seconds / 86_400 + 135_080; // since 1 March 1600
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (date, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = 1600 + 400 * era + year + u64::from(month <= 2);
    format!("{year}-{month:02}-{date:02}")
}
