// bellhop for apps in Node: put this file beside yours. It needs pg (npm install pg; Debian: node-pg).
//
//   const bellhop = require('./bellhop')
//   await client.query('begin')                // the job exists if, and only if, this commits
//   await client.query('insert into orders …')
//   const id = await bellhop.submit(client, 'invoice', { order: 42 }, { key: 'invoice.42' })
//   await client.query('commit')
//   const job = await bellhop.wait(client, id, 60)
//   console.log(job.state, job.result)
//
// All of it is SQL that you may write yourself. Rights are the login's: grant it bellhop_submitter.
'use strict'

// COLUMNS are what a job may be given: the arguments of bellhop.submit, and their types.
const COLUMNS = {
  type: 'text', args: 'text', msq: 'text', repeat: 'text', run_on: 'text', key: 'text', priority: 'integer',
  priority_name: 'text', run_at: 'timestamptz', held: 'boolean', vars: 'jsonb', locks: 'text[]',
  reasons: 'text[]', max_attempts: 'integer', timeout: 'interval', on_failure: 'text', traceparent: 'text',
  after: 'bigint[]', after_keys: 'text[]', wanted: 'text[]', once: 'text', per: 'interval', replace: 'boolean',
  not_after: 'timestamptz', batch: 'bigint'
}
const FINAL = ['succeeded', 'failed', 'cancelled', 'quarantined']

class NotFound extends Error {}

// submit gives the id. args is one line of text, or what becomes JSON. Columns are those of COLUMNS.
async function submit (client, type, args = null, columns = {}) {
  if (args !== null && typeof args !== 'string') args = JSON.stringify(args)
  const given = { type, args, ...columns }
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(COLUMNS, name)) throw new Error(`a job has no column ${name}; it has ${Object.keys(COLUMNS).join(', ')}`)
  }
  if (given.vars && typeof given.vars !== 'string') given.vars = JSON.stringify(given.vars)
  const call = Object.keys(given).map((name, n) => `${name} => $${n + 1}::${COLUMNS[name]}`).join(', ')
  const { rows } = await client.query(`select bellhop.submit(${call}) as id`, Object.values(given))
  return rows[0].id // a text: ids may be larger than a number of JavaScript's holds exactly
}

async function look (client, id) {
  const { rows } = await client.query(`select id, state, progress, progress_text, result, exit_code, error, waiting_for
    from bellhop.job where id = $1`, [id])
  if (!rows.length) throw new NotFound(`there is no job ${id}, or none that this login may see`)
  return rows[0]
}

// watch yields the job whenever something has changed, until it is over, or for so many seconds. Not in a transaction.
async function * watch (client, id, timeout = Infinity) {
  const until = Date.now() + timeout * 1000
  for (let last; ;) {
    const job = await look(client, id)
    const now = JSON.stringify(job)
    if (now !== last) yield job
    last = now
    const left = Math.min(1, (until - Date.now()) / 1000)
    if (FINAL.includes(job.state) || left <= 0) return
    await client.query('select bellhop.wait($1, make_interval(secs => $2))', [id, left]) // comes back when it is over
  }
}

// wait waits until the job is over, or for so many seconds: its state tells.
async function wait (client, id, timeout) {
  let last
  for await (const job of watch(client, id, timeout)) last = job
  return last
}

// cancel gives the state that the job has now: one that runs is cancelled when its processes are gone.
async function cancel (client, id, now = false) {
  return (await client.query('select bellhop.cancel($1, $2) as state', [id, now])).rows[0].state
}

async function retry (client, id) {
  return (await client.query('select bellhop.retry($1) as state', [id])).rows[0].state
}

// retryAll retries all that this login may, a thousand a transaction, and gives how many.
function retryAll (client, { type = null, states = ['failed', 'quarantined'] } = {}) {
  return sweep(client, 'retry', type, states)
}

function cancelAll (client, { type = null, states = ['held', 'blocked', 'scheduled', 'ready', 'assigned', 'running'] } = {}) {
  return sweep(client, 'cancel', type, states)
}

async function sweep (client, order, type, states) {
  for (let behind = 0, count = 0; ;) {
    const { rows } = await client.query(`select id, bellhop.${order}(id) from (select id from bellhop.job j
      where id > $1 and state = any ($2) and ($3::text is null or type = $3) and bellhop.may_change(submitted_by)
      order by id limit 1000) j`, [behind, states, type])
    if (!rows.length) return count
    behind = rows.reduce((most, row) => BigInt(row.id) > most ? BigInt(row.id) : most, 0n).toString()
    count += rows.length
  }
}

module.exports = { COLUMNS, submit, look, watch, wait, cancel, retry, retryAll, cancelAll, NotFound }
