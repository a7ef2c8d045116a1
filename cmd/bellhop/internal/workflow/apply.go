package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
	"bellhop/scheduler/notice"
	"bellhop/scheduler/workflow"
	"bellhop/sql/view"
	"bellhop/verb"
)

func apply(a *cli.App) *cobra.Command {
	var dry, prune bool
	var version *int
	c := &cobra.Command{
		Use:   "apply FILE…",
		Short: "Create and change workflows from files",
		Long: `Create and change workflows from files: all of them, or none. A file holds one workflow,
or several with lines of --- between them; - is stdin. Unchanged workflows keep their
version. A document of templates, in any of the files, holds the templates that steps name
with template: NAME.

With --prune, workflows of the same projects that stand in no file are deleted. With
--version, a workflow is changed only if that is its version.`,
		Example: "  bellhop workflow apply nightly.yaml --dry-run\n  bellhop workflow apply workflows/*.yaml --prune",
		Args:    files(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := read(a, args)
			if err != nil {
				return err
			}
			if version != nil && len(list) != 1 {
				return cli.Usage("workflow apply", "--version concerns one workflow, and the files hold several",
					"bellhop workflow apply FILE --version 3")
			}
			w := writing{App: a, verb: "apply", dry: dry, prune: prune, version: version}
			return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
				return w.all(ctx, s, list)
			})(cmd, args)
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "print the changes, and make none")
	c.Flags().BoolVar(&prune, "prune", false, "delete workflows of the same projects that stand in no file")
	seen(c, &version, "change it only if it has this `version` (0: if there is none)")
	return c
}

func importCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "import FILE…",
		Short:   "Create workflows that were exported elsewhere",
		Long:    "Create workflows that were exported elsewhere: all of them, or none if one of their names is taken.",
		Example: "  bellhop workflow export 'nightly-*' > all.yaml\n  bellhop workflow import all.yaml",
		Args:    files(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := read(a, args)
			if err != nil {
				return err
			}
			return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
				return writing{App: a, verb: "import", fresh: true}.all(ctx, s, list)
			})(cmd, args)
		},
	}
}

func export(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "export [NAME…]",
		Short:   "Print workflows in the form that apply and import read",
		Long:    "Print workflows in the form that apply and import read: all, or those with these names or patterns.",
		Example: "  bellhop workflow export 'nightly-*' > all.yaml",
		Args:    names(a, 0),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			list, err := s.Definitions(ctx, view.Like(args))
			if err != nil {
				return err
			}
			if len(list) == 0 && len(args) > 0 {
				return unknown("export", strings.Join(args, ", "))
			}
			if a.JSON() {
				return a.PrintJSON(list)
			}
			for i, row := range list {
				d, err := workflow.Read(row.Definition)
				if err != nil {
					return err
				}
				out, err := text(d)
				if err != nil {
					return err
				}
				if i > 0 {
					out = "---\n" + out
				}
				if err := a.PrintData(string(out)); err != nil {
					return err
				}
			}
			return nil
		}),
	}
}

// files takes at least one.
func files(a *cli.App) cobra.PositionalArgs {
	return a.Args(func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New("which file?")
		}
		return nil
	})
}

// read reads all workflows of files, or tells every problem in any of them.
func read(a *cli.App, names []string) (all []workflow.Definition, err error) {
	var problems []string
	var files []config.File
	for _, name := range names {
		var body []byte
		if name == "-" {
			name = "stdin"
			body, err = io.ReadAll(a.Stdin)
		} else {
			body, err = os.ReadFile(name)
		}
		if err != nil {
			problems = append(problems, config.CannotRead(name, err).Error())
			continue
		}
		files = append(files, config.File{Name: name, Text: body})
	}
	if len(files) > 0 {
		if all, err = config.Workflows(files...); err != nil {
			problems = append(problems, err.Error())
		}
	}
	if len(problems) > 0 {
		return nil, cli.Usage("workflow", strings.Join(problems, "\n"), "Fix it and retry; nothing changed")
	}
	return all, nil
}

// writing is how definitions are written.
type writing struct {
	*cli.App
	verb       string
	dry, prune bool
	fresh      bool // none of them may be there
	version    *int
}

// result is what became of one workflow.
type result struct {
	Workflow string `json:"workflow"`
	Result   string `json:"result"` // created, changed, unchanged or deleted
	Version  int    `json:"version,omitempty"`
	Diff     string `json:"diff,omitempty"`
}

