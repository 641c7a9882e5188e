//! What happens to a message for which there is no room.

use super::super::intake::CROWDED;
use super::*;

#[tokio::test(start_paused = true)]
async fn guest_over_the_limit_is_refused_and_the_owner_is_retried() {
    let stage = Stage::new(Rules { owners: Some(vec!["2".into()]), ..known() });
    let intake = stage.intake();
    stage.assistant.crowd(2);
    for _ in 0..2 {
        // Were it an error, the messages behind it would wait until it succeeds.
        intake.arrive(stage.arrival("7:1", "hi")).await.unwrap();
    }
    assert_eq!(stage.said(), [CROWDED], "told once");
    assert!(stage.submitted().is_empty());
    let stage = Stage::new(known());
    let intake = stage.intake();
    stage.assistant.crowd(1);
    intake.arrive(stage.arrival("7:2", "hi")).await.unwrap();
    assert_eq!(stage.submitted().len(), 1, "the owner's is tried again");
}
