package setup

import (
	"bytes"
	_ "embed"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"text/template"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
)

// manager is what starts services on a system.
type manager struct {
	name, what   string
	folder, file string
	text         *template.Template
	next         string // the commands after it; %s is the account
}

var (
	//go:embed bellhop.service
	unitText string
	//go:embed bellhop.plist
	plistText string

	systemd = manager{
		name: "systemd", what: "the systemd unit", folder: "/etc/systemd/system", file: "bellhop.service",
		text: template.Must(template.New("bellhop.service").Parse(unitText)),
		next: "  useradd --system --home-dir /var/lib/bellhop --shell /usr/sbin/nologin %s   # unless it is there\n" +
			"  systemctl daemon-reload\n  systemctl enable --now bellhop\n",
	}
	launchd = manager{
		name: "launchd", what: "the launchd service", folder: "/Library/LaunchDaemons", file: "bellhop.plist",
		text: template.Must(template.New("bellhop.plist").Parse(plistText)),
		next: "  install -d -o %s /var/lib/bellhop   # its account is to be there\n" +
			"  launchctl bootstrap system /Library/LaunchDaemons/bellhop.plist\n",
	}
)

// unit is what differs between services of bellhop.
type unit struct {
	Program string // the binary
	Config  string // bellhop.yaml
	User    string // the account it and its agents run as
	StopSec int    // what it gets to end, in seconds
}

func installServiceCommand(a *cli.App, m manager) *cobra.Command {
	var u unit
	var print bool
	var dir string
	c := &cobra.Command{
		Use:   m.name,
		Short: "Write " + m.what + " of bellhop serve",
		Long: "Write " + m.what + ` of bellhop serve, and print the next commands. An existing
file that differs stays; remove it first to replace it. With --print the file goes
to stdout, and nothing is written.

The stop timeout follows instance.grace and limits.kill_after of the
configuration, if that can be read.`,
		Example: "  bellhop install " + m.name + " --print\n  sudo bellhop install " + m.name + " -c /etc/bellhop/bellhop.yaml",
		Args:    a.NoArgs(),
		RunE: func(*cobra.Command, []string) error {
			u.Config = a.ConfigPath
			if u.Config == "" {
				u.Config = "/etc/bellhop/bellhop.yaml"
			}
			if u.Program == "" { // no default of the flag: help and man pages would name a path of this machine
				u.Program = cli.OwnProgram()
			}
			return installService(a, m, u, dir, print)
		},
	}
	c.Flags().BoolVar(&print, "print", false, "print it, and write nothing")
	c.Flags().StringVar(&u.User, "user", "bellhop", "the `account` that it and its agents run as")
	c.Flags().StringVar(&dir, "to", m.folder, "the `folder` to write to")
	c.Flags().StringVar(&u.Program, "program", "", "the `file` of the program that it starts (default: this one)")
	return c
}

func installService(a *cli.App, m manager, u unit, dir string, print bool) error {
	path, err := filepath.Abs(u.Config)
	if err != nil {
		return err
	}
	u.Config = path
	limits := config.Default()
	switch c, err := config.Load(u.Config); {
	case err == nil:
		limits = c
	case !errors.Is(err, fs.ErrNotExist):
		a.Note("%s", cli.Flat(err.Error()))
	}
	// Killed children are waited for, and the embedded server's end too.
	u.StopSec = int(math.Ceil((limits.Instance.Grace + limits.Limits.KillAfter + 30*time.Second).Seconds()))
	var text bytes.Buffer
	if err := m.text.Execute(&text, u); err != nil {
		return err
	}
	if print {
		return a.Printf("%s", text.String())
	}
	to := filepath.Join(dir, m.file)
	if there, err := os.ReadFile(to); err == nil && !bytes.Equal(there, text.Bytes()) {
		return cli.Usage("install", to+" is there already, and differs", "diff <(bellhop install "+m.name+" --print) "+to+"   and remove it to install the new one")
	}
	if err := os.WriteFile(to, text.Bytes(), 0o644); err != nil {
		return cli.Failed(cli.ExitSystem, "install", "sudo bellhop install "+m.name+"   or: bellhop install "+m.name+" --print", "%s", err)
	}
	if err := a.Printf("wrote %s; now:\n", to); err != nil {
		return err
	}
	return a.Printf(m.next, u.User)
}
