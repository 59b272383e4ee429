//! Which broker to ask when any will do: known brokers before bootstrap addresses, working ones before failing ones.
//!
//! When every known broker fails, the bootstrap addresses are asked again (KIP-899).

use sealwax_protocol::ids::NodeId;

/// Whom a connection leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Peer {
    /// The n-th bootstrap address, whoever answers there.
    Bootstrap(usize),
    /// A broker at the address that the cluster told.
    Broker(NodeId),
}

/// How the connection to a peer is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LinkState {
    /// Not connected, and nothing is known against it.
    #[default]
    Idle,
    /// Being set up.
    Connecting,
    /// Connected.
    Up,
    /// That many attempts in a row have failed.
    Failing(u32),
}

/// The best of the candidates; `None` only if there is none. Among equals `turn` decides.
pub(crate) fn choose(candidates: &[(Peer, LinkState)], turn: usize) -> Option<Peer> {
    let best = candidates.iter().map(|&(peer, state)| rank(peer, state)).min()?;
    let equals: Vec<Peer> = candidates
        .iter()
        .filter(|&&(peer, state)| rank(peer, state) == best)
        .map(|&(peer, _)| peer)
        .collect();
    equals.get(turn.checked_rem(equals.len())?).copied()
}

/// Smaller is better.
fn rank(peer: Peer, state: LinkState) -> (u8, u32) {
    match (peer, state) {
        (Peer::Broker(_), LinkState::Up) => (0, 0),
        (Peer::Broker(_), LinkState::Idle | LinkState::Connecting) => (1, 0),
        (Peer::Bootstrap(_), LinkState::Up) => (2, 0),
        (Peer::Bootstrap(_), LinkState::Idle | LinkState::Connecting) => (3, 0),
        (Peer::Broker(_) | Peer::Bootstrap(_), LinkState::Failing(failures)) => (4, failures),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Peer = Peer::Broker(NodeId(1));
    const B: Peer = Peer::Broker(NodeId(2));
    const BOOT: Peer = Peer::Bootstrap(0);

    #[test]
    fn a_connected_broker_comes_first() {
        let candidates = [(BOOT, LinkState::Up), (A, LinkState::Idle), (B, LinkState::Up)];
        assert_eq!(choose(&candidates, 0), Some(B));
    }

    #[test]
    fn equals_take_turns() {
        let candidates = [(A, LinkState::Up), (B, LinkState::Up)];
        assert_eq!(choose(&candidates, 0), Some(A));
        assert_eq!(choose(&candidates, 1), Some(B));
        assert_eq!(choose(&candidates, 2), Some(A));
    }

    #[test]
    fn when_all_brokers_fail_the_bootstrap_address_is_asked_again() {
        let candidates = [
            (A, LinkState::Failing(1)),
            (B, LinkState::Failing(3)),
            (BOOT, LinkState::Idle),
        ];
        assert_eq!(choose(&candidates, 0), Some(BOOT));
        let candidates = [
            (A, LinkState::Failing(1)),
            (B, LinkState::Failing(3)),
            (BOOT, LinkState::Failing(2)),
        ];
        assert_eq!(
            choose(&candidates, 0),
            Some(A),
            "the one with the fewest failures"
        );
    }

    #[test]
    fn nobody_to_ask() {
        assert_eq!(choose(&[], 0), None);
    }
}
