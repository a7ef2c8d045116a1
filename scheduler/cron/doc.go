// Package cron says when a schedule of cron is next due, in a time zone. It is pure: a time goes in, the next slot
// comes out, whatever any clock shows.
//
// What daylight saving does is said once, here. A schedule at fixed times (no *
// among its seconds, minutes and hours, as in "30 2 * * *") fires once for each
// of them: a time that the clocks leave out is made up for at the moment at which
// they have leapt, and of a time that comes twice the first counts. One that
// recurs ("*/10 * * * *", "0 * * * *") goes by time that passes: it fires in both of two hours of one name, and not
// in one that is left out.
package cron
