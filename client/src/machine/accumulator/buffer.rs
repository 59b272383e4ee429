//! The memory budget of unsent and unacknowledged batches (`buffer.memory`): reserved when a record is taken, given back when
//! its batch has a result. In: bytes. Out: whether there is room.

/// Bytes that batches may hold together.
#[derive(Debug)]
pub(crate) struct BufferMemory {
    limit: usize,
    used: usize,
    demand: Demand,
}

/// Whether someone waits for room. As long as someone does, open batches are sent without waiting for their linger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Demand {
    Met,
    Waiting,
}

impl BufferMemory {
    /// A budget of `limit` bytes.
    pub(crate) const fn new(limit: usize) -> Self {
        Self {
            limit,
            used: 0,
            demand: Demand::Met,
        }
    }

    /// Takes bytes out of the budget; `false` if they are not there.
    pub(crate) const fn reserve(&mut self, bytes: usize) -> bool {
        if bytes > self.limit - self.used {
            self.demand = Demand::Waiting;
            return false;
        }
        self.used += bytes;
        true
    }

    /// Gives bytes back.
    pub(crate) const fn release(&mut self, bytes: usize) {
        self.used = self.used.saturating_sub(bytes);
        self.demand = Demand::Met;
    }

    /// The whole budget in bytes.
    pub(crate) const fn limit(&self) -> usize {
        self.limit
    }

    /// Whether a reservation failed and nothing was given back since.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.demand == Demand::Waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_reservation_takes_nothing_and_is_remembered_until_room_comes_back() {
        let mut memory = BufferMemory::new(100);
        assert!(memory.reserve(60));
        assert!(!memory.reserve(41));
        assert!(memory.is_exhausted());
        assert!(memory.reserve(40), "the refused bytes were not taken");
        memory.release(60);
        assert!(!memory.is_exhausted());
        assert!(memory.reserve(60));
    }
}
