//! Carries a plan out: strikes, holds, cures, rests; counts what was done, and notes when all was well again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;

use super::fault::{Fault, NODES, Seat, Way};
use super::plan::{Period, Plan};
use super::workload::Workload;
use crate::kafka::{Cluster, Direction, Network, leader_of, move_leader, transaction_coordinator};
use crate::leash::Signal;

/// Nodes boot slowly on a busy machine. A period does not wait longer than this for those of the period before.
const READY_LIMIT: Duration = Duration::from_secs(45);
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// What is attacked.
pub(super) struct Field<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) network: &'a Network,
    pub(super) workload: &'a mut Workload,
    pub(super) topic: &'a str,
}

/// What came of an attack.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// How often each kind of fault was caused.
    pub(super) done: BTreeMap<&'static str, u32>,
    /// Faults that the cluster would not let us cause (a move of a leader to a node that is not in sync, say).
    pub(super) refused: u32,
    /// Clean periods.
    pub(super) clean: u32,
    /// Ends of faults after which there was none for the rest of the period.
    pub(super) healed: Vec<SystemTime>,
}

/// What ends a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cure {
    Launch(i32),
    Resume(i32),
    ResumeAndLaunch(i32, i32),
    Heal(i32),
    Thaw(usize),
    ThawReplaced,
    Nothing,
}

impl Field<'_> {
    /// Carries out the whole plan. When it returns, everything is healed and the cluster is whole.
    pub(super) fn attack(&mut self, plan: &Plan) -> Result<Tally> {
        let mut tally = Tally::default();
        let begun = Instant::now();
        self.watch(Duration::from_secs(5))?;
        for (number, period) in plan.periods.iter().enumerate() {
            println!(
                "{:>4} s  period {} of {}: {}",
                begun.elapsed().as_secs(),
                number + 1,
                plan.periods.len(),
                describe(period)
            );
            self.period(period, &mut tally)?;
            self.await_nodes()?;
        }
        self.cluster.await_ready()?;
        tally.healed.push(SystemTime::now());
        Ok(tally)
    }

    /// Lets time pass, and fails as soon as a process of the workload does.
    pub(super) fn watch(&mut self, time: Duration) -> Result<()> {
        let end = Instant::now() + time;
        loop {
            self.workload.check()?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(LOOK_AGAIN));
        }
    }

    fn period(&mut self, period: &Period, tally: &mut Tally) -> Result<()> {
        if period.faults.is_empty() {
            tally.clean += 1;
        }
        let mut cures = Vec::new();
        for fault in &period.faults {
            match self.strike(*fault) {
                Ok(cure) => {
                    *tally.done.entry(fault.kind()).or_default() += 1;
                    cures.push(cure);
                }
                Err(error) if !fault.can_be_refused() => return Err(error),
                Err(error) => {
                    println!("        {} was not to be had: {error:#}", fault.kind());
                    tally.refused += 1;
                }
            }
        }
        self.watch(period.hold)?;
        for cure in &cures {
            self.cure(*cure)?;
        }
        if !cures.is_empty() {
            tally.healed.push(SystemTime::now());
        }
        self.watch(period.rest)
    }

    /// Nodes that are booting are waited for, or the plan would take the majority away for good.
    fn await_nodes(&mut self) -> Result<()> {
        let end = Instant::now() + READY_LIMIT;
        while !self.cluster.is_ready() && Instant::now() < end {
            self.watch(LOOK_AGAIN)?;
        }
        Ok(())
    }

    fn strike(&mut self, fault: Fault) -> Result<Cure> {
        let node = |id| self.cluster.node(id);
        match fault {
            Fault::Kill(id) => node(id)?.kill().map(|()| Cure::Launch(id)),
            Fault::Stop(id) => node(id)?.stop().map(|()| Cure::Launch(id)),
            Fault::Pause(id) => node(id)?.pause().map(|()| Cure::Resume(id)),
            Fault::PauseAndKill(paused, killed) => {
                node(paused)?.pause()?;
                node(killed)?.kill()?;
                Ok(Cure::ResumeAndLaunch(paused, killed))
            }
            Fault::Isolate(id) => self.drop_packets(id, from_peers(self.network, id)?),
            Fault::Split(id) => self.drop_packets(id, from_all()),
            Fault::CutClients(seat, way) => self.drop_packets(self.seat(seat)?, from_clients(way)),
            Fault::MoveLeader(partition, id) => self.move_leader(self.topic, partition, id),
            Fault::MoveCoordinator(partition, id) => self.move_leader("__transaction_state", partition, id),
            Fault::KillWriter(writer) => self.workload.kill(writer).map(|()| Cure::Nothing),
            Fault::FreezeWriter(writer) => {
                self.workload.signal(writer, Signal::STOP)?;
                Ok(Cure::Thaw(writer))
            }
            Fault::Usurp(writer) => self.workload.usurp(writer).map(|()| Cure::Nothing),
            Fault::UsurpFrozen(writer) => {
                self.workload.signal(writer, Signal::STOP)?;
                self.workload.usurp(writer)?;
                Ok(Cure::ThawReplaced)
            }
        }
    }

    fn cure(&mut self, cure: Cure) -> Result<()> {
        match cure {
            Cure::Launch(id) => self.cluster.node(id)?.launch(),
            Cure::Resume(id) => self.cluster.node(id)?.resume(),
            Cure::ResumeAndLaunch(paused, killed) => {
                self.cluster.node(paused)?.resume()?;
                self.cluster.node(killed)?.launch()
            }
            Cure::Heal(id) => self.network.drop_packets(id, &[]),
            Cure::Thaw(writer) => self.workload.signal(writer, Signal::CONT),
            Cure::ThawReplaced => self.workload.thaw_replaced(),
            Cure::Nothing => Ok(()),
        }
    }

    fn seat(&self, seat: Seat) -> Result<i32> {
        let bootstrap = self.cluster.bootstrap();
        match seat {
            Seat::Coordinator(writer) => transaction_coordinator(&bootstrap, &Workload::first_id(writer)),
            Seat::Leader(partition) => leader_of(&bootstrap, self.topic, partition),
        }
    }

    fn drop_packets(&self, id: i32, rules: Vec<(Direction, String)>) -> Result<Cure> {
        self.network.drop_packets(id, &rules)?;
        Ok(Cure::Heal(id))
    }

    fn move_leader(&self, topic: &str, partition: i32, id: i32) -> Result<Cure> {
        move_leader(&self.cluster.bootstrap(), topic, partition, id).map(|()| Cure::Nothing)
    }
}

