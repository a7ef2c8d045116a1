class Orders { // Makes invoices of orders: JDBC_URL=jdbc:postgresql:… java -cp postgresql.jar Orders.java
  static java.sql.ResultSet sql(java.sql.Connection db, String text, Object... values) throws Exception {
    var statement = db.prepareStatement(text);
    for (int i = 0; i < values.length; i++) statement.setObject(i + 1, values[i]);
    return statement.execute() ? statement.getResultSet() : null;
  }
  public static void main(String[] args) throws Exception {
    var db = java.sql.DriverManager.getConnection(System.getenv("JDBC_URL")); // Debian: libpostgresql-jdbc-java
    for (sql(db, "listen bellhop_work"); ; ) {
      var job = sql(db, "select id, fence, args from bellhop.take('{invoice}', 1, '1 min')");
      if (!job.next()) { db.unwrap(org.postgresql.PGConnection.class).getNotifications(1000); continue; } // or a ring
      var order = job.getString(3); long id = job.getLong(1), fence = job.getLong(2), total = 0;
      try {
        for (var line = sql(db, "select price from order_line where order_id = ?::bigint", order); line.next(); ) {
          total += line.getInt(1); // the work, part by part; after each part the lease begins again
          if (sql(db, "select from bellhop.renew(?, ?, '1 min') where cancel", id, fence).next())
            throw new Exception("cancelled");
        }
        db.setAutoCommit(false); // the invoice and the end of the job: both, or neither
        sql(db, "insert into invoice (order_id, total) values (?::bigint, ?)", order, total);
        sql(db, "select bellhop.finish(?, ?, to_jsonb(?))", id, fence, total);
        db.commit(); db.setAutoCommit(true);
      } catch (Exception e) { // try again in 10 s, unless the lease is over: then another worker has the job
        if (!db.getAutoCommit()) { db.rollback(); db.setAutoCommit(true); }
        try { sql(db, "select bellhop.fail(?, ?, ?, '10 s')", id, fence, e.getMessage()); }
        catch (Exception lost) { System.err.println(lost.getMessage()); }
      }
    }
  }
}
