package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// Context is a name for a database.
type Context struct {
	Name     string `json:"name"`
	Database string `json:"database"` // a URL or a key=value string
	// Protected: a command asks before it changes anything there.
	Protected bool `json:"protected"`
}

// Contexts are the contexts of one user.
type Contexts struct {
	File string    // where they were read from, and are written to
	Use  string    // the one that is taken where no other database is named; empty: none
	List []Context // in the order of the file
}

var contextName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// CheckContextName says what is wrong with the name of a context.
func CheckContextName(s string) error {
	if !contextName.MatchString(s) {
		return fmt.Errorf("%q is not a name of letters, digits, - _ and ., at most 63 characters", s)
	}
	return nil
}

// LoadContexts reads and checks a file of contexts; one that is not there holds none. The error is a *Problems.
func LoadContexts(path string) (Contexts, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Contexts{File: path}, nil
	}
	if err != nil {
		return Contexts{}, &Problems{List: []Problem{{File: path, Text: "cannot be read: " + cause(err)}}, cause: err}
	}
	return parseContexts(path, text)
}

func parseContexts(path string, text []byte) (Contexts, error) {
	c := Contexts{File: path}
	r := newReader(path)
	if root := r.parse(text); root != nil {
		given := r.mapping(root, "", []field{
			{name: "use", read: r.filled(&c.Use)},
			{name: "contexts", read: func(n node, at string) { r.contexts(n, at, &c.List) }},
		})
		if _, known := c.Find(c.Use); c.Use != "" && !known {
			r.problem(given["use"], "add it under contexts, or name another", "use: there is no context %q", c.Use)
		}
	}
	return c, r.err()
}

func (r *reader) contexts(n node, at string, to *[]Context) {
	r.each(n, at, `write it like [{name: prod, database: "postgres://ops@db1/shop"}]`, func(n node, at string) {
		var c Context
		given := r.mapping(n, at, []field{
			{name: "name", required: true, read: func(n node, at string) {
				s, ok := r.string(n, at)
				if err := CheckContextName(s); ok && err != nil {
					r.problem(n, "write it like prod", "%s: %s", at, err)
				}
				c.Name = s
			}},
			{name: "database", required: true, read: r.databaseURL(&c.Database)},
			{name: "protected", read: r.flag(&c.Protected)},
		})
		if slices.ContainsFunc(*to, func(other Context) bool { return given["name"] != nil && other.Name == c.Name }) {
			r.problem(n, "each has a name of its own", "%s: there is a context %q above", at, c.Name)
		}
		*to = append(*to, c)
	})
}

// Find is the context of a name.
func (c Contexts) Find(name string) (Context, bool) {
	i := slices.IndexFunc(c.List, func(c Context) bool { return c.Name == name })
	if i < 0 {
		return Context{}, false
	}
	return c.List[i], true
}

// Write replaces the file at once, and no other user may read it: there may be passwords in it. A link stays a link.
func (c Contexts) Write() error {
	path, text := c.File, c.text()
	if _, err := parseContexts(path, text); err != nil {
		return err // what could not be read again is not written
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".contexts-*") // of mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // it is there where something failed
	if _, err = f.Write(text); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// text is the file. A string in JSON's quotes is one of YAML's.
func (c Contexts) text() []byte {
	var b bytes.Buffer
	b.WriteString("# Written by bellhop context, which keeps no comments.\n")
	if c.Use != "" {
		fmt.Fprintf(&b, "use: %s\n", strconv.Quote(c.Use))
	}
	b.WriteString("contexts:\n")
	for _, c := range c.List {
		fmt.Fprintf(&b, "  - {name: %q, database: %q, protected: %t}\n", c.Name, c.Database, c.Protected)
	}
	if len(c.List) == 0 {
		b.WriteString("  []\n")
	}
	return b.Bytes()
}
