// Package pgdev runs PostgreSQL for users without a running one: it finds the server's programs, makes a private
// cluster, starts it, mends what a crash left, stops it and, on request, leaves nothing behind. `bellhop demo`,
// `bellhop serve` without a database URL and the tests use it.
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
//	DIR/start.lock    held while a process starts, restarts or stops the server
//	DIR/owners.lock   held, shared, by every process that uses the cluster
//
// # Owners
//
// Several processes may Start the same folder: the first starts the server, the others attach. Each holds a shared
// flock on owners.lock. A process that leaves (Stop) takes start.lock and asks for owners.lock exclusively. If it
// gets the lock, it is the last and stops the server; else it only detaches. The Settings of a Config count for the
// process that starts the server.
//
// Every owner has a watcher: the owner's own program, started again under another name (see watcher.go), in a
// session of its own. It reads a pipe that only the owner holds, and holds the owner's share of the lock. When the
// owner dies in any way, kill -9 included, the pipe ends, and the watcher does by the same rule what Stop would
// have done.
//
// # Access
//
// Over the unix socket, the accounts that may enter its folder connect without a password: the account of the
// server, and root. Over 127.0.0.1 the generated password is needed (SCRAM). There is no other way in.
package pgdev
