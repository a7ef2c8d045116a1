package agents

// holdsPipe: what a process has open is not told here without root's rights.
func holdsPipe(int, map[uint64]bool) bool { return false }
