# Makes invoices of orders: DATABASE_URL=… ruby orders.rb. It needs pg (Debian: ruby-pg; elsewhere: gem install pg).
require 'pg'

db = PG.connect(ENV.fetch('DATABASE_URL'))
db.exec('listen bellhop_work')
loop do
  job = db.exec("select id, fence, args from bellhop.take('{invoice}', 1, '1 min')").first
  next db.wait_for_notify(1) unless job # no job is ready: wait for a ring, or for a second

  run, order, total = job.values_at('id', 'fence'), job['args'], 0
  begin
    db.exec_params('select price from order_line where order_id = $1', [order]).each do |line|
      total += line['price'].to_i # the work, part by part; after each part the lease begins again
      raise 'cancelled' if db.exec_params("select from bellhop.renew($1, $2, '1 min') where cancel", run).any?
    end
    db.transaction do # the invoice and the end of the job: both, or neither
      db.exec_params('insert into invoice (order_id, total) values ($1, $2)', [order, total])
      db.exec_params('select bellhop.finish($1, $2, to_jsonb($3::int))', [*run, total])
    end
  rescue StandardError => e # try again in 10 s, unless the lease is over: then another worker has the job
    db.exec_params("select bellhop.fail($1, $2, $3, '10 s')", [*run, e.message]) rescue warn $!.message
  end
end
