#!/bin/sh
# Creates the database `pets`, its owner for migrations, and the role of the pets service, which owns nothing and may use what
# the migrations grant it. The postgres image runs this once, for an empty volume.
set -eu
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres <<'END'
\set owner_password `cat "$PETS_OWNER_PASSWORD_FILE"`
\set service_password `cat "$PETS_PASSWORD_FILE"`
CREATE ROLE pets_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE pets LOGIN PASSWORD :'service_password';
CREATE DATABASE pets OWNER pets_owner;
REVOKE ALL ON DATABASE pets FROM PUBLIC;
GRANT CONNECT ON DATABASE pets TO pets;
END
