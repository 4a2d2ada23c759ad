//! Signal handlers.
//!
//! | signal | effect |
//! |---|---|
//! | `SIGINT`, `SIGTERM`, `SIGHUP` | long work stops at the next write; exit code 128 + number |
//! | the same, while a pipe or a device is written | the default action: the signal ends the process |
//! | `SIGBUS` (Linux) | a memory-mapped input was truncated: error message, exit code 4 |
//!
//! `SIGHUP` stays ignored where it is ignored at the start, as by `nohup`.

use signal_hook::consts::{SIGINT, SIGTERM};
use std::ffi::c_int;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The last stop signal that the process has received.
pub(crate) struct StopFlag {
    signal: Arc<AtomicUsize>,
    /// Whether the signals have their default action.
    is_default: Arc<AtomicBool>,
}

impl StopFlag {
    /// Installs the handlers of the stop signals.
    pub(crate) fn install() -> io::Result<StopFlag> {
        let signal = Arc::new(AtomicUsize::new(0));
        let is_default = Arc::new(AtomicBool::new(false));
        for number in stop_signals() {
            signal_hook::flag::register_conditional_default(number, Arc::clone(&is_default))?;
            signal_hook::flag::register_usize(number, Arc::clone(&signal), number as usize)?;
        }
        Ok(StopFlag { signal, is_default })
    }

    /// The number of that signal; `None` before one arrives.
    pub(crate) fn signal(&self) -> Option<u8> {
        u8::try_from(self.signal.load(Ordering::Relaxed)).ok().filter(|&signal| signal != 0)
    }

    /// Gives later signals their default action.
    ///
    /// A system call that waits for the reader of a pipe is restarted after a handler, so that a flag would
    /// never be seen.
    pub(crate) fn restore_default(&self) {
        self.is_default.store(true, Ordering::SeqCst);
    }
}

fn stop_signals() -> Vec<c_int> {
    let signals = vec![SIGINT, SIGTERM];
    #[cfg(unix)]
    if !unix::is_ignored(signal_hook::consts::SIGHUP) {
        return [signals, vec![signal_hook::consts::SIGHUP]].concat();
    }
    signals
}

/// Makes the command exit with an error message when a memory-mapped input is truncated while it is read.
///
/// The handler ends the process at once. Results under way are files without a name, which the kernel
/// removes; on a file system without `O_TMPFILE`, the named temporary file and its directory stay.
#[cfg(target_os = "linux")]
pub(crate) fn report_truncated_inputs() {
    // Without the handler, the process is killed by the signal: not worth an error of its own.
    let _ = unix::handle_sigbus();
}

/// Makes that handler remove directories that are empty, the last one first.
#[cfg(target_os = "linux")]
pub(crate) fn remove_if_truncated(directories: &[std::path::PathBuf]) {
    unix::REMOVED.store(Box::into_raw(Box::new(unix::c_paths(directories))), Ordering::Release);
}

#[cfg(unix)]
#[allow(unsafe_code)]
mod unix {
    use std::ffi::c_int;
    use std::mem::MaybeUninit;
    use std::ptr;
    #[cfg(target_os = "linux")]
    use std::{ffi::CString, sync::atomic::AtomicPtr};

    /// Whether the process ignores a signal.
    pub(super) fn is_ignored(signal: c_int) -> bool {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // Safety: `action` is valid for writes of a `sigaction`, of which all-zero bytes are a valid value, and
        // with a null pointer for the new action nothing is changed.
        let action = unsafe {
            libc::sigaction(signal, ptr::null(), action.as_mut_ptr());
            action.assume_init()
        };
        action.sa_sigaction == libc::SIG_IGN
    }

    /// Directories that the handler of `SIGBUS` removes; null for none. Never freed: the handler may read them.
    #[cfg(target_os = "linux")]
    pub(super) static REMOVED: AtomicPtr<Vec<CString>> = AtomicPtr::new(ptr::null_mut());

    /// Paths as C strings. No existing directory has a NUL in its path.
    #[cfg(target_os = "linux")]
    pub(super) fn c_paths(paths: &[std::path::PathBuf]) -> Vec<CString> {
        use std::os::unix::ffi::OsStrExt;
        paths.iter().filter_map(|path| CString::new(path.as_os_str().as_bytes()).ok()).collect()
    }

    #[cfg(target_os = "linux")]
    const TRUNCATED: &[u8] = b"unishape: an input file was truncated while it was being read\n";

    /// Installs the handler of `SIGBUS`.
    ///
    /// It replaces the handler of Rust's runtime, which reports stack overflows: on Linux those are `SIGSEGV`.
    /// It is not chained, since that handler would first restore the default action, and a second thread
    /// that reads the same file would then be killed by its own signal.
    #[cfg(target_os = "linux")]
    pub(super) fn handle_sigbus() -> std::io::Result<()> {
        // Safety: all-zero bytes are a valid `sigaction`: no flags, no blocked signals.
        let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_sigbus;
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // Safety: `action` is initialized and its handler, which has the signature that `SA_SIGINFO` requires,
        // calls async-signal-safe functions only.
        match unsafe { libc::sigaction(libc::SIGBUS, &action, ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    }

    #[cfg(target_os = "linux")]
    extern "C" fn on_sigbus(signal: c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
        use std::sync::atomic::{AtomicBool, Ordering};
        static REPORTED: AtomicBool = AtomicBool::new(false);
        // Safety: the kernel passes a valid `siginfo_t` to a handler with `SA_SIGINFO`. All functions called
        // here are async-signal-safe, and `TRUNCATED` is valid for reads of its length. `REMOVED` is null or
        // points to strings that are neither changed nor freed.
        unsafe {
            if (*info).si_code != libc::BUS_ADRERR {
                // Another cause, such as `kill -BUS`: the default action, once the handler has returned.
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
                return;
            }
            if REPORTED.swap(true, Ordering::Relaxed) {
                // Another thread reports and exits.
                loop {
                    libc::pause();
                }
            }
            if let Some(directories) = REMOVED.load(Ordering::Acquire).as_ref() {
                for directory in directories.iter().rev() {
                    // Fails if another process has put a file into it, which is right.
                    libc::rmdir(directory.as_ptr());
                }
            }
            libc::write(libc::STDERR_FILENO, TRUNCATED.as_ptr().cast(), TRUNCATED.len());
            libc::_exit(4);
        }
    }
}
