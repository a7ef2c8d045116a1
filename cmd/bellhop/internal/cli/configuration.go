package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

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
	why := err.Error()
	if errors.Is(err, os.ErrNotExist) {
		why = "no such file: " + path
	}
	return "", Usage("configuration", why,
		"name a file that is there; without -c and "+ConfigVariable+" it is "+DefaultConfig+", where there is one")
}

// BadConfig tells all problems of a configuration.
func BadConfig(path string, err error) error {
	return Usage("configuration", Flat(err.Error()), "fix "+path+", then: bellhop config check -c "+path)
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

// WebTokens are what programs send to the web server: the reader's of BELLHOP_TOKEN,
// or of the file that is named, and those of the configuration's tokens.
func (a *App) WebTokens(c config.Config, file string) (list []web.Token, err error) {
	main := a.Getenv("BELLHOP_TOKEN")
	if main != "" {
		main, err = web.CheckToken(main)
	} else if file = cmp.Or(file, c.TokenFile); file != "" {
		main, err = web.ReadToken(file)
	}
	if err != nil {
		return nil, err
	}
	if main != "" {
		list = append(list, web.Token{Name: "reader", Role: web.Reader, Secret: main, Main: true})
	}
	for _, t := range c.Tokens {
		secret := ""
		if t.Env != "" {
			secret, err = web.CheckToken(a.Getenv(t.Env))
		} else {
			secret, err = web.ReadToken(t.File)
		}
		if err != nil {
			return nil, fmt.Errorf("tokens: %s: %w", t.Name, err)
		}
		if i := slices.IndexFunc(list, func(other web.Token) bool { return other.Secret == secret }); i >= 0 {
			return nil, fmt.Errorf("tokens: %s has the same secret as %s", t.Name, list[i].Name)
		}
		list = append(list, web.Token{Name: t.Name, Role: t.Role, Secret: secret, Expires: t.Expires})
	}
	return list, nil
}
