//! Picks free ports for a cluster.
//!
//! They lie *below* the range from which the kernel picks local ports of outgoing connections. Otherwise the port of a broker
//! that a test has killed can be taken by some client's connection (even by a connection to itself), and the
//! broker cannot come back.

use std::net::TcpListener;

use anyhow::{Context, Result, bail};

const LOWEST: u16 = 10_000;
const ATTEMPTS: usize = 1000;

/// `count` distinct ports that were free a moment ago. Another process may take one before it is used: callers try again then.
pub(super) fn free(count: usize) -> Result<Vec<u16>> {
    let range = LOWEST..ephemeral_start();
    let mut held = Vec::with_capacity(count);
    for _ in 0..ATTEMPTS {
        if held.len() == count {
            break;
        }
        let port = fastrand::u16(range.clone());
        // Held open until all are chosen, so that one is not chosen twice.
        if let Ok(listener) = TcpListener::bind(("127.0.0.1", port)) {
            held.push((port, listener));
        }
    }
    if held.len() < count {
        bail!(
            "{count} free ports on 127.0.0.1 were not found between {} and {}",
            range.start,
            range.end
        );
    }
    Ok(held.into_iter().map(|(port, _)| port).collect())
}

/// `count` ports from `first` on, provided that all are free.
pub(super) fn fixed(first: u16, count: usize) -> Result<Vec<u16>> {
    let ports: Option<Vec<u16>> = (0..count)
        .map(|step| first.checked_add(u16::try_from(step).ok()?))
        .collect();
    let ports = ports.with_context(|| format!("{count} ports from {first} on are more than there are"))?;
    for port in &ports {
        TcpListener::bind(("127.0.0.1", *port)).with_context(|| {
            format!("port {port} on 127.0.0.1 is not free (the cluster uses {count} from {first} on)")
        })?;
    }
    Ok(ports)
}

fn ephemeral_start() -> u16 {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let start = text
        .split_whitespace()
        .next()
        .and_then(|start| start.parse().ok())
        .unwrap_or(32_768);
    // A machine that hands out nearly all ports leaves no room below; then any port must do.
    if start > LOWEST + 1000 { start } else { u16::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_ports_are_distinct_and_bindable() {
        let mut ports = free(6).unwrap();
        for port in &ports {
            assert!(*port >= LOWEST);
        }
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 6);
    }

    #[test]
    fn a_taken_port_is_named() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(
            fixed(port, 1)
                .unwrap_err()
                .to_string()
                .contains(&port.to_string())
        );
        assert!(fixed(u16::MAX, 2).is_err());
    }
}
