package main

import (
	"compress/gzip"
	_ "embed"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// The scripts of the packages. Each says which commands come next.
var (
	//go:embed package/postinstall.sh
	postInstall string
	//go:embed package/preremove.sh
	preRemove string
	//go:embed package/postremove.sh
	postRemove string
	//go:embed package/sysusers.conf
	sysusers string
	//go:embed package/bellhop.yaml
	firstConfig string
)

// packages makes a deb and an rpm for each platform of Linux.
func (r *release) packages() error {
	for name, text := range map[string]string{"postinstall.sh": postInstall, "preremove.sh": preRemove,
		"postremove.sh": postRemove, "sysusers.conf": sysusers, "bellhop.yaml": firstConfig} {
		if err := r.write("package/"+name, text); err != nil {
			return err
		}
	}
	if err := r.compressPages(); err != nil {
		return err
	}
	for _, p := range r.only {
		arch, linux := strings.CutPrefix(p, "linux/")
		if !linux {
			continue
		}
		for _, kind := range []string{"deb", "rpm"} {
			if err := r.packageOf(kind, p, arch); err != nil {
				return err
			}
		}
	}
	return nil
}

// compressPages writes the man pages as packages have them. gzip's header has neither a name nor a time: two builds
// are the same byte for byte.
func (r *release) compressPages() error {
	pages, err := r.under("man", "man.gz/")
	for _, p := range pages {
		text, err := os.ReadFile(p.from)
		if err != nil {
			return err
		}
		var out strings.Builder
		z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err = z.Write(text); err == nil {
			err = z.Close()
		}
		if err == nil {
			err = r.write(p.name+".gz", out.String())
		}
		if err != nil {
			return err
		}
	}
	return err
}

func (r *release) packageOf(kind, platform, arch string) error {
	info, err := r.info(platform, arch)
	if err != nil {
		return err
	}
	packager, err := nfpm.Get(kind)
	if err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(r.to, "bellhop_"+r.version+"_"+arch+"."+kind))
	if err != nil {
		return err
	}
	defer out.Close()
	if err := nfpm.PrepareForPackager(info, kind); err != nil {
		return err
	}
	if err := packager.Package(info, out); err != nil {
		return err
	}
	return out.Close()
}

// info is what both kinds of packages are made from.
func (r *release) info(platform, arch string) (*nfpm.Info, error) {
	var contents files.Contents
	add := func(from, to, kind string, mode os.FileMode) {
		contents = append(contents, &files.Content{Source: from, Destination: to, Type: kind,
			FileInfo: &files.ContentFileInfo{Mode: mode, MTime: r.when}})
	}
	at := func(name string) string { return filepath.Join(r.work, name) }
	add(r.program(platform), "/usr/bin/bellhop", "", 0o755)
	add(at("bellhop.service"), "/usr/lib/systemd/system/bellhop.service", "", 0o644)
	add(at("package/sysusers.conf"), "/usr/lib/sysusers.d/bellhop.conf", "", 0o644)
	add(at("package/bellhop.yaml"), "/etc/bellhop/bellhop.yaml", files.TypeConfigNoReplace, 0o644)
	add(at("completions/bellhop.bash"), "/usr/share/bash-completion/completions/bellhop", "", 0o644)
	add(at("completions/_bellhop"), "/usr/share/zsh/vendor-completions/_bellhop", "", 0o644)
	add(at("completions/bellhop.fish"), "/usr/share/fish/vendor_completions.d/bellhop.fish", "", 0o644)
	for _, doc := range []string{"README.md", "CHANGELOG.md", "bellhop.example.yaml"} {
		add(filepath.Join(r.root, doc), "/usr/share/doc/bellhop/"+doc, "", 0o644)
	}
	add(filepath.Join(r.root, "LICENSE"), "/usr/share/doc/bellhop/copyright", "", 0o644)
	pages, err := r.under("man.gz", "/usr/share/man/man1/")
	for _, p := range pages {
		add(p.from, p.name, "", 0o644)
	}
	version, pre, _ := strings.Cut(r.version, "-")
	pre, commit, _ := strings.Cut(pre, "+")
	return nfpm.WithDefaults(&nfpm.Info{
		Name: "bellhop", Arch: arch, Platform: "linux", Version: version, Prerelease: pre, VersionMetadata: commit,
		VersionSchema: "none", Release: "1", Section: "admin", Priority: "optional", License: "see copyright",
		Maintainer: "bellhop <bellhop@localhost>",
		Description: "An event-driven job scheduler on PostgreSQL.\n" +
			"Jobs are rows of a table; agents do them, in any language.",
		MTime: r.when, DisableGlobbing: true,
		Overridables: nfpm.Overridables{
			Contents:   contents,
			Depends:    nil, // the program is static
			Recommends: []string{"ca-certificates"},
			Scripts: nfpm.Scripts{PostInstall: at("package/postinstall.sh"), PreRemove: at("package/preremove.sh"),
				PostRemove: at("package/postremove.sh")},
			RPM: nfpm.RPM{BuildHost: "bellhop", Summary: "An event-driven job scheduler on PostgreSQL"},
		},
	}), err
}
