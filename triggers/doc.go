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

// Channel is where producers ring, and where anybody may: NOTIFY bellhop.
const Channel = "bellhop"

// Inserted is the payload when jobs came in (ring.sql). It carries no authority:
// whoever forges it has the next claim look only at what is new.
const Inserted = "inserted"

// Locks is the payload when jobs with locks came in, or what one held is free
// (locks_came.sql).
const Locks = "locks"

// CancelChannel rings when a running job was asked to stop.
const CancelChannel = "bellhop_cancel"

// AwaitedChannel is where who waits for jobs tells their ids, with commas between
// them, so that the instance that records an end rings for it (ring_over.sql).
const AwaitedChannel = "bellhop_awaited"

// FollowedChannel is where who reads a job's log as it comes tells its id: the instance that watches it on an engine
// fetches what it has written so far.
const FollowedChannel = "bellhop_followed"

// DueChannel rings when a row that waits for the clock came in: the next timer
// may have to be set earlier.
const DueChannel = "bellhop_due"
