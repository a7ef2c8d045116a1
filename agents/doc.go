// Package agents owns processes: the dialects in which bellhop talks to its
// agents, the launcher of local children, and (in agents/guard) the guard that
// answers for an agent's whole process tree. It decides nothing: which child
// is to run, what it is to do and when it has to die comes from above, as
// calls on a Process; what happens to it goes back as scheduler.ChildEvents.
//
// The way of a line. Feed queues it. One line at a time is written to the agent's stdin, by the goroutine that
// finds the agent free: that of Feed, or the one that reads stdout and has just seen the OK for the last line. So a
// fed child is driven without anyone above it, and the events of many lines are taken in one batch. A write never
// waits; what does not fit into the pipe is left to a goroutine made for it.
//
// Everything an agent says is bounded before it is kept: a line at 1 MiB, an
// attempt's log at 1 MiB and 10,000 lines, the last words at 20 lines.
package agents
