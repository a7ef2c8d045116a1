// Package triggers owns the bell: the trigger functions that ring when work is
// committed, the names of the channels, and the listener that hears them. A
// notification is a hint; nothing here decides anything.
package triggers

import "embed"

// Scripts are the trigger functions and triggers, re-created at every
// migration: they carry no data, so the newest text is simply put in place.
//
//go:embed *.sql
var Scripts embed.FS

// Channel is where producers ring, and any session may: NOTIFY bellhop.
const Channel = "bellhop"

// Inserted is the payload when jobs came in (ring.sql). It carries no authority: a forged one has the next claim
// look only at new rows.
const Inserted = "inserted"

// Locks is the payload when jobs with locks came in, or what one held is free
// (locks_came.sql).
const Locks = "locks"

// CancelChannel rings when a running job was asked to stop.
const CancelChannel = "bellhop_cancel"

// AwaitedChannel is where sessions that wait for jobs tell the ids, separated by commas, so that the instance that
// records an end rings for it (ring_over.sql).
const AwaitedChannel = "bellhop_awaited"

// FollowedChannel is where a follower of a job's log tells the job's id: the instance that watches the job on an
// engine then fetches what it has written so far.
const FollowedChannel = "bellhop_followed"

// DueChannel rings when a row that waits for the clock came in: the next timer
// may have to be set earlier.
const DueChannel = "bellhop_due"
