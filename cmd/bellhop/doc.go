// Command bellhop is the one program of bellhop: `bellhop serve` schedules,
// everything else looks at the queue or changes it and ends.
//
// This package owns flags, words, tables, exit codes and the wiring; it decides
// nothing about jobs. Each command is one small file that hangs a constructor
// into (*app).commands. Errors become an exit code and one paragraph in exit.go
// and nowhere else.
package main
