//! Worker threads: their number, their CPU affinity, and parking when idle.

#![cfg(feature = "parallel")]

use ndarray::Array2;
use std::collections::HashSet;
use std::process::Command;
use std::sync::Mutex;
use std::thread::ThreadId;
use unishape::{map, num_threads, set_num_threads, with_num_threads};

/// This test program, to be run in a process of its own. Under QEMU, `UNISHAPE_RUNNER` names the emulator: the kernel
/// cannot run programs for other CPUs.
fn test_program() -> Command {
    let program = std::env::current_exe().unwrap();
    let Some(runner) = std::env::var_os("UNISHAPE_RUNNER") else { return Command::new(program) };
    let mut command = Command::new(runner);
    command.arg(program);
    command
}

/// The threads that take part in a large `map`.
fn threads_of_a_large_map() -> HashSet<ThreadId> {
    let a = Array2::<f64>::zeros((2000, 500));
    let threads = Mutex::new(HashSet::new());
    map((&a,), |a| {
        threads.lock().unwrap().insert(std::thread::current().id());
        *a
    })
    .unwrap();
    threads.into_inner().unwrap()
}

#[test]
fn a_number_of_threads_can_be_requested() {
    assert_eq!(with_num_threads(3, num_threads), 3);
    assert_eq!(with_num_threads(3, || with_num_threads(2, num_threads)), 2);
    let alone = with_num_threads(1, threads_of_a_large_map);
    assert_eq!(alone, HashSet::from([std::thread::current().id()]));
    assert!(with_num_threads(4, threads_of_a_large_map).len() <= 4);
    assert_eq!(with_num_threads(100_000, num_threads), 256);
}

/// Calls inside closures end and compute the same, on the caller's thread and on workers.
#[test]
fn calls_inside_closures_end() {
    let (large, inner) = (Array2::<f64>::ones((400, 500)), Array2::<f64>::ones((600, 500)));
    let calls = std::sync::atomic::AtomicUsize::new(0);
    let result = with_num_threads(3, || {
        map((&large,), |_| {
            // Some of the calls: each computes 300 000 elements.
            match calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 20_000 {
                0 => map((&inner,), |x| 2.0 * x).unwrap()[(599, 499)],
                _ => 2.0,
            }
        })
    });
    assert!(result.unwrap().iter().all(|&x| x == 2.0));
}

/// A destructor that runs while its thread unwinds gets complete results.
#[test]
fn calls_while_a_thread_unwinds_are_complete() {
    struct Call<'a>(&'a Mutex<Vec<f64>>);
    impl Drop for Call<'_> {
        fn drop(&mut self) {
            let ones = Array2::<f64>::ones((2000, 500));
            let doubled = with_num_threads(3, || map((&ones,), |x| 2.0 * x)).unwrap();
            *self.0.lock().unwrap() = vec![
                doubled.sum(),
                with_num_threads(3, || {
                    unishape::reduce((&ones,), .., |x| 2.0 * x, unishape::fold::Sum).unwrap().into_scalar()
                }),
            ];
        }
    }
    for _ in 0..20 {
        let sums = Mutex::new(Vec::new());
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _call = Call(&sums);
            std::panic::resume_unwind(Box::new("as requested"));
        }));
        assert!(unwound.is_err());
        assert_eq!(sums.into_inner().unwrap(), [2e6, 2e6]);
    }
}

/// Runs in a process of its own: the spinning time is read from the environment once.
#[test]
#[ignore = "run by spinning_workers_take_part, in a process with UNISHAPE_SPIN"]
fn print_time_of_calls() {
    let a = Array2::<f32>::zeros((1000, 1000));
    let start = std::time::Instant::now();
    for _ in 0..20 {
        with_num_threads(3, || map((&a,), |a| a + 1.0)).unwrap();
    }
    println!("took {} ms", start.elapsed().as_millis());
}

/// Workers that spin take part in the next call, which does not wait for the end of their spinning.
#[test]
fn spinning_workers_take_part() {
    let output = test_program()
        .args(["--exact", "print_time_of_calls", "--ignored", "--nocapture"])
        .env("UNISHAPE_SPIN", "1000000")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let took = text.split("took ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or(&text);
    // Calls that wait for spinning workers would take a second each.
    assert!(took.parse::<u64>().unwrap() < 10_000, "{text}");
}

/// A caller inside a rayon pool uses that pool only.
#[test]
fn a_pool_of_one_means_one_thread() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(pool.install(threads_of_a_large_map).len(), 1);
}

/// Runs in its own process, because the number of threads is a setting of the process.
#[test]
#[ignore = "run by the_environment_sets_the_default"]
fn print_the_default() {
    let before = num_threads();
    set_num_threads(7);
    let set = num_threads();
    set_num_threads(0);
    println!("default {before} set {set} restored {}", num_threads());
}

