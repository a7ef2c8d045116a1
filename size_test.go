package bellhop_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"strings"
	"testing"
)

// largest is how many bytes a file of the repository may have. Each clone holds every version of it for good.
const largest = 400_000

// No file of the repository is a built program, or as large as one.
func TestSize_OfFiles(t *testing.T) {
	t.Parallel()
	for _, name := range tracked(t) {
		info, err := os.Lstat(name)
		if err != nil {
			continue // removed, and not yet committed
		}
		if info.Size() > largest {
			t.Errorf("%s has %d bytes: git rm --cached %[1]s, and let .gitignore name it", name, info.Size())
		}
	}
}

const (
	longestFile     = 400 // lines
	longestFunction = 60
)

// longer are the functions that may be longer than others, each with the reason.
var longer = map[string]string{
	"actors/dispatch/dispatcher.go dispatcher.Receive": "one switch over its messages, with one call for each",
}

// A reader takes in a file, or a function, at one go. Tests, the benchmark and generated files may be longer.
func TestSize_OfGo(t *testing.T) {
	t.Parallel()
	unused := maps.Clone(longer)
	for _, name := range tracked(t, "*.go") {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "bench/") || strings.Contains(name, "testdata/") {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, and not yet committed
		} else if err != nil {
			t.Fatal(err)
		} else if ast.IsGenerated(file) {
			continue
		}
		if n := files.File(file.FileStart).LineCount(); n > longestFile {
			t.Errorf("%s has %d lines, %d are allowed: move one of its ideas to a file of its own", name, n, longestFile)
		}
		for _, d := range file.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is {
				continue
			}
			n := files.Position(f.End()).Line - files.Position(f.Pos()).Line + 1
			if n <= longestFunction {
				continue
			}
			what := name + " " + called(f)
			if delete(unused, what); longer[what] == "" {
				t.Errorf("%s has %d lines, %d are allowed: make a step of it a function with a name, or its cases a table",
					what, n, longestFunction)
			}
		}
	}
	for what := range unused {
		t.Errorf("%s is not too long: take it out of longer", what)
	}
}

// called is a function's name, and before it that of its receiver's type.
func called(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	return strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*") + "." + f.Name.Name
}
