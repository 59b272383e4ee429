//! ListTransactions (API key 66): every broker is asked, because each knows only of the ids that it coordinates.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use sealwax_protocol::ids::{NodeId, ProducerId};
use sealwax_protocol::messages::ListTransactionsRequest;
use sealwax_protocol::request::RequestBody;

use crate::admin::Admin;
use crate::error::{ErrorKind, Result};
use crate::machine::Destination;
use crate::machine::admin::items::out_of_time;
use crate::machine::admin::list_transactions::{self, Filter, TransactionListing};
use crate::machine::admin::transaction_state::TransactionState;
use crate::machine::admin::{Verdict, routed};

/// Which transactional ids are wanted. Conditions of different kinds must all hold; without any, all ids are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TransactionFilter {
    /// Only ids in one of these states. Empty: in any.
    pub states: Vec<TransactionState>,
    /// Only ids of one of these producer ids. Empty: of any.
    pub producer_ids: Vec<ProducerId>,
    /// Only ids whose transaction is open for longer than this. Needs brokers of Kafka 3.8 or later (KIP-994).
    pub older_than: Option<Duration>,
    /// Only ids that match this regular expression as a whole (RE2 syntax). Needs brokers of Kafka 4.1 or later (KIP-1152).
    pub id_pattern: Option<String>,
}

impl TransactionFilter {
    fn borrowed(&self) -> Filter<'_> {
        Filter {
            states: &self.states,
            producer_ids: &self.producer_ids,
            older_than: self.older_than,
            id_pattern: self.id_pattern.as_deref(),
        }
    }
}

impl Admin {
    /// Lists transactional ids by the broker that coordinates them, sorted. A broker that gave no answer has its error here: the ids
    /// that it coordinates are not known then. Ids that the principal may not describe (operation Describe on TransactionalId) are
    /// left out by the brokers without a word.
    ///
    /// # Errors
    /// If the filter holds [`TransactionState::Unknown`], or the brokers are not known within `default.api.timeout.ms`. A broker
    /// that cannot take a condition of the filter says so by [`ErrorKind::UnsupportedVersion`].
    ///
    /// *Cancel safety*: reads only.
    pub async fn list_transactions(
        &self,
        filter: &TransactionFilter,
    ) -> Result<BTreeMap<NodeId, Result<Vec<TransactionListing>>>> {
        let filter = filter.borrowed();
        let request = list_transactions::request(filter)?;
        let brokers = self.describe_cluster().await?.nodes;
        let asked = brokers.iter().map(|broker| {
            let request = request.clone();
            async move { (broker.id, self.list_at(broker.id, filter, request).await) }
        });
        Ok(join_all(asked).await.into_iter().collect())
    }

    async fn list_at(
        &self,
        broker: NodeId,
        filter: Filter<'_>,
        request: ListTransactionsRequest,
    ) -> Result<Vec<TransactionListing>> {
        let mut patience = self.patience();
        let body = RequestBody::from(request);
        let versions = list_transactions::versions(filter, body.versions());
        loop {
            let answer = self
                .attempt_in(&patience, Destination::Node(broker), versions, body.clone())
                .await;
            let verdict = match answer {
                Ok(body) => list_transactions::read(broker, body)?,
                Err(failure) if failure.error().kind() == ErrorKind::UnsupportedVersion => {
                    Verdict::Failed(list_transactions::too_old(broker, filter, failure.error()))
                }
                Err(failure) => routed::unanswered(failure.error()),
            };
            let reason = match verdict {
                Verdict::Done(listed) => return Ok(listed),
                Verdict::Again(reason) => reason,
                Verdict::Failed(error) => return Err(error),
            };
            if !self.pause(&mut patience).await {
                let doing = format!("listing the transactions of broker {broker} (ListTransactions)");
                return Err(out_of_time(&doing, Some(&reason)));
            }
        }
    }
}
