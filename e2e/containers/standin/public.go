package standin

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Postgres stands in for postgres:17.
func Postgres(ctx context.Context) (string, error) {
	base, err := release(ctx, "trixie", "postgresql-17") // the first release that has it
	if err != nil {
		return "", err
	}
	return build(ctx, "postgres", here("postgres"), "", []string{"BASE=" + base})
}

// Prometheus stands in for prom/prometheus.
func Prometheus(ctx context.Context) (string, error) {
	base, err := Debian(ctx, "prometheus")
	if err != nil {
		return "", err
	}
	return build(ctx, "prometheus", here("prometheus"), "", []string{"BASE=" + base})
}

// Jaeger stands in for jaegertracing/jaeger.
func Jaeger(ctx context.Context) (string, error) {
	program, err := JaegerProgram(ctx)
	if err != nil {
		return "", err
	}
	base, err := Debian(ctx)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "bellhop-jaeger-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := copyFiles(dir, program, filepath.Join(here("jaeger"), "Dockerfile")); err != nil {
		return "", err
	}
	return build(ctx, "jaeger", dir, "", []string{"BASE=" + base})
}

// JaegerProgram is where scripts/jaeger has put Jaeger, which it builds from its
// module when it is not there yet.
func JaegerProgram(ctx context.Context) (path string, err error) {
	text, err := run(ctx, "", nil, here("../../../scripts/jaeger"))
	lines := strings.Fields(text)
	if err != nil || len(lines) == 0 {
		return "", err
	}
	return lines[len(lines)-1], nil
}

// here is a folder beside this file.
func here(name string) string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), name)
}

// copyFiles puts files into a folder, under their own names.
func copyFiles(dir string, paths ...string) error {
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(p)), data, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return nil
}
