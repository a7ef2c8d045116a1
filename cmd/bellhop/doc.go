// Command bellhop is the one program of bellhop: `bellhop serve` schedules,
// everything else looks at the queue or changes it and ends.
//
// This package is the list of commands. They live in internal/, by family, each a
// constructor in a small file: serve, change, look, attach, demo, doctor, agentkit,
// rjm, setup. What they share is internal/cli, which also turns errors into an exit
// code and one paragraph. The tests here run the program as a whole.
package main
