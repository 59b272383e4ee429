//! The processor time that this process used, user and system apart.
//!
//! Linux tells it in `/proc/self/stat` in clock ticks, and the length of a tick in `/proc/self/auxv`. Elsewhere the time is
//! not known, which is said rather than shown as 0.

use std::fs;
use std::ops::Sub;

/// `AT_CLKTCK`: ticks per second, in the auxiliary vector.
const AT_CLKTCK: usize = 17;

/// Seconds of processor time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CpuSeconds {
    /// In the program.
    pub(super) user: f64,
    /// In the kernel on its behalf.
    pub(super) system: f64,
}

impl CpuSeconds {
    /// What the whole process (all threads) used so far; `None` where the system does not tell.
    pub(super) fn of_this_process() -> Option<Self> {
        let ticks_per_second = ticks_per_second(&fs::read("/proc/self/auxv").ok()?)?;
        let (user, system) = ticks(&fs::read_to_string("/proc/self/stat").ok()?)?;
        let seconds = |ticks: u64| ticks as f64 / ticks_per_second as f64;
        Some(Self {
            user: seconds(user),
            system: seconds(system),
        })
    }

    /// What was used since an earlier reading of [`Self::of_this_process`].
    pub(super) fn since(earlier: Option<Self>) -> Option<Self> {
        Some(Self::of_this_process()? - earlier?)
    }

    /// Both together.
    pub(super) fn total(self) -> f64 {
        self.user + self.system
    }
}

impl Sub for CpuSeconds {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            user: self.user - earlier.user,
            system: self.system - earlier.system,
        }
    }
}

/// Fields 14 and 15 of the stat line. The second field, the program's name in parentheses, may hold blanks and parentheses.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    let mut fields = behind_name.split_ascii_whitespace().skip(11);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// Looks the tick's length up in the vector of (key, value) words.
fn ticks_per_second(auxv: &[u8]) -> Option<usize> {
    const WORD: usize = size_of::<usize>();
    let word = |bytes: &[u8]| bytes.try_into().ok().map(usize::from_ne_bytes);
    auxv.chunks_exact(2 * WORD)
        .map(|pair| pair.split_at(WORD))
        .find(|(key, _)| word(key) == Some(AT_CLKTCK))
        .and_then(|(_, value)| word(value))
        .filter(|ticks| *ticks > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stat_line_is_read_behind_the_name() {
        let line = "42 (a) b (c) S 1 42 42 0 -1 4194304 100 0 0 0 731 29 0 0 20 0 9 0 12345 0 0";
        assert_eq!(ticks(line), Some((731, 29)));
        assert_eq!(ticks("42 (a) S 1 2"), None);
        assert_eq!(ticks(""), None);
    }

    #[test]
    fn the_tick_is_found_by_its_key() {
        let words: [usize; 6] = [6, 4096, AT_CLKTCK, 100, 0, 0];
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
        assert_eq!(ticks_per_second(&bytes), Some(100));
        assert_eq!(ticks_per_second(&bytes[..20]), None);
        assert_eq!(ticks_per_second(&[]), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn work_shows() {
        let before = CpuSeconds::of_this_process().unwrap();
        let mut spin = 0_u64;
        // Bounded by the process's own processor time, which is what is measured.
        while (CpuSeconds::of_this_process().unwrap() - before).total() < 0.03 {
            spin = std::hint::black_box(spin.wrapping_add(1));
        }
        assert!(spin > 0);
    }
}
