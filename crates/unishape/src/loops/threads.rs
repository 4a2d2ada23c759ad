//! Threads of our own.

use super::cores::Cores;
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So many threads to share work among. Making them takes longer than most work, so that they are kept.
///
/// A process that was forked has this memory, but not these threads: it makes its own. Who forks while another
/// thread is just asking for threads finds the lock taken; who cannot rule that out asks before it goes on.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Threads {
    number: usize,
    /// All but the caller's. None where that is enough, or where the system gives no more.
    others: Option<Arc<Pool>>,
}

#[derive(Debug)]
struct Pool {
    threads: ThreadPool,
    cores: Cores,
    /// How often its threads were called to work.
    calls: Arc<AtomicUsize>,
}

/// How long a thread that has done its part stays awake. Work often comes in one piece after another, and to wake a
/// thread up can take as long as to do a small one.
const AWAKE: Duration = Duration::from_micros(500);

impl Pool {
    /// Threads that only stay awake are free from now on. Gives the number of the call.
    fn call(&self) -> usize {
        self.calls.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Work that is done by these threads alone.
    fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.call();
        self.threads.install(work)
    }

    /// Work that the caller shares with so many of these threads.
    fn share<'s, R>(&self, others: usize, work: impl FnOnce(&Scope<'s>) -> R) -> R {
        let call = self.call();
        let result = {
            let _elsewhere = self.cores.elsewhere();
            self.threads.in_place_scope(work)
        };
        for _ in 0..others {
            let calls = self.calls.clone();
            self.threads.spawn(move || {
                let begin = Instant::now();
                while calls.load(Ordering::Relaxed) == call && begin.elapsed() < AWAKE {
                    std::thread::yield_now();
                }
            });
        }
        result
    }
}

/// A pool, and whose it is.
struct Kept {
    process: u32,
    pool: Arc<Pool>,
}

/// So many numbers of threads are kept apart.
const MOST_POOLS: usize = 4;

/// More threads than this are not made, whatever is asked for.
const MOST_THREADS: usize = 256;

impl Threads {
    /// So many, the caller's among them.
    #[doc(hidden)]
    pub fn new(number: usize) -> Threads {
        let number = number.clamp(1, MOST_THREADS);
        Threads { number, others: if number == 1 { None } else { pool(number - 1) } }
    }

    /// Does some work for which the caller waits.
    #[doc(hidden)]
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        // Where there is one, what shares its work among others finds none.
        match pool(self.number()) {
            Some(pool) => pool.run(work),
            None => work(),
        }
    }

    /// How many take part.
    pub(super) fn number(&self) -> usize {
        if self.others.is_some() { self.number } else { 1 }
    }

    /// Work that the caller shares with so many others.
    pub(super) fn share<'s, R>(&self, others: usize, work: impl FnOnce(&Scope<'s>) -> R) -> R {
        match &self.others {
            Some(pool) => pool.share(others, work),
            None => rayon::in_place_scope(work),
        }
    }
}

fn pool(number: usize) -> Option<Arc<Pool>> {
    static POOLS: Mutex<Vec<Kept>> = Mutex::new(Vec::new());
    let process = std::process::id();
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if pools.first().is_some_and(|kept| kept.process != process) {
        // To end them, their threads would have to be there.
        std::mem::forget(std::mem::take(&mut *pools));
    }
    if let Some(kept) = pools.iter().find(|kept| kept.pool.threads.current_num_threads() == number) {
        return Some(kept.pool.clone());
    }
    let name = |number| format!("unishape {number}");
    let cores = Cores::new(number);
    let threads =
        ThreadPoolBuilder::new().num_threads(number).thread_name(name).start_handler(cores.when_begun());
    let pool = Arc::new(Pool { threads: threads.build().ok()?, cores, calls: Arc::default() });
    if pools.len() == MOST_POOLS {
        pools.remove(0);
    }
    pools.push(Kept { process, pool: pool.clone() });
    Some(pool)
}
