//! `--scheduler`: the kernel's policy for the threads that measure (sched(7)).

use engine::{ResolvedDesign, ThreadSetup, pin_thread};
use notation::duration;
use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

/// The flag by which threads that a thread starts have the usual policy instead of its own.
const RESET_ON_FORK: u64 = 1;
/// The least time that the kernel takes for a deadline's runtime (2^10 ns).
const LEAST: Duration = Duration::from_nanos(1024);

/// A policy by which the kernel schedules threads. Made from text by [`str::parse`]; `Display` gives the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// SCHED_OTHER: shares of time, as usual.
    Other,
    /// SCHED_FIFO: before all threads of SCHED_OTHER and of a lower priority, 1 to 99.
    Fifo(u8),
    /// SCHED_DEADLINE: this much time of a core in each period, before the deadline.
    Deadline {
        /// The time of a core.
        runtime: Duration,
        /// The end of that time, from the begin of the period.
        deadline: Duration,
        /// The period.
        period: Duration,
    },
}

impl fmt::Display for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other => f.write_str("other"),
            Self::Fifo(priority) => write!(f, "fifo:{priority}"),
            Self::Deadline { runtime, deadline, period } => {
                let [runtime, deadline, period] = [runtime, deadline, period].map(Duration::as_nanos);
                write!(f, "deadline:{runtime}ns/{deadline}ns/{period}ns")
            }
        }
    }
}

impl FromStr for Scheduler {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, values) = text.split_once(':').map_or((text, None), |(name, values)| (name, Some(values)));
        match (name, values) {
            ("other", None) => Ok(Self::Other),
            ("fifo", None) => Ok(Self::Fifo(1)),
            ("fifo", Some(priority)) => match priority.parse() {
                Ok(priority @ 1..=99) => Ok(Self::Fifo(priority)),
                _ => Err(format!("'{priority}' is no priority from 1 to 99")),
            },
            ("deadline", Some(values)) => Self::deadline(values),
            ("deadline", None) => {
                Err("deadline needs its times: deadline:RUNTIME/DEADLINE/PERIOD".to_owned())
            }
            _ => {
                Err(format!("'{text}' is not other, fifo, fifo:PRIORITY or deadline:RUNTIME/DEADLINE/PERIOD"))
            }
        }
    }
}

impl Scheduler {
    fn deadline(values: &str) -> Result<Self, String> {
        let time =
            |text: &str| duration(text).map_err(|error| format!("'{text}' is not {}", error.expected()));
        let times = values.split('/').map(time).collect::<Result<Vec<_>, _>>()?;
        let [runtime, deadline, period] = times[..] else {
            return Err(format!("'{values}' is not RUNTIME/DEADLINE/PERIOD, as 900us/1ms/1ms"));
        };
        match LEAST <= runtime && runtime <= deadline && deadline <= period {
            true => Ok(Self::Deadline { runtime, deadline, period }),
            false => Err(format!(
                "'{values}': a runtime is from 1024 ns to its deadline, and that is within the period"
            )),
        }
    }

