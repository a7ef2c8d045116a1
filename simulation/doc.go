// Package simulation has tests only: whole instances, each with all of its actors, run in one process, in virtual time,
// on a model of the database. One number, the seed, decides the work and the faults. What the model decides is held
// against a real PostgreSQL with the same traces (oracle_test.go).
package simulation
