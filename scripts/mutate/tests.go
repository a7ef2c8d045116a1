package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// testsOf lists the packages that have tests which are expected to notice: no others are built. Each part of the
// expression has one at least, or its guard would go unwatched when a test is renamed.
func testsOf(root string, g guard) (packages []string, err error) {
	missing := map[string]bool{}
	for part := range strings.SplitSeq(g.run, "|") {
		missing[part] = true
	}
	parts := slices.Collect(maps.Keys(missing))
	for _, pattern := range g.tests {
		folder := filepath.Join(root, strings.TrimSuffix(pattern, "/..."))
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && d.Name() == "testdata" {
				return cmp.Or(err, fs.SkipDir)
			} else if !strings.HasSuffix(path, "_test.go") {
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			dir, err := filepath.Rel(root, filepath.Dir(path))
			for _, m := range testFunc.FindAllSubmatch(text, -1) {
				for _, part := range parts {
					if regexp.MustCompile(part).Match(m[1]) {
						packages = append(packages, "./"+dir)
						delete(missing, part)
					}
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for part := range missing {
		return nil, fmt.Errorf("%v has no test %s", g.tests, part)
	}
	slices.Sort(packages)
	return slices.Compact(packages), nil
}
