package scheduler

import (
	"net/netip"
	"net/url"
)

// Encrypted reports whether the way to an address is safe from readers: it is one of https, or of http on this
// machine.
func Encrypted(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return false
	}
	ip, _ := netip.ParseAddr(u.Hostname()) // none: it is a name
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip.IsLoopback())
}
