import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;

/**
 * A query through services/flight-sql by the Arrow Flight JDBC driver, and the tables that the role may see:
 *
 * <pre>java … FlightSql.java 'jdbc:arrow-flight-sql://localhost:31337/?useEncryption=false' ROLE PASSWORD QUERY [PARAMETER]…</pre>
 *
 * Parameters are those of the query, $1, $2, … as text. A statement without a result prints how many rows it changed.
 */
public class FlightSql {
    public static void main(String[] arguments) throws SQLException {
        try (Connection db = DriverManager.getConnection(arguments[0], arguments[1], arguments[2])) {
            if (arguments.length == 3) {
                try (ResultSet tables = db.getMetaData().getTables(null, "public", "%", null)) {
                    while (tables.next()) {
                        System.out.println(tables.getString("TABLE_NAME") + "\t" + tables.getString("TABLE_TYPE"));
                    }
                }
                return;
            }
            try (PreparedStatement statement = db.prepareStatement(arguments[3])) {
                for (int at = 4; at < arguments.length; at++) {
                    statement.setString(at - 3, arguments[at]);
                }
                // execute() would not tell: the driver takes whatever it prepares for a query.
                if (statement.getMetaData().getColumnCount() > 0) {
                    print(statement.executeQuery());
                } else {
                    System.out.println(statement.executeUpdate());
                }
            }
        }
    }

    private static void print(ResultSet rows) throws SQLException {
        ResultSetMetaData columns = rows.getMetaData();
        while (rows.next()) {
            StringBuilder line = new StringBuilder();
            for (int at = 1; at <= columns.getColumnCount(); at++) {
                line.append(at == 1 ? "" : "\t").append(rows.getObject(at));
            }
            System.out.println(line);
        }
    }
}
