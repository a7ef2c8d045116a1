package web

import "context"

// Reader is the role of a caller without a token on a loopback address, and of the one token of BELLHOP_TOKEN or
// token_file.
const Reader = "bellhop_reader"

// Identity is the caller of a request.
type Identity struct {
	Name string // of the token, the login or the person that is signed in; empty: not given
	Role string // of PostgreSQL: all statements of the request run under it
	Via  string // loopback, token, session (of a database login) or oidc (of a person)
	Form string // what a page puts into its forms, as form_token; empty: not signed in by a cookie
	From string // the address of its connection, without the port
}

// Caller is the key by which places are shared: a session, or a token and the address that it is used from.
func (i Identity) Caller() string {
	if i.Form != "" {
		return "session " + i.Form
	}
	return i.Via + " " + i.Name + " " + i.From
}

type (
	identityKey struct{}
	closingKey  struct{}
)

// CallerOf is the caller of this context's request.
func CallerOf(ctx context.Context) Identity {
	who, _ := ctx.Value(identityKey{}).(Identity) // none: no right at all
	return who
}

// As gives a context with a caller. The door does that; tests may.
func As(ctx context.Context, who Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, who)
}

// Actor is the name of the caller of this context's request (empty: not given), and how it was identified.
func Actor(ctx context.Context) (name, via string) {
	who := CallerOf(ctx)
	return who.Name, who.Via
}
