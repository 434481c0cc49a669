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
            output::aside(
                "\nteiji: stopping and putting everything back; once more to leave at once",
            );
            raised.stop();
        });
        if let Err(error) = installed {
            output::aside(format_args!("teiji: Ctrl-C will not clean up: {error}"));
        }
        flag
    })
    .clone()
}
