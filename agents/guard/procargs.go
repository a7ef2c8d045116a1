package guard

// splitProcArgs takes apart what macOS tells of a process's start (kern.procargs2): a number of arguments in four
// bytes, the path of the program, zeros, the arguments, and the environment, all ended by zeros. It is here, and
// not among that system's files, so that it is tested everywhere.
func splitProcArgs(b []byte) (argv, environ []byte) {
	if len(b) < 4 {
		return nil, nil
	}
	count := le32(b)
	b = b[4:]
	for len(b) > 0 && b[0] != 0 {
		b = b[1:]
	}
	for len(b) > 0 && b[0] == 0 {
		b = b[1:]
	}
	at := 0
	for ; count > 0 && at < len(b); at++ {
		if b[at] == 0 {
			count--
		}
	}
	end := at
	for end < len(b) && b[end] != 0 { // an empty pair ends the environment
		for end < len(b) && b[end] != 0 {
			end++
		}
		end = min(end+1, len(b))
	}
	return b[:at], b[at:end]
}
