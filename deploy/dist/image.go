package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// roots are where systems keep the authorities that sign TLS certificates.
var roots = []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"}

// descriptor names a blob, as an OCI layout does.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    map[string]string `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// layout is an image on its way into an archive.
type layout struct {
	blobs map[string][]byte
	order []string
}

func (l *layout) add(kind string, body []byte) descriptor {
	sum := sha256.Sum256(body)
	name := hex.EncodeToString(sum[:])
	if l.blobs[name] == nil {
		l.blobs[name] = body
		l.order = append(l.order, name)
	}
	return descriptor{MediaType: kind, Digest: "sha256:" + name, Size: len(body)}
}

func (l *layout) json(kind string, v any) (descriptor, error) {
	body, err := json.Marshal(v) // maps are sorted
	return l.add(kind, body), err
}

// images makes one archive for each platform of Linux: an OCI layout, which docker load (25 and later), podman load and
// skopeo take. It is made without an engine: nothing runs, and the same commit gives the same bytes.
func (r *release) images() error {
	for _, p := range r.only {
		if arch, linux := strings.CutPrefix(p, "linux/"); linux {
			if err := r.image(p, arch); err != nil {
				return err
			}
		}
	}
	return nil
}

// imageFiles is all that the image has: the program, the authorities, the zones, an account and a /tmp.
func (r *release) imageFiles(platform string) ([]file, error) {
	zones := filepath.Join(runtime.GOROOT(), "lib/time/zoneinfo.zip")
	if _, err := os.Stat(zones); err != nil {
		return nil, fmt.Errorf("the zones of Go itself: %w", err)
	}
	trusted := ""
	for _, path := range roots {
		if _, err := os.Stat(path); err == nil && trusted == "" {
			trusted = path
		}
	}
	if trusted == "" {
		return nil, fmt.Errorf("no list of authorities in %v: install ca-certificates", roots)
	}
	return []file{
		{name: "etc/", mode: 0o755},
		{name: "etc/bellhop/", mode: 0o755},
		{name: "etc/group", text: "root:x:0:\nbellhop:x:10001:\n", mode: 0o644},
		{name: "etc/passwd", text: "root:x:0:0::/:/\nbellhop:x:10001:10001::/tmp:/\n", mode: 0o644},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", from: trusted, mode: 0o644},
		{name: "licenses/", mode: 0o755},
		{name: "licenses/bellhop", from: filepath.Join(r.root, "LICENSE"), mode: 0o644},
		{name: "tmp/", mode: 0o1777},
		{name: "usr/", mode: 0o755},
		{name: "usr/bin/", mode: 0o755},
		{name: "usr/bin/bellhop", from: r.program(platform), mode: 0o755},
		{name: "usr/share/", mode: 0o755},
		{name: "usr/share/zoneinfo.zip", from: zones, mode: 0o644},
	}, nil
}

func (r *release) image(platform, arch string) error {
	files, err := r.imageFiles(platform)
	if err != nil {
		return err
	}
	var plain, packed bytes.Buffer
	if err := writeTar(&plain, r.when, files); err != nil {
		return err
	}
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := io.Copy(z, bytes.NewReader(plain.Bytes())); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	l := &layout{blobs: map[string][]byte{}}
	inner := sha256.Sum256(plain.Bytes())
	layer := l.add("application/vnd.oci.image.layer.v1.tar+gzip", packed.Bytes())
	config, err := l.json("application/vnd.oci.image.config.v1+json", map[string]any{
		"created": r.when.Format(time.RFC3339), "architecture": arch, "os": "linux",
		"config": map[string]any{
			"User": "10001:10001", "Entrypoint": []string{"/usr/bin/bellhop"}, "Cmd": []string{"serve"},
			"Env":        []string{"PATH=/usr/bin", "ZONEINFO=/usr/share/zoneinfo.zip", "HOME=/tmp"},
			"WorkingDir": "/tmp", "ExposedPorts": map[string]any{"8470/tcp": struct{}{}},
			"Labels": map[string]string{"org.opencontainers.image.title": "bellhop",
				"org.opencontainers.image.version": r.version, "org.opencontainers.image.revision": r.commit},
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(inner[:])}},
		"history": []any{map[string]any{"created": r.when.Format(time.RFC3339), "created_by": "make dist"}},
	})
	if err != nil {
		return err
	}
	manifest, err := l.json("application/vnd.oci.image.manifest.v1+json", map[string]any{"schemaVersion": 2,
		"mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": []descriptor{layer}})
	if err != nil {
		return err
	}
	return r.writeLayout(l, manifest, config, layer, arch)
}

// imageTag is the version as a tag may be written.
func (r *release) imageTag() string { return strings.ReplaceAll(r.version, "+", "-") }

// writeLayout writes the archive. manifest.json is for engines that are older than the layout.
func (r *release) writeLayout(l *layout, manifest, config, layer descriptor, arch string) error {
	tag := "bellhop:" + r.imageTag()
	manifest.Platform = map[string]string{"os": "linux", "architecture": arch}
	manifest.Annotations = map[string]string{"io.containerd.image.name": "docker.io/library/" + tag,
		"org.opencontainers.image.ref.name": r.imageTag()}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
		"manifests": []descriptor{manifest}})
	if err != nil {
		return err
	}
	at := func(d descriptor) string { return "blobs/" + strings.Replace(d.Digest, ":", "/", 1) }
	old, err := json.Marshal([]any{map[string]any{
		"Config": at(config), "RepoTags": []string{tag}, "Layers": []string{at(layer)},
	}})
	if err != nil {
		return err
	}
	files := []file{{name: "blobs/", mode: 0o755}, {name: "blobs/sha256/", mode: 0o755}}
	for _, name := range l.order {
		files = append(files, file{name: "blobs/sha256/" + name, text: string(l.blobs[name]), mode: 0o644})
	}
	files = append(files, file{name: "index.json", text: string(index), mode: 0o644},
		file{name: "manifest.json", text: string(old), mode: 0o644},
		file{name: "oci-layout", text: `{"imageLayoutVersion":"1.0.0"}`, mode: 0o644})
	out, err := os.Create(filepath.Join(r.to, "bellhop_"+r.version+"_linux_"+arch+".oci.tar"))
	if err != nil {
		return err
	}
	defer out.Close()
	if err := writeTar(out, r.when, files); err != nil {
		return err
	}
	return out.Close()
}
