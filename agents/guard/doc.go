// Package guard is the process that stands between the scheduler and all its
// agents on one machine. It owns their whole process trees: it starts an agent,
// and when the scheduler asks, is gone, or has not renewed the lease, it kills
// every descendant, reaps and reports. It never touches what an agent says:
// the agent holds the scheduler's pipes itself. An agent on another host has a pair of
// guards of its own, one here and one there (near.go, far.go).
//
// The guard is the scheduler's own executable under another argv[0] (Name),
// taken over in this package's init. That is why the package imports next to
// nothing: Go initialises packages in the order of their import paths as soon
// as what they import is ready, so a package that needs only syscall has its
// turn before nearly all others. A guard thus never pays, in start time or in
// memory, for the database driver, the actors or the web server that the same
// binary carries. Importing fmt, os or time here would undo it.
//
//	scheduler ──socket──▶ guard   a packet for each agent: the descriptors of what follows
//	scheduler ──control─▶ guard   one Request, then 5-byte commands; its end means: the scheduler is gone
//	scheduler ◀─status─── guard   6-byte reports; its end means: the guard is gone
//	scheduler ◀─0, 1, 2─▶ agent   copied at the fork; the guard closes its own
//
// Each system has files of its own: Linux by subreaper, pidfd (kernel 5.4 or later), cgroup and parent-death signal;
// macOS by sessions and kqueue. docs/platforms.md has what each cannot promise.
package guard
