//! `edison controller provision`: sets the broker up, with least rights for each user.

mod apply;
mod management;
mod plan;
mod script;

use crate::commands::Command;
use crate::commands::controller::ProvisionOptions;
use crate::config_file;
use crate::deployment::file_name;
use management::Management;
use plan::{Login, Plan};
use runtime::exit::{self, Failure};
use std::process::ExitCode;

/// Sets the broker up, or prints how.
pub(crate) fn run(options: &ProvisionOptions) -> Result<ExitCode, Failure> {
    let config = options.config.clone().into_os_string();
    let (command, _) =
        config_file::command_of(&["edison".into(), "controller".into(), "--config".into(), config])?;
    let Command::Controller(controller) = command else {
        return Err(Failure::fault("the settings of the controller are not read"));
    };
    let of_file = |failure: Failure| failure.in_file(Some(&options.config));
    let plan = Plan::of(controller.settings).map_err(of_file)?;
    let login = match &options.passwords {
        Some(folder) => Login::Passwords(folder),
        None => Login::Certificates,
    };
    if let Login::Passwords(_) = login {
        let mut names = plan.users.iter().map(|user| &user.name);
        names.try_for_each(|name| file_name::check_name(name)).map_err(Failure::usage)?;
    }
    match &options.management {
        None => exit::print(&script::script(&plan, login)?),
        Some(url) => {
            let management = Management::new(url, &plan, options.password_file.as_deref())?;
            apply::apply(&plan, login, &management)
        }
    }
}
