package web

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"bellhop/scheduler"
)

// Behind is what stands between people and this site.
type Behind struct {
	Prefix  string         // the path under which browsers ask for it, such as /jobs; empty: none
	Proxies []netip.Prefix // addresses that are believed about the caller's address and the path under which it asks
}

// arrival is how a request has come here.
type arrival struct {
	prefix string // what links of its answer begin with
	from   string // the caller's address
	far    bool   // a proxy has said that this is another machine
	secure bool   // the way to the browser is encrypted
}

type arrivalKey struct{}

func arrived(ctx context.Context) arrival {
	a, _ := ctx.Value(arrivalKey{}).(arrival) // none: a request that no door has let in, and so without a prefix
	return a
}

// Link is the path of this site at which the client of this context's request asks for another of its paths. All
// addresses in answers come from here, except where a redirect leads: a room names a path of its own, and the door
// puts the prefix before it.
func Link(ctx context.Context, path string) string { return arrived(ctx).prefix + path }

// arrive notes how a request has come, and takes the prefix from its path. Headers are believed only if they come
// from a proxy that the configuration names.
func (b Behind) arrive(r *http.Request) (*http.Request, *Problem) {
	a := arrival{prefix: b.Prefix, secure: r.TLS != nil}
	a.from, _, _ = net.SplitHostPort(r.RemoteAddr) // of a socket without one: empty, and so one caller
	cut := b.Prefix
	if b.believes(a.from) {
		if client, told := b.client(r.Header.Values("X-Forwarded-For")); told {
			a.from = client
			ip, err := netip.ParseAddr(client)
			a.far = err != nil || !ip.IsLoopback()
		}
		a.secure = a.secure || r.Header.Get("X-Forwarded-Proto") == "https"
		said, is, problem := saidPrefix(r.Header.Values("X-Forwarded-Prefix"))
		switch {
		case problem != nil:
			return under(r, cut, a), problem
		case is && b.Prefix == "":
			a.prefix = said
		case is && said == b.Prefix: // and so it is not in the path any more
			cut = ""
		}
	}
	return under(r, cut, a), nil
}

// under gives the request as if the site stood under no prefix.
func under(r *http.Request, prefix string, a arrival) *http.Request {
	u := *r.URL
	path, is := strings.CutPrefix(u.Path, prefix)
	raw, too := strings.CutPrefix(u.RawPath, prefix)
	if is && (path == "" || path[0] == '/') && (too || u.RawPath == "") {
		u.Path, u.RawPath = path, raw
		if path == "" {
			u.Path, u.RawPath = "/", ""
		}
	}
	r = r.WithContext(context.WithValue(r.Context(), arrivalKey{}, a))
	r.URL = &u
	return r
}

// believes reports whether an address is that of a proxy.
func (b Behind) believes(address string) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && slices.ContainsFunc(b.Proxies, func(p netip.Prefix) bool { return p.Contains(ip.Unmap()) })
}

// client is the last address of a list that is no proxy's: those before it are only said by it. told is false where
// the header is not there.
func (b Behind) client(headers []string) (address string, told bool) {
	list := strings.Split(strings.Join(headers, ","), ",")
	for _, one := range slices.Backward(list) {
		one = strings.TrimSpace(one)
		if host, _, err := net.SplitHostPort(one); err == nil {
			one = host
		}
		if one = strings.Trim(one, "[]"); one == "" {
			continue
		}
		address, told = shown(one), true
		if !b.believes(one) {
			break
		}
	}
	return address, told
}

// saidPrefix reads X-Forwarded-Prefix: one plain path, or it is refused.
func saidPrefix(headers []string) (prefix string, is bool, problem *Problem) {
	if len(headers) == 0 || len(headers) == 1 && headers[0] == "" {
		return "", false, nil
	}
	prefix, ok := scheduler.PlainPath(headers[0])
	if !ok || len(headers) > 1 {
		return "", false, &Problem{Status: http.StatusBadRequest, Code: "bad_prefix",
			Detail: "X-Forwarded-Prefix is not a plain path: " + shown(strings.Join(headers, ", ")),
			Next:   "have the proxy set it to a path such as /jobs, or set web.prefix in bellhop.yaml"}
	}
	return prefix, true, nil
}

// outward hands on what rooms answer. They know nothing of the prefix when they redirect, as ServeMux does by itself.
type outward struct {
	http.ResponseWriter
	prefix string
	told   bool
	leads  bool // it is a redirect: its body would name the path without the prefix
}

// Unwrap is for http.ResponseController.
func (o *outward) Unwrap() http.ResponseWriter { return o.ResponseWriter }

func (o *outward) WriteHeader(status int) {
	if !o.told && status >= http.StatusOK {
		o.told = true
		if to := o.Header().Get("Location"); strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//") {
			o.Header().Set("Location", o.prefix+to)
			o.leads = status >= 300 && status < 400
		}
	}
	o.ResponseWriter.WriteHeader(status)
}

func (o *outward) Write(text []byte) (int, error) {
	if !o.told {
		o.WriteHeader(http.StatusOK)
	}
	if o.leads {
		return len(text), nil
	}
	return o.ResponseWriter.Write(text)
}
