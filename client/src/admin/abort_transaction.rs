//! AbortTransaction: WriteTxnMarkers (API key 27).

use crate::admin::Admin;
use crate::error::Result;
use crate::machine::admin::abort_transaction::{AbortTransaction, AbortTransactionSpec};

impl Admin {
    /// Aborts a hanging transaction: writes the marker that no coordinator would write any more to the one partition, so that readers
    /// with read_committed go on there. Only for transactions that no coordinator knows: for one that a coordinator knows to be open,
    /// this would abort a part of it; end that one with [`Admin::fence_producers`].
    ///
    /// # Errors
    /// The partition is not known; the permission is lacking (operation Alter on Cluster, before KIP-1037 ClusterAction); the partition
    /// knows a newer epoch of the producer or coordinator; no answer was had in `default.api.timeout.ms`. If the marker may have
    /// been written, the error is [`crate::ErrorKind::OutcomeUnknown`], and nothing is repeated.
    ///
    /// *Cancel safety*: the marker may be written all the same.
    pub async fn abort_transaction(&self, transaction: &AbortTransactionSpec) -> Result<()> {
        let partition = std::slice::from_ref(&transaction.partition);
        let results = self.at_leaders(partition, AbortTransaction(transaction)).await;
        results.into_iter().collect()
    }
}
