//! The list of behaviours, and the macro that makes a test of each.

/// Defines the list: one function per behaviour, and the macro for other crates. `$dollar` is a dollar sign, which a
/// macro that defines a macro cannot write otherwise.
macro_rules! list {
    ($dollar:tt $($module:ident { $($name:ident,)+ })+) => {
        /// The behaviours, one function each.
        pub mod behaviours {
            $(pub use crate::testkit::conformance::$module::{$($name),+};)+
        }

        /// Makes one test for each behaviour of a storage. It takes the path of a function that opens an empty storage
        /// with the time of a [`ManualClock`]($dollar crate::testkit::ManualClock):
        /// `async fn open(clock: Arc<ManualClock>) -> Stage`.
        #[macro_export]
        macro_rules! storage_conformance {
            ($dollar open:path) => {
                $($(
                    #[tokio::test]
                    async fn $name() {
                        let stage = $dollar open($dollar crate::testkit::conformance::Stage::clock()).await;
                        $dollar crate::testkit::conformance::behaviours::$name(stage).await;
                    }
                )+)+
            };
        }
    };
}

list! { $
    turns {
        what_was_stored_comes_back_whole,
        a_turn_that_waits_begins_later,
        a_turn_that_begins_again_after_a_crash_says_nothing_twice,
        the_same_dedupe_id_is_one_turn,
        a_dedupe_id_counts_for_as_long_as_it_says,
        a_reply_is_kept_for_second_deliveries_even_when_no_message_has_its_text,
        a_turn_ends_once,
        a_retry_takes_its_turn_and_all_later_ones_out_of_the_live_branch,
        only_a_turn_of_the_live_branch_of_the_same_session_can_be_replaced,
        the_window_has_the_newest_messages,
        the_window_begins_behind_what_was_folded,
        the_window_has_what_was_put_in_beside_the_turn_that_folded,
        what_a_crash_left_over_is_found_oldest_first,
        the_next_turn_begins_with_the_end_of_the_one_before_it,
        a_next_turn_that_cannot_begin_does_not_touch_the_end_before_it,
        what_ended_before_it_began_takes_its_place_behind_older_turns,
        what_ended_before_it_began_takes_its_place_behind_a_younger_running_turn,
        what_ended_before_it_began_can_be_answered_again,
        a_turn_that_does_not_exist_is_not_found,
    }
    owners {
        two_programs_never_write_in_one_session_at_once,
        roles_have_one_holder_at_a_time,
        two_programs_never_wait_for_each_other,
        a_caller_that_turns_to_something_else_holds_up_nobody,
        a_turn_behind_another_programs_begins_when_that_has_ended,
        what_another_program_wrote_is_seen_when_a_turn_begins,
        a_turn_of_a_program_that_is_gone_is_taken_over_by_one_other,
        a_program_that_lives_keeps_its_turns,
        a_program_that_leaves_in_order_frees_its_turns_at_once,
        a_turn_that_was_taken_over_takes_nothing_from_its_first_owner,
        a_turn_that_another_program_works_on_is_not_begun_here,
        what_another_program_has_ended_is_told_once_and_in_order,
        what_a_program_took_over_is_its_own_end,
    }
    conversations {
        a_whole_conversation_is_made_at_once_or_not_at_all,
        a_session_says_who_when_and_how_much,
        a_title_comes_from_the_first_message_until_a_person_gives_one,
        what_the_assistant_said_is_unread_until_a_person_has_seen_it,
        a_session_is_renamed_and_removed_only_as_expected,
        a_turn_begins_with_what_its_session_sets,
        messages_are_paged_backwards,
        a_page_of_large_messages_has_fewer_of_them,
        pending_turns_are_those_of_the_session,
        sessions_are_paged_by_last_use_and_stay_stable_when_one_moves,
        sessions_are_sorted_by_any_field_in_stable_pages,
        sessions_are_found_by_title_id_and_words,
        a_post_is_one_message_however_often_it_comes,
        the_end_of_a_turn_tells_what_came_between_its_messages,
        a_reset_session_keeps_its_name_and_loses_its_messages,
        a_message_of_a_removed_session_is_not_run_again,
    }
    keeping {
        a_session_in_the_bin_is_gone_and_comes_back_whole,
        a_new_session_has_the_name_of_one_in_the_bin_to_itself,
        the_bin_is_paged_and_emptied,
        what_lies_in_the_bin_has_its_time,
        a_made_title_takes_the_place_of_first_words_only,
    }
    deliveries {
        a_delivery_is_there_when_its_turn_has_ended,
        a_delivery_of_a_running_turn_is_there_at_once,
        a_delivery_that_is_made_again_is_stored_once_in_its_turn,
        a_delivery_brings_its_files,
        a_delivery_is_tried_until_it_arrives_or_is_given_up,
        a_turn_that_could_not_end_delivers_nothing,
        a_delivery_outlives_its_session,
        what_a_session_has_delivered_takes_its_texts_with_it,
        what_was_given_up_is_listed_and_can_be_tried_again,
    }
    histories {
        random_histories_end_as_those_in_memory,
    }
    measurements {
        what_was_measured_is_listed_newest_first_and_added_up,
    }
    records {
        a_value_of_a_channel_is_kept_until_its_time_is_over,
        a_value_of_a_channel_is_taken_once_and_listed_by_its_name,
        deliveries_to_the_same_recipient_keep_their_order,
        deliveries_of_a_channel_that_recovers_are_due_at_once_and_in_order,
    }
    lookups {
        a_passage_of_the_session_is_found_again,
        a_message_is_found_in_all_conversations_newest_first,
        messages_after_one_are_read_on,
        a_version_comes_back_with_what_followed_it,
        what_was_put_aside_is_read_branch_by_branch,
        what_was_learnt_last_about_a_model_counts,
    }
    ledger {
        what_is_reserved_counts_until_it_is_settled,
        a_claim_gets_what_is_left_and_nothing_below_its_least,
        a_reservation_grows_until_the_day_is_spent,
        callers_side_by_side_never_pass_the_ceiling,
        a_refusal_is_told_until_somebody_gets_money_again,
        a_call_belongs_to_the_day_of_its_reservation,
        a_reservation_that_is_gone_grows_no_more_and_loses_no_entry,
        a_report_adds_up_by_day_model_and_kind,
        what_is_no_amount_is_neither_reserved_nor_booked,
    }
    memories {
        a_memory_is_kept_and_found_by_its_words,
        what_says_the_same_is_kept_once,
        a_correction_takes_the_place_and_leaves_history,
        a_memory_is_corrected_and_forgotten_only_as_expected,
        a_memory_that_is_forgotten_is_gone,
        memories_are_listed_newest_first_in_pages,
        memories_are_sorted_by_any_field_in_stable_pages,
        memories_of_somebody_else_are_not_seen,
        who_sees_several_finds_the_memories_of_each,
        only_a_search_for_a_model_counts_as_recall,
        vectors_of_memories_are_made_later,
    }
    vectors {
        a_vector_is_found_again_by_its_model_and_key,
        many_vectors_are_kept_at_once,
    }
    jobs {
        a_job_is_kept_whole_and_its_name_counts_once,
        a_run_that_is_due_has_one_owner,
        a_job_is_moved_only_from_where_it_was_seen,
        what_a_scheduler_has_seen_is_noted,
        a_job_has_one_open_run,
        a_run_of_a_sop_is_kept_and_found_by_its_turn,
    }
    work {
        what_agents_have_done_is_kept_newest_first,
        work_is_kept_whole_and_a_wish_beside_it,
    }
    upkeep {
        upkeep_removes_what_has_had_its_time_and_nothing_else,
        upkeep_brings_back_what_was_used_while_the_clock_was_ahead,
    }
}
