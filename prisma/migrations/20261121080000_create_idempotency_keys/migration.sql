-- CreateTable
CREATE TABLE "idempotency_keys" (
    "issuer" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "key" VARCHAR(255) NOT NULL,
    "fingerprint" BYTEA NOT NULL,
    "pet_id" BIGINT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("issuer","subject","key")
);

-- CreateIndex
CREATE INDEX "idempotency_keys_created_at_idx" ON "idempotency_keys"("created_at");

-- The role of the pets service (create-roles.sh), where there is one: what it uses, and no more.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'pets') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON "idempotency_keys" TO pets;
    END IF;
END
$$;
