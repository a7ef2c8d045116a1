package look

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
)

// readyPatience is how long an instance that is well may take to say so.
const readyPatience = 5 * time.Second

func ReadyCommand(a *cli.App) *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "ready",
		Short: "Say whether the instance on this machine can work, or why not",
		Long: `Asks /readyz of the instance on this machine, and prints the answer. The instance's
address comes from the database; without a database, from the configuration. Exit code
0: it can work; 1: it cannot, or does not answer. For health checks of containers.`,
		Example: `  bellhop ready
  bellhop ready --listen 127.0.0.1:8471`,
		Args: a.NoArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			addr := listen
			if addr == "" {
				var err error
				if addr, err = address(cmd.Context(), a, nil); err != nil {
					return err
				}
			}
			return ready(cmd.Context(), a, addr)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "the `address` of the instance (default: that of the one on this machine; else the configuration's)")
	return cmd
}

// ready asks the instance that listens on addr.
func ready(ctx context.Context, a *cli.App, addr string) error {
	at, err := reach(addr)
	if err != nil {
		return cli.Usage("ready", err.Error(), "bellhop ready --listen 127.0.0.1:8470")
	}
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/readyz", nil)
	if err != nil {
		return cli.Usage("ready", err.Error(), "bellhop ready --listen 127.0.0.1:8470")
	}
	// No proxy stands between an instance and its own machine.
	answer, err := (&http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{}).DialContext}}).Do(request)
	if err != nil {
		return cli.Failed(cli.ExitJobFailed, "not ready", "bellhop serve", "no instance answers on %s: %s", at, err)
	}
	defer func() { _ = answer.Body.Close() }() // what it said has been read
	text, err := io.ReadAll(io.LimitReader(answer.Body, 16<<10))
	said := strings.TrimSpace(string(text))
	switch {
	case err != nil:
		return cli.Failed(cli.ExitJobFailed, "not ready", "", "%s stopped in the middle of its answer: %s", at, err)
	case answer.StatusCode != http.StatusOK:
		return cli.Failed(cli.ExitJobFailed, "not ready", "", "%s", said)
	}
	return a.Printf("%s\n", said)
}
