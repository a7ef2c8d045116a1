package config

import "net"

// frontEnd reads where FOSSology's front end is answered. Its words carry no
// password, so an address of this machine alone is the rule.
func (r *reader) frontEnd(n node, at string, to *FrontEnd) {
	given := r.mapping(n, at, []field{
		{name: "listen", read: r.address(&to.Listen)},
		{name: "open_to_network", read: r.flag(&to.OpenToNetwork)},
	})
	host, _, err := net.SplitHostPort(to.Listen)
	if err != nil || to.OpenToNetwork || host == "localhost" {
		return
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		r.problem(given["listen"], "write 127.0.0.1:24693; or open_to_network: true beside it, with a firewall in front",
			"%s.listen: every client that reaches %s may kill jobs and stop the scheduler, for there is no password", at, to.Listen)
	}
}
