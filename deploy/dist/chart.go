package main

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// chart packs deploy/helm, as helm package would, with the version of the release.
func (r *release) chart() error {
	var files []file
	root := filepath.Join(r.root, "deploy/helm")
	err := filepath.WalkDir(root, func(at string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		body, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		text := string(body)
		if name == "Chart.yaml" {
			text = strings.ReplaceAll(text, "0.0.0", r.version)
		}
		files = append(files, file{name: path.Join("bellhop", filepath.ToSlash(name)), text: text, mode: 0o644})
		return nil
	})
	if err != nil {
		return err
	}
	return writeTarGz(filepath.Join(r.to, "bellhop-"+r.version+".chart.tgz"), r.when, files)
}
