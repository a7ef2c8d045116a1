package cli

import (
	"cmp"
	"errors"
	"os"

	"bellhop/config"
	"bellhop/web"
)

// DefaultConfig is read when it is there and no other is named.
const DefaultConfig = "bellhop.yaml"

// ConfigVariable names the configuration where -c does not.
const ConfigVariable = "BELLHOP_CONFIG"

// ConfigFile is the configuration's path, empty when there is none.
func (a *App) ConfigFile() (string, error) {
	path := cmp.Or(a.ConfigPath, a.Getenv(ConfigVariable))
	named := path != ""
	if !named {
		path = DefaultConfig
	}
	_, err := os.Stat(path)
	switch {
	case err == nil:
		return path, nil
	case !named && errors.Is(err, os.ErrNotExist):
		return "", nil
	}
	return "", Usage("configuration", err.Error(), "bellhop config check -c FILE")
}

// BadConfig tells all problems of a configuration.
func BadConfig(path string, err error) error {
	return Usage("configuration", Flat(err.Error()), "mend "+path+", then: bellhop config check -c "+path)
}

// LoadConfig reads the configuration that is named, or bellhop.yaml where
// there is one, or takes the defaults.
func (a *App) LoadConfig() (config.Config, error) {
	path, err := a.ConfigFile()
	if err != nil {
		return config.Config{}, err
	}
	if path == "" {
		return config.Default(), nil
	}
	c, err := config.Load(path)
	if err != nil {
		return config.Config{}, BadConfig(path, err)
	}
	return c, nil
}

// WebToken is what the web server asks for: BELLHOP_TOKEN, or the content of
// the file that is named; empty: nothing.
func (a *App) WebToken(c config.Config, file string) (token string, err error) {
	if token = a.Getenv("BELLHOP_TOKEN"); token != "" {
		token, err = web.CheckToken(token)
	} else if file = cmp.Or(file, c.TokenFile); file != "" {
		token, err = web.ReadToken(file)
	}
	return token, err
}
