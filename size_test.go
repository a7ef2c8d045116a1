package bellhop_test

import (
	"os"
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
