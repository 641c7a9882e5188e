//! The rules of `tidy`, one file per subject, and their list.

mod exceptions;
mod import_cycles;
mod includes;
mod layers;
mod licences;
mod lock;
mod manifests;
mod names;
mod openings;
mod own_reads;
mod own_writes;
mod ownership;
mod purity;
mod script_cycles;
mod shapes;
mod sizes;
mod sql;
mod words;

use super::finding::Finding;
use super::tree::Tree;

/// A rule: returns its findings in a tree.
pub(crate) type Rule = fn(&Tree) -> Vec<Finding>;

/// All rules, the six invariants first.
pub(crate) const RULES: &[Rule] = &[
    layers::leaves_see_only_the_core,
    purity::core_does_no_io,
    purity::core_depends_on_nothing_that_does_io,
    layers::only_the_facade_sees_the_configuration,
    ownership::names_stay_in_their_home,
    ownership::dependencies_stay_in_their_home,
    own_reads::files_are_opened_by_one_crate,
    own_writes::shared_files_are_changed_under_a_lock,
    sql::statements_stay_in_the_store,
    includes::nothing_from_outside_the_package,
    includes::targets_stay_in_the_package,
    import_cycles::files_import_without_cycles,
    script_cycles::scripts_import_without_cycles,
    sizes::files_are_short,
    shapes::traits_and_structs_are_small,
    openings::every_file_says_what_it_is,
    openings::maps_hold_no_logic,
    openings::public_inline_modules_are_documented,
    words::forbidden_text,
    names::names_say_something,
    exceptions::lint_exceptions_have_a_reason,
    manifests::packages_follow_the_workspace,
    lock::few_packages,
    lock::every_dependency_has_its_line,
    licences::every_licence_is_allowed,
];
