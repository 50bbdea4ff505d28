"""The tables of ToolTalk's world; the clock, the session and the ids are every world's.

Rows keep the order of insertion through their integer `id`, since ToolTalk lists records in that order.
Each plugin knows which users it has an entry for (`calendars`, `inboxes`, …): a user without an entry is not
the same as one with an empty one. Those tables do not refer to `users`, because an account can be deleted
while its records stay. Record ids (`alarm_id`, …) are unique for one user only.
"""

SCHEMA = """
CREATE TABLE users (
    id INTEGER PRIMARY KEY,
    username TEXT NOT NULL UNIQUE,
    email TEXT,
    phone TEXT,
    name TEXT,
    password TEXT,
    session_token TEXT,
    verification_code TEXT
);
CREATE TABLE alarm_clocks (username TEXT PRIMARY KEY NOT NULL);
CREATE TABLE alarms (
    id INTEGER PRIMARY KEY,
    username TEXT NOT NULL REFERENCES alarm_clocks(username),
    alarm_id TEXT NOT NULL,
    time TEXT NOT NULL,
    UNIQUE (username, alarm_id)
);
CREATE TABLE calendars (username TEXT PRIMARY KEY NOT NULL);
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    username TEXT NOT NULL REFERENCES calendars(username),
    event_id TEXT NOT NULL,
    name TEXT,
    event_type TEXT NOT NULL,
    start_time TEXT NOT NULL,
    end_time TEXT NOT NULL,
    location TEXT,
    description TEXT,
    UNIQUE (username, event_id)
);
CREATE TABLE event_attendees (
    event INTEGER NOT NULL REFERENCES events(id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    username TEXT,
    PRIMARY KEY (event, position)
);
CREATE TABLE inboxes (username TEXT PRIMARY KEY NOT NULL);
CREATE TABLE emails (
    id INTEGER PRIMARY KEY,
    username TEXT NOT NULL REFERENCES inboxes(username),
    email_id TEXT NOT NULL,
    date TEXT NOT NULL,
    sender TEXT NOT NULL,
    subject TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (username, email_id)
);
CREATE TABLE email_receivers (
    email INTEGER NOT NULL REFERENCES emails(id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    address TEXT,
    PRIMARY KEY (email, position)
);
CREATE TABLE message_boxes (username TEXT PRIMARY KEY NOT NULL);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY,
    username TEXT NOT NULL REFERENCES message_boxes(username),
    message_id TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    sender TEXT NOT NULL,
    message TEXT NOT NULL,
    UNIQUE (username, message_id)
);
CREATE TABLE reminder_lists (username TEXT PRIMARY KEY NOT NULL);
CREATE TABLE reminders (
    id INTEGER PRIMARY KEY,
    username TEXT NOT NULL REFERENCES reminder_lists(username),
    reminder_id TEXT NOT NULL,
    task TEXT,
    due_date TEXT,
    status TEXT NOT NULL,
    UNIQUE (username, reminder_id)
);
CREATE TABLE weather (
    location TEXT NOT NULL,
    date TEXT NOT NULL,
    high NOT NULL,
    low NOT NULL,
    conditions TEXT NOT NULL,
    PRIMARY KEY (location, date)
);
CREATE TABLE historic_weather (
    location TEXT NOT NULL,
    month TEXT NOT NULL,
    min_temp NOT NULL,
    max_temp NOT NULL,
    record_min_temp NOT NULL,
    record_max_temp NOT NULL,
    avg_rainfall NOT NULL,
    snow_days NOT NULL,
    PRIMARY KEY (location, month)
);
"""
