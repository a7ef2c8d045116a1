package look

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/machine"
	"bellhop/scheduler"
	"bellhop/sql/view"
)

// addressPatience is how long the database may take to say where an instance answers: the instance itself still
// says whether it is well while the database is away.
const addressPatience = 2 * time.Second

// address is where the instance on this machine answers: as it has told the database,
// which knows also of --listen and of a port that was any; else where the configuration says.
func address(ctx context.Context, a *cli.App, look *view.Look) (string, error) {
	c, err := a.LoadConfig()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, addressPatience)
	defer cancel()
	if look == nil {
		conn, err := a.Connect(ctx, nil)
		if err != nil {
			return c.Listen, nil
		}
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // it is not needed any more
		s := view.NewLook(conn)
		look = &s
	}
	hostname, err := os.Hostname()
	if err != nil {
		return c.Listen, nil
	}
	// A login that may not see instances goes by the configuration.
	if at, err := look.Listening(ctx, machine.This(), hostname, c.Listen); err == nil && at != "" {
		return at, nil
	}
	return c.Listen, nil
}

// reach is an address as one connects to it: what listens everywhere is asked here.
func reach(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port), err
}

// site is where the pages of an address are: a whole one as it was given, else under the prefix of the configuration.
func site(address, prefix string) (string, error) {
	if !strings.Contains(address, "://") {
		at, err := reach(address)
		return "http://" + at + prefix, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	path, ok := scheduler.PlainPath(cmp.Or(u.Path, "/"))
	if !ok || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("--listen %q is not a valid address: write it like https://jobs.example.org/jobs", address)
	}
	return u.Scheme + "://" + u.Host + path, nil
}
