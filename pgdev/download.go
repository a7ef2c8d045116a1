//go:build unix

package pgdev

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/xi2/xz"
)

const (
	// repository is where PostgreSQL's programs are published in one file for
	// each system (https://github.com/zonkyio/embedded-postgres-binaries).
	repository = "https://repo1.maven.org/maven2"
	// downloadVersion is the one that is downloaded.
	downloadVersion = "17.5.0"
	// downloadLimit is far above what the programs have, packed (10 MB) or not (100 MB).
	downloadLimit = 1 << 30
	// downloadPatience is for a slow line, not for none.
	downloadPatience = 10 * time.Minute
)

// Download gets PostgreSQL's server programs for users that have none and may not install any. They are put under
// dir, where Find has them once BELLHOP_PG_BIN names the folder; a second call finds them there.
//
// They come from Maven Central, or from the repository that
// BELLHOP_PG_REPOSITORY names, and nothing is run whose SHA-256 is not the one
// that is published beside it. On an error nothing is left under dir.
func Download(ctx context.Context, dir string) (Binaries, error) {
	from := os.Getenv("BELLHOP_PG_REPOSITORY")
	if from == "" {
		from = repository
	}
	b, err := download(ctx, strings.TrimRight(from, "/"), dir)
	if err != nil {
		return Binaries{}, fmt.Errorf("download PostgreSQL: %w\n%s", err, system.advice(0)+
			"\nor another repository of the same layout: BELLHOP_PG_REPOSITORY=https://…")
	}
	return b, nil
}

func download(ctx context.Context, from, dir string) (Binaries, error) {
	name, err := artifact()
	if err != nil {
		return Binaries{}, err
	}
	to := filepath.Join(dir, "postgresql-"+downloadVersion)
	if b, err := inspect(filepath.Join(to, "bin")); err == nil {
		return b, nil
	}
	url := fmt.Sprintf("%s/io/zonky/test/postgres/%s/%s/%[2]s-%[3]s.jar", from, name, downloadVersion)
	jar, err := fetch(ctx, url)
	if err != nil {
		return Binaries{}, err
	}
	published, err := fetch(ctx, url+".sha256")
	if err != nil {
		return Binaries{}, fmt.Errorf("its checksum: %w", err)
	}
	sum := sha256.Sum256(jar)
	if want, _, _ := strings.Cut(strings.TrimSpace(string(published)), " "); want != hex.EncodeToString(sum[:]) {
		return Binaries{}, fmt.Errorf("%s is not what was published: its SHA-256 is %x, it should be %.64s", url, sum, want)
	}
	if err := makeFolders(dir); err != nil {
		return Binaries{}, err
	}
	// Beside its place, so that half of it is never taken for all.
	fresh, err := os.MkdirTemp(dir, ".postgresql-")
	if err != nil {
		return Binaries{}, err
	}
	defer os.RemoveAll(fresh)
	if err := unpack(jar, fresh); err != nil {
		return Binaries{}, fmt.Errorf("unpack %s: %w", url, err)
	}
	if _, err := inspect(filepath.Join(fresh, "bin")); err != nil {
		return Binaries{}, fmt.Errorf("%s: %w", url, err)
	}
	if err := errors.Join(os.Chmod(fresh, 0o755), os.RemoveAll(to), os.Rename(fresh, to)); err != nil {
		return Binaries{}, err
	}
	return inspect(filepath.Join(to, "bin"))
}

// artifact is the name under which this system's programs are published.
func artifact() (string, error) {
	arch := map[string]string{"amd64": "amd64", "arm64": "arm64v8", "386": "i386", "ppc64le": "ppc64le"}[runtime.GOARCH]
	if arch == "" || runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		return "", fmt.Errorf("there are no programs for %s on %s", runtime.GOOS, runtime.GOARCH)
	}
	if _, err := os.Stat("/etc/alpine-release"); err == nil {
		arch += "-alpine"
	}
	return "embedded-postgres-binaries-" + runtime.GOOS + "-" + arch, nil
}

func fetch(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, downloadPatience)
	defer cancel()
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		return nil, fmt.Errorf("the repository cannot be reached: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, answer.Status)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, downloadLimit))
	if err != nil {
		return nil, fmt.Errorf("%s broke off: %w", url, err)
	}
	return body, nil
}

// unpack puts what the archive in the archive holds into dir, and nothing
// anywhere else.
func unpack(jar []byte, dir string) error {
	outer, err := zip.NewReader(bytes.NewReader(jar), int64(len(jar)))
	if err != nil {
		return err
	}
	for _, f := range outer.File {
		if !strings.HasSuffix(f.Name, ".txz") {
			continue
		}
		packed, err := f.Open()
		if err != nil {
			return err
		}
		defer packed.Close()
		plain, err := xz.NewReader(packed, 0)
		if err != nil {
			return err
		}
		root, err := os.OpenRoot(dir) // no name leads out of it
		if err != nil {
			return err
		}
		defer root.Close()
		return untar(tar.NewReader(io.LimitReader(plain, downloadLimit)), root)
	}
	return errors.New("there is no .txz in it")
}

func untar(files *tar.Reader, root *os.Root) error {
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.Clean(h.Name)
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(name, 0o755)
		case tar.TypeSymlink:
			err = root.Symlink(h.Linkname, name)
		case tar.TypeReg:
			// Others may run them: root's server is another account's.
			mode := os.FileMode(0o644)
			if h.Mode&0o111 != 0 {
				mode = 0o755
			}
			var f *os.File
			if f, err = root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode); err == nil {
				_, err = io.Copy(f, files)
				err = errors.Join(err, f.Close(), root.Chmod(name, mode))
			}
		}
		if err != nil {
			return err
		}
	}
}