    /// Makes this the policy of the calling thread.
    fn apply(self) -> io::Result<()> {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let (policy, priority, times) = match self {
            Self::Other => (libc::SCHED_OTHER, 0, [Duration::ZERO; 3]),
            Self::Fifo(priority) => (libc::SCHED_FIFO, priority, [Duration::ZERO; 3]),
            Self::Deadline { runtime, deadline, period } => {
                (libc::SCHED_DEADLINE, 0, [runtime, deadline, period])
            }
        };
        let [sched_runtime, sched_deadline, sched_period] = times.map(ns);
        let attributes = libc::sched_attr {
            size: size_of::<libc::sched_attr>() as u32,
            sched_policy: policy as u32,
            // A thread with a deadline could not start another one.
            sched_flags: RESET_ON_FORK,
            sched_nice: 0,
            sched_priority: u32::from(priority),
            sched_runtime,
            sched_deadline,
            sched_period,
        };
        // SAFETY: the attributes are as long as they say and live through the call, which only reads them; 0 is the calling thread.
        let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// The policy as what each thread does before it measures.
    pub(crate) fn setup(self) -> ThreadSetup {
        ThreadSetup::new(move || self.apply().map_err(|error| self.refused(&error, "")))
    }

    /// Tries the policy on as many threads as the plan has, on their cores, all at once: the kernel admits only deadlines that it can keep.
    ///
    /// # Errors
    /// Returns one line with the kernel's reason.
    pub(crate) fn check(self, plan: &ResolvedDesign) -> Result<(), String> {
        let all = &Barrier::new(plan.threads());
        thread::scope(|scope| {
            let threads: Vec<_> = (0..plan.threads())
                .map(|number| {
                    let core = plan.cores.get(number).copied();
                    let work = move || {
                        let pinned = core.map_or(Ok(()), pin_thread);
                        let applied = pinned.and_then(|()| {
                            self.apply().map_err(|error| self.refused(&error, hint(self, core)))
                        });
                        all.wait();
                        applied
                    };
                    scope.spawn(work)
                })
                .collect();
            let results = threads.into_iter().map(|thread| thread.join().unwrap_or(Ok(())));
            results.fold(Ok(()), Result::and)
        })
    }

    fn refused(self, error: &io::Error, hint: &str) -> String {
        format!("--scheduler {self}: the kernel refuses it: {error}{hint}")
    }
}

/// Returns what may help where the kernel refuses a policy for a thread that is on this core, or on any.
fn hint(scheduler: Scheduler, core: Option<usize>) -> &'static str {
    match (scheduler, core) {
        (Scheduler::Deadline { .. }, Some(_)) => {
            "; a thread with a deadline runs on all cores and cannot be pinned: leave out --cores"
        }
        (Scheduler::Deadline { .. }, None) => {
            "; it needs CAP_SYS_NICE, all cores of the machine for the process, and cores that are not promised to other deadlines"
        }
        (Scheduler::Fifo(_), _) => "; it needs CAP_SYS_NICE or a limit for RLIMIT_RTPRIO",
        (Scheduler::Other, _) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Design;

    #[test]
    fn policies_are_read_and_shown() {
        let policy = |text: &str| text.parse::<Scheduler>().expect(text);
        assert_eq!(policy("other"), Scheduler::Other);
        assert_eq!((policy("fifo"), policy("fifo:7")), (Scheduler::Fifo(1), Scheduler::Fifo(7)));
        let [runtime, deadline, period] = [500, 800, 1000].map(Duration::from_micros);
        assert_eq!(policy("deadline:500us/800us/1ms"), Scheduler::Deadline { runtime, deadline, period });
        for text in ["other", "fifo:9", "deadline:2us/1ms/1s", "deadline:500us/800us/1ms"] {
            assert_eq!(policy(text).to_string().parse(), Ok(policy(text)), "{text}");
        }
        for (text, words) in [
            ("idle", "not other, fifo"),
            ("other:1", "not other, fifo"),
            ("fifo:0", "from 1 to 99"),
            ("fifo:100", "from 1 to 99"),
            ("deadline", "RUNTIME/DEADLINE/PERIOD"),
            ("deadline:1ms/1ms", "RUNTIME/DEADLINE/PERIOD"),
            ("deadline:2ms/1ms/1ms", "within the period"),
            ("deadline:1ms/3ms/2ms", "within the period"),
            ("deadline:100ns/1ms/1ms", "1024 ns"),
            ("deadline:1/1ms/1ms", "'1' is not"),
        ] {
            let error = text.parse::<Scheduler>().expect_err(text);
            assert!(error.contains(words) && !error.contains('\n'), "{error}");
        }
    }

    /// The usual policy is always possible, and what the kernel says is passed on.
    #[test]
    fn what_the_kernel_says_is_told() {
        let plan = |cores: &[usize]| {
            let design = Some(Design::Async);
            let pinned = engine::Cores::List(cores.to_vec());
            ResolvedDesign::new(design, Some(&pinned), 1, cores).expect("a plan")
        };
        assert_eq!(Scheduler::Other.check(&ResolvedDesign::single()), Ok(()));
        let allowed = engine::allowed_cores();
        let [first, second, ..] = allowed[..] else { return };
        // With the rights or without: on a single core of several no thread has a deadline.
        let [runtime, deadline, period] = [100, 1000, 1000].map(Duration::from_micros);
        let pinned = Scheduler::Deadline { runtime, deadline, period }.check(&plan(&[first, second]));
        let error = pinned.expect_err("a pinned thread has no deadline");
        assert!(error.contains("the kernel refuses it") && error.contains("leave out --cores"), "{error}");
    }
}
