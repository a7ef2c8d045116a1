package main

import (
	"cmp"
	"debug/buildinfo"
	"os"
	"path/filepath"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// bill writes what the program is made of, as it says itself: the modules that are linked in, with their sums.
func (r *release) bill() error {
	info, err := buildinfo.ReadFile(r.program(r.only[0]))
	if err != nil {
		return err
	}
	var parts []cdx.Component
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		parts = append(parts, component(m.Path, m.Version))
	}
	parts = append(parts, component("std", strings.TrimPrefix(info.GoVersion, "go")))
	slices.SortFunc(parts, func(a, b cdx.Component) int { return cmp.Compare(a.PackageURL, b.PackageURL) })
	of := component(info.Main.Path, r.version)
	of.Type = cdx.ComponentTypeApplication
	bom := cdx.NewBOM() // without a serial number: two runs write the same
	bom.Metadata = &cdx.Metadata{Timestamp: r.when.Format("2006-01-02T15:04:05Z"), Component: &of}
	bom.Components = &parts
	out, err := os.Create(filepath.Join(r.to, "bellhop_"+r.version+".cdx.json"))
	if err != nil {
		return err
	}
	defer out.Close()
	if err := cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	return out.Close()
}

func component(path, version string) cdx.Component {
	url := "pkg:golang/" + path + "@" + version
	return cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: url}
}
