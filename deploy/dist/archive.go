package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aead.dev/minisign"
)

// file is one that goes into an archive: from the disk, or with this text; a folder where the name ends so.
type file struct {
	name, from, text string
	mode             int64
}

// writeTar writes an archive whose bytes follow from its files alone.
func writeTar(w io.Writer, when time.Time, files []file) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		body := []byte(f.text)
		if f.from != "" {
			var err error
			if body, err = os.ReadFile(f.from); err != nil {
				return err
			}
		}
		h := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(body)), ModTime: when, Format: tar.FormatPAX,
			Typeflag: tar.TypeReg}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag, h.Size, body = tar.TypeDir, 0, nil
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(body); err != nil {
			return err
		}
	}
	return t.Close()
}

// writeTarGz writes it compressed to a file.
func writeTarGz(path string, when time.Time, files []file) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	z, err := gzip.NewWriterLevel(out, gzip.BestCompression) // its header has no name and no time
	if err != nil {
		return err
	}
	if err := writeTar(z, when, files); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return out.Close()
}

// under lists the files below a folder of the work folder, by name.
func (r *release) under(dir, as string) (files []file, err error) {
	entries, err := os.ReadDir(filepath.Join(r.work, dir))
	for _, e := range entries { // in the order of their names
		files = append(files, file{name: as + e.Name(), from: filepath.Join(r.work, dir, e.Name()), mode: 0o644})
	}
	return files, err
}

// archives has one for each platform: the program, and what lies beside it.
func (r *release) archives() error {
	for _, p := range r.only {
		name := "bellhop_" + r.version + "_" + strings.ReplaceAll(p, "/", "_")
		at := name + "/"
		files := []file{{name: at + "bellhop", from: r.program(p), mode: 0o755}}
		for _, doc := range []string{"LICENSE", "README.md", "CHANGELOG.md", "bellhop.example.yaml"} {
			files = append(files, file{name: at + doc, from: filepath.Join(r.root, doc), mode: 0o644})
		}
		unit := filepath.Join(r.work, "bellhop.service")
		files = append(files, file{name: at + "bellhop.service", from: unit, mode: 0o644})
		for _, dir := range []string{"completions", "man"} {
			more, err := r.under(dir, at+dir+"/")
			if err != nil {
				return err
			}
			files = append(files, more...)
		}
		if err := writeTarGz(filepath.Join(r.to, name+".tar.gz"), r.when, files); err != nil {
			return err
		}
	}
	return nil
}

// clients are the packages for Python and Node, where this machine has those.
func (r *release) clients() error {
	env := []string{"BELLHOP_VERSION=" + r.version, "PYTHONDONTWRITEBYTECODE=1"}
	if _, err := r.command(filepath.Join(r.root, "clients/python"), env, "python3", "backend.py", r.to); err != nil {
		return err
	}
	_, err := r.command(filepath.Join(r.root, "clients/node"), env, "node", "build.js", r.to)
	return err
}

// sums lists what was made, and signs the list.
func (r *release) sums() error {
	entries, err := os.ReadDir(r.to)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, e := range entries {
		body, err := os.ReadFile(filepath.Join(r.to, e.Name()))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		list.WriteString(hex.EncodeToString(sum[:]) + "  " + e.Name() + "\n")
	}
	if err := os.WriteFile(filepath.Join(r.to, "SHA256SUMS"), []byte(list.String()), 0o644); err != nil {
		return err
	}
	if r.key == nil {
		fmt.Println("not signed: no -key was given")
		return nil
	}
	signed := minisign.SignWithComments(*r.key, []byte(list.String()), "bellhop "+r.version,
		"signature of bellhop "+r.version)
	return os.WriteFile(filepath.Join(r.to, "SHA256SUMS.minisig"), signed, 0o644)
}

// list says what there is.
func (r *release) list() error {
	entries, err := os.ReadDir(r.to)
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Printf("%9.1f MB  %s\n", float64(info.Size())/1e6, e.Name())
	}
	return nil
}
