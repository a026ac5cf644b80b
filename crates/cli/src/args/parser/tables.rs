//! clap's parser of one command, from its table.

use crate::args::option::Opt;
use crate::args::table::Command;
use clap::builder::ValueParser;
use clap::{Arg, ArgAction};

/// The parser.
pub(in crate::args) fn clap_command(command: &'static Command) -> clap::Command {
    let mut parser = clap::Command::new(command.name)
        .about(command.about)
        .no_binary_name(true)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args_override_self(true);
    for option in command.all_options() {
        parser = parser.arg(clap_arg(option));
    }
    parser.arg(Arg::new("operands").num_args(0..).value_parser(ValueParser::os_string()))
}

fn clap_arg(option: &'static Opt) -> Arg {
    let mut arg = Arg::new(option.long).long(option.long).help(option.help);
    if let Some(letter) = option.short {
        arg = arg.short(letter);
    }
    if !option.takes_value() {
        return arg.action(ArgAction::SetTrue);
    }
    // Like popt, takes the next argument as the value even if it starts with a dash.
    arg.action(ArgAction::Append)
        .allow_hyphen_values(true)
        .value_name(option.value)
        .value_parser(ValueParser::os_string())
}
