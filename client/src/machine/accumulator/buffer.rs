//! The memory budget of unsent and unacknowledged batches (`buffer.memory`): reserved when a record is taken, given back when
//! its batch has a result. In: bytes, and who waits for them. Out: whether there is room, and whose turn it is.
//!
//! Who finds no room gets in line, and nobody passes those who stand there. As long as someone does, open batches are sent without
//! waiting for their linger.

use std::collections::VecDeque;

/// A place in the line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Turn(u64);

/// Bytes that batches may hold together.
#[derive(Debug)]
pub(crate) struct BufferMemory {
    limit: usize,
    used: usize,
    line: VecDeque<u64>,
    next_turn: u64,
}

impl BufferMemory {
    /// A budget of `limit` bytes.
    pub(crate) const fn new(limit: usize) -> Self {
        Self {
            limit,
            used: 0,
            line: VecDeque::new(),
            next_turn: 0,
        }
    }

    /// Takes bytes out of the budget; `false` if they are not there, or if others stand in line before `turn`.
    pub(crate) fn reserve(&mut self, bytes: usize, turn: Option<&Turn>) -> bool {
        if bytes == 0 {
            return true;
        }
        let is_next = self
            .line
            .front()
            .is_none_or(|first| turn.is_some_and(|turn| turn.0 == *first));
        if !is_next || bytes > self.limit - self.used {
            return false;
        }
        self.used += bytes;
        true
    }

    /// Gives bytes back.
    pub(crate) const fn release(&mut self, bytes: usize) {
        self.used = self.used.saturating_sub(bytes);
    }

    /// Gets in line.
    pub(crate) fn line_up(&mut self) -> Turn {
        let turn = self.next_turn;
        self.next_turn += 1;
        self.line.push_back(turn);
        Turn(turn)
    }

    /// Leaves the line, served or not.
    pub(crate) fn leave(&mut self, turn: Turn) {
        self.line.retain(|waiting| *waiting != turn.0);
    }

    /// The whole budget in bytes.
    pub(crate) const fn limit(&self) -> usize {
        self.limit
    }

    /// Whether someone waits for room.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.line.is_empty()
    }

    #[cfg(test)]
    pub(crate) const fn used(&self) -> usize {
        self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_reservation_takes_nothing() {
        let mut memory = BufferMemory::new(100);
        assert!(memory.reserve(60, None));
        assert!(!memory.reserve(41, None));
        assert!(memory.reserve(40, None), "the refused bytes were not taken");
        memory.release(60);
        assert!(memory.reserve(60, None));
        assert_eq!(memory.used(), 100);
    }

    #[test]
    fn nobody_passes_those_in_line() {
        let mut memory = BufferMemory::new(100);
        assert!(memory.reserve(90, None));
        assert!(!memory.reserve(50, None));
        let (first, second) = (memory.line_up(), memory.line_up());
        assert!(memory.is_wanted());
        assert!(!memory.reserve(10, None), "small, but it came later");
        assert!(!memory.reserve(10, Some(&second)));
        assert!(memory.reserve(0, None), "what needs nothing takes nothing away");
        memory.release(90);
        assert!(!memory.reserve(10, Some(&second)));
        assert!(memory.reserve(50, Some(&first)));
        memory.leave(first);
        assert!(memory.reserve(10, Some(&second)));
        memory.leave(second);
        assert!(!memory.is_wanted() && memory.reserve(10, None));
    }

    #[test]
    fn who_leaves_the_line_holds_nobody_up() {
        let mut memory = BufferMemory::new(100);
        assert!(memory.reserve(90, None));
        let (first, second) = (memory.line_up(), memory.line_up());
        memory.leave(first);
        assert!(memory.reserve(10, Some(&second)));
    }
}
