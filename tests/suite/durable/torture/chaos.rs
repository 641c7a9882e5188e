//! Messages over three messengers while the program is killed and connections break, at random points that follow from a seed.

use std::time::{Duration, Instant};

use aethon_tests::{Random, home};

use super::messengers::{Messengers, PEOPLE};
use super::people::{self, Outcome, Talk};
use super::{TortureRun, check, number, start, tell};

/// How much of it.
struct RunSize {
    messages: usize,
    /// How many messages come between two kills.
    apart: (u64, u64),
    /// One request of so many is cut.
    one_in: u64,
    /// How many people write on each messenger.
    people: usize,
    seed: u64,
}

fn chaos(plan: &RunSize) {
    let (messengers, home) = (Messengers::start(), home());
    let server = start(&home, &messengers, &[]);
    messengers.await_all();
    for (number, messenger) in (1..).zip(messengers.all()) {
        messenger.faults().begin(plan.seed + number, plan.one_in);
    }
    let stage = TortureRun::new(&server);
    let begun = Instant::now();
    let (talks, server, kills) = std::thread::scope(|scope| {
        let (stage, messengers) = (&stage, &messengers);
        let goes_on = move || stage.asked() < plan.messages;
        let mut writers = Vec::new();
        for messenger in 0..messengers.all().len() {
            for person in 0..plan.people.min(PEOPLE) {
                let random = Random::new(plan.seed + 100 * messenger as u64 + person as u64);
                let who = (messengers, messenger, person);
                writers.push(scope.spawn(move || people::person(stage, who, random, goes_on)));
            }
        }
        let (mut random, mut server, mut kills) = (Random::new(plan.seed), server, 0);
        let next = |random: &mut Random| stage.asked() + random.between(plan.apart.0, plan.apart.1) as usize;
        let mut at = next(&mut random);
        while !writers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            if stage.asked() < at {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            }
            std::thread::sleep(Duration::from_millis(random.between(0, 400)));
            server = start(&server.kill(), messengers, &[]);
            stage.moves(&server);
            kills += 1;
            at = next(&mut random);
        }
        let talks: Vec<Talk> =
            writers.into_iter().map(|writer| writer.join().expect("somebody ends")).collect();
        (talks, server, kills)
    });
    let cut: Vec<usize> = messengers.all().map(|messenger| messenger.faults().count()).to_vec();
    for messenger in messengers.all() {
        messenger.faults().end();
    }
    let asking = begun.elapsed();
    let outcome = people::check(&server, &messengers, &talks);
    let Outcome { asked, doubled, abandoned, failed, given_up } = outcome;
    assert!(doubled + abandoned <= kills + cut[0], "{doubled} and {abandoned} have no reason");
    check::money(&server);
    tell(&format!(
        "seed {}: {asked} messages over three messengers in {asking:.0?}, all of it in {:.0?}; {kills} kills, {cut:?} cut \
         connections; 0 lost, 0 out of order, Matrix and Discord 0 doubled, Telegram {doubled} doubled and {abandoned} begun \
         twice; reported and not answered: {failed} listed as failed, {given_up} cut off too often",
        plan.seed,
        begun.elapsed(),
    ));
}

#[test]
fn three_messengers_are_answered_once_through_kills_and_cuts() {
    chaos(&RunSize { messages: 24, apart: (6, 12), one_in: 15, people: 1, seed: 5 });
}

/// `cargo xtask chaos` runs this.
#[test]
#[ignore = "a chore that runs for minutes: cargo xtask chaos"]
fn many_messages_of_three_messengers_through_kills_and_cuts() {
    let messages = number("AETHON_CHAOS_MESSAGES", 500) as usize;
    let seed = number("AETHON_CHAOS_SEED", 1);
    chaos(&RunSize { messages, apart: (10, 40), one_in: 20, people: PEOPLE, seed });
}
