package view

import (
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// Moment is a time in a row that may be Never. In JSON that is infinity, as in PostgreSQL.
type Moment struct{ time.Time }

// Never is the time of what is not to happen by itself: PostgreSQL's infinity.
var Never = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// ScanTimestamptz is how pgx reads it. What always was, -infinity, is the zero time.
func (m *Moment) ScanTimestamptz(v pgtype.Timestamptz) error {
	m.Time = v.Time
	if v.InfinityModifier == pgtype.Infinity {
		m.Time = Never
	}
	return nil
}

// timestamptz is the time as PostgreSQL has it.
func (m Moment) timestamptz() pgtype.Timestamptz {
	switch {
	case m.Equal(Never):
		return pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}
	case m.IsZero():
		return pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}
	}
	return pgtype.Timestamptz{Time: m.Time, Valid: true}
}

// Infinite is the word for a time that no clock shows; empty: a clock shows it.
func (m Moment) Infinite() string {
	if v := m.timestamptz(); v.InfinityModifier != pgtype.Finite {
		return v.InfinityModifier.String()
	}
	return ""
}

// MarshalJSON writes a time of RFC 3339, or infinity.
func (m Moment) MarshalJSON() ([]byte, error) { return m.timestamptz().MarshalJSON() }

// UnmarshalJSON reads what MarshalJSON writes.
func (m *Moment) UnmarshalJSON(text []byte) error {
	var v pgtype.Timestamptz
	if err := v.UnmarshalJSON(text); err != nil {
		return err
	}
	return m.ScanTimestamptz(v)
}
