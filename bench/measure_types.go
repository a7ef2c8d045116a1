package main

import (
	"context"
	"strconv"
	"time"
)

// manyTypes are 200 types of jobs, noop among them.
func manyTypes() []string {
	list := []string{"noop"}
	for i := 1; i < 200; i++ {
		list = append(list, "kind"+strconv.Itoa(i))
	}
	return list
}

// measureTypes compares 200 types, each with a warm child, with one type.
func measureTypes(ctx context.Context, b *bench, round int) error {
	types := manyTypes()
	next := 0
	g := growth{row: "200 types", label: "bellhop",
		make: func() *bellhop { return &bellhop{b: b, types: types, max: 1, slots: len(types)} },
		warm: func(ctx context.Context, s *session) error {
			if _, err := s.conn.Exec(ctx, "insert into bellhop.jobqueue (type, args) select unnest($1::text[]), 'warm'", types); err != nil {
				return err
			}
			s.done += int64(len(types))
			return s.settle(ctx, 2*time.Minute)
		},
		insert: func(ctx context.Context, s *session, line string) error {
			next++
			s.done++
			_, err := s.conn.Exec(ctx, "insert into bellhop.jobqueue (type, args) values ($1, $2)", types[next%len(types)], line)
			return err
		},
		fill: func(ctx context.Context, s *session, n int) error {
			s.done += int64(n)
			_, err := s.conn.Exec(ctx, "insert into bellhop.jobqueue (type, args) select ($1::text[])[1 + g % cardinality($1::text[])], g::text from generate_series(1, $2::int) g", types, n)
			return err
		},
		after: func(ctx context.Context, s *session) error { return s.check(ctx) }}
	one := growth{row: g.row, label: "bellhop, 1 type", make: func() *bellhop { return &bellhop{b: b} }, after: g.after}
	return inTurn(round, one.step(ctx, b, round), g.step(ctx, b, round))
}
