package config

import (
	"net/netip"
	"net/url"
	"strings"

	"bellhop/scheduler"
)

// Web is what stands between people and the web server.
type Web struct {
	// Prefix is the path under which people ask for it, without the slash at its end; empty: it has its host for itself.
	Prefix string
	// TrustedProxies are the addresses of the proxies that are believed about the caller that they ask for.
	TrustedProxies []netip.Prefix
	// OIDC is the provider by which people sign in.
	OIDC OIDC
}

func (r *reader) web(n node, at string, to *Web) {
	r.mapping(n, at, []field{
		{name: "prefix", read: r.plainPath(&to.Prefix)},
		{name: "trusted_proxies", read: func(n node, at string) {
			to.TrustedProxies = nil
			r.each(n, at, "write it like [127.0.0.1, 10.0.0.0/8]", func(n node, at string) {
				if p, ok := r.network(n, at); ok {
					to.TrustedProxies = append(to.TrustedProxies, p)
				}
			})
		}},
		{name: "oidc", read: func(n node, at string) { r.oidc(n, at, &to.OIDC) }},
	})
}

// plainPath reads a path under which a site may stand.
func (r *reader) plainPath(to *string) func(node, string) {
	return func(n node, at string) {
		s, ok := r.string(n, at)
		if !ok || s == "" {
			return
		}
		path, ok := scheduler.PlainPath(s)
		if !ok {
			hint := "write it like /jobs: names of letters, digits, - _ . and ~, with a slash before each, at most 100 characters"
			if u, err := url.Parse(s); err == nil {
				if plain, ok := scheduler.PlainPath("/" + strings.Trim(u.Path, "/")); ok && plain != "" {
					hint = "write " + plain
				}
			}
			r.problem(n, hint, "%s: %q is not a plain path", at, s)
			return
		}
		*to = path
	}
}

// network reads an address, or a network of them.
func (r *reader) network(n node, at string) (of netip.Prefix, ok bool) {
	const example = "write 127.0.0.1, or a network such as 10.0.0.0/8"
	s, ok := r.written(n, at)
	if !ok {
		return of, false
	}
	if ip, err := netip.ParseAddr(s); err == nil && ip.Zone() == "" {
		ip = ip.Unmap()
		return netip.PrefixFrom(ip, ip.BitLen()), true
	}
	of, err := netip.ParsePrefix(s)
	switch {
	case err != nil || of.Addr().Is4In6():
		r.problem(n, example, "%s: %q is neither an address nor a network", at, s)
	case of.Bits() == 0:
		r.problem(n, "name the proxies alone, such as 127.0.0.1",
			"%s: %s is every address: each client could claim another client's address", at, s)
	case of != of.Masked():
		r.problem(n, "write "+of.Masked().String()+", or the address alone", "%s: %s has an address in it, and not only a network", at, s)
	default:
		return of, true
	}
	return of, false
}
