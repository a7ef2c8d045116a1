package main

import (
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bellhop/config"
	"bellhop/web"
)

// readyPatience is how long an instance that is well may take to say so.
const readyPatience = 5 * time.Second

func readyCommand(a *app) *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "ready",
		Short: "Say whether the instance on this machine can work, and if not, why",
		Long: `Asks /readyz of the instance that listens here, and prints what it says. Exit code
0: it can work; 1: it cannot, or nobody answers. For health checks of containers.`,
		Example: `  bellhop ready
  bellhop ready --listen 127.0.0.1:8471`,
		Args: a.noArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			addr := listen
			if addr == "" {
				c, err := a.loadConfig()
				if err != nil {
					return err
				}
				addr = c.Listen
			}
			return a.ready(cmd.Context(), addr)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "the `address` that serve was given (default: the configuration's, or 127.0.0.1:8470)")
	return cmd
}

// ready asks the instance that listens on addr.
func (a *app) ready(ctx context.Context, addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return usage("ready", err.Error(), "bellhop ready --listen 127.0.0.1:8470")
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost" // what listens everywhere is asked here
	}
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	at := net.JoinHostPort(host, port)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/readyz", nil)
	if err != nil {
		return usage("ready", err.Error(), "bellhop ready --listen 127.0.0.1:8470")
	}
	// No proxy stands between an instance and its own machine.
	answer, err := (&http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{}).DialContext}}).Do(request)
	if err != nil {
		return failed(exitJobFailed, "not ready", "bellhop serve", "nobody answers on %s: %s", at, err)
	}
	defer func() { _ = answer.Body.Close() }() // what it said has been read
	text, err := io.ReadAll(io.LimitReader(answer.Body, 16<<10))
	said := strings.TrimSpace(string(text))
	switch {
	case err != nil:
		return failed(exitJobFailed, "not ready", "", "%s stopped in the middle of its answer: %s", at, err)
	case answer.StatusCode != http.StatusOK:
		return failed(exitJobFailed, "not ready", "", "%s", said)
	}
	return a.printf("%s\n", said)
}

// webToken is what the web server asks for: BELLHOP_TOKEN, or the content of
// the file that is named; empty: nothing.
func (a *app) webToken(c config.Config, file string) (token string, err error) {
	if token = a.getenv("BELLHOP_TOKEN"); token != "" {
		token, err = web.CheckToken(token)
	} else if file = cmp.Or(file, c.TokenFile); file != "" {
		token, err = web.ReadToken(file)
	}
	return token, err
}
