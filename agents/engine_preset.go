package agents

import (
	"embed"
)

//go:embed engines/*.sh
var enginePresets embed.FS

// EnginePreset is the command by which a shipped engine does one thing; nil: there is no such engine.
func EnginePreset(name, op string) []string {
	script, err := enginePresets.ReadFile("engines/" + name + ".sh")
	if err != nil {
		return nil
	}
	return []string{"sh", "-c", string(script), name, op}
}
