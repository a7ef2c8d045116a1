// Makes invoices of orders: DATABASE_URL=… node orders.js. It needs pg (Debian: node-pg; elsewhere: npm install pg).
const db = new (require('pg').Client)(process.env.DATABASE_URL)
let rung
async function main () {
  db.on('notification', () => rung?.())
  await db.connect()
  await db.query('listen bellhop_work')
  for (;;) {
    const ring = new Promise(resolve => { rung = resolve; setTimeout(resolve, 1000) })
    const { rows: [job] } = await db.query("select id, fence, args from bellhop.take('{invoice}', 1, '1 min')")
    if (!job) { await ring; continue } // no job is ready: wait for a ring, or for a second
    const run = [job.id, job.fence]
    try {
      let total = 0
      for (const line of (await db.query('select price from order_line where order_id = $1', [job.args])).rows) {
        total += line.price // the work, part by part; after each part the lease begins again
        const { rowCount } = await db.query("select from bellhop.renew($1, $2, '1 min') where cancel", run)
        if (rowCount) throw new Error('cancelled')
      }
      await db.query('begin') // the invoice and the end of the job: both, or neither
      await db.query('insert into invoice (order_id, total) values ($1, $2)', [job.args, total])
      await db.query('select bellhop.finish($1, $2, to_jsonb($3::int))', [...run, total])
      await db.query('commit')
    } catch (e) { // try again in 10 s, unless the lease is over: then another worker has the job
      await db.query('rollback')
      await db.query("select bellhop.fail($1, $2, $3, '10 s')", [...run, e.message]).catch(console.error)
    }
  }
}
main()
