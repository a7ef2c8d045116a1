// Package doctor is `bellhop doctor`: checks that change nothing, each with the line that mends what it finds.
package doctor

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
	"bellhop/report"
)

// doctor looks everything over. Checks add findings; an error is one that
// keeps all further checks from being made.
type doctor struct {
	*cli.App
	config   config.Config
	where    cli.Database  // of the database
	old      time.Duration // a transaction open for longer needs a fix
	finished int64         // so many rows of jobs that were over long ago are worth a word
	findings []report.Finding
}

func (d *doctor) ok(check, says string) {
	d.add(report.Finding{Check: check, Verdict: report.Well, Says: says})
}
func (d *doctor) note(check, says, what string) {
	d.add(report.Finding{Check: check, Verdict: report.Note, Says: says, Mend: what})
}
func (d *doctor) mend(check, says, what string) {
	d.add(report.Finding{Check: check, Verdict: report.Mend, Says: says, Mend: what})
}

func (d *doctor) add(f report.Finding) {
	f.Says = cli.Redact(cli.Flat(f.Says))
	d.findings = append(d.findings, f)
}

// found takes over what every face shows.
func (d *doctor) found(list []report.Finding) {
	for _, f := range list {
		if len(f.SQL) > 0 {
			f.Mend = d.psql(f.SQL...) + f.Mend
		}
		d.add(f)
	}
}

// psql is the line that runs statements on the database, each by itself.
func (d *doctor) psql(statements ...string) string {
	line := `psql "$DATABASE_URL"`
	switch {
	case d.where.Embedded:
		line = "psql " + cli.ShellQuoted(d.where.URL)
	case d.where.URL == "":
		line = "psql"
	}
	for _, s := range statements {
		line += " -c " + cli.ShellQuoted(s)
	}
	return line
}

func Command(a *cli.App) *cobra.Command {
	d := &doctor{App: a}
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check everything that production needs, and print the commands that fix faults",
		Long: `Check everything that docs/production.md asks for, and print the command that mends
each fault. It checks the server and its settings, the schema, its triggers and
rights, the logins, the bell, instances, hosts, this machine, and the jobs of each
type. The configuration is the one that bellhop serve would find here, else that of
the instance on this machine. doctor changes nothing, except that it sends the guard
to a host without one, as bellhop serve would.

Exit code 0: all is well, maybe with notes. 1: something needs mending. 5: no
database.

The commands need an account with the right to do so; $DATABASE_URL stands for the
checked database.`,
		Example: "  bellhop doctor -c /etc/bellhop/bellhop.yaml\n  bellhop doctor -o json",
		Args:    a.NoArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context()) },
	}
	c.Flags().DurationVar(&d.old, "older-than", 10*time.Minute, "a transaction open for longer needs a fix")
	c.Flags().Int64Var(&d.finished, "finished", 1_000_000, "`number` of rows of jobs finished three days ago from which there is a note")
	return c
}

func (d *doctor) run(ctx context.Context) error {
	if err := d.checkConfig(); err != nil {
		return err
	}
	d.checkSystem()
	d.checkKeyFile()
	d.checkFiles()
	d.checkLeftovers()
	d.checkCgroups()
	d.checkLimits()
	d.checkHosts(ctx)
	lost := d.checkDatabase(ctx)
	if err := d.print(); err != nil {
		return err
	}
	if lost != nil {
		return lost
	}
	bad := 0
	for _, f := range d.findings {
		if f.Verdict == report.Mend {
			bad++
		}
	}
	if bad > 0 {
		return cli.Failed(cli.ExitUnwell, "doctor", "type the lines above, then: bellhop doctor",
			"%d of %d checks need a fix", bad, len(d.findings))
	}
	return nil
}

// checkDatabase makes all checks that need one. The error is that there is none.
func (d *doctor) checkDatabase(ctx context.Context) error {
	var err error
	if d.where, err = d.FindDatabase(); err != nil {
		return err
	}
	conn, err := d.Dial(ctx, d.where, nil)
	var refused *cli.Failure
	if errors.As(err, &refused) && refused.Code == cli.ExitSchema {
		d.mend(refused.What, refused.Why, refused.Next)
		return nil // nothing else can be asked of it
	}
	if err != nil {
		return err
	}
	s := cli.NewSession(conn)
	defer s.Close()
	asked := time.Now()
	server, err := s.Server(ctx)
	if err != nil {
		return err
	}
	d.checkEmbedded(server)
	d.checkServer(server, asked)
	for _, check := range []func(context.Context, *cli.Session) error{d.checkSchema, d.checkGrowth, d.checkLogins,
		d.checkBell, d.checkSealed, d.checkFindings} {
		if err := check(ctx, s); err != nil {
			if cli.IsLost(err) {
				return err
			}
			d.mend("doctor", "a check failed to run: "+err.Error(), "grant it to this login, or use another: --database-url")
		}
	}
	return nil
}

func (d *doctor) print() error {
	if d.JSON() {
		ok := true
		for _, f := range d.findings {
			ok = ok && f.Verdict != report.Mend
		}
		return d.PrintJSON(struct {
			OK       bool             `json:"ok"`
			Findings []report.Finding `json:"findings"`
		}{ok, d.findings})
	}
	t := cli.Table{Header: []string{"CHECK", "VERDICT", "SAYS"}}
	var mends strings.Builder
	for _, f := range d.findings {
		t.Add(f.Check, f.Verdict, f.Says)
		if f.Mend != "" {
			mends.WriteString("  " + f.Check + ": " + f.Mend + "\n")
		}
	}
	if err := d.PrintTable(t); err != nil || mends.Len() == 0 {
		return err
	}
	return d.Printf("\nFix:\n%s", mends.String())
}
