// Package actors is the supervision tree. An actor owns a piece of state and
// the time that passes over it: one goroutine at a time touches it, nothing in
// Receive blocks, and what takes long comes back as a message.
//
//	supervisor
//	├─ bell         hears the ring, finds out when it is deaf, keeps the safety scan
//	├─ attachments  jobs of rows of users' tables
//	├─ sensors      starts workflows when their time comes
//	├─ courier      sends notifications of runs
//	├─ watches      looks for files, records of Kafka and channels of NOTIFY
//	├─ keeper       deletes what was over long ago
//	├─ gate         spares producers the ringing
//	├─ locks        answers what running jobs ask of locks
//	├─ maintenance  what the clock asks for, beside the hot path
//	├─ membership   heartbeat, lease, and the other instances' deaths
//	├─ dispatcher   demand (credits of hosts) → claim → deal
//	├─ ledger       the only writer of outcomes
//	├─ msqs ─ msq/<job>
//	└─ hosts ─ host/<name> ─ child/<type>.<n>
//
// Decisions are made by package scheduler, effects are carried out through the
// interfaces of package port. A panic is our bug: the actor stops, its parent
// starts another after a pause, and that one finds its state again. What must
// outlive an actor (what is owed to the database, the processes) is not kept
// in one: see package lasting; parts.go says which actor is handed what.
//
// Each folder is an owner: dispatch, host (hosts and children), engine, msq,
// ledger, member, wake (bell and gate), upkeep (the rest). These do not import
// each other. They stand on message, port, tree and lasting; this package starts
// them. The types of protoactor do not leave these folders.
package actors
