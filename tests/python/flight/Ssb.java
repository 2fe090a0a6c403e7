import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/**
 * Queries from files, and what the driver says of a schema: each a line "== NAME", one of the columns' names, and rows, separated by tabs.
 *
 * <pre>java … Ssb.java URL ROLE PASSWORD SCHEMA FILE…</pre>
 */
public class Ssb {
    public static void main(String[] arguments) throws SQLException, IOException {
        try (Connection db = DriverManager.getConnection(arguments[0], arguments[1], arguments[2]); Statement statement = db.createStatement()) {
            for (int at = 4; at < arguments.length; at++) {
                Path file = Path.of(arguments[at]);
                print(file.getFileName().toString(), statement.executeQuery(Files.readString(file)));
            }
            String schema = arguments[3];
            DatabaseMetaData said = db.getMetaData();
            print("catalogs", said.getCatalogs(), "TABLE_CAT");
            print("schemas", said.getSchemas(null, "ss%"), "TABLE_SCHEM");
            print("table types", said.getTableTypes(), "TABLE_TYPE");
            print("tables", said.getTables(null, schema, "%", new String[] {"TABLE"}), "TABLE_NAME", "TABLE_TYPE");
            print("columns", said.getColumns(null, schema, "%", "%"),
                    "TABLE_NAME", "ORDINAL_POSITION", "COLUMN_NAME", "TYPE_NAME", "DATA_TYPE", "IS_NULLABLE");
            print("primary", said.getPrimaryKeys(null, schema, "lineorder"), "COLUMN_NAME", "KEY_SEQ", "PK_NAME");
            String[] keys = {"PKTABLE_NAME", "PKCOLUMN_NAME", "FKCOLUMN_NAME", "FK_NAME", "PK_NAME"};
            print("imported", said.getImportedKeys(null, schema, "lineorder"), keys);
            print("exported", said.getExportedKeys(null, schema, "supplier"), keys);
            print("cross", said.getCrossReference(null, schema, "part", null, schema, "lineorder"), keys);
        }
    }

    /** These columns, or all. */
    private static void print(String name, ResultSet rows, String... columns) throws SQLException {
        List<String> labels = new ArrayList<>(List.of(columns));
        for (int at = 1; columns.length == 0 && at <= rows.getMetaData().getColumnCount(); at++) {
            labels.add(rows.getMetaData().getColumnLabel(at));
        }
        System.out.println("== " + name + "\n" + String.join("\t", labels));
        while (rows.next()) {
            List<String> values = new ArrayList<>();
            for (String label : labels) {
                values.add(rows.getString(label));
            }
            System.out.println(String.join("\t", values));
        }
        rows.close();
    }
}
