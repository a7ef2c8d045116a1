#!/usr/bin/env node
// An order and its invoice, in one transaction: the invoice is made if, and
// only if, the order is there.
//
//   DATABASE_URL=postgres://app@db/app node order.js 42 99.5
//
// The order's table is the app's own:
//   create table orders (id bigint primary key, total numeric check (total >= 0));
// Needs pg (npm install pg; Debian: node-pg).
const { Client } = require('pg')

async function order (client, id, total, traceparent) {
  await client.query('begin')
  try {
    // For every job of this transaction. Where the app is traced, it is
    // propagation.inject(context.active(), carrier); carrier.traceparent.
    await client.query("select set_config('bellhop.traceparent', $1, true)", [traceparent])
    const { rows } = await client.query(
      "insert into bellhop.jobqueue (type, args, key) values ('invoice', $1, $2) returning id", [id, `invoice.${id}`])
    await client.query('insert into orders (id, total) values ($1, $2)', [id, total])
    await client.query('commit')
    return rows[0].id
  } catch (err) {
    await client.query('rollback')
    throw err
  }
}

async function main () {
  const client = new Client({ connectionString: process.env.DATABASE_URL })
  await client.connect()
  try {
    console.log(await order(client, process.argv[2], process.argv[3], process.env.TRACEPARENT || ''))
  } finally {
    await client.end()
  }
}

main().catch(err => { console.error(err.message); process.exitCode = 1 })