// undo ends a transaction that was for looking only.
var errUndo = errors.New("nothing changes")

// rulesOf are the rules in a definition.
func rulesOf(d workflow.Definition) (list []notice.Rule) {
	for _, n := range d.Notify {
		list = append(list, notice.Rule{Mail: n.Mail, Webhook: n.Webhook, Command: n.Command})
	}
	return list
}

func (w writing) all(ctx context.Context, s *cli.Session, list []workflow.Definition) error {
	for _, d := range list {
		if err := warn(ctx, w.App, s.Look, d.Name, rulesOf(d)); err != nil {
			return err
		}
		if err := unserved(ctx, w.App, s.Look, d); err != nil {
			return err
		}
	}
	results := []result{}
	err := pgx.BeginFunc(ctx, s.Conn, func(tx pgx.Tx) error {
		l := view.NewLook(tx)
		for _, d := range list {
			r, err := w.one(ctx, l, d)
			if err != nil {
				return err
			}
			results = append(results, r)
		}
		if w.prune {
			gone, err := w.others(ctx, l, list)
			if err != nil {
				return err
			}
			results = append(results, gone...)
		}
		if w.dry {
			return errUndo
		}
		return nil
	})
	if err != nil && !errors.Is(err, errUndo) {
		return err
	}
	return w.print(results)
}

// unserved tells of steps that would wait, since no running instance has an agent of their type.
func unserved(ctx context.Context, a *cli.App, l view.Look, d workflow.Definition) error {
	body, err := json.Marshal(d)
	if err != nil {
		return err
	}
	list, err := l.Unserved(ctx, body)
	for _, r := range list {
		a.Note("warning: %s: %s\n  -> %s", d.Name, cli.Clean(r.Sentence), cli.Clean(r.Next))
	}
	return err
}

// one writes a definition.
func (w writing) one(ctx context.Context, l view.Look, d workflow.Definition) (r result, err error) {
	r.Workflow = d.Name
	old, err := l.Definitions(ctx, view.Exactly(d.Name))
	if err != nil {
		return r, err
	}
	was, present := "", 0
	if len(old) > 0 {
		if w.fresh {
			return r, cli.Failed(cli.ExitState, "workflow import", "bellhop workflow apply FILE   changes existing ones",
				"there is a workflow %s already", d.Name)
		}
		before, err := workflow.Read(old[0].Definition)
		if err != nil {
			return r, err
		}
		if was, err = text(before); err != nil {
			return r, err
		}
		present = old[0].Version
	}
	now, err := text(d)
	if err != nil {
		return r, err
	}
	body, err := json.Marshal(d)
	if err != nil {
		return r, err
	}
	if r.Version, err = l.ApplyWorkflow(ctx, body, w.version); err != nil {
		return r, err
	}
	switch {
	case present == 0:
		r.Result = "created"
	case r.Version == present:
		r.Result = "unchanged"
		return r, nil
	default:
		r.Result = "changed"
	}
	r.Diff = difference(was, now)
	return r, nil
}

// others deletes the workflows of the same projects that are not among these.
func (w writing) others(ctx context.Context, l view.Look, list []workflow.Definition) (gone []result, err error) {
	var projects []string
	for _, d := range list {
		if !slices.Contains(projects, d.Project) {
			projects = append(projects, d.Project)
		}
	}
	for _, project := range projects {
		there, err := l.Workflows(ctx, view.WorkflowFilter{Project: &project})
		if err != nil {
			return nil, err
		}
		for _, t := range there {
			if slices.ContainsFunc(list, func(d workflow.Definition) bool { return d.Name == t.Name }) {
				continue
			}
			if _, err := verb.Do(ctx, l, "delete", verb.In{Name: t.Name}); err != nil {
				return nil, err
			}
			gone = append(gone, result{Workflow: t.Name, Result: "deleted"})
		}
	}
	return gone, nil
}

func (w writing) print(results []result) error {
	if w.JSON() {
		return w.PrintJSON(results)
	}
	for _, r := range results {
		line := r.Workflow + " " + r.Result
		if w.dry && r.Result != "unchanged" {
			line = r.Workflow + " would be " + r.Result
		} else if r.Version > 0 {
			line += fmt.Sprintf(" (version %d)", r.Version)
		}
		if err := w.Printf("%s\n", line); err != nil {
			return err
		}
		if !w.dry {
			continue
		}
		if err := w.Printf("%s", r.Diff); err != nil {
			return err
		}
	}
	return nil
}
