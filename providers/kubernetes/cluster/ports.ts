// At which ports Pods listen for clients.
export const postgres_port = 5432
export const pooler_port = 6432