fn from_peers(network: &Network, id: i32) -> Result<Vec<(Direction, String)>> {
    let mut rules = Vec::new();
    for peer in (1..=NODES).filter(|peer| *peer != id) {
        let peer = network.node(peer)?;
        rules.push((Direction::In, format!("ip saddr {peer}")));
        rules.push((Direction::Out, format!("ip daddr {peer}")));
    }
    Ok(rules)
}

fn from_all() -> Vec<(Direction, String)> {
    vec![
        (Direction::In, "iifname eth0".to_owned()),
        (Direction::Out, "oifname eth0".to_owned()),
    ]
}

fn from_clients(way: Way) -> Vec<(Direction, String)> {
    let clients = Network::hub();
    let requests = (Direction::In, format!("ip saddr {clients}"));
    let answers = (Direction::Out, format!("ip daddr {clients}"));
    match way {
        Way::Both => vec![requests, answers],
        Way::AnswersLost => vec![answers],
        Way::RequestsLost => vec![requests],
    }
}

fn describe(period: &Period) -> String {
    if period.faults.is_empty() {
        return "clean".to_owned();
    }
    let faults: Vec<String> = period.faults.iter().map(|fault| format!("{fault:?}")).collect();
    format!("{} for {:.1} s", faults.join(" and "), period.hold.as_secs_f32())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_answers_let_requests_pass() {
        let directions = |way| -> Vec<Direction> {
            from_clients(way)
                .into_iter()
                .map(|(direction, _)| direction)
                .collect()
        };
        assert_eq!(directions(Way::AnswersLost), [Direction::Out]);
        assert_eq!(directions(Way::RequestsLost), [Direction::In]);
        assert_eq!(directions(Way::Both), [Direction::In, Direction::Out]);
    }
}
