//! `FileStreamSource`: the lines of a growing file, one record each (Java's `FileStreamSourceConnector`).
//!
//! Source partition `{"filename":f}`, source offset `{"position":n}`: the byte behind the line and its line end. Java
//! counts characters there, which is the same for ASCII; ours also resumes right after an umlaut.

mod config;
mod identity;
mod lines;
mod source;
#[cfg(test)]
mod tests;

use async_trait::async_trait;

use crate::api::{
    BoundarySupport, ConfigDef, ConfigError, ConnectError, ExactlyOnceSupport, Settings, SourceConnector,
    SourceTask,
};

use config::FileConfig;
use source::FileStreamSourceTask;

/// The file source connector. It has one task, however large `tasks.max` is.
#[derive(Debug, Default)]
pub struct FileStreamSourceConnector {
    settings: Settings,
}

#[async_trait]
impl SourceConnector for FileStreamSourceConnector {
    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    fn config_def(&self) -> ConfigDef {
        config::definition()
    }

    fn validate(&self, settings: &Settings) -> Vec<ConfigError> {
        FileConfig::from_settings(settings).err().unwrap_or_default()
    }

    async fn start(&mut self, settings: &Settings) -> Result<(), ConnectError> {
        self.settings = settings.clone();
        Ok(())
    }

    fn task(&self) -> Box<dyn SourceTask> {
        Box::new(FileStreamSourceTask::default())
    }

    fn task_configs(&self, max: usize) -> Result<Vec<Settings>, ConnectError> {
        Ok(std::iter::repeat_n(self.settings.clone(), max.min(1)).collect())
    }

    /// Only a file can be read again from a position; standard input cannot.
    fn exactly_once_support(&self, settings: &Settings) -> ExactlyOnceSupport {
        match settings.value(config::FILE) {
            Some(file) if !file.trim().is_empty() => ExactlyOnceSupport::Supported,
            _ => ExactlyOnceSupport::Unsupported,
        }
    }

    /// Java's file source cannot; ours ends a transaction after `transaction.lines` lines.
    fn can_define_transaction_boundaries(&self, settings: &Settings) -> BoundarySupport {
        let _ = settings;
        BoundarySupport::Supported
    }
}
