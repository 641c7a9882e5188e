-- Which model a reservation is for, and what its call has cost so far as is known: what a crash leaves is booked at that.
-- Reservations from before this version count in full.

ALTER TABLE reservations ADD COLUMN estimate INTEGER NOT NULL DEFAULT 0;
ALTER TABLE reservations ADD COLUMN provider TEXT NOT NULL DEFAULT '';
ALTER TABLE reservations ADD COLUMN model TEXT NOT NULL DEFAULT '';
UPDATE reservations SET estimate = amount;
