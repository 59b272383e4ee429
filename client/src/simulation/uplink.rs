//! What a client's shell may do to the network at one moment, with the faults that meet its requests. In: a shell's acts. Out: the network's.

use std::time::{Duration, Instant};

use sealwax_protocol::ids::NodeId;
use sealwax_protocol::request::RequestBody;

use super::faults::Faults;
use super::network::{Network, Written};
use super::print::Trace;

/// The network as one client sees it now.
pub(super) struct Uplink<'a> {
    pub(super) network: &'a mut Network,
    pub(super) faults: &'a mut Faults,
    pub(super) rng: &'a mut fastrand::Rng,
    pub(super) trace: &'a mut Trace,
    pub(super) epoch: Instant,
    pub(super) time: Duration,
    pub(super) client: usize,
}

impl Uplink<'_> {
    pub(super) fn now(&self) -> Instant {
        self.epoch + self.time
    }

    pub(super) const fn rng(&mut self) -> &mut fastrand::Rng {
        self.rng
    }

    pub(super) fn open(&mut self, node: NodeId) -> u64 {
        self.network.open(self.time, self.client, node)
    }

    pub(super) fn write(
        &mut self,
        connection: u64,
        correlation: i32,
        version: i16,
        body: RequestBody,
    ) -> Written {
        let fault = self.faults.meet(&body);
        self.trace.say(self.time, || {
            let said = fault.map_or_else(String::new, |fault| format!(" !{fault:?}"));
            format!(
                "client {} writes on {connection}/{correlation}{said}: {}",
                self.client,
                super::print::request(&body, version)
            )
        });
        self.network
            .write(self.time, connection, correlation, version, body, fault)
    }

    pub(super) fn close(&mut self, connection: u64) {
        self.network.close(connection);
    }
}
