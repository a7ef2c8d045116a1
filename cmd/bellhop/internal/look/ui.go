package look

import (
	"context"
	"crypto/rand"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
)

// UICommand opens the pages of an instance, signed in.
func UICommand(a *cli.App) *cobra.Command {
	var listen string
	var print bool
	c := &cobra.Command{
		Use:   "ui",
		Short: "Open the dashboard of an instance in a browser, signed in",
		Long: `Open the dashboard of the instance on this machine in a browser, signed in with the
rights of this command's login to the database. The link is printed too. It works once,
within two minutes; the session lasts for twelve hours.

--listen also takes the address of a proxy: https://jobs.example.org/jobs.`,
		Example: "  bellhop ui\n  bellhop ui --print --listen jobs.example.org:8470\n" +
			"  bellhop ui --print --listen https://jobs.example.org/jobs",
		Args: a.NoArgs(),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
			addr := listen
			if addr == "" {
				var err error
				if addr, err = address(ctx, a, &s.Look); err != nil {
					return err
				}
			}
			c, err := a.LoadConfig()
			if err != nil {
				return err
			}
			at, err := site(addr, c.Web.Prefix)
			if err != nil {
				return cli.Usage("ui", err.Error(), "bellhop ui --listen 127.0.0.1:8470")
			}
			secret := rand.Text()
			if err := s.SignIn(ctx, secret); err != nil {
				return err
			}
			link := at + "/login/" + secret
			if !print {
				browse(link)
			}
			return a.Printf("%s\n", link)
		}),
	}
	c.Flags().StringVar(
		&listen,
		"listen",
		"",
		"the `address` of the instance (default: that of the one on this machine; else the configuration's)",
	)
	c.Flags().BoolVar(&print, "print", false, "only print the link")
	return c
}

// browse opens a link if there is a program for that; otherwise the user has the printed link.
func browse(link string) {
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	if path, err := exec.LookPath(program); err == nil {
		_ = exec.Command(path, link).Start() // the link is printed as well
	}
}
