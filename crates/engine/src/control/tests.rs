//! Which set answers which window, and the memory of its tasks.

use super::*;
use packet::{KeySpec, Seed};
use task::rows::PlanContext;

fn set(number: u64) -> Arc<TaskSet> {
    let site = PlanContext::new(KeySpec::FIVE_TUPLE, Seed::new(1), Limits::new(1 << 20, 1));
    Arc::new(TaskSet::plan(Generation::new(number), &[], None, &site).expect("no query is wrong"))
}

#[test]
fn a_set_answers_from_the_first_window_that_is_not_entered() {
    let control = Control::new(set(0));
    let of = |window| control.set(WindowId::new(window)).generation();
    let install = |number| control.install(set(number)).map(WindowId::number);
    // No window has begun: the new set answers everything.
    assert_eq!(install(1), Ok(0));
    assert_eq!(of(0), Generation::new(1));
    control.enter(WindowId::new(7));
    control.enter(WindowId::new(5));
    assert_eq!(install(2), Ok(8));
    assert_eq!([of(0), of(7), of(8), of(100)], [1, 1, 2, 2].map(Generation::new));
    // Replaced before any window began with it.
    assert_eq!(install(3), Ok(8));
    assert_eq!([of(7), of(8)], [1, 3].map(Generation::new));
    control.enter(WindowId::new(8));
    assert_eq!(install(4), Ok(9));
    control.forget_before(WindowId::new(8));
    assert_eq!([of(8), of(9)], [3, 4].map(Generation::new));
    let [given, last] = [4, 4].map(Generation::new);
    assert_eq!(install(4), Err(TaskInstallError::OldGeneration { given, last }));
}

/// The counters of lasting tasks go on in the sets that follow. Those of other tasks, and of a set after one without them, are new.
#[test]
fn lasting_tasks_are_counted_on() {
    let site = PlanContext::new(KeySpec::FIVE_TUPLE, Seed::new(1), Limits::new(1 << 24, 1000));
    let spec: task::TaskSpec = "entropy:structure=exact,memory=64KiB".parse().expect("a task");
    let setting = task::RunProperties {
        key: KeySpec::FIVE_TUPLE,
        is_paired: false,
        packets: None,
        workers: 1,
        scatters: false,
        shares: false,
        seed: Seed::new(1),
    };
    let tasks = task::Tasks::plan(std::slice::from_ref(&spec), &setting).expect("it can be counted");
    let set = |number, tasks: Option<&task::Tasks>| {
        let planned = TaskSet::plan(Generation::new(number), &[], tasks.cloned(), &site);
        Arc::new(planned.expect("nothing is refused"))
    };
    let lasting = tasks.clone().lasting();
    let control = Control::new(set(0, Some(&lasting)));
    control.attach(1, &Limits::new(1 << 24, 1000)).expect("memory");
    let firsts = || {
        let schedule = control.schedule();
        let run = schedule.run.as_ref().expect("a run");
        run.countings.iter().map(|counting| counting.first.number()).collect::<Vec<_>>()
    };
    control.enter(WindowId::new(1));
    let worker = WorkerId::new(0);
    let half = control.exchange(worker, WindowId::new(1), None);
    assert!(half.is_some());
    // Two at once, and one of them is void as the second one begins in the same window.
    let both = vec![(WindowId::new(0), set(1, Some(&lasting))), (WindowId::new(1), set(2, Some(&lasting)))];
    control.install_all(both).expect("it is installed");
    assert_eq!(firsts(), [0]);
    let half = control.exchange(worker, WindowId::new(2), half);
    assert!(half.is_some(), "the worker goes on in what it has");
    control.install(set(3, Some(&tasks))).expect("it is installed");
    assert_eq!(firsts(), [0, 2]);
    control.enter(WindowId::new(2));
    let both = vec![(WindowId::new(0), set(4, Some(&lasting))), (WindowId::new(1), set(5, Some(&lasting)))];
    control.install_all(both).expect("it is installed");
    assert_eq!(firsts(), [0, 2, 3]);
    control.enter(WindowId::new(3));
    control.install(set(6, None)).expect("it is installed");
    assert_eq!(firsts(), [0, 2, 3, 4]);
    assert!(control.exchange(worker, WindowId::new(4), half).is_none(), "nothing is counted from there on");
}

