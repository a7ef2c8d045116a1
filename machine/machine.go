// Package machine names this machine and its processes, so that instances on it
// can find out which of them are dead. Each system has a file of its own.
package machine
