// Package pgdev runs PostgreSQL for people who have none running: it finds the
// server's programs, makes a private cluster, starts it, mends what a crash
// left, stops it and, where that is asked for, leaves nothing behind.
// `bellhop demo`, `bellhop serve` without a database URL and the tests use it.
//
// It knows nothing of bellhop's schema, never touches a cluster it did not make
// and never uses port 5432 of its own accord.
//
// # A cluster's folder
//
//	DIR/data          the cluster; belongs to the account that runs the server
//	DIR/data.new      initdb at work; becomes data by a rename, so a half-finished one is never used
//	DIR/socket        the unix socket's folder, mode 0700 (or /tmp/bellhop-…, when the path is too long for it)
//	DIR/programs      PostgreSQL's programs, where `bellhop` had to download them
//	DIR/log           what the server says; log.1 is the one before it grew past 16 MiB
//	DIR/cluster.json  port and password, mode 0600
//	DIR/start.lock    held while somebody starts, restarts or stops the server
//	DIR/owners.lock   held, shared, by every process that uses the cluster
//
// # Owners
//
// Several processes may Start the same folder: the first starts the server, the
// others attach. Each holds a shared flock on owners.lock. The one who leaves
// (Stop) takes start.lock and asks for owners.lock exclusively: who gets it is
// the last and stops the server; who does not only detaches. Settings of a
// Config count for the one who starts the server.
//
// Every owner has a watcher: the owner's own program, started again under
// another name (see watcher.go), in a session of its own, reading a pipe that
// only the owner holds, with the owner's share of the lock in its hand. When the owner dies in any way, kill -9
// included, the
// pipe ends and the watcher does by the same rule what Stop would have done.
//
// # Who may connect
//
// Over the unix socket whoever may enter its folder, which is the account of
// the server and root, without a password. Over 127.0.0.1 whoever knows the
// generated password (SCRAM). Nothing else.
package pgdev
