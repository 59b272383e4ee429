//! DescribeTransactions (API key 65).

use crate::admin::Admin;
use crate::error::Result;
use crate::machine::admin::describe_transactions::{DescribeTransactions, TransactionDescription};

impl Admin {
    /// Describes transactional ids, each at its coordinator; one result each, in order. An id that was never used, or not for long,
    /// is `TRANSACTIONAL_ID_NOT_FOUND` in [`crate::Error::code`].
    ///
    /// Each result's own errors: the id is not known, it may not be described (operation Describe on TransactionalId), or no answer
    /// was had in `default.api.timeout.ms`.
    ///
    /// *Cancel safety*: reads only.
    pub async fn describe_transactions(&self, ids: &[&str]) -> Vec<Result<TransactionDescription>> {
        self.at_coordinators(ids, DescribeTransactions).await
    }
}
