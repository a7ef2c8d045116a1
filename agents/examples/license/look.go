package license

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/google/licensecheck"
)

// How much of a file is read: of a source file what comes before the program,
// of any other more than a licence ever is.
const (
	headBytes = 8 << 10
	mostBytes = 1 << 20
)

// None is the licence of a file in which none was found.
const None = "none"

// finding is what became of one file: a licence, or why it could not be read.
type finding struct {
	licence string
	// coverage is how much of the text the licences' own words make up, in
	// percent; nil when the file only names its licence.
	coverage *float64
	failure  string
}

func look(f file) finding {
	most := int64(mostBytes)
	if f.source {
		most = headBytes
	}
	text, err := read(f.path, most)
	if err != nil {
		return finding{failure: reason(err)}
	}
	return classify(text)
}

var errNotRegular = errors.New("not a regular file")

// read reads the beginning of a regular file. It does not wait for a pipe that
// took the file's place.
func read(path string, most int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// reason is an error of the operating system without the path, which the table
// has already and which may not be UTF-8.
func reason(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

// spdx is the line by which a file names its licence: what its author says
// himself counts more than what its words look like.
var spdx = regexp.MustCompile(
	`SPDX-License-Identifier:[ \t]*(` + spdxTerm + `(?:[ \t]+(?:AND|OR|WITH)[ \t]+` + spdxTerm + `)*)`)

const spdxTerm = `\(*[A-Za-z0-9][A-Za-z0-9.+:-]*\)*`

func classify(text []byte) finding {
	var names []string
	for _, m := range spdx.FindAllSubmatch(text, -1) {
		names = append(names, string(m[1]))
	}
	if len(names) > 0 {
		return finding{licence: join(names)}
	}
	cov := licensecheck.Scan(text)
	var links []string
	for _, m := range cov.Match {
		if m.IsURL {
			links = append(links, m.ID)
		} else {
			names = append(names, m.ID)
		}
	}
	if len(names) == 0 { // a link to a licence is better than nothing
		names = links
	}
	return finding{licence: join(names), coverage: &cov.Percent}
}

// join names every licence once, in the order of the text.
func join(names []string) string {
	var once []string
	for _, name := range names {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	if once == nil {
		return None
	}
	return strings.Join(once, " AND ")
}
