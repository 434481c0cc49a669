//! `teiji flow protect`: rules that protect packets of programs that do not opt in.

use teiji_core::domain::Level;
use teiji_net::flow_rules::{self, FlowRule, PortRange, RuleOf};

use crate::exit::{Exit, mistake};
use crate::output;

/// Where the control groups are mounted; their paths begin behind it.
const MOUNTED: &str = "/sys/fs/cgroup";

#[derive(clap::Args)]
pub struct Args {
    /// Sockets with a local port in this range, or connected to one: a port, or FIRST-LAST.
    #[arg(long, value_name = "PORTS", value_parser = str::parse::<PortRange>)]
    ports: Option<PortRange>,
    /// Sockets of this control group (version 2) and those below, for example
    /// /system.slice/talker.service.
    #[arg(long, value_name = "PATH", value_parser = cgroup, conflicts_with = "ports")]
    cgroup: Option<String>,
    /// Highest protected level.
    #[arg(long, value_name = "LEVEL")]
    level: Option<Level>,
    /// Remove the rule.
    #[arg(long, conflicts_with = "level")]
    remove: bool,
}

/// A path that a sysctl can hold, from the root of the control groups on.
fn cgroup(text: &str) -> Result<String, String> {
    let path = text.strip_prefix(MOUNTED).unwrap_or(text);
    let odd = |c: char| c.is_whitespace() || c == ',' || c.is_control();
    if !path.starts_with('/') || path.contains(odd) {
        return Err(
            "write its path from / on, without blanks and commas, as /proc/PID/cgroup has \
                    it behind 0::"
                .to_owned(),
        );
    }
    Ok(path.to_owned())
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let of = match (args.ports, &args.cgroup) {
        (Some(ports), _) => RuleOf::Ports(ports),
        (None, Some(path)) => RuleOf::Cgroup(path.clone()),
        (None, None) if args.remove || args.level.is_some() => {
            mistake!("give the sockets of the rule: --ports or --cgroup")
        }
        (None, None) => return list(),
    };
    let setting = match (args.remove, args.level) {
        (true, _) => flow_rules::remove(&of)?,
        (false, Some(level)) => flow_rules::add(&FlowRule { of, level })?,
        (false, None) => mistake!("give the highest protected level, for example --level 3"),
    };
    list()?;
    output::line(format_args!("to keep it, in /etc/sysctl.d: {setting}"))?;
    Ok(Exit::Success)
}

fn list() -> anyhow::Result<Exit> {
    let rules = flow_rules::rules()?;
    if rules.is_empty() {
        output::line("no rules: only packets of sockets that opt in are protected")?;
    }
    for FlowRule { of, level } in rules {
        output::line(format_args!("{of}: protected up to level {level}"))?;
    }
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_group_is_named_by_its_path_or_its_folder() {
        assert_eq!(cgroup("/sys/fs/cgroup/line").unwrap(), "/line");
        assert_eq!(cgroup("/system.slice/a.service").unwrap(), "/system.slice/a.service");
        for wrong in ["line", "", "/a b", "/a,b"] {
            assert!(cgroup(wrong).is_err(), "{wrong}");
        }
    }
}