/// What the run was admitted with is taken once more only while two sets are counted.
#[test]
fn the_memory_of_lasting_tasks_is_leased_once() {
    use task::query::{GroupField, OutputColumn, Query};
    let setting = task::RunProperties {
        key: KeySpec::FIVE_TUPLE,
        is_paired: false,
        packets: None,
        workers: 1,
        scatters: false,
        shares: false,
        seed: Seed::new(1),
    };
    let limits = Limits::new(64 << 20, 1000);
    let site = PlanContext {
        counting: task::rows::CountingOffer::Offered { run: setting, is_sampled: false },
        ..PlanContext::new(KeySpec::FIVE_TUPLE, Seed::new(1), limits.clone())
    };
    let spec: task::TaskSpec = "entropy:structure=exact,memory=1MiB".parse().expect("a task");
    let lasting = task::Tasks::plan(&[spec], &setting).expect("it can be counted").lasting();
    // The admission of the run.
    let admitted = limits.lease(lasting.bytes(1)).expect("memory");
    let set = |number: u64, memory: usize| {
        let counting = task::sketched::Counting {
            structure: Some(task::Structure::SpaceSaving),
            size: task::Size::Memory(memory),
            ..Default::default()
        };
        let query = Query::new("q", [GroupField::from_field("dst_addr")], [OutputColumn::sum("total_count")]);
        let query = Query { counting: Some(counting), ..query };
        let planned = TaskSet::plan(Generation::new(number), &[query], Some(lasting.clone()), &site);
        Arc::new(planned.expect("nothing is refused"))
    };
    let first = set(0, 1 << 20);
    let own = first.packets().expect("tasks").added_bytes(1);
    let control = Control::new(first);
    control.attach(1, &limits).expect("memory");
    assert_eq!(limits.bytes_used(), admitted.bytes() + own);
    let mut desk = task::TaskRunner::new(task::Tasks::none(Generation::default()), 1);
    for number in 1..20 {
        // Each set has a query of another size, so that none goes on in the counters of another.
        let size = (1 << 20) + (number as usize * 4096);
        let next = set(number, size);
        let own = next.packets().expect("tasks").added_bytes(1);
        let window = WindowId::new(number);
        control.enter(WindowId::new(number - 1));
        control.install(next).expect("it is installed");
        control.enter(window);
        for (first, half) in control.take_hub_halves(window) {
            desk.install(first, half.tasks, half.memory);
        }
        assert!(limits.bytes_used() > 2 * admitted.bytes(), "both are counted");
        control.retire_before(window);
        desk.end_worker(task::WorkerId::new(0));
        desk.report(window, Some(0));
        assert_eq!(limits.bytes_used(), admitted.bytes() + own, "set {number}");
    }
}

#[test]
fn sets_are_installed_ahead() {
    let control = Control::new(set(0));
    let of = |window| control.set(WindowId::new(window)).generation();
    let install_at =
        |window, number| control.install_at(WindowId::new(window), set(number)).map(WindowId::number);
    control.enter(WindowId::new(3));
    assert_eq!(install_at(6, 1), Ok(6));
    assert_eq!(install_at(8, 2), Ok(8));
    assert_eq!([of(4), of(5), of(6), of(7), of(8)], [0, 0, 1, 1, 2].map(Generation::new));
    // What was to follow is dropped.
    assert_eq!(install_at(7, 3), Ok(7));
    assert_eq!([of(6), of(7), of(8)], [1, 3, 3].map(Generation::new));
    // Several at once: of those that begin too late, the last.
    let several = [(0, 5), (3, 6), (9, 7)].map(|(window, number)| (WindowId::new(window), set(number)));
    let install_all = |several| control.install_all(several).map(WindowId::number);
    assert_eq!(install_all(several.to_vec()), Ok(4));
    assert_eq!([of(4), of(8), of(9)], [6, 6, 7].map(Generation::new));
    let [given, last] = [8, 9].map(Generation::new);
    let unordered = [(5, 9), (6, 8)].map(|(window, number)| (WindowId::new(window), set(number)));
    assert_eq!(install_all(unordered.to_vec()), Err(TaskInstallError::OldGeneration { given, last }));
    // A window that was entered keeps its set.
    control.enter(WindowId::new(9));
    assert_eq!(install_at(2, 8), Ok(10));
    assert_eq!([of(9), of(10)], [7, 8].map(Generation::new));
}
