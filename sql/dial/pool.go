package dial

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Pool is for a pool of such sessions: it reads what the user wrote before each connection.
func (w Way) Pool() (*pgxpool.Config, error) {
	read, err := w.Config()
	if err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(w.URL) // its own words
	if err != nil {
		return nil, err
	}
	config.ConnConfig = read
	config.BeforeConnect = func(_ context.Context, next *pgx.ConnConfig) error {
		fresh, err := w.Config()
		if err == nil {
			*next = *fresh
		}
		return err
	}
	return config, nil
}
