-- From now on an initial password follows from a key and its salt only together with the installation's secret. What
-- stood here before yielded it from the key alone; those keys still make nothing twice, but cannot be answered again.
update idempotency_keys set salt = '';
