package setup

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
	"bellhop/sql/dial"
)

// ContextCommand names databases.
func ContextCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "context COMMAND",
		Short: "Name databases, and choose one",
		Long: `Name databases, and choose one. Contexts are kept in bellhop/contexts.yaml in the
folder of XDG_CONFIG_HOME, or in ~/.config. --context NAME or BELLHOP_CONTEXT takes
one for a command. "context use" takes one for all commands that find no other
database; "bellhop serve" does not look at it. Before a command changes anything,
it says on a terminal which database that is.`,
		Example: `  bellhop context add prod postgres://ops@db1/shop --protected
  bellhop --context prod ls`,
	}
	a.Menu(c)
	c.AddCommand(contextLs(a), contextShow(a), contextUse(a), contextAdd(a), contextRm(a))
	return c
}

// shown is a context as it is printed: no password is in it.
type shown struct {
	config.Context
	Used bool `json:"used"`
}

func shownOf(all config.Contexts, c config.Context) shown {
	c.Database = cli.Redact(c.Database)
	return shown{c, c.Name == all.Use}
}

func printContexts(a *cli.App, list []shown) error {
	none := "there are no contexts: bellhop context add NAME URL"
	return cli.PrintRows(a, list, nil, none, "NAME, USED, PROTECTED, DATABASE", func(s shown) []any {
		return []any{s.Name, mark(s.Used), mark(s.Protected), s.Database}
	})
}

func mark(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

func contextLs(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List contexts", Example: "  bellhop context ls", Args: a.NoArgs(),
		RunE: func(*cobra.Command, []string) error {
			all, err := a.LoadContexts()
			if err != nil {
				return err
			}
			list := []shown{}
			for _, c := range all.List {
				list = append(list, shownOf(all, c))
			}
			return printContexts(a, list)
		},
	}
}

// where is the database that commands take now.
type where struct {
	Database  string `json:"database"` // empty: what the PG* variables say
	From      string `json:"from"`
	Context   string `json:"context"`
	Protected bool   `json:"protected"`
}

func contextShow(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "show [NAME]",
		Short: "Show a context, or which database commands take now",
		Long: `Show a context. Without NAME, show which database commands take now, and what names
it. No password is shown.`,
		Example: "  bellhop context show",
		Args:    a.Args(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				all, err := a.LoadContexts()
				if err != nil {
					return err
				}
				c, err := find(all, args[0])
				if err != nil {
					return err
				}
				return printContexts(a, []shown{shownOf(all, c)})
			}
			found, err := a.FindDatabase()
			if err != nil {
				return err
			}
			w := where{cli.Redact(found.URL), found.From, found.Context, found.Protected}
			if a.JSON() {
				return a.PrintJSON(w)
			}
			if w.Database == "" {
				return a.Printf("the database of the PG* variables (named by %s)\n", w.From)
			}
			return a.Printf("%s (named by %s)\n", w.Database, w.From)
		},
	}
}

func find(all config.Contexts, name string) (config.Context, error) {
	c, ok := all.Find(name)
	if !ok {
		return c, cli.Failed(cli.ExitNotFound, "context", "bellhop context ls",
			"there is no context %q in %s", name, all.File)
	}
	return c, nil
}

// changeContexts reads the contexts, changes them, and writes them.
func changeContexts(a *cli.App, change func(*config.Contexts) error) error {
	all, err := a.LoadContexts()
	if err != nil {
		return err
	}
	if err := change(&all); err != nil {
		return err
	}
	if err := all.Write(); err != nil {
		return cli.Failed(cli.ExitSystem, "context", "", "%s was not written: %s", all.File, err)
	}
	return nil
}

func contextUse(a *cli.App) *cobra.Command {
	var none bool
	c := &cobra.Command{
		Use:     "use NAME",
		Short:   "Take a context where no other database is named",
		Long:    "Take a context for commands that find no other database. --none takes none again.",
		Example: "  bellhop context use prod\n  bellhop context use --none",
		Args:    a.Args(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			if none != (len(args) == 0) {
				return cli.Usage("context use", "it takes a NAME, or --none", "bellhop context ls")
			}
			return changeContexts(a, func(all *config.Contexts) error {
				if all.Use = ""; none {
					return nil
				}
				c, err := find(*all, args[0])
				all.Use = c.Name
				return err
			})
		},
	}
	c.Flags().BoolVar(&none, "none", false, "take none")
	return c
}

func contextAdd(a *cli.App) *cobra.Command {
	var protected, replace bool
	c := &cobra.Command{
		Use:   "add NAME URL",
		Short: "Name a database",
		Long: `Name a database. - in place of URL reads it from stdin: so a password stands in no
list of processes. Better, leave the password to ~/.pgpass. With --protected, commands
ask before they change anything there; where they cannot ask, they need --yes.`,
		Example: "  bellhop context add prod postgres://ops@db1/shop --protected",
		Args:    a.Args(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error {
			c := config.Context{Name: args[0], Database: args[1], Protected: protected}
			if err := config.CheckContextName(c.Name); err != nil {
				return cli.Usage("context add", err.Error(), "bellhop context add prod "+cli.Redact(c.Database))
			}
			if c.Database == "-" {
				text, err := io.ReadAll(io.LimitReader(a.Stdin, 64<<10))
				if err != nil {
					return err
				}
				c.Database = strings.TrimSpace(string(text))
			}
			_, err := dial.Way{URL: c.Database}.Config()
			if err != nil || c.Database == "" || strings.ContainsAny(c.Database, "\x00\n\r\t") {
				return cli.Usage("context add", "this is no URL of a database", "it looks like postgres://user@host:5432/database")
			}
			return changeContexts(a, func(all *config.Contexts) error {
				if i := slices.IndexFunc(all.List, func(other config.Context) bool { return other.Name == c.Name }); i >= 0 {
					if !replace {
						return cli.Failed(cli.ExitState, "context add", "the same with --replace",
							"there is a context %s already", c.Name)
					}
					all.List[i] = c
					return nil
				}
				all.List = append(all.List, c)
				return nil
			})
		},
	}
	c.Flags().BoolVar(&protected, "protected", false, "ask before anything is changed there")
	c.Flags().BoolVar(&replace, "replace", false, "replace the context of this name")
	return c
}

func contextRm(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "rm NAME", Short: "Forget a context", Example: "  bellhop context rm prod",
		Long: "Forget a context. Its database stays as it is.",
		Args: a.Args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			return changeContexts(a, func(all *config.Contexts) error {
				c, err := find(*all, args[0])
				if all.Use == c.Name {
					all.Use = ""
				}
				all.List = slices.DeleteFunc(all.List, func(other config.Context) bool { return other.Name == c.Name })
				return err
			})
		},
	}
}
