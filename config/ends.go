package config

import "bellhop/scheduler"

// ends reads which exit codes mean that there was nothing to do.
func (r *reader) ends(to *scheduler.Ends) func(node, string) {
	return func(n node, at string) {
		codes := scheduler.Ends{}
		list := func(as scheduler.EndedAs) func(node, string) {
			return func(n node, at string) {
				r.each(n, at, "write it like [3]", func(n node, at string) {
					code, ok := r.exitCode(n, at)
					switch {
					case !ok:
					case codes[code] != "":
						r.problem(n, "", "%s: exit code %d is %s already", at, code, codes[code])
					default:
						codes[code] = as
					}
				})
			}
		}
		r.mapping(n, at, []field{
			{name: string(scheduler.NoData), read: list(scheduler.NoData)},
			{name: string(scheduler.Skipped), read: list(scheduler.Skipped)},
		})
		if len(codes) > 0 {
			*to = codes
		}
	}
}
