//! `edison controller provision`: sets the broker up, with least rights for each user.

mod apply;
mod management;
mod plan;
mod script;

use crate::file_name;
use crate::options::{ControllerSettings, ProvisionOptions};
use management::Management;
use plan::{Login, ProvisionPlan};
use runtime::exit::{self, Failure};
use std::process::ExitCode;

/// Sets the broker up as the settings of a controller say, or prints how.
pub(crate) fn run(options: &ProvisionOptions, settings: ControllerSettings) -> Result<ExitCode, Failure> {
    let plan = ProvisionPlan::from_settings(settings)?;
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
