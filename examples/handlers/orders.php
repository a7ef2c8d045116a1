<?php // Makes invoices of orders: PDO_DSN='pgsql:…' php orders.php. It needs pdo_pgsql (Debian: php-cli, php-pgsql).
$db = new PDO(getenv('PDO_DSN'));
function sql(string $text, ...$values): PDOStatement {
    $statement = $GLOBALS['db']->prepare($text);
    $statement->execute($values);
    return $statement;
}
sql('listen bellhop_work');
while (true) {
    $job = sql("select id, fence, args from bellhop.take('{invoice}', 1, '1 min')")->fetch(PDO::FETCH_NUM);
    if (!$job) { $db->pgsqlGetNotify(PDO::FETCH_NUM, 1000); continue; } // no job is ready: wait for a ring, or for 1 s
    [$id, $fence, $order] = $job;
    try {
        $total = 0;
        foreach (sql('select price from order_line where order_id = ?', $order)->fetchAll() as $line) {
            $total += $line['price']; // the work, part by part; after each part the lease begins again
            $cancel = sql("select cancel from bellhop.renew(?, ?, '1 min')", $id, $fence)->fetchColumn();
            if ($cancel) throw new Exception('cancelled');
        }
        $db->beginTransaction(); // the invoice and the end of the job: both, or neither
        sql('insert into invoice (order_id, total) values (?, ?)', $order, $total);
        sql('select bellhop.finish(?, ?, to_jsonb(?::int))', $id, $fence, $total);
        $db->commit();
    } catch (Throwable $e) { // try again in 10 s, unless the lease is over: then another worker has the job
        if ($db->inTransaction()) $db->rollBack();
        try { sql("select bellhop.fail(?, ?, ?, '10 s')", $id, $fence, $e->getMessage()); }
        catch (PDOException $lost) { error_log($lost->getMessage()); }
    }
}
