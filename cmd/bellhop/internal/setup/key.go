package setup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/seal"
)

// KeyCommand makes keys, and tries them.
func KeyCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "key COMMAND",
		Short: "Keys that keep what jobs are given out of the database",
		Long: `Keys that keep what jobs are given out of the database. An app seals args and vars
with a key from a file: bellhop submit --seal-with FILE. Instances open them with a copy
of the file, encryption.keys in bellhop.yaml. The first key of a file seals, all of
them open. No command here needs a database.`,
		Example: "  bellhop key new app.keys\n  bellhop submit mail ann@example.org --seal-with app.keys",
	}
	a.Menu(c)
	c.AddCommand(keyNew(a), keyLs(a), keySeal(a), keyOpen(a))
	return c
}

func keyNew(a *cli.App) *cobra.Command {
	var id string
	var last bool
	c := &cobra.Command{
		Use:   "new FILE",
		Short: "Make a file of keys, or add a key to it",
		Long: `Make a file of keys, or add a key to it, and print the key's id. Only the file's owner
may read the file (mode 0600). A new key comes first: it seals from now on. With --last
it comes last, and only opens: give it to all instances in this way before an app seals
with it.`,
		Example: "  bellhop key new /etc/bellhop/keys\n  bellhop key new /etc/bellhop/keys --id 2027 --last",
		Args:    a.Args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			line, err := seal.NewKey(id)
			if err != nil {
				return cli.Usage("key new", err.Error(), "bellhop key new FILE --id 2027")
			}
			if err := addKey(args[0], line, last); err != nil {
				return badKeys("key new", args[0], err)
			}
			id, _, _ := strings.Cut(line, " ")
			if a.JSON() {
				return a.PrintJSON(map[string]string{"key": id, "file": args[0]})
			}
			return a.Printf("%s\n", id)
		},
	}
	c.Flags().StringVar(&id, "id", "", "`name` of the key, which the database shows; default: a random one")
	c.Flags().BoolVar(&last, "last", false, "the key only opens until it is moved to the first line")
	return c
}

// addKey makes the file, or writes it anew with one more key, so that it is whole at any time. Its owner and mode stay.
func addKey(file, line string, last bool) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.WriteString(line)
		return errors.Join(err, f.Sync(), f.Close())
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if file, err = filepath.EvalSymlinks(file); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if _, err = seal.Parse(text); err != nil {
		return err
	}
	now := line + string(text)
	if last {
		now = strings.TrimRight(string(text), "\n") + "\n" + line
	}
	if _, err := seal.Parse([]byte(now)); err != nil {
		return err
	}
	return replaceKeys(file, now)
}

func replaceKeys(file, text string) (err error) {
	was, err := os.Stat(file)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".keys-*") // of mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.WriteString(text)
	if err == nil {
		err = keepOwner(f, was)
	}
	if err = errors.Join(err, f.Chmod(was.Mode().Perm()), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

func keyLs(a *cli.App) *cobra.Command {
	type row struct {
		Key string `json:"key"`
		Use string `json:"use"`
	}
	return &cobra.Command{
		Use: "ls FILE", Short: "List the keys of a file, not the secrets",
		Long:    "List the ids of the keys of a file. The first key seals and opens, the others open.",
		Example: "  bellhop key ls /etc/bellhop/keys",
		Args:    a.Args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			keys, err := seal.Read(args[0])
			if err != nil {
				return badKeys("key ls", args[0], err)
			}
			var list []row
			for i, id := range keys.IDs() {
				list = append(list, row{id, []string{"opens", "seals and opens"}[min(1, max(0, 1-i))]})
			}
			return cli.PrintRows(a, list, nil, "", "KEY, USE", func(r row) []any { return []any{r.Key, r.Use} })
		},
	}
}

// badKeys is what is wrong with a file of keys.
func badKeys(of, file string, err error) error {
	var at *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist) && of == "key new":
		return cli.Failed(cli.ExitNotFound, of, "mkdir -p "+cli.ShellWord(filepath.Dir(file)), "%s", err)
	case errors.Is(err, fs.ErrNotExist):
		return cli.Failed(cli.ExitNotFound, of, "bellhop key new "+cli.ShellWord(file), "%s", err)
	case errors.Is(err, fs.ErrPermission):
		return cli.Failed(cli.ExitDenied, of, "sudo -u OWNER bellhop "+of+" "+cli.ShellWord(file), "%s", err)
	case errors.As(err, &at):
		return cli.Failed(cli.ExitState, of, "ls -l "+cli.ShellWord(file), "%s", err)
	}
	return cli.Usage(of, err.Error(), "bellhop key --help")
}

func keySeal(a *cli.App) *cobra.Command {
	return onText(a, "seal", "Seal a text, as submit does",
		"Seal the text on stdin for a job of TYPE, and print the envelope. PLACE is where the job has it: args (the\n"+
			"default), vars.NAME, item.COLUMN (a column of a query), result or steps.NAME.",
		"  printf %s ann@example.org | bellhop key seal mail --keys app.keys",
		func(k *seal.Keys, at seal.Place, text string) (string, error) { return k.Seal(at, text) })
}

func keyOpen(a *cli.App) *cobra.Command {
	return onText(a, "open", "Open an envelope, as agents get it",
		"Open the envelope on stdin, and print its text. TYPE and PLACE are those that it was sealed for: it opens\n"+
			"nowhere else.",
		"  psql -Atc 'select args from bellhop.payload where id = 42' | bellhop key open mail --keys app.keys",
		func(k *seal.Keys, at seal.Place, text string) (string, error) {
			if _, sealed := seal.KeyOf(text); !sealed {
				return "", errors.New("this is no envelope, which begins with bellhop:sealed")
			}
			return k.Open(at, text)
		})
}

// onText is a command that makes one text of another.
func onText(a *cli.App, verb, short, long, example string,
	do func(*seal.Keys, seal.Place, string) (string, error)) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: verb + " TYPE [PLACE] --keys FILE", Short: short, Long: long, Example: example,
		Args: a.Args(cobra.RangeArgs(1, 2)),
		RunE: func(_ *cobra.Command, args []string) error {
			if file == "" {
				return cli.Usage("key "+verb, "it needs a file of keys", "bellhop key "+verb+" TYPE --keys FILE")
			}
			keys, err := seal.Read(file)
			if err != nil {
				return badKeys("key "+verb, file, err)
			}
			text, err := io.ReadAll(io.LimitReader(a.Stdin, 2*seal.MaxText))
			if err != nil {
				return fmt.Errorf("read stdin: %w", err)
			}
			at := seal.Place{Type: args[0], At: seal.Args}
			if len(args) == 2 {
				at.At = args[1]
			}
			said, err := do(keys, at, strings.TrimSuffix(string(text), "\n"))
			if err != nil {
				return cli.Usage("key "+verb, err.Error(), "bellhop key "+verb+" --help")
			}
			return a.Printf("%s\n", said)
		},
	}
	c.Flags().StringVar(&file, "keys", "", "`file` of keys, as bellhop key new makes it")
	return c
}
