"""The SQLite database: schema, migrations, records, one small module for each family of tables."""
