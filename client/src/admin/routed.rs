//! Runs a call whose items live at different brokers: find where, ask all brokers at once, ask again for what is still open.

use std::sync::Arc;

use futures_util::future::join_all;
use sealwax_protocol::ids::{NodeId, TopicPartition};

use crate::admin::Admin;
use crate::admin::retry::Patience;
use crate::error::{Error, ErrorKind, Result};
use crate::machine::admin::permission::{Permission, Resource};
use crate::machine::admin::routed::{Call, Routed, has_moved, unanswered};
use crate::machine::admin::{Verdict, describe_topics, leaders};
use crate::machine::{CoordinatorKind, Destination, Directive};

/// How many coordinators are looked up at the same time.
const LOOKUPS_AT_ONCE: usize = 64;

impl Admin {
    /// Asks for each transactional id at its coordinator; one result each, in order.
    pub(super) async fn at_coordinators<C: Call<str>>(&self, ids: &[&str], call: C) -> Vec<Result<C::Value>> {
        let mut patience = self.patience();
        let mut call = Routed::new(call, ids.to_vec());
        loop {
            let open = call.open();
            if open.is_empty() {
                return call.finish();
            }
            let homes = self.coordinators(&patience, &open).await;
            self.ask_groups(&mut call, homes, &patience).await;
            if !call.open().is_empty() && !self.pause(&mut patience).await {
                return call.finish();
            }
        }
    }

    /// Asks for each partition at its leader; one result each, in order.
    pub(super) async fn at_leaders<C: Call<TopicPartition>>(
        &self,
        partitions: &[TopicPartition],
        call: C,
    ) -> Vec<Result<C::Value>> {
        let mut patience = self.patience();
        let mut call = Routed::new(call, partitions.iter().collect());
        loop {
            let open: Vec<&TopicPartition> =
                call.open().into_iter().map(|(partition, _)| partition).collect();
            if open.is_empty() {
                return call.finish();
            }
            let homes = self.leaders(&patience, &open).await;
            self.ask_groups(&mut call, homes, &patience).await;
            if !call.open().is_empty() && !self.pause(&mut patience).await {
                return call.finish();
            }
        }
    }

    /// One round: the open items' brokers are asked at once.
    async fn ask_groups<K: ?Sized, C: Call<K>>(
        &self,
        call: &mut Routed<'_, K, C>,
        homes: Vec<Verdict<NodeId>>,
        patience: &Patience,
    ) {
        let groups = call.route(homes);
        let requests = groups
            .iter()
            .map(|group| self.attempt(patience, Destination::Node(group.node), call.request(group)));
        for (group, answer) in groups.iter().zip(join_all(requests).await) {
            call.take(group, answer);
        }
    }

    /// Who coordinates these ids. One that has moved since the last attempt is looked up again.
    async fn coordinators(
        &self,
        patience: &Patience,
        open: &[(&str, Option<&Error>)],
    ) -> Vec<Verdict<NodeId>> {
        let mut found = Vec::with_capacity(open.len());
        for ids in open.chunks(LOOKUPS_AT_ONCE) {
            let lookups = ids
                .iter()
                .map(|(id, reason)| self.coordinator(patience, id, has_moved(*reason)));
            found.extend(join_all(lookups).await);
        }
        found
    }

    async fn coordinator(&self, patience: &Patience, id: &str, moved: bool) -> Verdict<NodeId> {
        let key = (CoordinatorKind::Transaction, Arc::from(id));
        if moved {
            let (kind, id) = (key.0, Arc::clone(&key.1));
            self.cluster.direct(Directive::ForgetCoordinator(kind, id));
        }
        if let Some(broker) = self.cluster.coordinators().known(&key) {
            return Verdict::Done(broker.id);
        }
        let search = self.cluster.coordinators().search(&self.cluster, key);
        match search.outcome(self.end_of_attempt(patience)).await {
            Ok(broker) => Verdict::Done(broker.id),
            Err(error) if error.kind() == ErrorKind::Authorization => {
                let describe = Permission {
                    operation: "Describe",
                    resource: Resource::TransactionalId(id),
                };
                Verdict::Failed(describe.explain(&error))
            }
            Err(error) => unanswered(&error),
        }
    }

    /// Who leads these partitions.
    async fn leaders(&self, patience: &Patience, partitions: &[&TopicPartition]) -> Vec<Verdict<NodeId>> {
        let mut names: Vec<&str> = partitions.iter().map(|partition| &*partition.topic).collect();
        names.sort_unstable();
        names.dedup();
        let of_all = match self.describe(patience, describe_topics::request(&names)).await {
            Ok(Verdict::Done(response)) => {
                let leader = |partition: &&TopicPartition| leaders::leader(&response, partition);
                return partitions.iter().map(leader).collect();
            }
            Ok(Verdict::Again(error)) => Verdict::Again(error),
            Ok(Verdict::Failed(error)) | Err(error) => Verdict::Failed(error),
        };
        vec![of_all; partitions.len()]
    }
}
