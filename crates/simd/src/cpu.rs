//! SIMD dispatch at run time, and the prefetch instruction.
//!
//! Rust compiles a program for the oldest CPU of its target. Code that is inlined into a function with
//! `#[target_feature]` is compiled once more for newer CPUs; [`run_avx2`] and [`run_widest`] do that for a
//! [`SimdTask`] and select a version that the CPU supports.

#![allow(unsafe_code)]

/// Work that is compiled once for each SIMD width.
///
/// Mark [`run`](SimdTask::run) `#[inline(always)]`, and inline everything that it calls in its loops. Code
/// that is not inlined is compiled for the target's baseline only.
///
/// ```
/// use unishape_simd::{SimdTask, run_widest};
///
/// struct Double<'a>(&'a mut [f32]);
///
/// impl SimdTask for Double<'_> {
///     #[inline(always)]
///     fn run(self) {
///         self.0.iter_mut().for_each(|x| *x *= 2.0);
///     }
/// }
///
/// let mut x = [1.0, 2.0, 3.0];
/// run_widest(Double(&mut x));
/// assert_eq!(x, [2.0, 4.0, 6.0]);
/// ```
pub trait SimdTask {
    /// Executes the task.
    fn run(self);
}

/// Runs a memory-bound task with 256-bit SIMD (AVX2 and FMA), if the CPU has it.
///
/// Many CPUs lower their clock rate for 512-bit instructions, and memory bandwidth with it.
#[inline(always)]
pub fn run_avx2(task: impl SimdTask) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // Safety: the CPU has these features.
        return unsafe { avx2(task) };
    }
    task.run();
}

/// Runs a task with 256-bit SIMD.
///
/// Gives it back if the CPU does not have AVX2 and FMA.
///
/// For work that has another fallback than itself compiled for the target's baseline. Other targets than x86-64
/// run the task at their baseline.
///
/// # Errors
///
/// The task, which has not run.
#[inline(always)]
pub fn try_run_avx2<T: SimdTask>(task: T) -> Result<(), T> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // Safety: the CPU has these features.
        unsafe { avx2(task) };
        Ok(())
    } else {
        Err(task)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        task.run();
        Ok(())
    }
}

/// Runs a compute-bound task with the widest SIMD of the CPU: AVX-512, else AVX2.
#[inline(always)]
pub fn run_widest(task: impl SimdTask) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
        {
            // Safety: the CPU has these features.
            return unsafe { avx512(task) };
        }
    }
    run_avx2(task);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2(task: impl SimdTask) {
    task.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn avx512(task: impl SimdTask) {
    task.run();
}

/// Prefetches the cache line at `address` into the L1 cache.
///
/// The address may be invalid: the instruction is a hint, and never faults. Other targets than x86-64 ignore it.
#[inline(always)]
pub fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // Safety: a prefetch neither faults nor changes memory, so any address is allowed.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    use super::{SimdTask, run_avx2, run_widest, try_run_avx2};

    /// Counts how often it runs.
    struct Count<'a>(&'a mut usize);

    impl SimdTask for Count<'_> {
        #[inline(always)]
        fn run(self) {
            *self.0 += 1;
        }
    }

    #[test]
    fn tasks_run_once() {
        let mut runs = 0;
        run_avx2(Count(&mut runs));
        assert_eq!(runs, 1);
        run_widest(Count(&mut runs));
        assert_eq!(runs, 2);
    }

    /// The caller runs its fallback on a task that is given back.
    #[test]
    fn a_task_either_runs_once_or_is_given_back() {
        let mut runs = 0;
        let given_back = try_run_avx2(Count(&mut runs)).is_err();
        assert_eq!(runs, usize::from(!given_back));
    }
}