fn default_with(name: &str, value: &str) -> String {
    let output = test_program()
        .args(["--exact", "print_the_default", "--ignored", "--nocapture"])
        .env_remove("UNISHAPE_NUM_THREADS")
        .env_remove("RAYON_NUM_THREADS")
        .env_remove("OMP_NUM_THREADS")
        .env(name, value)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_environment_sets_the_default() {
    assert!(default_with("UNISHAPE_NUM_THREADS", "5").contains("default 5 set 7 restored 5"));
    assert!(default_with("RAYON_NUM_THREADS", "4").contains("default 4 set 7 restored 4"));
    assert!(default_with("OMP_NUM_THREADS", "3").contains("default 3 set 7 restored 3"));
    assert!(default_with("OMP_NUM_THREADS", "2,4").contains("default 2 set 7 restored 2"));
    let cpus = std::thread::available_parallelism().unwrap();
    for unusable in ["0", "-1", "many", ""] {
        let text = default_with("UNISHAPE_NUM_THREADS", unusable);
        assert!(text.contains(&format!("default {cpus} set 7 restored {cpus}")), "{unusable}: {text}");
    }
}

/// CPUs that each thread of this process may run on.
#[cfg(target_os = "linux")]
fn affinities() -> Vec<(String, String)> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    let read = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let mask = |status: String| {
        status.lines().find(|line| line.starts_with("Cpus_allowed:")).unwrap_or("").to_owned()
    };
    tasks.map(|task| (read(task.join("comm")), mask(read(task.join("status"))))).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn no_affinity_is_changed() {
    let own = affinities().first().unwrap().1.clone();
    for _ in 0..20 {
        with_num_threads(3, threads_of_a_large_map);
        let affinities = affinities();
        assert!(affinities.iter().any(|(name, _)| name.starts_with("unishape-")), "{affinities:?}");
        assert!(affinities.iter().all(|(_, mask)| *mask == own || mask.is_empty()), "{affinities:?}");
    }
}

/// The folders of this process's workers in `/proc`.
#[cfg(target_os = "linux")]
fn workers() -> Vec<std::path::PathBuf> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    let name = |task: &std::path::Path| std::fs::read_to_string(task.join("comm")).unwrap_or_default();
    tasks.filter(|task| name(task).starts_with("unishape-")).collect()
}

/// CPU time of all workers of this process, in µs.
#[cfg(target_os = "linux")]
fn worker_micros() -> u64 {
    let times = workers().into_iter().map(|task| std::fs::read_to_string(task.join("schedstat")).unwrap());
    let nanos = |stat: String| stat.split_whitespace().next().map_or(0, |nanos| nanos.parse().unwrap());
    times.map(nanos).sum::<u64>() / 1000
}

/// Whether all three workers sleep. One that spins is runnable, even while it waits for a CPU.
#[cfg(target_os = "linux")]
fn are_parked() -> bool {
    let stats = workers().into_iter().map(|task| std::fs::read_to_string(task.join("stat")).unwrap());
    let states: Vec<bool> = stats.map(|stat| stat.rsplit(") ").next().unwrap().starts_with('S')).collect();
    states == [true; 3]
}

/// Runs in a process of its own, without other work and with its own spinning time.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "run by idle_workers_park"]
fn print_idle_workers() {
    // Starts the workers, and lets them park.
    with_num_threads(4, threads_of_a_large_map);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let small = Array2::<f32>::zeros((400, 400));
    let (mut micros, mut parked) = (0, 0);
    for _ in 0..20 {
        with_num_threads(4, || map((&small,), |a| a + 1.0)).unwrap();
        // The computation does not count: how much of it workers do differs from call to call.
        let before = worker_micros();
        std::thread::sleep(std::time::Duration::from_millis(20));
        parked += u32::from(are_parked());
        micros += worker_micros() - before;
    }
    println!("idle {micros} {parked} ");
}

/// After each of twenty calls, three workers spin for 50 µs and park; or spin until the next call where a second of
/// spinning is requested.
#[cfg(target_os = "linux")]
#[test]
fn idle_workers_park() {
    let idle = |spin: Option<&str>| {
        let mut command = test_program();
        command.args(["--exact", "print_idle_workers", "--ignored", "--nocapture"]);
        command.env_remove("UNISHAPE_SPIN").envs(spin.map(|spin| ("UNISHAPE_SPIN", spin)));
        let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let numbers = text.split("idle ").nth(1).unwrap_or(&text).split(' ');
        let numbers: Vec<u64> = numbers.take(2).map(|number| number.parse().unwrap()).collect();
        (numbers[0], numbers[1])
    };
    let (_, parked) = idle(Some("1000000"));
    assert_eq!(parked, 0, "of 20 times, although workers spin");
    // On a busy machine it takes several tries until all workers had a CPU within 20 ms.
    let found = (0..5).any(|_| {
        let (micros, parked) = idle(None);
        assert!(micros < 10_000, "{micros} µs after calls");
        parked > 0
    });
    assert!(found, "after no call all workers are parked");
}
