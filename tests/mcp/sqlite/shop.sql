CREATE TABLE pens (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price INTEGER NOT NULL);
INSERT INTO pens (name, price) VALUES ('red', 3), ('blue', 2), ('black', 5);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, pen TEXT NOT NULL, amount INTEGER NOT NULL);
INSERT INTO orders (customer, pen, amount) VALUES ('Jo', 'red', 3);
