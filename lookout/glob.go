package lookout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"unicode/utf8"
)

// wild are the letters of a pattern that stand for others.
const wild = `*?[\`

// passed counts what a look could not see, and keeps the first as an example.
type passed struct {
	n    int
	name string
	err  error
}

// over counts one. What is not there is nothing that is passed over: it has gone, or a link leads nowhere.
func (p *passed) over(name string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if p.n++; p.n == 1 {
		p.name, p.err = name, bare(err)
	}
}

// remark says it for people; root is where the names lie. Empty: nothing was passed over. Names are quoted, since
// one may hold bytes that are not text.
func (p *passed) remark(root string) string {
	if p.n == 0 {
		return ""
	}
	return fmt.Sprintf("it cannot look at %d of what its pattern names, the first of them %q: %v", p.n, path.Join(root, p.name), p.err)
}

// bare is an error without the path, which is said beside it.
func bare(err error) error {
	if is := (*fs.PathError)(nil); errors.As(err, &is) {
		return is.Err
	}
	return err
}

// glob gives the files below a folder that a pattern names, and what they are. Unlike fs.Glob it says what it could
// not see: an error of the innermost folder without wildcards is its own error, and errors below it are counted. As in
// shells a leading dot is matched by a dot alone.
func glob(dir *os.Root, pattern string) (files map[string]fs.FileInfo, names []string, over passed, err error) {
	parts := strings.Split(pattern, "/")
	folders, last := parts[:len(parts)-1], parts[len(parts)-1]
	base := "."
	for len(folders) > 0 && !strings.ContainsAny(folders[0], wild) {
		base, folders = path.Join(base, folders[0]), folders[1:]
	}
	if err := folder(dir, base); err != nil {
		return nil, nil, over, err
	}
	found := []string{base}
	for i, part := range append(folders, last) {
		var next []string
		for _, in := range found {
			below, err := match(dir, in, part, i < len(folders))
			switch {
			case err == nil:
				next = append(next, below...)
			case in == base:
				return nil, nil, over, err
			case !errors.Is(err, syscall.ENOTDIR):
				over.over(in, err)
			}
		}
		found = next
	}
	files = make(map[string]fs.FileInfo, len(found))
	for _, name := range found {
		info, err := dir.Stat(name)
		switch {
		case err != nil:
			over.over(name, err)
		case !info.Mode().IsRegular():
		case !utf8.ValidString(name): // no event can have such a name
			over.over(name, errors.New("its name is not UTF-8"))
		default:
			files[name], names = info, append(names, name)
		}
	}
	return files, names, over, nil
}

// folder is an error where a name is not that of a folder. A named pipe would keep us for ever, if it was opened.
func folder(dir *os.Root, name string) error {
	info, err := dir.Stat(name)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	return err
}

// match gives what one part of a pattern names in a folder; wanted are folders where more of the pattern follows.
func match(dir *os.Root, in, part string, folders bool) (names []string, err error) {
	if err := folder(dir, in); err != nil {
		return nil, err
	}
	if !strings.ContainsAny(part, wild) {
		return []string{path.Join(in, part)}, nil
	}
	list, err := fs.ReadDir(dir.FS(), in)
	if err != nil {
		return nil, err
	}
	dots := strings.HasPrefix(part, ".") || strings.HasPrefix(part, `\.`)
	for _, e := range list {
		if strings.HasPrefix(e.Name(), ".") && !dots || folders && e.Type()&(fs.ModeDir|fs.ModeSymlink) == 0 {
			continue
		}
		is, err := path.Match(part, e.Name())
		if err != nil {
			return nil, err
		}
		if is {
			names = append(names, path.Join(in, e.Name()))
		}
	}
	return names, nil
}
