package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/sql"
	"bellhop/sql/migrate"
	"bellhop/triggers"
)

// checkSchema looks at the schema's version, and at what can be wrong in one
// that has it.
func (d *doctor) checkSchema(ctx context.Context, s *cli.Session) error {
	plan, err := cli.Schema()
	if err != nil {
		return err
	}
	err = plan.Check(ctx, s.Conn)
	switch {
	case errors.Is(err, migrate.ErrTooNew):
		d.mend("schema", err.Error(), "install the newer bellhop   # then: bellhop version")
		return nil
	case errors.Is(err, migrate.ErrBeforeBaseline):
		d.mend("schema", err.Error(), cli.WithOlderBellhop)
		return nil
	case errors.Is(err, migrate.ErrTooOld):
		d.mend("schema", err.Error(), "bellhop migrate")
		return nil
	case err != nil:
		return err
	}
	steps, err := plan.Pending(ctx, s.Conn)
	if err != nil {
		return err
	}
	newer, err := plan.Newer(ctx, s.Conn)
	if err != nil {
		return err
	}
	if newer > 0 {
		d.note("schema", fmt.Sprintf("version %d, newer than this binary's %d, which works with it", newer, plan.Version()),
			"install the newer bellhop   # then: bellhop version")
	} else if len(steps) > 0 {
		d.mend("schema",
			fmt.Sprintf("%s of another build: %s and so on", cli.Count(len(steps), "script is")+"", steps[0].Name),
			"bellhop migrate")
	} else {
		d.ok("schema", fmt.Sprintf("version %d, all scripts in place", plan.Version()))
	}
	if err := d.checkTriggers(ctx, s); err != nil {
		return err
	}
	if err := d.checkSafety(ctx, s); err != nil {
		return err
	}
	if err := d.checkRights(ctx, s); err != nil {
		return err
	}
	return d.checkFOSSology(ctx, s)
}

// checkSafety looks for what lets a login do more than its roles allow (docs/security.md).
func (d *doctor) checkSafety(ctx context.Context, s *cli.Session) error {
	rows, err := s.Unsafe(ctx)
	if err != nil {
		return err
	}
	for _, r := range rows {
		d.mend("safety", r.What, d.psql(r.Mend))
	}
	if len(rows) == 0 {
		d.ok("safety", "no function uses its caller's search_path, and the schema has no code of other owners")
	}
	return nil
}

var triggerMade = regexp.MustCompile(`(?s)create or replace trigger (\w+)\s+(?:before|after) .*?\bon (bellhop\.\w+)`)

// triggersMade gives the scripts by the triggers that they make: "bellhop.jobqueue _900_ring".
func triggersMade() (map[string]string, error) {
	made := map[string]string{}
	names, err := fs.Glob(triggers.Scripts, "*.sql")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := fs.ReadFile(triggers.Scripts, name)
		if err != nil {
			return nil, err
		}
		for _, m := range triggerMade.FindAllStringSubmatch(string(text), -1) {
			made[m[2]+" "+m[1]] = name
		}
	}
	return made, nil
}

func (d *doctor) checkTriggers(ctx context.Context, s *cli.Session) error {
	made, err := triggersMade()
	if err != nil {
		return err
	}
	rows, err := s.Triggers(ctx)
	if err != nil {
		return err
	}
	fires := map[string]bool{}
	for _, r := range rows {
		fires[r.OnTable+" "+r.Name] = r.Fires
	}
	fine := true
	for _, trigger := range slices.Sorted(maps.Keys(made)) {
		table, name, _ := strings.Cut(trigger, " ")
		on, there := fires[trigger]
		switch {
		case !there:
			d.mend("triggers", fmt.Sprintf("the trigger %s on %s is missing", name, table),
				d.psql(fmt.Sprintf("delete from bellhop.schema_script where name = '%s'", made[trigger]))+" && bellhop migrate")
		}
		fine = fine && on
	}
	if fine {
		d.ok("triggers", fmt.Sprintf("all %d exist and fire", len(made)))
	}
	return nil
}

// checkRights compares the roles that may use the schema with those that should.
func (d *doctor) checkRights(ctx context.Context, s *cli.Session) error {
	have, err := s.Rights(ctx)
	if err != nil {
		return err
	}
	want := sql.Rights()
	missing, extra := without(want, have), without(have, want)
	for _, line := range extra {
		d.mend("rights", "an excess right: "+line, "bellhop install roles")
	}
	if len(missing) > 0 {
		d.mend("rights", fmt.Sprintf("%d of %d are missing, the first: %s", len(missing), len(want), missing[0]), "bellhop install roles")
	}
	if len(missing)+len(extra) == 0 {
		d.ok("rights", fmt.Sprintf("all %d are in place, and no others; PUBLIC has none", len(want)))
	}
	return nil
}

// without gives the lines of a that are not in b.
func without(a, b []string) (rest []string) {
	for _, line := range a {
		if !slices.Contains(b, line) {
			rest = append(rest, line)
		}
	}
	return rest
}
