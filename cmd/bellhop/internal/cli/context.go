package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"bellhop/config"
)

// ContextVariable names a context where --context does not.
const ContextVariable = "BELLHOP_CONTEXT"

// Changes marks, among a command's annotations, that it changes what is in the database.
const Changes = "changes"

// contextsFile is where this user's contexts are kept.
func (a *App) contextsFile() (string, error) {
	if dir := a.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) { // the standard ignores any other
		return filepath.Join(dir, "bellhop", "contexts.yaml"), nil
	}
	home := a.Getenv("HOME")
	if home == "" {
		return "", Usage("contexts", "neither XDG_CONFIG_HOME nor HOME says where they are kept", "export XDG_CONFIG_HOME=/home/me/.config")
	}
	return filepath.Join(home, ".config", "bellhop", "contexts.yaml"), nil
}

// LoadContexts reads this user's contexts. If a password is in the file, no other user may read it.
func (a *App) LoadContexts() (config.Contexts, error) {
	path, err := a.contextsFile()
	if err != nil {
		return config.Contexts{}, err
	}
	all, err := config.LoadContexts(path)
	if err != nil {
		return all, Usage("contexts", Flat(err.Error()), "fix "+path+", then: bellhop context ls")
	}
	for _, c := range all.List {
		info, err := os.Stat(path)
		if err == nil && info.Mode().Perm()&0o077 != 0 && Redact(c.Database) != c.Database {
			return all, Usage("contexts", fmt.Sprintf("%s holds the password of %s, and other users may open it (mode %04o)",
				path, c.Name, info.Mode().Perm()), "chmod 600 "+Quoted(path))
		}
	}
	return all, nil
}

// namedContext is the database of a context that is named by the command or by the environment; false: none is.
func (a *App) namedContext() (Database, bool, error) {
	name, by := a.Context, "--context"
	if name == "" {
		name, by = a.Getenv(ContextVariable), ContextVariable
	}
	if name == "" || a.DatabaseURL != "" {
		return Database{}, false, nil
	}
	all, err := a.LoadContexts()
	if err != nil {
		return Database{}, false, err
	}
	c, ok := all.Find(name)
	if !ok {
		return Database{}, false, Usage("context", fmt.Sprintf("%s: there is no context %q in %s", by, name, all.File),
			"bellhop context ls   lists them; bellhop context add NAME URL")
	}
	return ofContext(c), true, nil
}

// usedContext is the database of the context that "bellhop context use" has chosen; false: none is.
func (a *App) usedContext() (Database, bool, error) {
	if path, err := a.contextsFile(); err != nil || path == "" {
		return Database{}, false, nil // an account without a home has no contexts
	}
	all, err := a.LoadContexts()
	if err != nil || all.Use == "" {
		return Database{}, false, err
	}
	c, _ := all.Find(all.Use)
	return ofContext(c), true, nil
}

func ofContext(c config.Context) Database {
	return Database{URL: c.Database, From: "context " + c.Name, Context: c.Name, Protected: c.Protected}
}

// ContextNamed reports whether the command or the environment names a context.
func (a *App) ContextNamed() bool { return a.Context != "" || a.Getenv(ContextVariable) != "" }

// Changing says which database a command is about to change, and asks where a context is protected. Scripts hear
// nothing unless a context is in use; with -o json they hear nothing at all. No command says it of the embedded server
// or when it only tries: there is nothing to mistake.
func (a *App) Changing(cmd *cobra.Command, where Database, c *pgx.ConnConfig) error {
	flags := cmd.Flags()
	given := func(name string) bool { f := flags.Lookup(name); return f != nil && f.Value.String() == "true" }
	if cmd.Annotations[Changes] == "" || where.Embedded || given("dry-run") {
		return nil
	}
	database := fmt.Sprintf("%s on %s:%d as %s", c.Database, c.Host, c.Port, c.User)
	if c.Database == "" {
		database = fmt.Sprintf("%s on %s:%d as %[1]s", c.User, c.Host, c.Port)
	}
	if where.Protected && !given("yes") {
		if !a.Asks() {
			return Usage(CommandWords(cmd), fmt.Sprintf("context %s is protected, and this changes %s", where.Context, database),
				"the same with --yes")
		}
		if !a.Confirmed(fmt.Sprintf("this changes %s (%s). Go on?", database, where.From)) {
			return Failed(ExitUsage, CommandWords(cmd), "", "nothing was changed")
		}
		return nil
	}
	_, terminal := TerminalWidth(a.Stderr)
	if !given("quiet") && (terminal || where.Context != "" && !a.JSON()) {
		a.Note("changing %s (%s)", database, where.From)
	}
	return nil
}
