#!/usr/bin/env node
// An app's day in Node: DATABASE_URL=… node app.js ORDER. It needs pg, and bellhop.js beside it.
const { Client } = require('pg')
const bellhop = require('./bellhop')

async function main (order) {
  const client = new Client({ connectionString: process.env.DATABASE_URL })
  await client.connect()
  await client.query('begin') // the order and its job: both, or neither
  await client.query('insert into orders (id) values ($1)', [order])
  const invoice = await bellhop.submit(client, 'invoice', order, { key: `invoice.${order}` })
  await client.query('commit')
  let job
  for await (job of bellhop.watch(client, invoice)) { // until it is over
    console.log(job.state, `${Math.round((job.progress || 0) * 100)}%`, job.progress_text || '', job.result || '')
  }
  if (job.state !== 'succeeded') throw new Error(job.error)
  const reminder = await bellhop.submit(client, 'invoice', `remind ${order}`, { run_at: 'infinity' })
  console.log('the reminder is', await bellhop.cancel(client, reminder))
  console.log(await bellhop.retryAll(client, { type: 'mail' }), 'failed mails are tried again')
  await client.end()
}

main(process.argv[2]).catch(err => { console.error(err.message); process.exit(1) })
