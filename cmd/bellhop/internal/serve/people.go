package serve

import (
	"errors"
	"net/url"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/web"
	"bellhop/web/signin"
)

// people signs people in at the provider of the configuration, which is not asked yet; nil: there is none.
func (o *once) people() (web.People, error) {
	c := o.c.Web.OIDC
	if c.Issuer == "" {
		return nil, nil
	}
	secret, err := o.app.Getenv(c.SecretEnv), error(nil)
	if c.SecretFile != "" {
		secret, err = web.ReadSecret(c.SecretFile)
	}
	if err == nil && secret == "" {
		err = errors.New("the client secret is empty")
	}
	site, wrong := url.Parse(c.URL)
	if err = errors.Join(err, wrong); err != nil {
		return nil, cli.Usage("serve", "web.oidc: "+err.Error(),
			"write the secret into the file or the variable that web.oidc in bellhop.yaml names")
	}
	of := signin.Config{Issuer: c.Issuer, Site: site, ID: c.ClientID, Secret: secret, Scopes: c.Scopes, Claim: c.Claim,
		Name: c.Name, Lasts: c.Session, Log: o.log}
	for _, r := range c.Roles {
		of.Roles = append(of.Roles, signin.Role{Name: r.Role, Groups: r.Groups})
	}
	return signin.New(of), nil
}
