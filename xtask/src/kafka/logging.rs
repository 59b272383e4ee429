//! Logging configuration of the JVMs we start: nodes log to stdout (which is redirected to the node's log file), tools log
//! warnings to stderr. Pure text per [`Logging`] library, and the JVM flag that selects the file.

use std::path::Path;

use super::versions::Logging;

/// Who logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    /// A broker: everything from INFO on.
    Node,
    /// A command-line tool: warnings only, apart from its output.
    Tool,
}

/// The name of the configuration file.
pub(super) const fn file_name(logging: Logging) -> &'static str {
    match logging {
        Logging::Reload4j => "log4j.properties",
        Logging::Log4j2 => "log4j2.properties",
    }
}

/// The JVM flag that makes a JVM read `file`.
pub(super) fn flag(logging: Logging, file: &Path) -> String {
    match logging {
        Logging::Reload4j => format!("-Dlog4j.configuration=file:{}", file.display()),
        Logging::Log4j2 => format!("-Dlog4j2.configurationFile=file:{}", file.display()),
    }
}

/// The configuration itself.
pub(super) fn render(logging: Logging, voice: Voice) -> String {
    let (level, stream) = match voice {
        Voice::Node => ("INFO", "out"),
        Voice::Tool => ("WARN", "err"),
    };
    match logging {
        Logging::Reload4j => format!(
            "log4j.rootLogger={level}, console\n\
             log4j.appender.console=org.apache.log4j.ConsoleAppender\n\
             log4j.appender.console.target=System.{stream}\n\
             log4j.appender.console.layout=org.apache.log4j.PatternLayout\n\
             log4j.appender.console.layout.ConversionPattern=[%d] %p %m (%c)%n\n\
             log4j.logger.state.change.logger=WARN\n"
        ),
        Logging::Log4j2 => format!(
            "status=error\n\
             appender.console.type=Console\n\
             appender.console.name=console\n\
             appender.console.target=SYSTEM_{}\n\
             appender.console.layout.type=PatternLayout\n\
             appender.console.layout.pattern=[%d] %p %m (%c)%n\n\
             rootLogger.level={level}\n\
             rootLogger.appenderRef.console.ref=console\n\
             logger.state.name=state.change.logger\n\
             logger.state.level=WARN\n",
            stream.to_uppercase()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_keep_stdout_clean() {
        assert!(render(Logging::Reload4j, Voice::Tool).contains("target=System.err"));
        assert!(render(Logging::Log4j2, Voice::Tool).contains("target=SYSTEM_ERR"));
        assert!(render(Logging::Log4j2, Voice::Node).contains("target=SYSTEM_OUT"));
    }
}
