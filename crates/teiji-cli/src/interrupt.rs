//! Ctrl-C and SIGTERM: the first asks everything to stop and clean up, the
//! second ends the program at once.

use std::sync::OnceLock;

use teiji::StopFlag;

use crate::output;

static STOP: OnceLock<StopFlag> = OnceLock::new();

/// The flag that the first Ctrl-C raises. Installs the handler on first use.
pub fn stop_flag() -> StopFlag {
    STOP.get_or_init(|| {
        let flag = StopFlag::new();
        let raised = flag.clone();
        let installed = ctrlc::set_handler(move || {
            if raised.is_stopped() {
                std::process::exit(crate::exit::Exit::Interrupted as i32);
            }
            if teiji_run::abandon_preparation() {
                output::aside("\nteiji: interrupted before anything was measured");
                std::process::exit(crate::exit::Exit::Interrupted as i32);
            }
            let back = if teiji_run::is_undo_pending() {
                " and putting back what was changed"
            } else {
                ""
            };
            output::aside(format_args!("\nteiji: stopping{back}; Ctrl-C again leaves at once"));
            raised.stop();
        });
        if let Err(error) = installed {
            output::aside(format_args!("teiji: Ctrl-C will not clean up: {error}"));
        }
        flag
    })
    .clone()
}
