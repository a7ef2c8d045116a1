// Package engine decides what is done about jobs that run elsewhere: on a cluster, say. It owns the state machine of
// one remote job, and how often an engine is asked. It runs no command and keeps no book: what is to be done comes
// out as effects, what happened goes in as events, and time is a part of each.
//
// Three laws hold for a remote job, whatever happens to the instance that watches it:
//
//   - its tag is recorded before submit is called, and there is one tag for each attempt;
//   - submit is called again only when the call before is dead, and the engine has said twice, some time apart, that it
//     does not know the tag;
//   - an engine that does not answer says nothing: only answers make a job lost.
package engine
