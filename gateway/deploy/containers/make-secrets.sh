#!/bin/sh
# Makes the passwords, addresses and keys that docker-compose.yml passes to the containers as files, once.
#
#   sh gateway/deploy/containers/make-secrets.sh [directory, by default .secrets]
set -eu
rules=$(cat "$(dirname "$0")/../../platform/redis/users.acl")
directory=${1:-.secrets}
if [ -e "$directory" ]; then
  echo "$directory exists and is left as it is: the stores know its passwords" >&2
  exit 1
fi
# Only the owner enters the directory. Its files are readable, since each container has a user of its own.
mkdir -m 700 "$directory"
cd "$directory"
password() { openssl rand -hex 24; }

redis=$(password)
digest=$(printf %s "$redis" | openssl dgst -sha256 -r | cut -d ' ' -f 1)
# One user for the gateway and for the ops command in its container, and another one only for the health check.
cat > redis-users.acl <<END
user default off
user health on nopass -@all +ping
$(printf %s "$rules" | sed "s/SHA256_OF_THE_PASSWORD/$digest/")
END
echo "redis://gateway:$redis@redis:6379" > redis-url

password > postgres-password
owner=$(password)
service=$(password)
echo "$owner" > pets-owner-password
echo "$service" > pets-password
echo "postgresql://pets_owner:$owner@postgres:5432/pets" > database-owner-url
echo "postgresql://pets:$service@postgres:5432/pets" > database-url

openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out internal-token-private.pem
openssl pkey -in internal-token-private.pem -pubout -out internal-token-public.pem
chmod 644 ./*
